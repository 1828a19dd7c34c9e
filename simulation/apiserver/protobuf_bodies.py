"""Bodies in protobuf, for the few kinds that kubectl sends in it: configuration, tokens, requests, reviews, options.

Typed clients of Kubernetes write protobuf and read what they get. So it is read here, by a table of the fields of each
message (`generated.proto` of the API), and never written. Other kinds are refused (415), as by a server that does not
know protobuf. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from simulation.apiserver.status import Json, StatusError, bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

# MESSAGE: FIELD=NUMBER[:TYPE]... A type is `text` unless it is said; `*` stands before that of a list, `@` of a map.
_TABLE = """
Unknown: typeMeta=1:TypeMeta raw=2:raw
TypeMeta: apiVersion=1 kind=2
ObjectMeta: name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7:int
ObjectMeta: creationTimestamp=8:time deletionTimestamp=9:time deletionGracePeriodSeconds=10:int labels=11:@text
ObjectMeta: annotations=12:@text ownerReferences=13:*OwnerReference finalizers=14:*text
OwnerReference: kind=1 name=3 uid=4 apiVersion=5 controller=6:bool blockOwnerDeletion=7:bool
ObjectReference: kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
NamedReference: name=1
Binding: metadata=1:ObjectMeta target=2:ObjectReference
ConfigMap: metadata=1:ObjectMeta data=2:@text binaryData=3:@bytes immutable=4:bool
Secret: metadata=1:ObjectMeta data=2:@bytes type=3 stringData=4:@text immutable=5:bool
DeleteOptions: gracePeriodSeconds=1:int preconditions=2:Preconditions orphanDependents=3:bool propagationPolicy=4
DeleteOptions: dryRun=5:*text
Preconditions: uid=1 resourceVersion=2
Eviction: metadata=1:ObjectMeta deleteOptions=2:DeleteOptions
Namespace: metadata=1:ObjectMeta spec=2:NamespaceSpec
NamespaceSpec: finalizers=1:*text
ServiceAccount: metadata=1:ObjectMeta secrets=2:*ObjectReference imagePullSecrets=3:*NamedReference
ServiceAccount: automountServiceAccountToken=4:bool
Service: metadata=1:ObjectMeta spec=2:ServiceSpec
ServiceSpec: ports=1:*ServicePort selector=2:@text clusterIP=3 type=4 externalIPs=5:*text sessionAffinity=7
ServiceSpec: loadBalancerIP=8 loadBalancerSourceRanges=9:*text externalName=10 externalTrafficPolicy=11
ServiceSpec: healthCheckNodePort=12:int publishNotReadyAddresses=13:bool ipFamilyPolicy=17 clusterIPs=18:*text
ServiceSpec: ipFamilies=19:*text internalTrafficPolicy=22
ServicePort: name=1 protocol=2 port=3:int targetPort=4:intOrText nodePort=5:int appProtocol=6
Lease: metadata=1:ObjectMeta spec=2:LeaseSpec
LeaseSpec: holderIdentity=1 leaseDurationSeconds=2:int acquireTime=3:time renewTime=4:time leaseTransitions=5:int
LeaseSpec: strategy=6 preferredHolder=7
Event: metadata=1:ObjectMeta involvedObject=2:ObjectReference reason=3 message=4 source=5:EventSource
Event: firstTimestamp=6:time lastTimestamp=7:time count=8:int type=9 eventTime=10:time series=11:EventSeries action=12
Event: related=13:ObjectReference reportingComponent=14 reportingInstance=15
EventSource: component=1 host=2
EventSeries: count=1:int lastObservedTime=2:time
CertificateSigningRequest: metadata=1:ObjectMeta spec=2:CertificateSpec status=3:CertificateStatus
CertificateSpec: request=1:bytes username=2 uid=3 groups=4:*text usages=5:*text extra=6:@texts signerName=7
CertificateSpec: expirationSeconds=8:int
CertificateStatus: conditions=1:*CertificateCondition certificate=2:bytes
CertificateCondition: type=1 reason=2 message=3 lastUpdateTime=4:time lastTransitionTime=5:time status=6
AccessSpec: resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:PathAttributes user=3 groups=4:*text
AccessSpec: extra=5:@texts uid=6
ResourceAttributes: namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
PathAttributes: path=1 verb=2
SubjectAccessReview: metadata=1:ObjectMeta spec=2:AccessSpec
LocalSubjectAccessReview: metadata=1:ObjectMeta spec=2:AccessSpec
SelfSubjectAccessReview: metadata=1:ObjectMeta spec=2:SelfAccessSpec
SelfAccessSpec: resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:PathAttributes
SelfSubjectReview: metadata=1:ObjectMeta
SelfSubjectRulesReview: metadata=1:ObjectMeta spec=2:RulesSpec
RulesSpec: namespace=1
TokenRequest: metadata=1:ObjectMeta spec=2:TokenRequestSpec
TokenRequestSpec: audiences=1:*text boundObjectRef=3:BoundReference expirationSeconds=4:int
BoundReference: kind=1 apiVersion=2 name=3 uid=4
TokenReview: metadata=1:ObjectMeta spec=2:TokenReviewSpec
TokenReviewSpec: token=1 audiences=2:*text
"""
_MESSAGES: dict[str, dict[int, tuple[str, str]]] = {}
"""Message -> number -> (field, type)."""
for _line in _TABLE.strip().splitlines():
    _name, _, _fields = _line.partition(": ")
    for _field in _fields.split():
        _key, _, _type = _field.partition(":")
        _MESSAGES.setdefault(_name, {})[int(_key.partition("=")[2])] = _key.partition("=")[0], _type or "text"


def read_protobuf(body: bytes) -> Json:
    """The object in a body. Raises StatusError (400, 415)."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin like protobuf of Kubernetes")
    try:
        envelope = _message("Unknown", body[len(_MAGIC) :])
        meta = envelope.get("typeMeta", {})
        kind = meta.get("kind", "")
        if 1 not in _MESSAGES.get(kind, {}) or not (kind == "DeleteOptions" or _MESSAGES[kind][1][0] == "metadata"):
            raise unsupported_media_type(f"{PROTOBUF} for {kind or 'an unknown kind'}", ("application/json",))
        return {**meta, **_message(kind, envelope.get("raw", b""))}
    except StatusError:
        raise
    except (IndexError, ValueError, TypeError, OverflowError, OSError) as error:
        raise bad_request(f"the protobuf in the body of the request cannot be read: {error}") from None


