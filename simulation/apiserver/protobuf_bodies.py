"""Bodies in protobuf, for the few kinds that kubectl sends in it: configuration, tokens, requests, reviews, options.

Typed clients of Kubernetes write protobuf and read what they get. So it is read here, by a table of fields for each
message (`generated.proto` of the API), and never written. Kinds that are not in the table are refused (415), as by a
server that does not know protobuf. What can fail is a body that is none (400). Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from simulation.apiserver.status import Json, StatusError, bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

Value = bytes | int
Reader = Callable[[Value], Any]
Fields = Mapping[int, tuple[str, Reader, bool]]
"""Number -> name in JSON, how a value is read, whether there may be several (a list, or a map)."""


def read_protobuf(body: bytes) -> Json:
    """The object in a body. Raises StatusError (400, 415)."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin like protobuf of Kubernetes")
    try:
        envelope = _message(_ENVELOPE)(body[len(_MAGIC) :])
        meta = envelope.get("typeMeta", {})
        fields = _KINDS.get(meta.get("kind", ""))
        if fields is None:
            raise unsupported_media_type(f"{PROTOBUF} for {meta.get('kind', 'an unknown kind')}", ("application/json",))
        return {**meta, **_message(fields)(envelope.get("raw", b""))}
    except StatusError:
        raise
    except (IndexError, ValueError, TypeError, OverflowError, OSError) as error:
        raise bad_request(f"the protobuf in the body of the request cannot be read: {error}") from None


# --- the wire -------------------------------------------------------------------------------------------------------


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number does not end")


def _parts(data: bytes) -> Iterator[tuple[int, Value]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        if wire == 2:
            length, place = _varint(data, place)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} is not known")
        if place + length > len(data):
            raise ValueError("it ends too early")
        yield number, data[place : place + length]
        place += length


def _message(fields: Fields) -> Callable[[Value], Json]:
    def read(data: Value) -> Json:
        found: Json = {}
        for number, value in _parts(_as_bytes(data)):
            if number not in fields:
                continue
            name, reader, several = fields[number]
            item = reader(value)
            if item == "" and not several:
                continue  # Go writes empty texts where JSON has none.
            if not several:
                found[name] = item
            elif isinstance(item, _Entry):
                found.setdefault(name, {})[item.key] = item.value
            else:
                found.setdefault(name, []).append(item)
        return found

    return read


def _as_bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("a number where bytes are expected")
    return value


def _as_int(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError("bytes where a number is expected")
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: Value) -> str:
    return _as_bytes(value).decode()


def _raw(value: Value) -> bytes:
    return _as_bytes(value)


def _base64(value: Value) -> str:
    return base64.b64encode(_as_bytes(value)).decode()


def _boolean(value: Value) -> bool:
    return bool(_as_int(value))


class _Entry:
    """One entry of a map."""

    def __init__(self, key: str, value: Any) -> None:
        self.key = key
        self.value = value


def _map_of(reader: Reader) -> Reader:
    def read(value: Value) -> _Entry:
        parts = dict(_parts(_as_bytes(value)))
        return _Entry(_text(parts.get(1, b"")), reader(parts.get(2, b"")))

    return read


def _time(value: Value) -> str | None:
    parts = dict(_parts(_as_bytes(value)))
    if not parts:
        return None
    seconds, nanos = _as_int(parts.get(1, 0)), _as_int(parts.get(2, 0))
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06}Z" if nanos else f"{text}Z"


