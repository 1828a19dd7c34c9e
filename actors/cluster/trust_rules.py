"""Which trust anchors a projected volume gets, and in which order (spec 13.3). Pure.

Anchors are deduplicated by their bytes. Nobody is to rely on their order, so each life of the agent uses another one.
It stays the same within that life, so that files do not change needlessly.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping

import msgspec

from actors.messages.references import TrustWant
from config.objects import ClusterTrustBundle

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----")


class TrustBundle(msgspec.Struct, frozen=True):
    """One ClusterTrustBundle. `signer_name`: "" without a signer. `anchors`: certificates in DER."""

    signer_name: str
    labels: Mapping[str, str]
    anchors: tuple[bytes, ...]


class NoAnchorsError(Exception):
    """Why there are no anchors for a want."""


def bundle_of(found: ClusterTrustBundle) -> TrustBundle:
    """The kept part of a ClusterTrustBundle object."""
    return TrustBundle(found.spec.signer_name or "", found.metadata.labels, tuple(anchors_in(found.spec.trust_bundle)))


def anchors_in(text: str) -> Iterable[bytes]:
    """The bytes of each certificate in PEM, the one kind of block that the API allows.

    Text between blocks is left out, and so are blocks that cannot be read.
    """
    for block in _BLOCK.finditer(text):
        try:
            yield base64.b64decode("".join(block[1].split()), validate=True)
        except binascii.Error:
            continue


def anchors_for(want: TrustWant, bundles: Mapping[str, TrustBundle], salt: bytes) -> bytes:
    """The content of the file.

    `bundles`: by name; `salt`: of this life of the agent. Raises NoAnchorsError.
    """
    return anchors_of((bundles[name] for name in matching(want, bundles)), salt)


def matching(want: TrustWant, bundles: Mapping[str, TrustBundle]) -> tuple[str, ...]:
    """Names of the bundles that the want is for. Raises NoAnchorsError."""
    if want.name:
        found = [want.name] if want.name in bundles else []
        missing = f'clustertrustbundle.certificates.k8s.io "{want.name}" not found'
    else:
        query = want.labels
        every = ((name, each.labels) for name, each in bundles.items() if each.signer_name == want.signer_name)
        found = [name for name, labels in every if query is not None and query.matches(labels)]
        missing = "combination of signerName and labelSelector matched zero ClusterTrustBundles"
    if not found and not want.optional:
        raise NoAnchorsError(missing)
    return tuple(found)


def anchors_of(found: Iterable[TrustBundle], salt: bytes) -> bytes:
    """The anchors of these bundles, as the content of a file."""
    anchors = {anchor for each in found for anchor in each.anchors}
    return as_pem(sorted(anchors, key=lambda der: _place(der, salt)))


def as_pem(certificates: Iterable[bytes]) -> bytes:
    """Certificates in their binary form, as one PEM text."""
    import ssl  # a heavy import, which nodes without such volumes do not need

    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates)).encode()


def _place(der: bytes, salt: bytes) -> bytes:
    return hashlib.sha256(salt + der).digest()
