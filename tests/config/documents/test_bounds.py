"""A hostile text costs memory and work in proportion to its size, wherever it comes from."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from config.credentials.kubeconfig import decode_kubeconfig
from config.documents.codec import DocumentError, decode
from config.documents.limits import (
    BYTES_AT_MOST,
    FAULTS_AT_MOST,
    PATH_CHARACTERS_AT_MOST,
    REASON_CHARACTERS_AT_MOST,
)
from config.documents.text import read_documents
from config.kubelet.reading import read_bytes, read_plain
from config.manifests import Origin, read_manifest
from config.objects import Pod

PEAK_PER_BYTE = 150
"""The most memory per byte of a document.

A value of two characters takes up to 100 bytes as an object, and its place in the document some more.
"""
PEAK_AT_REST = 2 * 2**20
LONG = "K" * 30_000
"""A key. YAML takes one of more than 1024 characters only where it stands behind a question mark."""
HEADER = "apiVersion: v1\nkind: Pod\n"

TEXTS: dict[str, str] = {
    "values below a long key": f"{HEADER}? {LONG}\n:\n" + "".join(f" k{i}:\n" for i in range(4000)),
    "items below a long key": f"{HEADER}? {LONG}\n: [" + "a," * 10_000 + "]",
    "a tower of long keys": "\n".join(f"{' ' * depth}{LONG[:1000]}:" for depth in range(95)) + "\n" + f"{' ' * 95}x: 1",
    "the same key again and again": f"{HEADER}? {LONG}\n: {{" + "a: 1," * 10_000 + "}",
    "the same key again and again, in JSON": '{"' + LONG + '": {' + '"a":1,' * 10_000 + '"b":1}}',
    "faults below a long key": f"{HEADER}spec: {{? {LONG} : {{" + "a: !x y, " * 4000 + "}}",
    "unknown fields": HEADER + "metadata: {name: a}\nspec: {" + "".join(f"f{i}: 1, " for i in range(5000)) + "}",
    "wrong fields": HEADER + "spec: {containers: [" + "{name: 1}," * 5000 + "]}",
    "wrong labels": HEADER + "metadata: {name: a, labels: {" + "".join(f"-{i}: 1, " for i in range(5000)) + "}}",
    "empty maps": "[" + "{}," * 15_000 + "{}]",
    "empty maps in YAML": "a: [" + "{}," * 15_000 + "]",
    "many documents": "---\na\n" * 900,
    "merges of one map": "x: &x {a: 1}\ny: {<<: [" + "*x," * 5000 + "], " + "k0: 1, k1: 1}",
    "many anchors": "[" + "".join(f"&a{i} x, " for i in range(5000)) + "]",
    "pods without anything": "apiVersion: v1\nkind: PodList\nitems: [" + "{}," * 9000 + "]",
    "sound pods": "apiVersion: v1\nkind: PodList\nitems: ["
    + "".join(f"{{metadata: {{name: p{i}}}, spec: {{containers: [{{name: a, image: b}}]}}}}," for i in range(200))
    + "]",
}


def peak_of(read: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def as_file(data: bytes) -> object:
    return read_manifest(data, Origin.file("/etc/pod.yaml"), "node")


def as_configuration(data: bytes) -> object:
    value, faults = read_bytes(data)
    return read_plain(value), faults


def as_kubeconfig(data: bytes) -> object:
    try:
        return decode_kubeconfig(data, "/etc")
    except DocumentError as error:
        return error


SETTINGS = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
TEXTS["unknown settings"] = SETTINGS + "".join(f"maxPod{i}: 1\n" for i in range(3000))
TEXTS["unknown gates"] = SETTINGS + "featureGates: {" + "".join(f"Gate{i}: true, " for i in range(3000)) + "}"

READERS = {"manifest": as_file, "KubeletConfiguration": as_configuration, "kubeconfig": as_kubeconfig}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("attack", TEXTS)
def test_a_text_takes_memory_in_proportion_to_its_size(attack: str, reader: str) -> None:
    data, read = TEXTS[attack].encode(), READERS[reader]
    read(b"{}")  # what is made once for all texts
    assert peak_of(lambda: read(data)) < PEAK_AT_REST + PEAK_PER_BYTE * len(data)


def test_aliases_of_a_long_text_are_refused_before_they_are_written_out() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{'*a, ' * 1000}]"
    (document,) = read_documents(text.encode())
    assert document.value is None
    assert "characters with its aliases written out" in document.faults[0].reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" + "1," * 500_000 + "1]", "more than 500000 values"),
        ('{"a":[' + "1," * 500_000 + "1]}", "more than 500000 values"),
        ("---\na\n" * 1001, "more than 1000 documents"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested more than 100 deep"),
        ("x" * (BYTES_AT_MOST + 1), "more than 10 MiB"),
    ],
)
def test_a_text_beyond_a_limit_is_refused_by_name(text: str, reason: str) -> None:
    (document,) = read_documents(text.encode())
    assert document.value is None
    assert reason in document.faults[0].reason


def test_separators_within_a_text_do_not_count_as_values() -> None:
    value = {"data": {"table": '1,[{"' * 500_000}}
    (document,) = read_documents(json.dumps(value).encode())
    assert (document.value, document.faults) == (value, ())


@pytest.mark.parametrize("attack", TEXTS)
def test_no_text_is_told_more_faults_than_anybody_reads(attack: str) -> None:
    read = read_manifest(TEXTS[attack].encode(), Origin.file("/etc/pod.yaml"), "node")
    for faults in (read.errors, read.warnings):
        assert len(faults) <= FAULTS_AT_MOST
        for fault in faults:
            assert len(fault.path) <= PATH_CHARACTERS_AT_MOST + 3
            assert len(fault.reason) <= REASON_CHARACTERS_AT_MOST + 3


def test_an_object_of_the_api_is_bounded_like_a_manifest() -> None:
    body = b'{"spec":{"%s":1,"containers":[%s{}]}}' % (LONG.encode(), b'{"name":1},' * 5000)

    def read() -> None:
        with pytest.raises(DocumentError) as caught:
            decode(body, Pod)
        assert len(caught.value.faults) <= FAULTS_AT_MOST

    assert peak_of(read) < PEAK_AT_REST + PEAK_PER_BYTE * len(body)
