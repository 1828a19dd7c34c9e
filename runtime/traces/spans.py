"""What clients and actors know of tracing: begin a span, pass on whose child a call is.

A `TraceContext` names a span. It is a value, so a message may carry it. Within one coroutine it need not be passed on:
`within` runs each step of the coroutine under it, on whatever thread that is, and clients ask `current`. Without a
tracer nobody calls anything of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
Attributes: TypeAlias = Mapping[str, str | int]


class TraceContext(msgspec.Struct, frozen=True):
    """The name of a span, as W3C Trace Context has it. `sampled`: it goes to the collector."""

    trace_id: int
    span_id: int
    sampled: bool

    def header(self) -> tuple[str, str]:
        """The header of HTTP, or metadata of gRPC, that tells a server whose child the call is."""
        return "traceparent", f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.sampled):02x}"


class Span(Protocol):
    """Work that has begun. May be used on any thread. Secrets have no place in it."""

    @property
    def context(self) -> TraceContext: ...

    def put(self, name: str, value: str | int) -> None:
        """Set an attribute."""

    def end(self) -> None:
        """The work has ended. What comes later is lost."""

    def fail(self, text: str = "") -> None:
        """The work has failed, for the reason `text`; ends the span."""


class Tracer(Protocol):
    """Begins spans. Never waits, and never fails."""

    def begin(
        self, name: str, attributes: Attributes, *, parent: TraceContext | None = None, is_call: bool = False
    ) -> Span:
        """A span of the trace of `parent`; without one a new trace begins. `is_call`: a server does the work."""


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


class within(Generic[T]):  # noqa: N801  # used as a function: `await within(context, coroutine)`
    """The result of the coroutine, each step of which works for that span."""

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
