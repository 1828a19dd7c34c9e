"""API services: one without a service of its own is served here, and so it is there."""

from __future__ import annotations

from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.definitions import with_condition
from simulation.apiserver.strategies.published import PublishedStrategy


class ApiServiceStrategy(PublishedStrategy):
    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        spec = value.get("spec")
        if before is None and isinstance(spec, dict) and not spec.get("service"):
            words = "Local APIServices are always available"
            value["status"] = with_condition({}, self.core.timestamp(), "Available", "Local", words)
