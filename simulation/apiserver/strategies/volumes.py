"""Persistent volumes: when the phase of one has changed. Claims: where their data come from."""

from __future__ import annotations

from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.strategy import Strategy


class VolumeStrategy(Strategy):
    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        status, was = value.get("status") or {}, (before or {}).get("status") or {}
        if status.get("phase") != was.get("phase"):
            value["status"] = {**status, "lastPhaseTransitionTime": self.core.timestamp()}


_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


class ClaimStrategy(Strategy):
    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        if not call.target.subresource and isinstance(value.get("spec"), dict):
            value["spec"] = _with_source(value["spec"], (before or {}).get("spec") or {})


def _with_source(spec: Json, was: Json) -> Json:
    """The spec with one source in both fields; an old field that names what it cannot is dropped."""
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if other and other.get("namespace") and not was.get("dataSourceRef"):
        other = None  # Sources in other namespaces are an alpha feature.
    if one and not other and not (was.get("dataSource") or was.get("dataSourceRef")):
        one = one if (one.get("apiGroup") or "", one.get("kind")) in _SOURCES else None
    if one and not other:
        other = dict(one)
    elif other and not one and not other.get("namespace"):
        one = {name: part for name, part in other.items() if name != "namespace"}
    sources = {"dataSource": one, "dataSourceRef": other}
    kept = {name: part for name, part in spec.items() if name not in sources}
    return {**kept, **{name: part for name, part in sources.items() if part is not None}}
