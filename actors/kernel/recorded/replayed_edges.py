"""What stands for capabilities in a replay: each call is answered from the record."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from actors.kernel.dispatcher import LaneReport
from actors.kernel.promise import Pending, Promise
from actors.kernel.recorded.edges import CANCEL, Sited, attribute_site, call_site, lane_site
from actors.kernel.turns import Rank

T = TypeVar("T")


class Answers(Protocol):
    """The record, as the edges of a replay know it."""

    def is_next(self, site: str) -> bool:
        """Whether such a call is among those of this step."""

    def answer(self, site: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Answer a call of an actor. Raises what the call raised."""


@dataclass(frozen=True, slots=True)
class HandleSite:
    """A handle as the result of an effect."""

    site: str


class ReplayedEdge(Sited):
    """A capability that answers from the record."""

    def __init__(self, dispatcher: Answers, site: str) -> None:
        self.site = site
        self._dispatcher = dispatcher

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dispatcher, site = self._dispatcher, f"{self.site}.{name}"
        if dispatcher.is_next(attribute_site(site)):
            return dispatcher.answer(attribute_site(site), (), {})

        def call(*arguments: Any, **named: Any) -> Any:
            return dispatcher.answer(call_site(site, arguments), arguments, named)

        call.__name__, call.__qualname__ = name, site
        return call


class ReplayedEffect(Promise[Any]):
    __slots__ = ("_dispatcher", "number")

    def __init__(self, dispatcher: Answers, number: int) -> None:
        super().__init__()
        self.number = number
        self._dispatcher = dispatcher

    def cancel(self) -> bool:
        if self.done():
            return False
        cancelled: bool = self._dispatcher.answer(CANCEL, (self.number,), {})
        return cancelled


class ReplayedLane:
    __slots__ = ("_dispatcher", "name")

    def __init__(self, dispatcher: Answers, name: str) -> None:
        self.name = name
        self._dispatcher = dispatcher

    def submit(
        self,
        key: Hashable,
        fn: Callable[..., T],
        *args: Any,
        deadline_ns: int | None = None,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> Pending[T]:
        pending: Pending[T] = self._dispatcher.answer(lane_site(self.name, fn), (key, *args), {})
        return pending

    def report(self) -> LaneReport:
        return LaneReport(self.name, 0, 0, 0, 0, 0, ())
