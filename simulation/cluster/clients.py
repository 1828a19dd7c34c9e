"""What the clients of a cluster do, for its time. All of it is on the cluster's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simulation.apiserver.front.watches import Clients
from simulation.cluster.auto_time import Doings

SECONDS_AT_MOST = 86_400


class SteppedClients(Clients):
    """Time stands between steps: a watch with a timeout ends after that much real time at the latest."""

    @contextmanager
    def waiting(self, seconds: int = 0, end: Callable[[], object] | None = None) -> Iterator[None]:
        if not seconds or end is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(min(seconds, SECONDS_AT_MOST), end)
        try:
            yield
        finally:
            timer.cancel()


class AutoClients(Clients):
    """Keeps the doings of clients.

    `on_work` is called when a client does something, and `on_event` before a watch gets an event. `clock`: real
    seconds; None: that of the running loop.
    """

    def __init__(self, pause_s: float, clock: Callable[[], float] | None = None) -> None:
        self.pause_s = pause_s
        self.on_work: Callable[[], object] = lambda: None
        self.on_event: Callable[[], object] = lambda: None
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._served = 0
        self._waiting = 0
        self._holds = 0
        self._last_s = self._order_s = self._began_s = float("-inf")
        """When a client did something last, when an order was answered, and since when they work."""

    @contextmanager
    def serving(self) -> Iterator[None]:
        self._work()
        self._served += 1
        try:
            yield
        finally:
            self._work()
            self._served -= 1

    @contextmanager
    def waiting(self, seconds: int = 0, end: Callable[[], object] | None = None) -> Iterator[None]:
        self._work()
        self._served -= 1
        self._waiting += 1
        try:
            yield
        finally:
            self._work()
            self._waiting -= 1
            self._served += 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let time stand, whatever clients do."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.on_work()

    def told(self) -> None:
        self._work()
        self.on_event()

    def order_answered(self) -> None:
        """The test may think of its next order. It does not any more when that comes; clients may."""
        self._note(self._clock())
        self._order_s = self._clock()
        self.on_work()

    def doings(self, *, in_order: bool, ordered: bool) -> Doings:
        """`in_order`: an order is waiting for time to pass; `ordered`: as fast as it can."""
        now_s = self._clock()
        last_s = self._last_s if in_order else max(self._last_s, self._order_s)
        return Doings(
            self._served,
            self._waiting + in_order,
            now_s - last_s,
            now_s - self._last_s,
            now_s - self._began_s,
            ordered,
            self._holds > 0,
        )

    def _work(self) -> None:
        now_s = self._clock()
        self._note(now_s)
        self._last_s = now_s
        self.on_work()

    def _note(self, now_s: float) -> None:
        """Note the begin of work, if there was a pause before."""
        if not self._served and now_s - max(self._last_s, self._order_s) >= self.pause_s:
            self._began_s = now_s
