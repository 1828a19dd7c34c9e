"""The body of a watch: lines of JSON, cut anywhere by the network, each of them one event. Pure.

Owns the putting together of lines, their largest size, and what an event becomes. An ERROR event becomes its
`ApiError`, as does a line that cannot be read. Refuses to know connections.
"""

from __future__ import annotations

from typing import Any

import msgspec

from config.api.large_objects import forget
from config.api.resources import read_object
from config.documents.codec import DocumentError
from runtime.api.answers import not_understood, stream_error
from runtime.api.calls import K, WatchCall, WatchEvent
from runtime.api.errors import UNREACHABLE, ApiError

LINE_BYTES_AT_MOST = 16 * 1024 * 1024
"""An object has 1.5 MiB at most in etcd; JSON is larger than what is stored, but not ten times."""
_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


class LineTooLongError(ValueError):
    """A line exceeds the limit, so this is no watch."""


class LineSplitter:
    """Chunks in, whole lines out.

    A last line without an end is in `rest`: the stream was cut in the midst of it.
    """

    def __init__(self, limit_bytes: int = LINE_BYTES_AT_MOST) -> None:
        self._limit_bytes = limit_bytes
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends; empty ones are left out."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for end in ended:
            if self._begun:
                end = bytes(self._begun + end)
                self._begun.clear()
            if len(end) > self._limit_bytes:
                raise LineTooLongError(f"a line is longer than {self._limit_bytes} bytes")
            if end.strip():
                lines.append(end)
        self._begun += rest
        if len(self._begun) > self._limit_bytes:
            raise LineTooLongError(f"a line is longer than {self._limit_bytes} bytes")
        return lines

    @property
    def rest(self) -> bytes:
        """The bytes after the last end of a line."""
        return bytes(self._begun)


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Marked(msgspec.Struct):
    metadata: _Meta


_EVENT = msgspec.json.Decoder(_RawEvent)
_BOOKMARK = msgspec.json.Decoder(_Marked)


def read_event(line: bytes, call: WatchCall[K]) -> WatchEvent[K]:
    """Parse the event in a line. Raises ApiError: that of an ERROR event, or NotUnderstood."""
    try:
        event = _EVENT.decode(line)
        if event.type in _CHANGES:
            changed = read_object(bytes(event.object), call.kind)
            metadata: Any = getattr(changed, "metadata", None)
            if event.type == "DELETED" and metadata is not None:
                forget(metadata.uid)
            return WatchEvent(event.type, changed, metadata.resource_version if metadata is not None else "")
        if event.type == "BOOKMARK":
            return WatchEvent(event.type, None, _BOOKMARK.decode(event.object).metadata.resource_version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DocumentError) as fault:
        raise not_understood(200, fault, call.verb) from None
    if event.type == "ERROR":
        raise stream_error(bytes(event.object), call.verb)
    raise not_understood(200, f"there are no events of the type {event.type!r}", call.verb)


def cut_short(splitter: LineSplitter, call: WatchCall[Any]) -> ApiError | None:
    """The error for the end of the body; None if it ended between two lines."""
    rest = splitter.rest.strip()
    if not rest:
        return None
    return ApiError(0, UNREACHABLE, f"the watch was cut in the midst of an event, {len(rest)} bytes into it", call.verb)
