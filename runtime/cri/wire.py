"""Converts structs of `runtime.cri.messages` to the bytes of runtime.v1 and back.

On first use of a message type, the codec generates a pair of functions from the type's descriptor, field by field, and
compiles them. So reading a list of a thousand containers does not look up field names a thousand times.

Encoding raises `ValueError` or `TypeError` for a value the interface cannot carry: a number out of range, a text with
lone surrogates. Decoding raises `ValueError` for other bytes. A newer interface is no failure: the codec drops unknown
fields and keeps unknown enum numbers (`OpenEnum`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Generic, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as WireMessage

from config.caches import KIB, kept
from runtime.cri import messages
from runtime.cri.messages import CriMessage, OpenEnum
from runtime.cri.v1 import api_pb2

M = TypeVar("M", bound=CriMessage)


class Codec(Generic[M]):
    """Both directions for one message type."""

    __slots__ = ("_fill", "_read", "_wire", "message")

    def __init__(self, message: type[M]) -> None:
        self.message = message
        self._wire: type[WireMessage] = getattr(api_pb2, message.__name__)
        self._fill, self._read = _functions(message.__name__)

    def encode(self, message: M) -> bytes:
        """The bytes of `message`."""
        wire = self._wire()
        self._fill(message, wire)
        return wire.SerializeToString()

    def decode(self, data: bytes) -> M:
        """The message in `data`."""
        try:
            wire = self._wire.FromString(data)
        except DecodeError as error:
            raise ValueError(f"not a {self.message.__name__} of runtime.v1: {error}") from error
        message: M = self._read(wire)
        return message


_CODECS: dict[type[CriMessage], Codec[Any]] = {}


def codec(message: type[M]) -> Codec[M]:
    """The codec of a message type; built once."""
    found = _CODECS.get(message)
    if found is None:
        found = _CODECS[message] = Codec(message)
    return found


class _Members(dict[int, OpenEnum]):
    """Members of one enum by number. A number without a name gets a fresh member, which is not kept."""

    def __init__(self, enum: type[OpenEnum]) -> None:
        super().__init__({member.value: member for member in enum})
        self._enum = enum

    def __missing__(self, number: int) -> OpenEnum:
        return self._enum(number)


@cache
def _functions(name: str) -> tuple[Callable[[Any, Any], None], Callable[[Any], Any]]:
    """`fill(struct, wire)` writes into an empty wire message, `read(wire)` makes a struct."""
    struct: type[CriMessage] = getattr(messages, name)
    scope: dict[str, Any] = {"Struct": struct}
    fill = ["def fill(struct, wire):", "    pass"]
    read = ["def read(wire):", "    return Struct("]
    for field in getattr(api_pb2, name).DESCRIPTOR.fields:
        read.append(f"        {field.name}={_reading(field, scope)},")
        fill += [f"    {line}" for line in _filling(field, scope)]
    read.append("    )")
    exec(compile("\n".join([*fill, *read]), f"<codec of {name}>", "exec"), scope)
    return scope["fill"], scope["read"]


@kept(128 * KIB)
def _same(key: str) -> str:
    """One text for equal keys: a thousand containers have the same dozen of labels and annotations.

    Python 3.12 never frees what `sys.intern` was given.
    """
    return key


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _reading(field: FieldDescriptor, scope: dict[str, Any]) -> str:
    """The expression that gives the struct's value of a field of `wire`."""
    value = f"wire.{field.name}"
    if _is_map(field):
        scope["same"] = _same
        return f"{{same(key): {value}[key] for key in {value}}}"
    if field.message_type is not None:
        name = field.message_type.name
        scope[f"read_{name}"] = _functions(name)[1]
        if field.is_repeated:
            return f"tuple([read_{name}(item) for item in {value}])"
        return f'read_{name}({value}) if wire.HasField("{field.name}") else None'
    if field.is_repeated:
        return f"tuple({value})"
    if field.enum_type is not None:
        name = field.enum_type.name
        scope[f"members_{name}"] = _Members(getattr(messages, name))
        return f"members_{name}[{value}]"
    return value


def _filling(field: FieldDescriptor, scope: dict[str, Any]) -> Iterator[str]:
    """The statements that put the struct's value of a field into `wire`.

    They skip defaults, as proto3 does.
    """
    value, target = f"struct.{field.name}", f"wire.{field.name}"
    if _is_map(field):
        yield f"if {value}: {target}.update({value})"
    elif field.message_type is not None:
        name = field.message_type.name
        scope[f"fill_{name}"] = _functions(name)[0]
        if field.is_repeated:
            yield f"for item in {value}: fill_{name}(item, {target}.add())"
        else:
            yield f"if {value} is not None:"
            yield f"    {target}.SetInParent()"
            yield f"    fill_{name}({value}, {target})"
    elif field.is_repeated:
        yield f"if {value}: {target}.extend({value})"
    else:
        yield f"if {value}: {target} = {value}"
