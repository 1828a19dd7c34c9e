"""Resizes of a scenario: pods whose containers ask for other resources while they live.

Also what must hold of them.

A resize is one request to the API, for all containers of the pod. Which size it asks for is drawn. Rules look at the
world and yield what is wrong, as those of `simulation.play.world_rules` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from actors.model.allocation import book_in
from config.values.quantity import parse_quantity
from runtime.cri.messages import ContainerState
from runtime.state.allocation_file import NAME
from simulation.cri.behaviour_values import duration_ns
from simulation.node.simulated_node import ROOT, SimulatedNode
from simulation.scenarios.pods import PodMix
from simulation.world.invariants import ENDED
from simulation.world.seen import PodSeen
from simulation.world.world import PODS, World

ADMITTED_NS = 20 * 10**9
CPU_PERIOD_US = 100_000
BILLION = 10**9
COUNTED = ("cpu", "memory")

Json = dict[str, Any]


class Resizes:
    """Requests the resizes of a scenario, until `over`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.over = False

    def plan(self, mix: PodMix, name: str, began_ns: int, until_ns: int) -> None:
        """The resizes of a pod that was created now, at times drawn evenly.

        `began_ns`: when the first pods could come.

        They begin when all of the mix have come and been admitted: otherwise those that grow leave others no room.
        """
        now_ns = self._world.now_ns()
        all_came_ns = max(0, began_ns + duration_ns(mix.arrives[1]) + ADMITTED_NS - now_ns)
        for _ in range(mix.resized):
            after_ns = self._world.chance.between(all_came_ns, max(all_came_ns, until_ns - now_ns))
            self._world.after(after_ns, lambda: self._resize(mix, name))

    def _resize(self, mix: PodMix, name: str) -> None:
        """Ask for another size of the pod, unless it has ended or is being deleted."""
        world = self._world
        shown = world.server.store.get("pods", "default", name)
        if self.over or shown is None or shown.object["metadata"].get("deletionTimestamp"):
            return
        if shown.object["status"].get("phase") in ENDED:
            return
        size = mix.sizes[world.chance.between(0, len(mix.sizes) - 1)]
        world.note(f"resizes {name}")
        world.chronicle.sometimes.happened("pod-resized")
        spec = shown.object["spec"]
        containers = [{**each, "resources": size} for each in spec["containers"]]
        world.ask("PUT", f"{PODS}/{name}/resize", {**shown.object, "spec": {**spec, "containers": containers}})


# --- every second -----------------------------------------------------------------------------------------------------


def over_committed(world: World) -> Iterator[str]:
    """The allocations of pods fit on the node, as promised memory must exist (spec 10.16)."""
    for name, node in world.nodes.items():
        has, given = allocatable(world, name), allocated(node)
        for resource in COUNTED:
            total = sum(each.get(resource, 0) for each in given.values())
            if total > has[resource]:
                yield f"{name} has given {total / BILLION:g} of {resource}, and has {has[resource] / BILLION:g}"


# --- when all has been healed -----------------------------------------------------------------------------------------


def half_resized(world: World) -> Iterator[str]:
    """A resize is done everywhere, or the pod says why not, so that its owner knows the real state."""
    for uid, pod in world.chronicle.pods.items():
        if pod.mix is None or not pod.mix.resized or pod.phase != "Running" or pod.deleted_ns is not None:
            continue
        shown = world.server.store.get("pods", "default", pod.name)
        if shown is None:
            continue
        spec, status = shown.object["spec"], shown.object["status"]
        conditions = {each["type"]: each for each in status["conditions"]}
        if "PodResizeInProgress" in conditions:
            yield f"{pod.name} is still being resized"
            continue
        pending = conditions.get("PodResizePending")
        if pending is not None:
            yield from _untrue_refusal(world, pod, uid, spec, pending)
            continue
        node = world.nodes[pod.node]
        for container in spec["containers"]:
            yield from _unlike(node, pod.name, uid, container, status)


def _unlike(node: SimulatedNode, pod: str, uid: str, container: Json, status: Json) -> Iterator[str]:
    """The differences between the resources that a container has and those in its spec."""
    name, wanted = container["name"], container["resources"]
    shown: Json = next((each for each in status["containerStatuses"] if each["name"] == name), {})
    if shown.get("resources") != wanted:
        yield f"container {name} of {pod} asks for {wanted} and shows {shown.get('resources')}"
    if shown.get("allocatedResources") != wanted["requests"]:
        yield f"container {name} of {pod} asks for {wanted['requests']} and was given {shown.get('allocatedResources')}"
    memory = parse_quantity(wanted["limits"]["memory"]).value()
    quota = int(parse_quantity(wanted["limits"]["cpu"]).milli_value() * CPU_PERIOD_US / 1000)
    for record in node.cri.state.containers.values():
        if record.sandbox.pod_uid == uid and record.name == name and record.state is ContainerState.CONTAINER_RUNNING:
            has = record.resources
            bounds = None if has is None else (has.memory_limit_in_bytes, has.cpu_quota)
            if bounds != (memory, quota):
                yield f"container {name} of {pod} is bounded by {bounds}, and asks for {(memory, quota)}"


def _untrue_refusal(world: World, pod: PodSeen, uid: str, spec: Json, pending: Json) -> Iterator[str]:
    """Faults of a waiting resize: it has no reason or message, or waits for room that is there."""
    if not pending.get("message") or not pending.get("reason"):
        yield f"{pod.name} waits for its resize, and nothing says why"
    if pending.get("reason") != "Deferred":
        return
    has = allocatable(world, pod.node)
    others = [each for other, each in allocated(world.nodes[pod.node]).items() if other != uid]
    wanted = _requests(spec)
    if all(sum(each.get(one, 0) for each in others) + wanted[one] <= has[one] for one in COUNTED):
        yield f"the resize of {pod.name} on {pod.node} is deferred, and there is room for it"


def _requests(spec: Json) -> Mapping[str, int]:
    """The requests of all containers, in billionths."""
    return {
        one: sum(_billionths(each["resources"]["requests"].get(one, "0")) for each in spec["containers"])
        for one in COUNTED
    }


def allocatable(world: World, node: str) -> Mapping[str, int]:
    """The allocatable resources of the node, in billionths; unlimited while unknown."""
    shown = world.server.store.get("nodes", "", node)
    told = {} if shown is None else (shown.object.get("status") or {}).get("allocatable") or {}
    return {one: _billionths(told[one]) if one in told else 1 << 63 for one in COUNTED}


def allocated(node: SimulatedNode) -> Mapping[str, Mapping[str, int]]:
    """UID -> what its agent has given to the pod, as it stands on the disk; billionths."""
    tree, path = node.host.tree, f"{ROOT}/{NAME}"
    if not tree.exists(path):
        return {}
    return {each.uid: each.requests for each in book_in(tree.read(path)).allocations}


def _billionths(text: str) -> int:
    return parse_quantity(str(text)).milli_value() * (BILLION // 1000)
