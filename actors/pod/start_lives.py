"""How far the starts of one pod's containers have come, by name. One book per worker, which it does not outlive.

Read by whoever shows a container or decides about it; written, by events only, by those who start containers and run
their hooks. The rules are in `actors.pod_rules.container_start`.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.pod.part import WorkerPart
from actors.pod_rules.container_start import BEGINNING, RUNS_UNSTARTED, Event, StartLife, advance


class StartLives(WorkerPart):
    """See the module."""

    _lives: dict[str, StartLife] = {}
    unstarted: frozenset[str] = frozenset()
    """Ids of containers that run and whose postStart hook has not ended well."""

    def meet(self, name: str, event: Event) -> StartLife:
        """Walk one event of container `name`."""
        before = self._lives.get(name, BEGINNING)
        life = self._lives[name] = advance(before, event)
        if before.stage in RUNS_UNSTARTED or life.stage in RUNS_UNSTARTED:
            self.unstarted = frozenset(each.id for each in self._lives.values() if each.stage in RUNS_UNSTARTED)
        return life

    def of(self, name: str) -> StartLife:
        return self._lives.get(name, BEGINNING)

    def all(self) -> Mapping[str, StartLife]:
        """Those that were ever wanted."""
        return self._lives
