"""Bodies in protobuf, for the few kinds that kubectl sends in it.

They are configuration, tokens, requests, reviews and options.

Typed clients of Kubernetes write protobuf and read what they get. So it is read here, as `bodies.proto` describes it,
and never written. Other kinds are refused (415), as by a server that does not know protobuf. Pure.
"""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from simulation.apiserver.builtin.protobuf import knows, read_message
from simulation.apiserver.builtin.schemas import published_name
from simulation.apiserver.protobuf_times import time_text
from simulation.apiserver.status import Json, bad_request, unsupported_media_type
from simulation.apiserver.v1 import PROTOBUF, bodies_pb2

_MAGIC = b"k8s\x00"
_KINDS = {
    name: GetMessageClass(descriptor)
    for name, descriptor in bodies_pb2.DESCRIPTOR.message_types_by_name.items()
    if name == "DeleteOptions" or "metadata" in descriptor.fields_by_name
}


def read_protobuf(body: bytes) -> Json:
    """The object in a body. Raises StatusError (400, 415)."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin like protobuf of Kubernetes")
    try:
        envelope = bodies_pb2.Unknown.FromString(body[len(_MAGIC) :])
        kind = envelope.typeMeta.kind
        published = published_name(envelope.typeMeta.apiVersion, kind)
        if knows(published):
            return {**_fields(envelope.typeMeta), **read_message(published, envelope.raw)}
        if kind not in _KINDS:
            raise unsupported_media_type(f"{PROTOBUF} for {kind or 'an unknown kind'}", ("application/json",))
        return {**_fields(envelope.typeMeta), **_fields(_KINDS[kind].FromString(envelope.raw))}
    except (DecodeError, ValueError, OverflowError, OSError) as error:
        raise bad_request(f"the protobuf in the body of the request cannot be read: {error}") from None


def _fields(message: Message) -> Json:
    known, unread = message.DESCRIPTOR.fields_by_number, UnknownFieldSet(message)
    for number in (unread[at].field_number for at in range(len(unread))):
        if number in known:
            raise ValueError(f"{known[number].full_name} has another type on the wire")
    found: Json = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found[field.name] = {key: _json(item) for key, item in value.items()}
        elif field.is_repeated:
            found[field.name] = [_json(item) for item in value]
        elif value != "":  # Go writes empty texts where JSON has none.
            found[field.name] = _json(value)
    return found


def _json(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, bodies_pb2.Texts):
        return list(value.items)
    if isinstance(value, bodies_pb2.IntOrString):
        return value.strVal if value.type == 1 else value.intVal
    if isinstance(value, bodies_pb2.Time):
        return time_text(value.seconds, value.nanos) if value.ListFields() else None
    return _fields(value) if isinstance(value, Message) else value
