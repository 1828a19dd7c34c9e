"""Which trust anchors a volume gets: by name, by signer and labels.

They are deduplicated, and their order stays the same.
"""

from __future__ import annotations

import ssl
from base64 import b64encode

import pytest

from actors.cluster.trust_rules import NoAnchorsError, TrustBundle, anchors_for, anchors_in
from actors.messages.references import TrustWant
from config.api.selectors import LabelQuery, parse_label_selector

A, B, C = (letter.encode() * 100 for letter in "abc")
BUNDLES = {
    "own": TrustBundle("", {}, (A, B, A)),
    "old": TrustBundle("example.com/ca", {"age": "old"}, (A, C)),
    "new": TrustBundle("example.com/ca", {"age": "new"}, (B, C)),
    "other": TrustBundle("example.com/other", {"age": "new"}, (A,)),
}


def ders(pem: bytes) -> list[bytes]:
    return list(anchors_in(pem.decode()))


def by_signer(labels: str | None, signer: str = "example.com/ca", optional: bool = False) -> TrustWant:
    query = None if labels is None else parse_label_selector(labels)
    return TrustWant(signer_name=signer, labels=query, optional=optional)


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        (TrustWant(name="own"), {A, B}),
        (TrustWant(name="old"), {A, C}),
        (by_signer(""), {A, B, C}),
        (by_signer("age=new"), {B, C}),
        (TrustWant(name="absent", optional=True), set()),
        (by_signer("age=none", optional=True), set()),
        (by_signer(None, optional=True), set()),
    ],
)
# (spec 17.7.4)
def test_each_anchor_is_written_once(want: TrustWant, expected: set[bytes]) -> None:
    found = ders(anchors_for(want, BUNDLES, b"1"))
    assert len(found) == len(expected)
    assert set(found) == expected


@pytest.mark.parametrize(
    ("want", "why"),
    [
        (TrustWant(name="absent"), 'clustertrustbundle.certificates.k8s.io "absent" not found'),
        (by_signer("age=none"), "combination of signerName and labelSelector matched zero ClusterTrustBundles"),
        (by_signer(None), "combination of signerName and labelSelector matched zero ClusterTrustBundles"),
        (by_signer("", "example.com/none"), "combination of signerName and labelSelector matched zero"),
    ],
)
def test_a_missing_required_bundle_is_refused(want: TrustWant, why: str) -> None:
    with pytest.raises(NoAnchorsError, match=why):
        anchors_for(want, BUNDLES, b"1")


# (spec 17.7.4)
def test_the_order_stays_within_a_life_and_is_another_in_the_next() -> None:
    bundles = {"many": TrustBundle("", {}, tuple(bytes([n]) * 40 for n in range(50)))}
    turned = {"many": TrustBundle("", {}, tuple(reversed(bundles["many"].anchors)))}
    want = TrustWant(name="many")
    assert anchors_for(want, bundles, b"1") == anchors_for(want, turned, b"1")
    assert anchors_for(want, bundles, b"1") != anchors_for(want, bundles, b"2")


def test_text_around_blocks_and_blocks_that_cannot_be_read_are_left_out() -> None:
    pem = ssl.DER_cert_to_PEM_cert(A)
    broken = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
    assert list(
        anchors_in(f"# roots\n{pem}\n{broken}-----BEGIN X-----\n{pem.replace(chr(10), chr(13) + chr(10))}")
    ) == [A, A]
    assert b64encode(A).decode()[:60] in pem


def test_no_labels_select_everything() -> None:
    assert LabelQuery().matches({"a": "b"})
