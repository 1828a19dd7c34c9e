"""Events: the same objects in core/v1 and in events.k8s.io/v1, which calls their fields otherwise; gone after an hour.

They are stored as core/v1 has them. Owns the two shapes and the hour.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.objects import Event
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json
from simulation.apiserver.store import Version

GROUP = "events.k8s.io"
_NEW_NAMES: Mapping[str, str] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


def _make_twin(resource: ServedResource, version: Version) -> Version:
    value = {_NEW_NAMES.get(name, name): part for name, part in version.object.items()}
    value["apiVersion"] = resource.api_version
    twin = version.twin = Version(version.key, value, version.revision)
    return twin


class EventRules(KindRules):
    """See the module."""

    struct = Event
    create_on_update = True

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._ends: dict[tuple[str, str], int] = {}
        self._lasts_ns = core.options.event_lasts_ns
        """0: for ever."""

    def seen_in(self, resource: ServedResource, version: Version) -> Version:
        return version if resource.group != GROUP else version.twin or _make_twin(resource, version)

    def stored_of(self, resource: ServedResource, value: Json) -> Json:
        if resource.group != GROUP:
            return value
        return {**{_OLD_NAMES.get(name, name): part for name, part in value.items()}, "apiVersion": "v1"}

    def prepare(self, call: Call, value: Json) -> None:
        if "type" not in value:
            value["type"] = "Normal"

    def created(self, version: Version) -> None:
        """One timer ends all of them: they end in the order in which they were written last."""
        lasts_ns = self._lasts_ns
        if lasts_ns:
            if not self._ends:
                self.core.after(lasts_ns, self._end_the_old)
            self._ends[version.key] = self.core.now_ns() + lasts_ns

    def changed(self, old: Version, new: Version) -> None:
        key = new.key
        if self._ends.pop(key, None) is None:
            self.created(new)
        else:  # it ends after all others now
            self._ends[key] = self.core.now_ns() + self._lasts_ns

    def removed(self, last: Version) -> None:
        self._ends.pop(last.key, None)

    def _end_the_old(self) -> None:
        now_ns = self.core.now_ns()
        while self._ends:
            key, end_ns = next(iter(self._ends.items()))
            if end_ns > now_ns:
                self.core.after(end_ns - now_ns, self._end_the_old)
                return
            del self._ends[key]
            self.core.store.drop("events", *key)
