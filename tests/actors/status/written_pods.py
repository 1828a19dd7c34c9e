"""A status manager whose pods and API server are played by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.status import PodStatusChanged, StatusManagerStarted
from actors.status.manager import StatusManagerActor
from config.objects import ObjectMeta, Pod, PodCondition, PodStatus
from config.pods.identity import CONFIG_SOURCE
from tests.actors.manual_api import ManualApi
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
SOON_NS = SECOND_NS // 100


def api_pod(name: str, version: int = 1, source: str = "api", status: PodStatus | None = None, **meta: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            resource_version=str(version),
            annotations={CONFIG_SOURCE: source},
            **meta,
        ),
        status=status or PodStatus(phase="Pending"),
    )


def ready(phase: str = "Running", value: str = "True", **fields: Any) -> PodStatus:
    return PodStatus(phase=phase, conditions=(PodCondition(type="Ready", status=value),), **fields)


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, _ = Recorder.spawn_in(self.system, "sync-loop", StatusManagerStarted)
        self.manager = self.system.spawn(StatusManagerActor, sync_loop, self.api, name="status")
        self.pods: dict[str, Pod] = {}

    def run(self, ns: int = SOON_NS) -> None:
        self.dispatcher.run_for(ns)

    def tell(self, name: str, status: PodStatus, *, final: bool = False, seen: bool = True, **meta: Any) -> None:
        """The worker of the pod has computed a status."""
        pod = self.pods.setdefault(name, api_pod(name, **meta))
        self.manager.tell(PodStatusChanged(pod, status, final, seen))
        self.run()

    def accept(self) -> dict[str, Any]:
        """The API server takes the oldest open write; its body."""
        call, _ = self.api.open_calls[0]
        name = call.path.removesuffix("/status").rsplit("/", 1)[1]
        known = self.pods[name]
        body: dict[str, Any] = json.loads(call.body or b"{}")
        if call.method == "DELETE":
            self.api.answer(None)
        else:
            shown = msgspec.to_builtins(known.status)
            shown.update({key: value for key, value in body["status"].items() if key != "conditions"})
            if "conditions" in body["status"]:
                shown["conditions"] = [c for c in body["status"]["conditions"] if "$patch" not in c]
            version = str(int(known.metadata.resource_version) + 1)
            meta = msgspec.structs.replace(known.metadata, resource_version=version)
            status = msgspec.convert({k: v for k, v in shown.items() if v is not None}, PodStatus)
            self.pods[name] = msgspec.structs.replace(known, metadata=meta, status=status)
            self.api.answer(self.pods[name])
        self.run()
        return body

    def names(self) -> list[str]:
        """Of the pods written to so far, in order."""
        return [call.path.removesuffix("/status").rsplit("/", 1)[1] for call in self.api.calls]
