"""Which node a pod goes to: the rules of a simple scheduler, and what it keeps of nodes and pods. Pure.

A node takes a pod when it is ready and schedulable, tolerated, selected, has the host ports free, and has room by the
sums of what pods ask for. Of those that do the one with the most room for further pods is taken, by name among equals:
pods spread evenly. The books are kept up as pods and nodes change, so that a decision costs the nodes it looks at and
not the pods there are.

Not honoured: preemption, affinity between pods, spread constraints, volumes, scores. Refuses to know the API server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from config.objects import PodSpec, Taint
from config.pods.node_selection import selected, tolerated
from config.pods.requests import Amounts, Port, clash, host_ports, spec_requests
from config.values.quantity import NANOS, parse_quantity
from simulation.apiserver.by_identity import ByIdentity

Json = Mapping[str, Any]

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
NO_NODES = "no nodes available to schedule pods"

_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"

_UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_READY_TAINTS = {
    "True": (),
    "False": (Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule"),),
    "Unknown": (Taint(key="node.kubernetes.io/unreachable", effect="NoSchedule"),),
}
_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_WHAT_COUNTS = ("containers", "initContainers", "resources", "overhead", "nodeSelector", "affinity", "tolerations")
_NOTHING = PodSpec()
DEMANDS_AT_MOST = 1024

_encode = msgspec.json.Encoder().encode


class PodDemand(msgspec.Struct, frozen=True):
    """What a pod asks of a node. `spec`: where it may run."""

    amounts: Amounts = msgspec.field(default_factory=dict)
    ports: tuple[Port, ...] = ()
    spec: PodSpec = _NOTHING


class Offer(msgspec.Struct, frozen=True):
    """What a node offers. `taints`: those that keep pods away, with the one of a node that is not ready."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    amounts: Amounts
    pods: int


def demand_of(pod: Json) -> PodDemand:
    """What the pod asks for. One that cannot be read asks for nothing: its node says what is wrong with it."""
    spec = pod.get("spec") or {}
    return _demands.get(spec) or _demands.put(spec, _read_demand(spec))


_demands: ByIdentity[PodDemand] = ByIdentity(DEMANDS_AT_MOST)


def _read_demand(spec: Json) -> PodDemand:
    return _demand_of(_encode({name: spec[name] for name in _WHAT_COUNTS if name in spec}))


@lru_cache(maxsize=DEMANDS_AT_MOST)
def _demand_of(text: bytes) -> PodDemand:
    """Of what counts in a spec: the same, and kept once, for all pods that are made of one template."""
    whole = msgspec.json.decode(text)
    try:
        spec = msgspec.convert({name: part for name, part in whole.items() if part is not None}, PodSpec)
        return PodDemand(spec_requests(spec), host_ports(spec), spec)
    except (msgspec.ValidationError, ValueError):
        return PodDemand()


def offer_of(node: Json) -> Offer:
    """What the node offers. One that has never said that it is ready is not."""
    metadata, spec, status = (node.get(part) or {} for part in ("metadata", "spec", "status"))
    conditions = status.get("conditions") or ()
    ready = next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), "False")
    there = msgspec.convert(spec.get("taints") or (), tuple[Taint, ...])
    taints = [taint for taint in there if taint.effect in _KEEPS_AWAY]
    known = {(taint.key, taint.effect) for taint in taints}
    own = _READY_TAINTS.get(ready, _READY_TAINTS["Unknown"])
    taints += [taint for taint in own if (taint.key, taint.effect) not in known]
    amounts = _read(status.get("allocatable") or status.get("capacity") or {})
    return Offer(
        name=str(metadata.get("name", "")),
        labels=metadata.get("labels") or {},
        taints=tuple(taints),
        unschedulable=bool(spec.get("unschedulable")),
        amounts=amounts,
        pods=amounts.get("pods", 0) // NANOS,
    )


def refusals(demand: PodDemand, offer: Offer, used: Amounts, ports: Iterable[Port], pods: int) -> list[str]:
    """Why the node does not take the pod, in the words of the scheduler; empty when it does.

    `used`, `ports` and `pods`: what is taken already. Only the first rule that refuses is told, as all nodes go
    through the rules in the same order; the rule of room tells of every resource that is short.
    """
    if offer.unschedulable and not tolerated(_UNSCHEDULABLE_TAINT, demand.spec.tolerations):
        return [UNSCHEDULABLE]
    if not all(tolerated(taint, demand.spec.tolerations) for taint in offer.taints):
        return [TAINTED]
    if not selected(demand.spec, offer.labels, offer.name):
        return [NOT_SELECTED]
    if demand.ports and any(clash(mine, other) for mine in demand.ports for other in ports):
        return [NO_PORTS]
    short = [TOO_MANY_PODS] if pods >= offer.pods else []
    for resource, amount in demand.amounts.items():
        if amount > offer.amounts.get(resource, 0) - used.get(resource, 0):
            short.append(f"Insufficient {resource}")
    return short


