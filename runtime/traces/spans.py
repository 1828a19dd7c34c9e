"""Tracing for clients and actors: begin a span, and pass on the parent of a call.

A `TraceContext` names a span. It is a value, so a message may carry it. Within one coroutine it need not be passed on.
`within` runs each step of the coroutine under it, on any thread, and clients ask `current`. Without a tracer this
module is not used.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
Attributes: TypeAlias = Mapping[str, str | int]
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


class TraceContext(msgspec.Struct, frozen=True):
    """The name of a span, as W3C Trace Context has it. `sampled`: it goes to the collector."""

    trace_id: int
    span_id: int
    sampled: bool

    def header(self) -> tuple[str, str]:
        """The header of HTTP, or metadata of gRPC, that tells a server whose child the call is."""
        return "traceparent", f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.sampled):02x}"

    @classmethod
    def of_header(cls, value: str) -> TraceContext | None:
        """The span that a client names in the header `traceparent`; None if it names none."""
        parts = _HEADER.fullmatch(value.strip())
        if parts is None:
            return None
        version, trace_id, span_id, flags, more = parts.groups()
        if version == "ff" or (version == "00" and more):
            return None
        trace, span = int(trace_id, 16), int(span_id, 16)
        return cls(trace, span, bool(int(flags, 16) & 1)) if trace and span else None


class SpanKind(enum.Enum):
    """The side of a call on which the work is done."""

    OWN = enum.auto()
    CALL = enum.auto()
    """A server does the work."""
    ANSWER = enum.auto()
    """A client asked for it."""


class Span(Protocol):
    """Work that has begun. May be used on any thread. Secrets have no place in it."""

    @property
    def context(self) -> TraceContext: ...

    def put(self, name: str, value: str | int) -> None:
        """Set an attribute."""

    def end(self) -> None:
        """End the span. Later changes are lost."""

    def fail(self, text: str = "") -> None:
        """The work has failed, for the reason `text`; ends the span."""


class Tracer(Protocol):
    """Begins spans. Never waits, and never fails."""

    def begin(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: TraceContext | None = None,
        kind: SpanKind = SpanKind.OWN,
        link: TraceContext | None = None,
    ) -> Span:
        """A span of the trace of `parent`; without one a new trace begins. `link`: a span of another trace."""


_CURRENT: ContextVar[TraceContext | None] = ContextVar("trace", default=None)


def current() -> TraceContext | None:
    """The span that the caller works for."""
    return _CURRENT.get()


def under(context: TraceContext | None, work: Callable[[], T]) -> T:
    """The result of `work`, which works for that span. Coroutines have `within`."""
    token = _CURRENT.set(context)
    try:
        return work()
    finally:
        _CURRENT.reset(token)


def below(context: TraceContext | None, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """Run the coroutine, under that span if there is one; return its result."""
    return coroutine if context is None else within(context, coroutine)


class within(Generic[T]):  # noqa: N801  # used as a function: `await within(context, coroutine)`
    """Run the coroutine, with each step under that span; return its result."""

    def __init__(self, context: TraceContext, coroutine: Coroutine[Any, Any, T]) -> None:
        self._context = context
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        variables, coroutine = copy_context(), self._coroutine
        variables.run(_CURRENT.set, self._context)
        step = partial(coroutine.send, None)
        while True:
            try:
                waits_for = variables.run(step)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                value = yield waits_for
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as failure:
                step = partial(coroutine.throw, failure)
            else:
                step = partial(coroutine.send, value)
