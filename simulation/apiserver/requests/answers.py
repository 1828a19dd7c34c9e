"""The answers: an object, a list, a Status, a watch, or the address of the node that will answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import Query
from simulation.apiserver.status import Json, StatusError
from simulation.apiserver.store.store import Version, Watcher


class ObjectAnswer(msgspec.Struct, frozen=True):
    """One object, in one of its versions."""

    resource: ServedResource
    version: Version
    code: int = 200
    warnings: tuple[str, ...] = ()

    def body(self) -> bytes:
        return self.version.body()


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """A page of a collection as of `revision`."""

    resource: ServedResource
    versions: tuple[Version, ...]
    revision: int
    continue_: str = ""
    remaining: int | None = None
    code: int = 200
    warnings: tuple[str, ...] = ()

    def metadata(self) -> Json:
        """The ListMeta."""
        metadata: Json = {"resourceVersion": str(self.revision)}
        if self.continue_:
            metadata["continue"] = self.continue_
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return metadata

    def body(self) -> bytes:
        resource = self.resource
        head = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[' % (
            resource.list_kind.encode(),
            resource.api_version.encode(),
            msgspec.json.encode(self.metadata()),
        )
        # Lists with a type of their own in Go do not repeat that of their items.
        begin = b'{"kind":"%s","apiVersion":"%s",' % (resource.kind.encode(), resource.api_version.encode())
        text = BytesIO()  # piece by piece: a hundred thousand pods take 300 MB, and a list of texts as much again
        text.write(head)
        for number, version in enumerate(self.versions):
            body = version.body()
            text.write(b"," if number else b"")
            if body.startswith(begin) and not resource.is_defined:
                text.write(b"{")
                text.write(memoryview(body)[len(begin) :])
            else:
                text.write(body)
        text.write(b"]}")
        return text.getvalue()


class JsonAnswer(msgspec.Struct, frozen=True):
    """A Status, a review, discovery: JSON that is no stored object.

    A refusal has a `code` of 400 and above.
    """

    value: Any
    code: int = 200
    warnings: tuple[str, ...] = ()
    retry_after_s: int | None = None

    def body(self) -> bytes:
        return msgspec.json.encode(self.value)


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """Plain text."""

    text: str
    code: int = 200

    def body(self) -> bytes:
        return self.text.encode()


@dataclass(frozen=True, slots=True)
class WatchAnswer:
    """A watch that has begun: call `watcher.start`. The server ends it after `timeout_ns`."""

    resource: ServedResource
    watcher: Watcher
    shape: Callable[[Version], Version]
    """How a version of the stored object looks in this resource."""
    code: int = 200


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The agent of `node` answers, at this path and query.

    Its Node object says where it listens.
    """

    node: str
    host: str
    port: int
    path: str
    query: Query
    code: int = 200


Body = ObjectAnswer | ListAnswer | JsonAnswer | TextAnswer
"""Answers that are whole."""
Answer = Body | WatchAnswer | NodeAnswer


def line_of(kind: str, version: Version) -> bytes:
    """One line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), version.body())


def error_of(answer: Answer) -> StatusError:
    """The error in the answer of a refusal."""
    value: Json = answer.value if isinstance(answer, JsonAnswer) else {}
    return StatusError(answer.code, value.get("reason", ""), value.get("message", ""), value.get("details"))


def refused(error: StatusError, warnings: Sequence[str] = ()) -> JsonAnswer:
    """The answer that a refusal is."""
    return JsonAnswer(error.as_object(), error.code, retry_after_s=error.retry_after_s, warnings=tuple(warnings))
