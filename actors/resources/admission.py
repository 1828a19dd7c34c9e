"""Whether this node takes a pod: every rule in its order (spec 10.14, 7.7).

Pure, over a snapshot of the node.

The first rule that fails gives the reason in the status, so users see the order. A critical pod that only lacks room is
not rejected: other pods are preempted. A pod that passes all of this asks for CPUs, memory and devices for itself
(`actors.resources.share_keeper`). A kubelet asks for these before it looks for room, so their reason comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from actors.model.allocation import Allocation, Book
from actors.model.devices import Offer
from actors.resources.abilities import Abilities, apparmor_rejection, groups_rejection, sysctl_rejection
from actors.resources.devices.wanted import without_devices
from actors.resources.predicates import NODE_AFFINITY, Mismatch, Shortage, failures, os_rejection, rejection
from actors.resources.preemption import NoVictimsError, victims
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Node, Pod, Taint
from config.pods.identity import QosClass, qos_class
from config.pods.node_selection import tolerates

EVICTED = "Evicted"
SHUTDOWN = Rejected("NodeShutdown", "Pod was rejected as the node is shutting down.")
MEMORY_TAINT = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")


class NodePressure(msgspec.Struct, frozen=True):
    """The resources that the node is short of (spec 7.2)."""

    memory: bool = False
    disk: bool = False
    pid: bool = False

    def names(self) -> tuple[str, ...]:
        """The node conditions of this pressure."""
        found = {"MemoryPressure": self.memory, "DiskPressure": self.disk, "PIDPressure": self.pid}
        return tuple(name for name, there in found.items() if there)


NO_PRESSURE = NodePressure()


class Snapshot(msgspec.Struct, frozen=True):
    """The node at the moment of the question. `book`: without the pod itself.

    `groups_policy`: the runtime supports the policy Strict of supplemental groups. `offers`: of device plugins; whether
    there is room for their devices is found out by whoever gives them.
    """

    node: Node
    book: Book
    abilities: Abilities
    groups_policy: bool = True
    pressure: NodePressure = NO_PRESSURE
    shutting_down: bool = False
    offers: FrozenMap[str, Offer] = FrozenMap()


class Admitted(msgspec.Struct, frozen=True):
    """The node takes the pod."""


class Preempts(msgspec.Struct, frozen=True):
    """The node takes the pod when the victims have ended. `short_of`: the first resource with too little."""

    victims: tuple[Allocation, ...]
    short_of: str = ""


class NodeIsStale(msgspec.Struct, frozen=True):
    """Only the node's labels reject the pod, and they may have changed since they were read.

    Read the node again, and take `otherwise` if they still do.
    """

    otherwise: Rejected


Verdict: TypeAlias = Admitted | Rejected | Preempts | NodeIsStale
ADMITTED = Admitted()


def wants_nothing_of_its_own() -> None:
    """Nothing that the pod asks for of its own can be refused."""


def admit(
    pod: Pod, wanted: Allocation, node: Snapshot, own: Callable[[], Rejected | None] = wants_nothing_of_its_own
) -> Verdict:
    """Whether the node takes the pod.

    `own` tells why the pod cannot have CPUs, memory and devices for itself. It is called for pods that are refused
    anyway.
    """
    wanted = without_devices(wanted, node.offers)
    before = _before_room(pod, wanted, node)
    if before is not None:
        return before
    room = _room(pod, wanted, node)
    if isinstance(room, NodeIsStale):
        return room
    if isinstance(room, Rejected):
        return own() or room
    after = _after_room(pod, node)
    return room if after is None else own() or after


def pressure_rejection(pod: Pod, critical: bool, pressure: NodePressure) -> Rejected | None:
    """The rejection of a pod by a node under pressure (spec 7.7)."""
    if critical or pressure == NO_PRESSURE:
        return None
    names = pressure.names()
    if names == ("MemoryPressure",) and (
        qos_class(pod) is not QosClass.BEST_EFFORT or tolerates(pod.spec, MEMORY_TAINT)
    ):
        return None
    return Rejected(EVICTED, f"The node had condition: [{' '.join(names)}]. ")


def _before_room(pod: Pod, wanted: Allocation, node: Snapshot) -> Rejected | None:
    return (
        pressure_rejection(pod, wanted.critical, node.pressure)
        or sysctl_rejection(pod, node.abilities)
        or os_rejection(pod)
        or groups_rejection(pod, node.groups_policy)
    )


def _after_room(pod: Pod, node: Snapshot) -> Rejected | None:
    return apparmor_rejection(pod, node.abilities) or (SHUTDOWN if node.shutting_down else None)


def _room(pod: Pod, wanted: Allocation, node: Snapshot) -> Verdict:
    found = failures(pod, wanted, node.node, node.book)
    if not found:
        return ADMITTED
    if all(isinstance(failure, Mismatch) and failure.predicate == NODE_AFFINITY for failure in found):
        return NodeIsStale(rejection(found[0]))
    mismatches = [failure for failure in found if isinstance(failure, Mismatch)]
    if not wanted.critical or mismatches:
        return rejection(mismatches[0] if wanted.critical else found[0])
    shortages = [failure for failure in found if isinstance(failure, Shortage)]
    try:
        return Preempts(victims(wanted, node.book, shortages), shortages[0].resource if shortages else "")
    except NoVictimsError as failure:
        text = f"Unexpected error while attempting to recover from admission failure: preemption: {failure}"
        return Rejected("UnexpectedAdmissionError", text)