class Ledger:
    """Who is where: nodes with what they offer, and what their pods take of it. Keys are (namespace, name) of pods."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[tuple[str, str], tuple[str, PodDemand]] = {}

    def put_node(self, offer: Offer) -> bool:
        """A node is there or has changed; whether anything changed that decisions depend on."""
        node = self._nodes.setdefault(offer.name, _Node())
        changed = node.offer != offer
        node.offer = offer
        return changed

    def remove_node(self, name: str) -> None:
        """The node is gone; its pods are still counted, should it come back."""
        if name in self._nodes:
            self._nodes[name].offer = None
            self._drop_if_empty(name)

    def put_pod(self, key: tuple[str, str], node: str, demand: PodDemand) -> None:
        """The pod is on that node."""
        if self._pods.get(key) != (node, demand):
            self.remove_pod(key)
            self._pods[key] = (node, demand)
            self._nodes.setdefault(node, _Node()).add(demand)

    def remove_pod(self, key: tuple[str, str]) -> bool:
        """The pod is on no node any more, or has ended; whether it had been on one."""
        known = self._pods.pop(key, None)
        if known is None:
            return False
        name, demand = known
        self._nodes[name].subtract(demand)
        self._drop_if_empty(name)
        return True

    def _drop_if_empty(self, name: str) -> None:
        if self._nodes[name].offer is None and not self._nodes[name].pods:
            del self._nodes[name]

    def _offered(self) -> list[tuple[int, str, _Node, Offer]]:
        """(-room for pods, name, node, offer) of every known node, the one with the most room first."""
        return sorted(
            (node.pods - node.offer.pods, name, node, node.offer)
            for name, node in self._nodes.items()
            if node.offer is not None
        )

    def choose(self, demand: PodDemand) -> str | None:
        """The node with the most room for pods among those that take the pod; None when none does."""
        offered = self._offered()
        takers = (name for _, name, node, offer in offered if not node.refusals(demand, offer))
        return next(takers, None)

    def explain(self, demand: PodDemand) -> str:
        """Why no node takes the pod, in one sentence as `kubectl describe` has taught everybody."""
        offered = self._offered()
        if not offered:
            return NO_NODES
        reasons: Counter[str] = Counter()
        preemption: Counter[str] = Counter()
        for _, _, node, offer in offered:
            reasons.update(node.refusals(demand, offer))
            # On an empty node there would be room: somebody might have had to make way.
            would_fit = not refusals(demand, offer, {}, (), 0)
            preemption[_NO_VICTIMS if would_fit else _NOT_HELPFUL] += 1
        none = f"0/{len(offered)} nodes are available:"
        return f"{none} {_counted(reasons)}. preemption: {none} {_counted(preemption)}."


class _Node:
    """One node of the books; without an offer only its pods are known."""

    def __init__(self) -> None:
        self.offer: Offer | None = None
        self.used: dict[str, int] = {}
        self.ports: Counter[Port] = Counter()
        self.pods = 0

    def refusals(self, demand: PodDemand, offer: Offer) -> list[str]:
        """Why it does not take a pod of that demand; empty when it does."""
        return refusals(demand, offer, self.used, self.ports, self.pods)

    def add(self, demand: PodDemand) -> None:
        self.pods += 1
        if demand.ports:
            self.ports.update(demand.ports)
        for resource, amount in demand.amounts.items():
            self.used[resource] = self.used.get(resource, 0) + amount

    def subtract(self, demand: PodDemand) -> None:
        self.pods -= 1
        if demand.ports:
            self.ports -= Counter(demand.ports)
        for resource, amount in demand.amounts.items():
            self.used[resource] -= amount


def _counted(reasons: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


def _read(amounts: Json) -> dict[str, int]:
    read = {}
    for resource, text in amounts.items():
        try:
            read[resource] = parse_quantity(str(text)).nanos
        except ValueError:
            continue
    return read
