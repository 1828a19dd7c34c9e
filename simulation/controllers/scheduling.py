"""The rules of a simple scheduler, and its records of nodes and pods. Pure.

A node fits a pod when it is ready and schedulable, and when tolerations and selectors match. It must also have the host
ports free, and room for the requests. Of the nodes that fit, the one with room for the most further pods is chosen, and
among equals the first by name. So pods spread evenly. Changes of pods and nodes update the records, so the cost of a
decision depends on the nodes it looks at and not on the number of pods.

Claims of devices are beside these records: `claim_books.py` says which nodes they allow.

Not honoured: preemption, affinity between pods, spread constraints, volumes, scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Any, Protocol

import msgspec

from config.caches import KIB, MIB, kept
from config.objects import PodSpec, Taint
from config.pods.node_selection import selected, tolerated
from config.pods.requests import Amounts, Port, clash, host_ports, spec_requests
from config.values.quantity import NANOS, parse_quantity
from simulation.apiserver.store.by_identity import ByIdentity

Json = Mapping[str, Any]

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
NO_NODES = "no nodes available to schedule pods"

_STILL_NOT = "still not schedulable, "
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"

_UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_READY_TAINTS = {
    "True": (),
    "False": (Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule"),),
    "Unknown": (Taint(key="node.kubernetes.io/unreachable", effect="NoSchedule"),),
}
_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_WHAT_COUNTS = ("resources", "overhead", "nodeSelector", "affinity", "tolerations")
_CONTAINERS = ("containers", "initContainers")
_OF_CONTAINERS = ("name", "resources", "ports", "restartPolicy")
"""Not their volumes: the one with the token of a pod has a name that no other pod has."""
_NOTHING = PodSpec()
DEMANDS_BYTES, DEMAND_BYTES = 8 * MIB, 256 * KIB

_encode = msgspec.json.Encoder().encode


class PodDemand(msgspec.Struct, frozen=True):
    """The demands of a pod on its node. `spec`: where it may run."""

    amounts: Amounts = msgspec.field(default_factory=dict)
    ports: tuple[Port, ...] = ()
    spec: PodSpec = _NOTHING


class Offer(msgspec.Struct, frozen=True):
    """The capacity of a node.

    `taints`: those that keep pods away, including the one of a node that is not ready.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    amounts: Amounts
    pods: int


class Claims(Protocol):
    """What a pod needs because of claims. `by_claims`: resources that they may give instead of the node."""

    by_claims: Set[str]

    def refusal(self, offer: Offer) -> str:
        """Why the claims keep the pod from the node; "" if they do not."""
        ...


_NO_RESOURCES: Set[str] = frozenset()


def demand_of(pod: Json) -> PodDemand:
    """The demands of the pod. An unreadable pod has none: its node reports the fault."""
    spec = pod.get("spec") or {}
    return _demands.get(spec) or _demands.put(spec, _read_demand(spec))


_demands: ByIdentity[PodDemand] = ByIdentity(DEMANDS_BYTES, DEMAND_BYTES)


def _read_demand(spec: Json) -> PodDemand:
    asked = {name: spec[name] for name in _WHAT_COUNTS if name in spec}
    for name in _CONTAINERS:
        if spec.get(name):
            asked[name] = [{part: one[part] for part in _OF_CONTAINERS if part in one} for one in spec[name]]
    return _demand_of(_encode(asked))


@kept(DEMANDS_BYTES, DEMAND_BYTES)
def _demand_of(text: bytes) -> PodDemand:
    """The demands of a spec, cached for all pods of one template."""
    whole = msgspec.json.decode(text)
    try:
        spec = msgspec.convert({name: part for name, part in whole.items() if part is not None}, PodSpec)
        return PodDemand(spec_requests(spec), host_ports(spec), spec)
    except (msgspec.ValidationError, ValueError):
        return PodDemand()


def offer_of(node: Json) -> Offer:
    """The capacity of the node. A node that never reported ready is not ready."""
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


