"""Static pods of a world: manifests that come, change and go on its nodes, and what has run of each.

The API shows a picture of them, when it is there. The truth is what runs: it is compared with the manifest, by a
version that each change writes into an annotation of the pod.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from runtime.cri.messages import ContainerState
from simulation.cri.state import ContainerRecord
from simulation.node.simulated_node import SimulatedNode
from simulation.scenarios.pods import VERSION, PodMix, body_of, metadata_of
from simulation.world import invariants
from simulation.world.chronicle import Chronicle
from simulation.world.seen import StaticPod


class StaticPodWorld(Protocol):
    """The parts of the world that static pods need."""

    nodes: dict[str, SimulatedNode]
    chronicle: Chronicle

    def now_ns(self) -> int: ...
    def note(self, what: str) -> None:
        """Write it into the trace."""


class StaticPods:
    def __init__(self, world: StaticPodWorld) -> None:
        self._world = world
        self._pods: dict[str, StaticPod] = {}
        self._bodies: dict[str, dict[str, Any]] = {}

    def all(self) -> Iterator[StaticPod]:
        yield from self._pods.values()

    def uids(self) -> set[str]:
        """The UIDs of all pods ever seen whose manifests exist."""
        return {uid for pod in self._pods.values() if pod.version is not None for uid in pod.uids}

    # --- what people do ---------------------------------------------------------------------------------------------

    def put(self, mix: PodMix, name: str, node: str) -> None:
        """Write the manifest of that name."""
        pod = self._pods[f"{name}-{node}"] = StaticPod(name, node, mix)
        self._write(pod, 0)

    def change(self, name: str, node: str) -> None:
        """Write it anew, so that it means another pod. Nothing, when it was removed."""
        pod = self._pods[f"{name}-{node}"]
        if pod.version is not None:
            self._world.chronicle.sometimes.happened("manifest-changed")
            self._write(pod, pod.version + 1)

    def remove(self, name: str, node: str) -> None:
        """Remove it."""
        pod = self._pods[f"{name}-{node}"]
        self._world.note(f"removes the manifest {name} of {node}")
        pod.version, pod.since_ns = None, self._world.now_ns()
        self._world.nodes[node].remove_manifest(f"{name}.json")

    def _write(self, pod: StaticPod, version: int) -> None:
        self._world.note(f"writes version {version} of the manifest {pod.name} of {pod.node}")
        pod.version, pod.since_ns, pod.runs = version, self._world.now_ns(), False
        body = self._bodies.setdefault(pod.mix.name, body_of(pod.mix))
        metadata = metadata_of(pod.mix, pod.name)
        metadata["annotations"] = {**metadata["annotations"], VERSION: str(version)}
        self._world.nodes[pod.node].put_manifest(f"{pod.name}.json", json.dumps({**body, "metadata": metadata}))

    def agent_began(self, node: str) -> None:
        """A new agent of that node can only now see what there is."""
        for pod in self._pods.values():
            if pod.node == node:
                pod.since_ns = self._world.now_ns()

    # --- what is seen -----------------------------------------------------------------------------------------------

    def container_changed(self, record: ContainerRecord) -> bool:
        """Handle a change of a container that belongs to no pod of the API.

        Returns whether it belongs to one of these static pods.
        """
        metadata = record.sandbox.config.metadata
        pod = self._pods.get(metadata.name) if metadata is not None else None
        if pod is None or record.config.metadata is None:
            return False
        pod.uids.add(record.sandbox.pod_uid)
        live = pod.live.setdefault(record.config.metadata.name, {})
        if record.state is not ContainerState.CONTAINER_RUNNING:
            live.pop(record.id, None)
            return True
        if record.id in live:
            return True
        version = live[record.id] = int(record.sandbox.config.annotations.get(VERSION, -1))
        for rule in invariants.OF_STATIC_STARTS:
            self._world.chronicle.judge(rule, pod, self._world.now_ns(), version)
        pod.runs = pod.runs or version == pod.version
        return True
