"""LimitRanges: for containers, some of their values follow from others."""

from __future__ import annotations

from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.published import PublishedStrategy
from simulation.quotas.limits import completed


class LimitRangeStrategy(PublishedStrategy):
    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().default(call, before, value)
        spec = value.get("spec")
        if not isinstance(spec, dict):
            return
        limits = spec.get("limits")
        if isinstance(limits, list) and all(isinstance(each, dict) for each in limits):
            value["spec"] = {**spec, "limits": [completed(each) for each in limits]}