def refusals(
    demand: PodDemand,
    offer: Offer,
    used: Amounts,
    ports: Iterable[Port],
    pods: int,
    by_claims: Set[str] = _NO_RESOURCES,
) -> list[str]:
    """Why the node does not fit the pod, in the scheduler's words; empty when it fits.

    `used`, `ports` and `pods`: what is in use already. `by_claims`: resources that count only if the node offers them.
    Only the first failing rule is reported, as all nodes go through the rules in the same order. The rule of room
    reports every short resource.
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
        if resource in by_claims and resource not in offer.amounts:
            continue
        if amount > offer.amounts.get(resource, 0) - used.get(resource, 0):
            short.append(f"Insufficient {resource}")
    return short


class Ledger:
    """The records: nodes with their capacity, and what their pods use. Keys are (namespace, name) of pods."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[tuple[str, str], tuple[str, PodDemand]] = {}

    def put_node(self, offer: Offer) -> bool:
        """Add or change a node; returns whether decisions may change."""
        node = self._nodes.setdefault(offer.name, _Node())
        changed = node.offer != offer
        node.offer = offer
        return changed

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay recorded, in case it comes back."""
        if name in self._nodes:
            self._nodes[name].offer = None
            self._drop_if_empty(name)

    def put_pod(self, key: tuple[str, str], node: str, demand: PodDemand) -> None:
        """Record the pod on that node."""
        if self._pods.get(key) != (node, demand):
            self.remove_pod(key)
            self._pods[key] = (node, demand)
            self._nodes.setdefault(node, _Node()).add(demand)

    def remove_pod(self, key: tuple[str, str]) -> bool:
        """Remove a pod that was deleted or has ended; returns whether it was on a node."""
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
        """(-room for pods, name, node, capacity) of every known node, the one with the most room first."""
        return sorted(
            (node.pods - node.offer.pods, name, node, node.offer)
            for name, node in self._nodes.items()
            if node.offer is not None
        )

    def choose(self, demand: PodDemand, claims: Claims | None = None) -> str | None:
        """The node with the most room for pods among those that fit; None if none does."""
        takers = (name for _, name, node, offer in self._offered() if not node.refusals(demand, offer, claims))
        return next(takers, None)

    def offer(self, name: str) -> Offer | None:
        """What a node offers; None if it is not known."""
        node = self._nodes.get(name)
        return None if node is None else node.offer

    def explain(self, demand: PodDemand, claims: Claims | None = None) -> str:
        """Why no node fits the pod, in one sentence as `kubectl describe` shows it."""
        offered = self._offered()
        if not offered:
            return NO_NODES
        reasons: Counter[str] = Counter()
        preemption: Counter[str] = Counter()
        by_claims = _by_claims(claims)
        for _, _, node, offer in offered:
            why = node.refusals(demand, offer, claims)
            reasons.update(why)
            # An empty node would have room: preemption might help. Of devices it makes no room.
            only_claims = claims is not None and not node.refusals(demand, offer, None, by_claims)
            would_fit = not only_claims and not refusals(demand, offer, {}, (), 0, by_claims)
            preemption[_NO_VICTIMS if would_fit else _NOT_HELPFUL] += 1
        none = f"0/{len(offered)} nodes are available:"
        still = _STILL_NOT if claims is not None else ""
        return f"{none} {_counted(reasons)}. {still}preemption: {none} {_counted(preemption)}."

    def explain_unmet(self, why: str) -> str:
        """Why no node fits a pod whose claims cannot be met anywhere."""
        offered = self._offered()
        if not offered:
            return NO_NODES
        none = f"0/{len(offered)} nodes are available:"
        return f"{none} {why}. {_STILL_NOT}preemption: {none} {len(offered)} {_NOT_HELPFUL}."


class _Node:
    """The record of one node; without a capacity only its pods are known."""

    def __init__(self) -> None:
        self.offer: Offer | None = None
        self.used: dict[str, int] = {}
        self.ports: Counter[Port] = Counter()
        self.pods = 0

    def refusals(
        self, demand: PodDemand, offer: Offer, claims: Claims | None = None, by_claims: Set[str] = _NO_RESOURCES
    ) -> list[str]:
        """Why the node does not fit a pod with that demand; empty when it does."""
        by_claims = _by_claims(claims) or by_claims
        found = refusals(demand, offer, self.used, self.ports, self.pods, by_claims)
        if found or claims is None:
            return found
        why = claims.refusal(offer)
        return [why] if why else []

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


def _by_claims(claims: Claims | None) -> Set[str]:
    return _NO_RESOURCES if claims is None else claims.by_claims


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
