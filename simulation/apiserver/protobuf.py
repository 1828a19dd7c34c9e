"""Requests in protobuf, as far as people's tools send them: `kubectl create configmap`, `auth can-i`, `create token`.

Answers are JSON, which those tools accept; only what they send has to be understood. Owns the wire format, the envelope
that the API puts around it, and the field numbers of the kinds in question, which never change. What can fail is
reading (`ProtobufError`); a kind that is not in the table is `UnknownKindError`. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

Json = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63
_LAST_SECOND = 253_402_300_799


class ProtobufError(ValueError):
    """The bytes are no such message; the text says why."""


class UnknownKindError(ValueError):
    """The message is of a kind whose fields are not known here; the text is the kind."""


def decode_object(body: bytes) -> Json:
    """The object in the body of a request, with its apiVersion and kind. Raises ProtobufError, UnknownKindError."""
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin as protobuf of the API does")
    envelope = _read(body[len(_MAGIC) :], "Unknown")
    identity = envelope.get("typeMeta", {})
    kind = identity.get("kind", "")
    if kind not in _KINDS:
        raise UnknownKindError(kind)
    return {**identity, **_read(base64.b64decode(envelope.get("raw", "")), kind)}


class _Field(NamedTuple):
    """`type`: text, bytes, bool, int (left out when 0), int? (kept when 0), time, port, or the name of a message."""

    name: str
    type: str
    repeated: bool = False
    mapped: bool = False


def _message(text: str) -> Mapping[int, _Field]:
    """Fields by number, from "1 name, 2 data map bytes, 3 items [] Item, ..."; a field without a type is text."""
    fields = {}
    for line in text.split(","):
        number, name, *words = line.split()
        of = words[-1] if words and words[-1] not in ("[]", "map") else "text"
        fields[int(number)] = _Field(name, of, repeated="[]" in words, mapped="map" in words)
    return fields


_OBJECT = "1 metadata ObjectMeta"
_KINDS = frozenset(
    {
        *("ConfigMap", "Secret", "Namespace", "ServiceAccount", "Service", "Event", "Eviction", "DeleteOptions"),
        *("TokenRequest", "TokenReview", "SelfSubjectReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"),
        *("SubjectAccessReview", "LocalSubjectAccessReview"),
    }
)
_SUBJECT_ACCESS = f"{_OBJECT}, 2 spec SubjectAccessReviewSpec"
_MESSAGES: Mapping[str, Mapping[int, _Field]] = {
    name: _message(text)
    for name, text in {
        "Unknown": "1 typeMeta TypeMeta, 2 raw bytes, 3 contentEncoding, 4 contentType",
        "TypeMeta": "1 apiVersion, 2 kind",
        "ObjectMeta": "1 name, 2 generateName, 3 namespace, 5 uid, 6 resourceVersion, 7 generation int, "
        "8 creationTimestamp time, 9 deletionTimestamp time, 10 deletionGracePeriodSeconds int?, 11 labels map, "
        "12 annotations map, 13 ownerReferences [] OwnerReference, 14 finalizers []",
        "OwnerReference": "1 kind, 3 name, 4 uid, 5 apiVersion, 6 controller bool, 7 blockOwnerDeletion bool",
        "ConfigMap": f"{_OBJECT}, 2 data map, 3 binaryData map bytes, 4 immutable bool",
        "Secret": f"{_OBJECT}, 2 data map bytes, 3 type, 4 stringData map, 5 immutable bool",
        "Namespace": f"{_OBJECT}, 2 spec NamespaceSpec",
        "NamespaceSpec": "1 finalizers []",
        "ServiceAccount": f"{_OBJECT}, 2 secrets [] ObjectReference, 3 imagePullSecrets [] LocalObjectReference, "
        "4 automountServiceAccountToken bool",
        "ObjectReference": "1 kind, 2 namespace, 3 name, 4 uid, 5 apiVersion, 6 resourceVersion, 7 fieldPath",
        "LocalObjectReference": "1 name",
        "Service": f"{_OBJECT}, 2 spec ServiceSpec",
        "ServiceSpec": "1 ports [] ServicePort, 2 selector map, 3 clusterIP, 4 type, 5 externalIPs [], "
        "7 sessionAffinity, 8 loadBalancerIP, 9 loadBalancerSourceRanges [], 10 externalName, "
        "11 externalTrafficPolicy, 12 healthCheckNodePort int, 13 publishNotReadyAddresses bool, 17 ipFamilyPolicy, "
        "18 clusterIPs [], 19 ipFamilies [], 20 allocateLoadBalancerNodePorts bool, 21 loadBalancerClass, "
        "22 internalTrafficPolicy, 23 trafficDistribution",
        "ServicePort": "1 name, 2 protocol, 3 port int, 4 targetPort port, 5 nodePort int, 6 appProtocol",
        "IntOrString": "1 type int, 2 intVal int, 3 strVal",
        "Event": f"{_OBJECT}, 2 involvedObject ObjectReference, 3 reason, 4 message, 5 source EventSource, "
        "6 firstTimestamp time, 7 lastTimestamp time, 8 count int, 9 type, 10 eventTime time, 12 action, "
        "13 related ObjectReference, 14 reportingComponent, 15 reportingInstance",
        "EventSource": "1 component, 2 host",
        "Time": "1 seconds int, 2 nanos int",
        "Eviction": f"{_OBJECT}, 2 deleteOptions DeleteOptions",
        "DeleteOptions": "1 gracePeriodSeconds int?, 2 preconditions Preconditions, 3 orphanDependents bool, "
        "4 propagationPolicy, 5 dryRun []",
        "Preconditions": "1 uid, 2 resourceVersion",
        "TokenRequest": f"{_OBJECT}, 2 spec TokenRequestSpec",
        "TokenRequestSpec": "1 audiences [], 3 boundObjectRef BoundObjectReference, 4 expirationSeconds int?",
        "BoundObjectReference": "1 kind, 2 apiVersion, 3 name, 4 uid",
        "TokenReview": f"{_OBJECT}, 2 spec TokenReviewSpec",
        "TokenReviewSpec": "1 token, 2 audiences []",
        "SelfSubjectReview": _OBJECT,
        "SelfSubjectAccessReview": f"{_OBJECT}, 2 spec SelfSubjectAccessReviewSpec",
        "SelfSubjectAccessReviewSpec": "1 resourceAttributes ResourceAttributes, "
        "2 nonResourceAttributes NonResourceAttributes",
        "ResourceAttributes": "1 namespace, 2 verb, 3 group, 4 version, 5 resource, 6 subresource, 7 name",
        "NonResourceAttributes": "1 path, 2 verb",
        "SelfSubjectRulesReview": f"{_OBJECT}, 2 spec SelfSubjectRulesReviewSpec",
        "SelfSubjectRulesReviewSpec": "1 namespace",
        "SubjectAccessReview": _SUBJECT_ACCESS,
        "LocalSubjectAccessReview": _SUBJECT_ACCESS,
        "SubjectAccessReviewSpec": "1 resourceAttributes ResourceAttributes, "
        "2 nonResourceAttributes NonResourceAttributes, 3 user, 4 groups [], 6 uid",
    }.items()
}
_ENTRY_KEY, _ENTRY_VALUE = 1, 2


def _read(data: bytes, message: str) -> Json:
    """The message as JSON has it. What is empty is left out, and so are fields that are not in the table."""
    fields = _MESSAGES[message]
    result: Json = {}
    for number, value in _parts(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.mapped:
            entry = dict(_parts(_bytes(value)))
            key = _text(entry.get(_ENTRY_KEY, b""))
            result.setdefault(field.name, {})[key] = _value(entry.get(_ENTRY_VALUE, b""), field.type)
        elif field.repeated:
            result.setdefault(field.name, []).append(_value(value, field.type))
        else:
            read = _value(value, field.type)
            if read or field.type in ("bool", "int?"):
                result[field.name] = read
    return result


def _value(value: int | bytes, of: str) -> Any:
    if of in ("int", "int?"):
        number = _number(value)
        return number - 2 * _SIGN if number >= _SIGN else number
    if of == "bool":
        return bool(_number(value))
    data = _bytes(value)
    if of == "text":
        return _text(data)
    if of == "bytes":
        return base64.b64encode(data).decode()
    if of == "time":
        return _time(_read(data, "Time"))
    if of == "port":
        port = _read(data, "IntOrString")
        return port.get("strVal", "") if port.get("type") else port.get("intVal", 0)
    return _read(data, of)


def _time(parts: Json) -> str:
    """RFC3339; empty for the time that nobody has set."""
    seconds = parts.get("seconds", 0)
    if seconds > _LAST_SECOND:
        raise ProtobufError("a time is beyond the year 9999")
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds > 0 else ""


# --- the wire format --------------------------------------------------------------------------------------------------


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field in a message: a number, or the bytes of text, messages and the like."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"there is no wire type {wire}")
        if at + length > len(data):
            raise ProtobufError("the message ends too early")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ProtobufError("a number ends too early or is too long")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where text or a message should")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtobufError("text or a message stands where a number should")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise ProtobufError("text is not UTF-8") from None
