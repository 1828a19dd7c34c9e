"""Events: stored as core/v1 has them, shown in events.k8s.io/v1 with other names of fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config.objects import ApiStruct
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.strategy import Strategy

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


class EventStrategy(Strategy):
    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        return super().read(resource, self.stored(resource, value))

    def shown(self, resource: ServedResource, version: Version) -> Version:
        if resource.group != GROUP:
            return version
        if version.twin is None:
            value = {_NEW_NAMES.get(name, name): part for name, part in version.object.items()}
            shown = {**value, "apiVersion": resource.api_version}
            version.twin = Version(version.key, shown, version.revision, managed=version.managed)
        return version.twin

    def stored(self, resource: ServedResource, value: Json) -> Json:
        if resource.group != GROUP:
            return value
        return {**{_OLD_NAMES.get(name, name): part for name, part in value.items()}, "apiVersion": "v1"}


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
