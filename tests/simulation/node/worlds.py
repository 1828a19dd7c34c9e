"""Whole nodes in virtual time, and what must hold at every step.

The tests of this folder drive this world.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from actors.kernel import Actor, Message, SimulatedDispatcher
from actors.kernel.actor_base import ActorBase
from actors.kernel.dispatcher import Dispatcher
from actors.pod.worker import PodWorker
from config.kubelet import KubeletConfiguration
from config.objects import ContainerStatus, Pod
from runtime.cri.messages import ContainerState
from simulation.cri import Settings
from simulation.cri.behaviour import PREFIX
from simulation.cri.state import ContainerRecord
from simulation.host.facts import MAX_PODS
from simulation.node.simulated_node import SimulatedNode

SECOND = 10**9
MS = 10**6
IMAGE = "docker.io/library/busybox:1.36"
OTHER_IMAGE = "docker.io/library/busybox:1.37"
IN_A_CLUSTER = KubeletConfiguration(cluster_dns=("10.96.0.10",), cluster_domain="cluster.local", max_pods=MAX_PODS)
"""A node that knows no DNS of the cluster says so of every pod."""
READY_IMAGES = Settings(images=(IMAGE, OTHER_IMAGE))


def container(name: str = "app", image: str = IMAGE, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": image, "imagePullPolicy": "IfNotPresent", **fields}


def manifest(
    name: str,
    containers: Sequence[Mapping[str, Any]] = (),
    *,
    behaviour: Mapping[str, str] | None = None,
    uid: str = "",
    **spec: Any,
) -> str:
    """A pod as a manifest.

    `behaviour`: annotations of the simulated runtime without prefix; `spec`: more of it.
    """
    annotations = {PREFIX + key: value for key, value in (behaviour or {}).items()}
    metadata: dict[str, Any] = {"name": name, "annotations": annotations}
    if uid:
        metadata["uid"] = uid
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers) or [container()], **spec},
    }
    return json.dumps(document)


def replace_handler(
    monkeypatch: pytest.MonkeyPatch,
    actor_class: type[Actor],
    message_class: type[Message],
    handler: Callable[[Any, Any], object],
) -> None:
    """Actors of this class that begin from now on use `handler` for this message."""
    handlers_of = Dispatcher.handlers_of

    def replaced(dispatcher: Dispatcher, of: type[ActorBase]) -> Mapping[type[Any], Callable[[Any, Any], object]]:
        handlers = handlers_of(dispatcher, of)
        return {**handlers, message_class: handler} if of is actor_class else handlers

    monkeypatch.setattr(Dispatcher, "handlers_of", replaced)


def fail_once(monkeypatch: pytest.MonkeyPatch, kind: type[Message]) -> list[Message]:
    """The first worker that gets a message of that kind fails; the message is then in the list."""
    handler, failures = SimulatedDispatcher(1).handlers_of(PodWorker)[kind], list[Message]()

    def fails(worker: PodWorker, message: Message) -> Any:
        if failures:
            return handler(worker, message)
        failures.append(message)
        raise RuntimeError("as the test wants it")

    replace_handler(monkeypatch, PodWorker, kind, fails)
    return failures


class Fail(Message, frozen=True):
    """To an actor that can: fail, and forget whatever you were told."""


def let_fail(monkeypatch: pytest.MonkeyPatch, kind: type[Actor]) -> None:
    """Those of this kind that begin from now on fail at `Fail`."""

    def fails(actor: Actor, message: Fail) -> None:
        raise RuntimeError("as the test wants it")

    replace_handler(monkeypatch, kind, Fail, fails)


class World:
    """One simulated node in virtual time.

    After every change of the runtime it checks what must never be.
    """

    def __init__(
        self,
        manifests: Mapping[str, str] | None = None,
        seed: int = 1,
        dispatcher: SimulatedDispatcher | None = None,
        make: type[SimulatedNode] = SimulatedNode,
        **options: Any,
    ) -> None:
        self.dispatcher = dispatcher or SimulatedDispatcher(seed)
        options.setdefault("settings", READY_IMAGES)
        options.setdefault("configuration", IN_A_CLUSTER)
        self.node = make(self.dispatcher, manifests=manifests, **options)
        self.cri = self.node.cri
        self.made: dict[str, ContainerRecord] = {}
        """Every container there ever was, by id."""
        self._version = -1

    def start(self) -> World:
        self.node.start()
        return self

    # --- time -------------------------------------------------------------------------------------------------------

    def step(self, until_ns: int | None = None) -> bool:
        went_on = self.dispatcher.step(until_ns)
        if self.cri.state.version != self._version:
            self._version = self.cri.state.version
            self._check()
        return went_on

    def run(self, ns: int) -> None:
        until_ns = self.dispatcher.now_ns() + ns
        while self.step(until_ns):
            pass
        self.dispatcher.run_for(until_ns - self.dispatcher.now_ns())

    def until(self, condition: Callable[[], bool], limit_ns: int = 600 * SECOND) -> int:
        """Run until it holds, looked at after every change of the runtime or the clock; how long it took, ns."""
        began_ns = now_ns = self.dispatcher.now_ns()
        version = -1
        while not (version != self._version and condition()):
            version = self._version
            while version == self._version and now_ns == self.dispatcher.now_ns():
                assert self.step(began_ns + limit_ns), f"not within {limit_ns / SECOND} s: {self.describe()}"
            now_ns, version = self.dispatcher.now_ns(), -1
        return self.dispatcher.now_ns() - began_ns

    def seconds(self) -> float:
        return self.dispatcher.now_ns() / SECOND

    # --- what must hold ---------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for record in self.cri.state.containers.values():
            self.made.setdefault(record.id, record)
        running = self.running_records()
        twice = [key for key, n in Counter((r.sandbox.pod_uid, _name(r)) for r in running).items() if n > 1]
        assert not twice, f"{twice} run twice at {self.seconds()} s"
        lives: dict[str, set[str]] = {}
        for record in running:
            lives.setdefault(_pod(record), set()).add(record.sandbox.pod_uid)
        several = {name: sorted(uids) for name, uids in lives.items() if len(uids) > 1}
        assert not several, f"two incarnations live at {self.seconds()} s: {several}"

    # --- looking ----------------------------------------------------------------------------------------------------

    def running_records(self) -> list[ContainerRecord]:
        containers = self.cri.state.containers.values()
        return [record for record in containers if record.state is ContainerState.CONTAINER_RUNNING]

    def running(self) -> list[str]:
        """pod/container of all that run, sorted. Static pods carry the node's name; it is left out here."""
        return sorted(f"{_pod(record)}/{_name(record)}" for record in self.running_records())

    def pod(self, name: str) -> Pod:
        """The published pod of that manifest."""
        found = [pod for pod in self.node.pods() if pod.metadata.name == f"{name}-node"]
        assert found, f"there is no pod {name}: {self.describe()}"
        return found[0]

    def phases(self) -> dict[str, str]:
        pods = self.node.pods()
        return {_short(pod.metadata.name): (pod.status.phase or "" if pod.status else "") for pod in pods}

    def status(self, name: str, container_name: str = "app") -> ContainerStatus:
        status = self.pod(name).status
        assert status is not None
        everyone = (*status.container_statuses, *status.init_container_statuses)
        return next(each for each in everyone if each.name == container_name)

    def said(self, name: str) -> list[str]:
        """reason: message of the events about a pod."""
        events = self.node.node.events()
        return [f"{each.event.reason}: {each.event.message}" for each in events if _short(each.event.name) == name]

    def settled(self) -> bool:
        """Every pod runs or has come to its end."""
        phases = self.phases()
        return bool(phases) and set(phases.values()) <= {"Running", "Succeeded", "Failed"}

    def starts_of(self, name: str, container_name: str = "app") -> list[float]:
        """Seconds at which the containers of that name were started, in order."""
        epoch_ns = self.dispatcher.wall_offset_ns
        records = [r for r in self.made.values() if _pod(r) == name and _name(r) == container_name and r.started_at]
        return [(record.started_at - epoch_ns) / SECOND for record in records]

    def describe(self) -> str:
        return f"{self.seconds()} s, {self.phases()}, running {self.running()}"


def _short(name: str) -> str:
    return name.removesuffix("-node")


def _pod(record: ContainerRecord) -> str:
    metadata = record.sandbox.config.metadata
    assert metadata is not None
    return _short(metadata.name)


def _name(record: ContainerRecord) -> str:
    metadata = record.config.metadata
    assert metadata is not None
    return metadata.name
