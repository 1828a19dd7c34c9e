"""Drivers: they let one test drive either dispatcher.

The test says what must become true and how much time passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from actors.kernel import Actor, ActorRef, ActorSystem, PoolDispatcher, SimulatedDispatcher
from actors.kernel.cell import Cell
from actors.kernel.dispatcher import Dispatcher
from tests.actors.kernel.cast import MS, SECOND, Puppet

PATIENCE_S = 60.0
"""How long a test waits on real threads for what must happen before it says that it did not."""


class Driver(Protocol):
    """Drives one system of actors."""

    @property
    def dispatcher(self) -> Dispatcher: ...

    @property
    def system(self) -> ActorSystem: ...

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the system work until `condition()` holds; fail when it does not come to that."""

    def pass_time(self, ns: int) -> None:
        """Let `ns` of the dispatcher's time pass, with all that happens in them."""

    def settle(self) -> None:
        """Let everything happen that needs no time."""

    def spawn(self, actor_class: type[Actor] = Puppet, *args: Any, name: str = "it", **kwargs: Any) -> ActorRef: ...


class _Base:
    dispatcher: Dispatcher
    system: ActorSystem

    def spawn(self, actor_class: type[Actor] = Puppet, *args: Any, name: str = "it", **kwargs: Any) -> ActorRef:
        return self.system.spawn(actor_class, *args, name=name, **kwargs)


class SimulatedDriver(_Base):
    def __init__(self, seed: int = 1, late_calls: float = 1.0) -> None:
        self.dispatcher: SimulatedDispatcher = SimulatedDispatcher(seed, late_calls)
        self.system = ActorSystem(self.dispatcher)

    def until(self, condition: Callable[[], bool]) -> None:
        assert self.dispatcher.run_until(condition, 3_600 * SECOND), "an hour of virtual time was not enough"

    def pass_time(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    def settle(self) -> None:
        self.dispatcher.run_until_idle()


class PoolDriver(_Base):
    def __init__(self, workers: int = 3, stuck_after_ns: int = 200 * MS) -> None:
        self.dispatcher: PoolDispatcher = PoolDispatcher(workers, stuck_after_ns=stuck_after_ns, check_every_ns=20 * MS)
        self.system = ActorSystem(self.dispatcher)

    def until(self, condition: Callable[[], bool]) -> None:
        deadline_ns = self.dispatcher.now_ns() + int(PATIENCE_S * SECOND)
        while not condition():
            assert self.dispatcher.now_ns() < deadline_ns, f"not within {PATIENCE_S} seconds"
            self.pass_time(MS)

    def pass_time(self, ns: int) -> None:
        passed = threading.Event()
        self.dispatcher.schedule(ns, passed.set)
        assert passed.wait(PATIENCE_S + ns / SECOND), "the timer thread does not live"

    def settle(self) -> None:
        """Wait until no actor has or wants a thread, except those that hold one for long."""
        quiet = 0
        while quiet < 2:
            self.pass_time(MS)
            quiet = quiet + 1 if not any(map(self._is_busy, self.system.root.walk())) else 0

    def _is_busy(self, cell: Cell) -> bool:
        since_ns = cell.slice_since_ns
        holds_for_long = since_ns is not None and self.dispatcher.now_ns() - since_ns > 50 * MS
        return cell.scheduled and not holds_for_long
