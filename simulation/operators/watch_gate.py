"""Stands in the watches of one identity: it counts their events, and holds them back or cuts them.

A real watch skips nothing. But an API server may lag behind, and a watch that has to begin again after a 410 never
shows what happened in between. So a gate can *hold* all events, and then *release* them (they were late) or *expire*
(the watches end with 410, and what was held is never shown). All calls come under the server's lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.status import expired
from simulation.apiserver.store.store import BOOKMARK, Sink, Version, Watcher


class Pass(Enum):
    """What becomes of an event."""

    SHOW = "show"
    HOLD = "hold"
    CUT = "cut"


class WatchGate:
    """`on_event`: says what becomes of an event, unless all are held."""

    def __init__(self, on_event: Callable[[ServedResource, str, Version], Pass]) -> None:
        self._on_event = on_event
        self._watches: list[_Watch] = []
        self.holds = False
        self.only: frozenset[str] | None = None
        """The resources, with their groups, whose events it holds back; None for all."""
        self.held = 0
        """How many events have been held back at all."""
        self._ended: Counter[str] = Counter()
        """Resource -> how many of its watches this gate has ended, and nobody has begun anew."""

    @property
    def misses_watches(self) -> bool:
        """Whether a watch that this gate has ended has not begun anew."""
        return self._ended.total() > 0

    def stand_in(self, resource: ServedResource, watcher: Watcher, first: list[tuple[str, Version]]) -> None:
        """Stand in a watch that has not started. `first`: events to show before all others."""
        watch = _Watch(self, resource, watcher)
        watcher.gate = lambda sink: watch.begin(sink, first)

    def begin(self, watch: _Watch) -> None:
        self._watches = [each for each in self._watches if not each.watcher.ended]
        self._watches.append(watch)
        if self._ended[watch.resource.group_resource]:
            self._ended[watch.resource.group_resource] -= 1

    def take(self, watch: _Watch, kind: str, version: Version) -> None:
        """An event comes."""
        if not self._holds(watch) and kind != BOOKMARK:
            decided = self._on_event(watch.resource, kind, version)
            if decided is Pass.CUT:
                self.cut()
                return
            self.holds = self.holds or decided is Pass.HOLD
        if self._holds(watch):
            watch.waiting.append((kind, version))
            self.held += 1
        else:
            watch.show(kind, version)

    def covers(self, resource: ServedResource) -> bool:
        """Whether events of this resource are held back, if any are."""
        return self.only is None or resource.group_resource in self.only

    def _holds(self, watch: _Watch) -> bool:
        return self.holds and self.covers(watch.resource)

    def release(self) -> None:
        """Show what was held."""
        self.holds = False
        for watch in tuple(self._watches):
            waiting, watch.waiting = watch.waiting, []
            for kind, version in waiting:
                if not watch.watcher.ended:
                    self.take(watch, kind, version)

    def expire(self, revision: int) -> None:
        """End the watches: what was held is never shown."""
        self.holds = False
        for watch in self._taken_out():
            watch.waiting.clear()
            watch.watcher.end(expired(f"too old resource version: {revision}"))

    def cut(self) -> None:
        """End all watches, without a word."""
        for watch in self._taken_out():
            watch.watcher.end()

    def _taken_out(self) -> list[_Watch]:
        watches, self._watches = [each for each in self._watches if not each.watcher.ended], []
        self._ended.update(each.resource.group_resource for each in watches)
        return watches


class _Watch:
    def __init__(self, gate: WatchGate, resource: ServedResource, watcher: Watcher) -> None:
        self.resource = resource
        self.watcher = watcher
        self.waiting: list[tuple[str, Version]] = []
        self.show: Sink = lambda kind, version: None
        self._gate = gate

    def begin(self, sink: Sink, first: list[tuple[str, Version]]) -> Sink:
        """Called when the listener comes; returns what stands before it."""
        self.show = sink
        self._gate.begin(self)
        for kind, version in first:
            sink(kind, version)
        return self.take

    def take(self, kind: str, version: Version) -> None:
        if not self.watcher.ended:
            self._gate.take(self, kind, version)
