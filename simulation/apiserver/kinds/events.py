"""Events: stored as core/v1 has them, shown in events.k8s.io/v1 with other names of fields.

Gone after an hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
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


class EventRules(KindRules):
    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self._ends: dict[tuple[str, str], int] = {}
        """When each event ends, in the order of the last writes, so that one timer suffices."""

    def seen_in(self, resource: ServedResource, version: Version) -> Version:
        if resource.group != GROUP:
            return version
        if version.twin is None:
            value = {_NEW_NAMES.get(name, name): part for name, part in version.object.items()}
            version.twin = Version(version.key, {**value, "apiVersion": resource.api_version}, version.revision)
        return version.twin

    def stored_of(self, resource: ServedResource, value: Json) -> Json:
        if resource.group != GROUP:
            return value
        return {**{_OLD_NAMES.get(name, name): part for name, part in value.items()}, "apiVersion": "v1"}

    def created(self, version: Version) -> None:
        lasts_ns = self.core.options.event_lasts_ns
        if not lasts_ns:
            return
        if not self._ends:
            self.core.after(lasts_ns, self._end_the_old)
        self._ends.pop(version.key, None)
        self._ends[version.key] = self.core.now_ns() + lasts_ns

    def changed(self, old: Version, new: Version) -> None:
        self.created(new)

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
            self.core.store.remove("events", *key)


def event_about(value: Mapping[str, Any], name: str, component: str, now: str, **said: Any) -> Json:
    """An event about an object. `said`: its type, reason, message and the like."""
    metadata = value["metadata"]
    about = {field: metadata[field] for field in ("namespace", "name", "uid", "resourceVersion") if field in metadata}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata.get("namespace") or "default"},
        "involvedObject": {"apiVersion": value["apiVersion"], "kind": value["kind"], **about},
        **said,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
