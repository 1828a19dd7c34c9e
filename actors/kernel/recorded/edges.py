"""What stands between actors and their capabilities while they are recorded.

`Edges.of` wraps a capability. A call in a step is noted with its result; a call from elsewhere (the work of a lane)
passes through. What a call returns is one of three things. Data is noted as it is. An effect (it has callbacks) gets a
number, and its end comes as a step. Anything else is a handle: an object with calls of its own, such as a watch; it is
wrapped, too. Functions among the arguments are called back in steps of their own; their callers get None.

`close` does what the end of a process would do: it closes the handles that are open, and cancels what has not ended.
"""

from __future__ import annotations

import datetime
import enum
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress
from dataclasses import is_dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from actors.kernel.dispatcher import Lane, LaneReport
from actors.kernel.promise import Pending, Promise
from actors.kernel.recorded.entries import Called, CalledBack, EffectDone, Ended, EndedAtOnce, Entry
from actors.kernel.ref import ActorRef
from actors.kernel.turns import Rank

T = TypeVar("T")

_DATA = (
    str,
    bytes,
    int,
    float,
    type(None),
    enum.Enum,
    msgspec.Struct,
    Mapping,
    Sequence,
    Set,
    BaseException,
    datetime.datetime,
    datetime.timedelta,
    ActorRef,
)


def is_data(value: Any) -> bool:
    """Whether a value of a capability is data; otherwise it is an effect or a handle."""
    return isinstance(value, _DATA) or (is_dataclass(value) and _is_frozen(type(value)))


def _is_frozen(kind: Any) -> bool:
    frozen: bool = kind.__dataclass_params__.frozen
    return frozen


def is_effect(value: Any) -> bool:
    """Whether the value is a result that comes later."""
    return hasattr(value, "add_done_callback")


class Sited:
    """What stands in the place of a capability. `site`: its name in the record."""

    site: str


def is_function(argument: Any) -> bool:
    """Whether an argument is a function that its capability calls back."""
    return callable(argument) and not isinstance(argument, (type, Sited)) and not is_data(argument)


class Steps(Protocol):
    """The steps of a recorded system, as its edges know them."""

    def in_step(self) -> bool:
        """Whether this thread runs a step: what it does is recorded."""

    def outside(self) -> AbstractContextManager[None]:
        """What this thread does meanwhile is no part of its step."""

    def come(self, step: Callable[[int], Entry | None], then: Callable[[], object]) -> None:
        """Something has come from outside: note it and do `then`, in a step of its own."""


