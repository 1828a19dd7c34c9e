"""Bodies in protobuf, which typed clients write: kubectl, and programs with client-go.

They are read here, and never written.

`messages` has their types. Any other kind is refused (415), as by a server that does not know protobuf. The message
classes are made when the first such body comes. Pure.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from simulation.apiserver.schemas.messages import ANY_JSON, SCHEMA, SCHEMA_OR, message_kinds, messages
from simulation.apiserver.schemas.published import INT_OR_TEXT, META, QUANTITY
from simulation.apiserver.status import Json, bad_request, unsupported_media_type

_MAGIC = b"k8s\x00"
_SCALARS = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
}
_ENVELOPE = "io.k8s.apimachinery.pkg.runtime.Unknown"
_OPTIONS = f"{META}.DeleteOptions"
_TIMES = (f"{META}.Time", f"{META}.MicroTime")


def read_protobuf(body: bytes) -> Json:
    """The object in a body. Raises StatusError (400, 415)."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin like protobuf of Kubernetes")
    try:
        envelope = _read(_ENVELOPE, body[len(_MAGIC) :])
        identity, raw = envelope.get("typeMeta", {}), base64.b64decode(envelope.get("raw", ""))
        kind = identity.get("kind", "")
        # Every API group has DeleteOptions, all with the same message.
        name = _OPTIONS if kind == "DeleteOptions" else message_kinds().get(f"{identity.get('apiVersion')}/{kind}")
        if name is None:
            raise unsupported_media_type(
                ("application/json", "application/yaml"), f"protobuf for {kind or 'an unknown kind'}"
            )
        return {**identity, **_read(name, raw)}
    except (DecodeError, ValueError, OverflowError, OSError) as error:
        raise bad_request(f"the protobuf in the body of the request cannot be read: {error}") from None


def knows(api_version: str, kind: str) -> bool:
    """Whether the kind may be sent in protobuf."""
    return f"{api_version}/{kind}" in message_kinds()


def time_text(seconds: int, nanos: int) -> str:
    """RFC3339, with microseconds where there are some. Raises OverflowError, OSError, ValueError."""
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06}Z" if nanos else f"{text}Z"


def _read(name: str, data: bytes) -> Any:
    """A message of that type as JSON data. Raises DecodeError, ValueError."""
    message = GetMessageClass(_pool().FindMessageTypeByName(_name(name))).FromString(data)
    try:
        return _value(name, message)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


@cache
def _pool() -> DescriptorPool:
    file = FileDescriptorProto(name="kinds.proto", syntax="proto2")
    for name, fields in messages().items():
        message = file.message_type.add(name=_name(name))
        for number, kind in fields.values():
            _add(message, f"field{number}", number, kind)
    pool = DescriptorPool()
    pool.Add(file)
    return pool


@cache
def _fields(name: str) -> dict[int, tuple[str, str]]:
    """Number -> name in JSON and type of each field of a message."""
    return {number: (field, kind) for field, (number, kind) in messages()[name].items()}


def _name(name: str) -> str:
    return name.replace(".", "_").replace("-", "_")


def _add(message: DescriptorProto, field: str, number: int, kind: str) -> None:
    repeats = kind[:1] in ("[", "{")
    label = FieldDescriptorProto.LABEL_REPEATED if repeats else FieldDescriptorProto.LABEL_OPTIONAL
    made = message.field.add(name=field, number=number, label=label)
    if kind.startswith("{}"):
        entry = message.nested_type.add(name=f"{field.capitalize()}Entry")
        entry.options.map_entry = True
        _add(entry, "key", 1, "string")
        _add(entry, "value", 2, kind[2:])
        made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{message.name}.{entry.name}"
        return
    alone = kind.lstrip("[]+")
    if alone in _SCALARS:
        made.type = _SCALARS[alone]
    else:
        made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_name(alone)}"


def _value(name: str, value: Any) -> Any:
    """A value of that type as JSON has it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if not isinstance(value, Message):
        return value
    said: Any = value
    if name in _TIMES:
        return time_text(said.field1, said.field2) if value.ListFields() else None
    if name == INT_OR_TEXT:
        return said.field3 if said.field1 == 1 else said.field2
    if name.endswith(".ExtraValue"):
        return list(said.field1)
    if name == QUANTITY:
        return said.field1
    if name in ANY_JSON:
        return msgspec.json.decode(said.field1 or b"{}")
    found: dict[str, Any] = {}
    fields, unread = _fields(name), UnknownFieldSet(value)
    for number in (unread[at].field_number for at in range(len(unread))):
        if number in fields:
            raise ValueError(f"{name}.{fields[number][0]} has another type on the wire")
    for descriptor, item in value.ListFields():
        field, kind = fields[descriptor.number]
        if kind.startswith("[]"):
            found[field] = [_value(kind[2:], one) for one in item]
        elif kind.startswith("{}"):
            found[field] = {key: _value(kind[2:], one) for key, one in item.items()}
        elif kind.startswith("+"):
            found |= _value(kind[1:], item)
        elif kind == "double":
            found[field] = int(item) if item.is_integer() else item
        elif item != "" and not (item is False and name == SCHEMA):  # Go writes them where JSON has none.
            found[field] = _value(kind, item)
    if name in SCHEMA_OR:
        return found.get("schema", found.get(SCHEMA_OR[name]))
    return found
