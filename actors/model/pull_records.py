"""Records of who may use which image, in the format of a kubelet 1.36 (KEP-2535, spec 6.4). Pure.

An `ImagePullIntent` says that a pull of an image has begun. An `ImagePulledRecord` says under which name and with which
credentials an image was pulled. It names the image by its reference in the runtime, and credentials by digests. A
kubelet reads both, and the agent reads those of a kubelet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from config.credentials.docker_config import Credential, full_name

API_VERSION = "kubelet.config.k8s.io/v1beta1"
READ_VERSIONS = (API_VERSION, "kubelet.config.k8s.io/v1alpha1", "kubelet.config.k8s.io/v1")
FILE_PREFIX = "sha256-"


T = TypeVar("T")


class RecordError(ValueError):
    """The file is no record that this agent knows."""


class PullSecret(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A secret that opens the image, and the digest of the credential in it."""

    uid: str
    namespace: str
    name: str
    credential_hash: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.namespace, self.name, self.uid


class PullAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service account for which a credential program has opened the image."""

    uid: str
    namespace: str
    name: str


class Grants(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """Upstream's ImagePullCredentials. `node_pods_accessible`: every pod of the node may use the image."""

    kubernetes_secrets: tuple[PullSecret, ...] = ()
    kubernetes_service_accounts: tuple[PullAccount, ...] = ()
    node_pods_accessible: bool = False


ALL_PODS = Grants(node_pods_accessible=True)


class PulledRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`credential_mapping`: by the name of the image, without tag and digest. No other name is open."""

    last_updated_time: str
    image_ref: str
    credential_mapping: Mapping[str, Grants] = {}


class _Intent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    image: str


def file_name(key: str) -> str:
    """The file of an image (an intent) or of a reference (a record)."""
    return FILE_PREFIX + hashlib.sha256(key.encode()).hexdigest()


def credential_hash(credential: Credential) -> str:
    """The hash that a kubelet computes: SHA-256 of the credential as JSON, without empty fields."""
    fields = {
        "username": credential.username,
        "password": credential.password,
        "identitytoken": credential.identity_token,
        "registrytoken": credential.registry_token,
    }
    document = msgspec.json.encode({name: value for name, value in fields.items() if value})
    return hashlib.sha256(_escaped(document)).hexdigest()


def _escaped(document: bytes) -> bytes:
    """Go writes these characters of a text as escapes."""
    for character, escape in ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e")):
        document = document.replace(character, escape)
    return document


def encode_intent(image: str) -> bytes:
    return _encoded({"kind": "ImagePullIntent", "apiVersion": API_VERSION, "image": image})


def decode_intent(content: bytes) -> str:
    """The image. Raises RecordError."""
    return _decode(content, "ImagePullIntent", _Intent).image


def encode_record(record: PulledRecord) -> bytes:
    fields: dict[str, Any] = {
        "kind": "ImagePulledRecord",
        "apiVersion": API_VERSION,
        "lastUpdatedTime": record.last_updated_time,
        "imageRef": record.image_ref,
    }
    if record.credential_mapping:
        fields["credentialMapping"] = dict(sorted(record.credential_mapping.items()))
    return _encoded(fields)


def _encoded(fields: dict[str, Any]) -> bytes:
    return _escaped(msgspec.json.encode(fields)) + b"\n"


def decode_record(content: bytes) -> PulledRecord:
    """Decode a record. Raises RecordError."""
    return _decode(content, "ImagePulledRecord", PulledRecord)


_LEARNED = tuple(map(msgspec.json.Decoder, (PulledRecord, _Intent)))
"""msgspec learns these while no other thread decodes one: see `config.documents.codec`."""


def _decode(content: bytes, kind: str, shape: type[T]) -> T:
    """Decode as strictly as a kubelet: an unknown field may restrict who may use the image."""
    try:
        fields = msgspec.json.decode(content, type=dict[str, Any])
        if fields.pop("kind", None) != kind or fields.pop("apiVersion", None) not in READ_VERSIONS:
            raise RecordError(f"it is not an {kind} of {API_VERSION}")
        return msgspec.convert(fields, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise RecordError(f"it cannot be read: {fault or 'it is nested too deeply'}") from None


# --- what is added to a record --------------------------------------------------------------------------------------


def with_grants(
    record: PulledRecord | None, image: str, image_ref: str, grants: Grants | None, time_text: str
) -> PulledRecord | None:
    """The record after `grants` gave access to the image; None: nothing has changed.

    `grants` None: it is unknown how the image was pulled. The record then says only that the node has pulled it.
    """
    name = full_name(image)
    if record is None:
        return PulledRecord(time_text, image_ref, {} if grants is None else {name: grants})
    if grants is None or grants == Grants():
        return None
    known = record.credential_mapping.get(name)
    merged = grants if known is None else _merged(known, grants)
    if merged == known:
        return None
    return PulledRecord(time_text, image_ref, {**record.credential_mapping, name: merged})


def _merged(known: Grants, new: Grants) -> Grants:
    if known.node_pods_accessible or new.node_pods_accessible:
        return known if known.node_pods_accessible else ALL_PODS
    secrets = {each.place: each for each in (*known.kubernetes_secrets, *new.kubernetes_secrets)}
    accounts = {(each.namespace, each.name, each.uid): each for each in known.kubernetes_service_accounts}
    accounts |= {(each.namespace, each.name, each.uid): each for each in new.kubernetes_service_accounts}
    return Grants(
        tuple(secrets[place] for place in sorted(secrets)), tuple(accounts[place] for place in sorted(accounts))
    )