class Edges:
    """The edges of one recorded system."""

    def __init__(self, dispatcher: Steps, note: Callable[[Entry], object]) -> None:
        self.dispatcher = dispatcher
        self.note = note
        self._effects = 0
        self._callbacks = 0
        self._handles = itertools.count(1)
        self._open: dict[str, Edge] = {}
        self._under_way: dict[int, RecordedEffect] = {}

    def of(self, capability: Any, site: str) -> Any:
        """The capability as actors are to have it. `site` names it in the record."""
        return Edge(self, site, capability)

    def close(self) -> None:
        """The actors have ended, and their process goes on.

        Failures are left out: nobody is there to hear of them.
        """
        for handle in list(self._open.values()):
            with suppress(Exception):
                handle.real.close()
        for effect in list(self._under_way.values()):
            with suppress(Exception):
                effect.real.cancel()
        self._open.clear()
        self._under_way.clear()

    # --- calls in a step --------------------------------------------------------------------------------------------

    def call(self, site: str, fn: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call of an actor and note it."""
        first = self._callbacks + 1
        given = tuple(self._given(each) for each in arguments)
        given_named = {name: self._given(each) for name, each in named.items()}
        try:
            with self.dispatcher.outside():
                value = fn(*given, **given_named)
        except Exception as failure:
            self.note(Called(site, arguments, named, Ended.RAISED, failure, first))
            raise
        if is_effect(value):
            return self.begun(site, arguments, named, value, first)
        if is_data(value):
            self.note(Called(site, arguments, named, Ended.VALUE, value, first))
            return value
        handle = self._handle(value, site)
        self.note(Called(site, arguments, named, Ended.HANDLE, handle.site, first))
        return handle

    def _handle(self, value: Any, site: str) -> Edge:
        handle = Edge(self, f"{site}#{next(self._handles)}", value)
        if hasattr(value, "close"):
            self._open[handle.site] = handle
        return handle

    def closed(self, handle: Edge) -> None:
        """An actor has closed it."""
        self._open.pop(handle.site, None)

    def begun(
        self, site: str, arguments: tuple[Any, ...], named: dict[str, Any], real: Pending[Any], first_callback: int = 0
    ) -> Pending[Any]:
        """Note a call that has begun an effect. Returns the effect as actors see it."""
        self._effects += 1
        number = self._effects
        effect = RecordedEffect(self, number, site, real)
        self.note(Called(site, arguments, named, Ended.PENDING, number, first_callback))
        if real.done():
            self.end_now(effect)
        else:
            self._under_way[number] = effect
            real.add_done_callback(lambda _: self._ends(effect))
        return effect

    def end_now(self, effect: RecordedEffect) -> None:
        """The real effect has ended within this step."""
        failed, value = self._outcome(effect)
        self.note(EndedAtOnce(effect.number, failed, value))
        effect.end(failed, value)

    def _ends(self, effect: RecordedEffect) -> None:
        """The real effect has ended, on any thread."""
        self._under_way.pop(effect.number, None)
        failed, value = self._outcome(effect)

        def step(now_ns: int) -> EffectDone | None:
            return None if effect.done() else EffectDone(now_ns, effect.number, failed, value)

        self.dispatcher.come(step, lambda: effect.end(failed, value))

    def _outcome(self, effect: RecordedEffect) -> tuple[bool, Any]:
        try:
            value = effect.real.result()
        except BaseException as failure:
            return True, failure
        return False, value if is_data(value) else self._handle(value, effect.site)

    def _given(self, argument: Any) -> Any:
        """An argument as the capability gets it: a function is called back in a step."""
        if isinstance(argument, Edge):
            return argument.real
        if not is_function(argument):
            return argument
        self._callbacks += 1
        number, dispatcher = self._callbacks, self.dispatcher

        def call_back(*arguments: Any) -> None:
            dispatcher.come(lambda now_ns: CalledBack(now_ns, number, arguments), lambda: argument(*arguments))

        return call_back


class Edge(Sited):
    """One capability as actors have it. `real`: itself."""

    def __init__(self, edges: Edges, site: str, real: Any) -> None:
        self.site = site
        self.real = real
        self._edges = edges

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.real, name)
        edges, site = self._edges, f"{self.site}.{name}"
        if not callable(value):
            return edges.call(attribute_site(site), lambda: value, (), {}) if edges.dispatcher.in_step() else value

        def call(*arguments: Any, **named: Any) -> Any:
            if not edges.dispatcher.in_step():
                return value(*arguments, **named)
            if name == "close":
                edges.closed(self)
            return edges.call(call_site(site, arguments), value, arguments, named)

        call.__name__, call.__qualname__ = name, site
        self.__dict__[name] = call
        return call


class RecordedEffect(Promise[Any]):
    """An effect as actors see it: it ends in steps only."""

    __slots__ = ("_edges", "number", "real", "site")

    def __init__(self, edges: Edges, number: int, site: str, real: Pending[Any]) -> None:
        super().__init__()
        self.number = number
        self.site = site
        self.real = real
        self._edges = edges

    def end(self, failed: bool, value: Any) -> None:
        """It has ended so."""
        if failed:
            self.set_exception(value)
        else:
            self.set_result(value)

    def cancel(self) -> bool:
        edges = self._edges
        if not edges.dispatcher.in_step():
            return self.real.cancel()
        if self.done():
            return False
        cancelled: bool = edges.call(CANCEL, lambda _: self.real.cancel(), (self.number,), {})
        if self.real.done() and not self.done():
            edges.end_now(self)
        return cancelled


CANCEL = "cancel"


class RecordedLane:
    """A lane as actors have it."""

    __slots__ = ("_edges", "_lane", "name")

    def __init__(self, edges: Edges, name: str, lane: Lane) -> None:
        self.name = name
        self._edges = edges
        self._lane = lane

    def submit(
        self,
        key: Hashable,
        fn: Callable[..., T],
        *args: Any,
        deadline_ns: int | None = None,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> Pending[T]:
        dispatcher = self._edges.dispatcher
        if not dispatcher.in_step():
            return self._lane.submit(key, fn, *args, deadline_ns=deadline_ns, rank=rank, ends=ends)
        with dispatcher.outside():
            pending = self._lane.submit(key, fn, *args, deadline_ns=deadline_ns, rank=rank, ends=ends)
        return self._edges.begun(lane_site(self.name, fn), (key, *args), {}, pending)

    def report(self) -> LaneReport:
        return self._lane.report()


def call_site(site: str, arguments: tuple[Any, ...]) -> str:
    """The name of a call in the record: with the verb of its first argument, if that has one."""
    verb = getattr(arguments[0], "verb", None) if arguments else None
    return f"{site} {verb}" if isinstance(verb, str) else site


def attribute_site(site: str) -> str:
    """The name of an attribute that is read, in the record."""
    return f"{site}="


def lane_site(lane: str, fn: Callable[..., Any]) -> str:
    """The name of a call of a lane in the record."""
    return f"lane {lane}: {name_of(fn)}"


def name_of(fn: Callable[..., Any]) -> str:
    """The name of a function, as lanes show it."""
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__