def _message(kind: str, data: bytes | int) -> Json:
    found: Json = {}
    fields = _MESSAGES[kind]
    for number, value in _parts(_bytes(data)):
        name, wanted = fields.get(number, ("", ""))
        if wanted.startswith("*"):
            found.setdefault(name, []).append(_read(wanted[1:], value))
        elif wanted.startswith("@"):
            entry = dict(_parts(_bytes(value)))
            found.setdefault(name, {})[_read("text", entry.get(1, b""))] = _read(wanted[1:], entry.get(2, b""))
        elif name and (item := _read(wanted, value)) != "":  # Go writes empty texts where JSON has none.
            found[name] = item
    return found


def _read(wanted: str, value: bytes | int) -> Any:
    match wanted:
        case "text":
            return _bytes(value).decode()
        case "texts":
            return [_bytes(item).decode() for _, item in _parts(_bytes(value))]
        case "raw":
            return _bytes(value)
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "int":
            return _int(value)
        case "bool":
            return bool(_int(value))
        case "time":
            parts = dict(_parts(_bytes(value)))
            seconds, nanos = _int(parts.get(1, 0)), _int(parts.get(2, 0))
            text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            return None if not parts else f"{text}.{nanos // 1000:06}Z" if nanos else f"{text}Z"
        case "intOrText":
            parts = dict(_parts(_bytes(value)))
            return _bytes(parts.get(3, b"")).decode() if parts.get(1) == 1 else _int(parts.get(2, 0))
        case _:
            return _message(wanted, value)


# --- the wire -------------------------------------------------------------------------------------------------------


def _parts(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """(number, value) of each field: a number, or bytes."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            length, place = _varint(data, place)
        elif not length:
            raise ValueError(f"wire type {wire} is not known")
        if place + length > len(data):
            raise ValueError("it ends too early")
        yield number, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number does not end")


def _bytes(value: bytes | int) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("a number where bytes are expected")
    return value


def _int(value: bytes | int) -> int:
    if not isinstance(value, int):
        raise TypeError("bytes where a number is expected")
    return value - (1 << 64) if value >= 1 << 63 else value
