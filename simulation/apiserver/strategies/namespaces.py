"""Namespaces: their labels, finalizers and phase."""

from __future__ import annotations

from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.strategy import Strategy


class NamespaceStrategy(Strategy):
    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        metadata = value["metadata"]
        if metadata.get("name"):
            _label(metadata)

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        if before is None:
            _label(value["metadata"])
            value["spec"] = {"finalizers": ["kubernetes"]}
            value["status"] = {"phase": "Active"}
        elif not call.target.subresource:
            value["spec"] = before["spec"]
        elif call.target.subresource == "finalize":
            value["status"] = before["status"]

    def is_over(self, value: Json) -> bool:
        """A namespace has finalizers in its spec, too."""
        return super().is_over(value) and not value["spec"].get("finalizers")

    def grace(self, old: Version, options: Json) -> int:
        """A namespace goes when it is empty; see `controllers.namespaces`."""
        return 1 if old.object["spec"].get("finalizers") else 0


def _label(metadata: Json) -> None:
    metadata["labels"] = {"kubernetes.io/metadata.name": metadata["name"], **(metadata.get("labels") or {})}
