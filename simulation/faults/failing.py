"""Actors that fail at random: a wrapped handler may raise before, during or after its work.

During: after one of its waits, so that a part of the work is done and the rest is not. The failure is like that of a
bug in the handler: the actor restarts and has lost its state. Only handlers of the actors that a fault names are
wrapped, so worlds without such faults are unchanged. The seed decides which messages fail. Each failure is reported
first, so that it does not count as a fault of the agent.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import wraps
from types import CoroutineType
from typing import Any

from actors.kernel import Actor
from actors.kernel.actor_base import ActorBase
from actors.kernel.errors import Interrupted
from actors.kernel.handlers import Handler
from actors.kernel.supervision import Action, decide
from simulation.chance.chance import Chance
from simulation.chance.sometimes import Sometimes
from simulation.scenarios.faults import ActorFailures
from simulation.scenarios.names import EVERYTHING

WAITS_AT_MOST = 4
"""A failure during the work comes after one of the first so many waits, or at its end."""

Handlers = Mapping[type[Any], Handler]


class MeantToFailError(Exception):
    """The failure of an actor that a scenario wants to fail."""


class FailingActors:
    """The failing actors of one node. `told` gets the path of each actor before it fails."""

    def __init__(
        self, faults: Iterable[ActorFailures], seed: str, sometimes: Sometimes, told: Callable[[str], object]
    ) -> None:
        self._faults = tuple(faults)
        self._left = [fault.times for fault in self._faults]
        self._chance = Chance(f"failures {seed}")
        self._sometimes = sometimes
        self._told = told
        self._laid: dict[type[ActorBase], Handlers] = {}

    def heal(self) -> None:
        """Stop all failures."""
        self._left = [0 for _ in self._left]

    def wrapped(self, actor_class: type[ActorBase], handlers: Handlers) -> Handlers:
        """The handlers of this actor class, wrapped where they may fail."""
        laid = self._laid.get(actor_class)
        if laid is None:
            laid = self._laid[actor_class] = {
                message_class: self._laid_over(handler, concerned)
                if (concerned := self._concerned(actor_class.__name__, message_class.__name__))
                else handler
                for message_class, handler in handlers.items()
            }
        return laid

    def _concerned(self, actor: str, message: str) -> list[int]:
        return [
            number
            for number, fault in enumerate(self._faults)
            if fault.actor in (actor, EVERYTHING) and fault.message in (message, EVERYTHING)
        ]

    def _laid_over(self, handler: Handler, concerned: list[int]) -> Handler:
        @wraps(handler)
        def handle(actor: Actor, message: Any) -> Any:
            for number in concerned:
                if self._left[number] and self._fails(number, actor):
                    self._left[number] -= 1
                    return self._failing(actor, handler, message)
            return handler(actor, message)

        return handle

    def _fails(self, number: int, actor: Actor) -> bool:
        fault, path = self._faults[number], actor.path  # the root, which is the kernel's, has none
        return bool(path) and fnmatchcase(path, fault.path) and self._chance.share() < fault.share

    def _failing(self, actor: Actor, handler: Handler, message: Any) -> Any:
        waits = self._chance.between(0, WAITS_AT_MOST)
        if not waits:
            raise self._failure(actor, message)
        done = handler(actor, message)
        if isinstance(done, CoroutineType):
            return handled_until(done, waits, lambda: self._failure(actor, message))
        raise self._failure(actor, message)

    def _failure(self, actor: Actor, message: Any) -> MeantToFailError:
        cell = actor._cell
        self._told(actor.path)
        self._sometimes.happened("actor-failed")
        if decide(cell.strategy, cell.failures, actor.now_ns(), 0.0).action is Action.PARK:
            self._sometimes.happened("actor-parked")
        return MeantToFailError(f"{actor.path} on {type(message).__name__}, as the scenario wants it")


async def handled_until(handling: Coroutine[Any, Any, Any], waits: int, failure: Callable[[], Exception]) -> None:
    """Run the handler until that many of its waits are over, or to its end, then fail.

    Its own exceptions pass through.
    """
    await _waits(handling, waits)
    raise failure()


@types.coroutine
def _waits(handling: Coroutine[Any, Any, Any], waits: int) -> Generator[Any, Any, None]:
    come: Any = None
    raised: BaseException | None = None
    try:
        while True:
            suspension = handling.send(come) if raised is None else handling.throw(raised)
            come, raised = None, None
            try:
                come = yield suspension
            except Interrupted as order:  # not what it waited for
                raised = order
                continue
            except Exception as failed:
                raised = failed
            waits -= 1
            if not waits:
                return
    except StopIteration:
        return
    finally:
        handling.close()
