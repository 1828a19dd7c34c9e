"""The world of the tests of `NodeStatusActor`.

It has a node actor, an API server, a runtime that lists images, and a machine.
"""

from __future__ import annotations

from typing import Any

from actors.kernel import ActorSystem, Message, Promise, SimulatedDispatcher, broken, kept
from actors.messages.events import RecordEvent
from actors.messages.node import (
    RuntimeDescribed,
    RuntimeListed,
)
from actors.messages.pods import NodeObserved, RuntimeStateObserved
from actors.node.status.actor import NodeStatusActor
from actors.node_object.settings import NodeSettings, Registration
from config.kubelet import KubeletConfiguration
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Image, ListImagesResponse
from runtime.cri.verbs import LIST_IMAGES
from simulation.apiserver.core import Options
from simulation.apiserver.server import ApiServer
from simulation.host.facts import SimulatedHostFacts
from tests.actors.node_api import NodeApi
from tests.actors.recorders import Recorder

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
PATH = "/api/v1/nodes/n"
WELL = RuntimeStateObserved("", "", "containerd")


class Images:
    """The part of a runtime that is asked here."""

    def __init__(self) -> None:
        self.images: tuple[Image, ...] = (Image(id="1", repo_tags=("nginx:1",), size=10),)
        self.lists = 0
        self.broken = False

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if self.broken:
            return broken(CriError(StatusCode.UNAVAILABLE, "no runtime", verb.name))
        assert verb is LIST_IMAGES
        self.lists += 1
        return kept(ListImagesResponse(images=self.images))

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class World:
    def __init__(self, *, alone: bool = False, registration: Registration | None = None, **fields: Any) -> None:
        self.dispatcher = SimulatedDispatcher(7)
        self.system = ActorSystem(self.dispatcher)
        # Nobody renews a lease here, and nobody looks for one.
        self.server = ApiServer(self.dispatcher, Options(node_grace_ns=0))
        self.api = NodeApi(self.dispatcher, self.server)
        self.images = Images()
        self.host = SimulatedHostFacts("n")
        self._lists = False
        self.fails = False
        self.events_ref, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.listener, self.heard = Recorder.spawn_in(self.system, "listener", NodeObserved)
        self._settings = NodeSettings(
            "n", "/var/lib/kubelet", KubeletConfiguration(**fields), registration or Registration()
        )
        self._alone = alone

    def start(self, *, well: bool = True, first: Message | None = None) -> World:
        """Start the actor, and tell it `first`."""
        self.node = self.system.spawn(
            NodeStatusActor,
            None if self._alone else self.api,
            self.images,
            self.host,
            self._settings,
            self.events_ref,
            (self.listener,),
            name="node-status",
        )
        if first is not None:
            self.node.tell(first)
        if well:
            self.node.tell(RuntimeDescribed("containerd", "2.0.0"))
            self.node.tell(WELL)
            self.list_runtime()
        self.run(SECOND_NS)
        return self

    def list_runtime(self) -> None:
        self._lists = True
        self.node.tell(RuntimeListed(self.dispatcher.now_ns()))

    def run(self, ns: int) -> None:
        """With a list of the runtime each minute, once there was one."""
        while ns > 0:
            if self._lists:
                self.list_runtime()
            step = min(ns, MINUTE_NS)
            self.dispatcher.run_for(step)
            ns -= step

    @property
    def shown(self) -> dict[str, Any]:
        return self.api.shown(PATH)

    def condition(self, kind: str) -> dict[str, str]:
        (found,) = (one for one in self.shown["status"]["conditions"] if one["type"] == kind)
        return found

    @property
    def ready(self) -> str:
        return self.condition("Ready")["status"]

    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]

    def writes(self) -> list[str]:
        return [call.verb for call in self.api.writes]


def made(worlds: list[World], **fields: Any) -> World:
    worlds.append(World(**fields))
    return worlds[-1]


def existing(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "labels": {"mine": "x", "kubernetes.io/arch": "s390x"},
            "annotations": {"note": "keep"},
        },
        "spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]},
        "status": status,
    }


def change(world: World, **parts: Any) -> None:
    world.api.put(PATH, {**world.shown, **parts})
    world.run(MILLISECOND_NS)