def _integer_or_text(value: Value) -> int | str:
    parts = dict(_parts(_as_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1) == 1 else _as_int(parts.get(2, 0))


# --- the messages ---------------------------------------------------------------------------------------------------


def _fields(reader: Reader, /, **numbered: int) -> Fields:
    """One reader for all names, given with their numbers."""
    return {number: (name, reader, False) for name, number in numbered.items()}


def _one(name: str, reader: Reader) -> tuple[str, Reader, bool]:
    return (name, reader, False)


def _many(name: str, reader: Reader) -> tuple[str, Reader, bool]:
    return (name, reader, True)


_ENVELOPE: Fields = {
    1: _one("typeMeta", _message(_fields(_text, apiVersion=1, kind=2))),
    2: _one("raw", _raw),
}
_OWNER: Fields = {
    **_fields(_text, kind=1, name=3, uid=4, apiVersion=5),
    **_fields(_boolean, controller=6, blockOwnerDeletion=7),
}
_METADATA = _message(
    {
        **_fields(_text, name=1, generateName=2, namespace=3, selfLink=4, uid=5, resourceVersion=6),
        **_fields(_as_int, generation=7, deletionGracePeriodSeconds=10),
        **_fields(_time, creationTimestamp=8, deletionTimestamp=9),
        11: _many("labels", _map_of(_text)),
        12: _many("annotations", _map_of(_text)),
        13: _many("ownerReferences", _message(_OWNER)),
        14: _many("finalizers", _text),
    }
)
_REFERENCE = _message(_fields(_text, kind=1, namespace=2, name=3, uid=4, apiVersion=5, resourceVersion=6, fieldPath=7))
_DELETE_OPTIONS: Fields = {
    1: _one("gracePeriodSeconds", _as_int),
    2: _one("preconditions", _message(_fields(_text, uid=1, resourceVersion=2))),
    3: _one("orphanDependents", _boolean),
    4: _one("propagationPolicy", _text),
    5: _many("dryRun", _text),
}
_SERVICE_PORT = _message(
    {
        **_fields(_text, name=1, protocol=2, appProtocol=6),
        **_fields(_as_int, port=3, nodePort=5),
        4: _one("targetPort", _integer_or_text),
    }
)
_SERVICE_SPEC = _message(
    {
        1: _many("ports", _SERVICE_PORT),
        2: _many("selector", _map_of(_text)),
        **_fields(_text, clusterIP=3, type=4, sessionAffinity=7, loadBalancerIP=8, externalName=10),
        5: _many("externalIPs", _text),
        9: _many("loadBalancerSourceRanges", _text),
        **_fields(_text, externalTrafficPolicy=11, ipFamilyPolicy=17, internalTrafficPolicy=22),
        12: _one("healthCheckNodePort", _as_int),
        13: _one("publishNotReadyAddresses", _boolean),
        18: _many("clusterIPs", _text),
        19: _many("ipFamilies", _text),
    }
)
_RESOURCE_ATTRIBUTES = _message(
    _fields(_text, namespace=1, verb=2, group=3, version=4, resource=5, subresource=6, name=7)
)
_ACCESS: Fields = {
    1: _one("resourceAttributes", _RESOURCE_ATTRIBUTES),
    2: _one("nonResourceAttributes", _message(_fields(_text, path=1, verb=2))),
}
_EXTRA = _many("extra", _map_of(lambda value: [_text(item) for _, item in _parts(_as_bytes(value))]))
_SUBJECT: Fields = {
    **_ACCESS,
    3: _one("user", _text),
    4: _many("groups", _text),
    5: _EXTRA,
    6: _one("uid", _text),
}
_TOKEN_SPEC: Fields = {
    1: _many("audiences", _text),
    3: _one("boundObjectRef", _message(_fields(_text, kind=1, apiVersion=2, name=3, uid=4))),
    4: _one("expirationSeconds", _as_int),
}
_LEASE_SPEC: Fields = {
    **_fields(_text, holderIdentity=1, strategy=6, preferredHolder=7),
    **_fields(_as_int, leaseDurationSeconds=2, leaseTransitions=5),
    **_fields(_time, acquireTime=3, renewTime=4),
}
_EVENT: Fields = {
    2: _one("involvedObject", _REFERENCE),
    **_fields(_text, reason=3, message=4, type=9, action=12, reportingComponent=14, reportingInstance=15),
    5: _one("source", _message(_fields(_text, component=1, host=2))),
    **_fields(_time, firstTimestamp=6, lastTimestamp=7, eventTime=10),
    8: _one("count", _as_int),
    11: _one("series", _message({1: _one("count", _as_int), 2: _one("lastObservedTime", _time)})),
    13: _one("related", _REFERENCE),
}


_CERTIFICATE_REQUEST: Fields = {
    **_fields(_text, username=2, uid=3, signerName=7),
    1: _one("request", _base64),
    4: _many("groups", _text),
    5: _many("usages", _text),
    6: _EXTRA,
    8: _one("expirationSeconds", _as_int),
}
_CERTIFICATE_CONDITION: Fields = {
    **_fields(_text, type=1, reason=2, message=3, status=6),
    **_fields(_time, lastUpdateTime=4, lastTransitionTime=5),
}
_CERTIFICATE_STATUS: Fields = {
    1: _many("conditions", _message(_CERTIFICATE_CONDITION)),
    2: _one("certificate", _base64),
}


def _kind(spec: Fields | None = None) -> Fields:
    fields: dict[int, tuple[str, Reader, bool]] = {1: _one("metadata", _METADATA)}
    if spec is not None:
        fields[2] = _one("spec", _message(spec))
    return fields


_KINDS: Mapping[str, Fields] = {
    "Binding": {1: _one("metadata", _METADATA), 2: _one("target", _REFERENCE)},
    "CertificateSigningRequest": {**_kind(_CERTIFICATE_REQUEST), 3: _one("status", _message(_CERTIFICATE_STATUS))},
    "ConfigMap": {
        1: _one("metadata", _METADATA),
        2: _many("data", _map_of(_text)),
        3: _many("binaryData", _map_of(_base64)),
        4: _one("immutable", _boolean),
    },
    "DeleteOptions": _DELETE_OPTIONS,
    "Event": {1: _one("metadata", _METADATA), **_EVENT},
    "Eviction": {1: _one("metadata", _METADATA), 2: _one("deleteOptions", _message(_DELETE_OPTIONS))},
    "Lease": _kind(_LEASE_SPEC),
    "LocalSubjectAccessReview": _kind(_SUBJECT),
    "Namespace": _kind({1: _many("finalizers", _text)}),
    "Secret": {
        1: _one("metadata", _METADATA),
        2: _many("data", _map_of(_base64)),
        3: _one("type", _text),
        4: _many("stringData", _map_of(_text)),
        5: _one("immutable", _boolean),
    },
    "SelfSubjectAccessReview": _kind(_ACCESS),
    "SelfSubjectReview": _kind(),
    "SelfSubjectRulesReview": _kind(_fields(_text, namespace=1)),
    "Service": {1: _one("metadata", _METADATA), 2: _one("spec", _SERVICE_SPEC)},
    "ServiceAccount": {
        1: _one("metadata", _METADATA),
        2: _many("secrets", _REFERENCE),
        3: _many("imagePullSecrets", _message(_fields(_text, name=1))),
        4: _one("automountServiceAccountToken", _boolean),
    },
    "SubjectAccessReview": _kind(_SUBJECT),
    "TokenRequest": _kind(_TOKEN_SPEC),
    "TokenReview": _kind({1: _one("token", _text), 2: _many("audiences", _text)}),
}
