"""The end of events: each is gone an hour after its last change."""

from __future__ import annotations

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import EVENTS
from simulation.apiserver.pipeline.context import Follower
from simulation.apiserver.store.store import Version


class EventExpiry(Follower):
    def __init__(self, core: Core) -> None:
        self._core = core
        self._ends: dict[tuple[str, str], int] = {}
        """When each event ends, in the order of the last writes, so that one timer suffices."""

    def created(self, version: Version) -> None:
        lasts_ns = self._core.options.event_lasts_ns
        if not lasts_ns:
            return
        if not self._ends:
            self._core.after(lasts_ns, self._end_the_old)
        self._ends.pop(version.key, None)
        self._ends[version.key] = self._core.now_ns() + lasts_ns

    def changed(self, old: Version, new: Version) -> None:
        self.created(new)

    def removed(self, last: Version) -> None:
        self._ends.pop(last.key, None)

    def _end_the_old(self) -> None:
        now_ns = self._core.now_ns()
        while self._ends:
            key, end_ns = next(iter(self._ends.items()))
            if end_ns > now_ns:
                self._core.after(end_ns - now_ns, self._end_the_old)
                return
            del self._ends[key]
            self._core.store.remove(EVENTS.store_key, *key)
