"""Protobuf bodies of the kinds that are stored with their published schema.

Typed clients, such as `kubectl create`, write them.

`messages.json` has numbers and types of fields: `[]T` is a list, `{}T` a map; the fields of a message marked `+`
stand in JSON beside those around it. The message classes are made when the first such body comes. Pure.
"""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from simulation.apiserver.builtin.schemas import INT_OR_TEXT, META, QUANTITY
from simulation.apiserver.protobuf_times import time_text

Types = dict[str, dict[str, tuple[int, str]]]
_SCALARS = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
}
_TIMES = (f"{META}.Time", f"{META}.MicroTime")
_JSON_IN_BYTES = (f"{META}.FieldsV1", "io.k8s.apimachinery.pkg.runtime.RawExtension")


def knows(name: str) -> bool:
    """Whether the type of that name has a message."""
    return name in _types()


def read_message(name: str, data: bytes) -> Any:
    """What a message of that type says, as JSON has it. Raises DecodeError, ValueError."""
    message = GetMessageClass(_pool().FindMessageTypeByName(_name(name))).FromString(data)
    try:
        return _value(name, message)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


@cache
def _types() -> Types:
    return msgspec.json.decode(Path(__file__).with_name("messages.json").read_bytes(), type=Types)


@cache
def _pool() -> DescriptorPool:
    file = FileDescriptorProto(name="kinds.proto", syntax="proto2")
    for name, fields in _types().items():
        message = file.message_type.add(name=_name(name))
        for field, (number, kind) in fields.items():
            _add(message, field, number, kind)
    pool = DescriptorPool()
    pool.Add(file)
    return pool


def _name(name: str) -> str:
    return name.replace(".", "_")


def _add(message: DescriptorProto, field: str, number: int, kind: str) -> None:
    repeats = kind[:1] in ("[", "{")
    label = FieldDescriptorProto.LABEL_REPEATED if repeats else FieldDescriptorProto.LABEL_OPTIONAL
    made = message.field.add(name=field, number=number, label=label)
    if kind.startswith("{}"):
        entry = message.nested_type.add(name=f"{field}Entry")
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
        return time_text(said.seconds, said.nanos) if value.ListFields() else None
    if name == INT_OR_TEXT:
        return said.strVal if said.type == 1 else said.intVal
    if name == QUANTITY:
        return said.string
    if name in _JSON_IN_BYTES:
        return msgspec.json.decode(said.raw or b"{}")
    found: dict[str, Any] = {}
    types = _types()[name]
    for descriptor, item in value.ListFields():
        field, kind = descriptor.name, types[descriptor.name][1]
        if kind.startswith("[]"):
            found[field] = [_value(kind[2:], one) for one in item]
        elif kind.startswith("{}"):
            found[field] = {key: _value(kind[2:], one) for key, one in item.items()}
        elif kind.startswith("+"):
            found |= _value(kind[1:], item)
        elif item != "":  # Go writes empty texts where JSON has none.
            found[field] = _value(kind, item)
    return found
