"""Persistent volumes: when the phase of one has changed."""

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
