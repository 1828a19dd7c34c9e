"""Whether a pod fits on this node: room, ports, selectors, taints, the operating system (spec 10.14).

Pure.

The scheduler has checked the same for the pods that it placed. The node checks again: the scheduler may have used old
data, and nobody has checked static pods and those that were bound by hand. The messages are those of other kubelets.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest
from typing import TypeAlias

import msgspec

from actors.model.allocation import Allocation, Book
from actors.resources.verdict import SHORTAGE, Rejected
from config.objects import Node, Pod
from config.pods.identity import is_static
from config.pods.node_selection import NO_EXECUTE, selected, tolerates
from config.pods.requests import host_port_sets
from config.values.quantity import NANOS, parse_quantity

PODS = "pods"
CPU = "cpu"
FIRST = (CPU, "memory", "ephemeral-storage")
"""The order in which shortages are reported; the first is the reason in the status."""

UNKNOWN_AT_MOST = 8
"""Resources that the node lacks altogether, of those that are counted as short."""
NODE_AFFINITY = "NodeAffinity"
OS = "linux"
OS_LABEL = "kubernetes.io/os"


class Shortage(msgspec.Struct, frozen=True):
    """Too little of a resource. All amounts in billionths of its unit; `pods` counts pods."""

    resource: str
    requested: int
    used: int
    capacity: int

    def missing(self) -> int:
        """How much has to become free."""
        return self.requested - (self.capacity - self.used)


class Mismatch(msgspec.Struct, frozen=True):
    """The node does not suit the pod, whatever is free."""

    predicate: str
    text: str


Failure: TypeAlias = Shortage | Mismatch


def os_rejection(pod: Pod) -> Rejected | None:
    """The rejection of a pod for another operating system."""
    label = pod.metadata.labels.get(OS_LABEL)
    if label is not None and label != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Rejected("PodOSSelectorNodeLabelDoesNotMatch", text)
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return Rejected("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None


def failures(pod: Pod, wanted: Allocation, node: Node, book: Book) -> tuple[Failure, ...]:
    """All that keeps the pod from this node, shortages first; () when it fits."""
    return (*_shortages(wanted, node, book, _of_claims(pod)), *_mismatches(pod, wanted, node, book))


def rejection(failure: Failure) -> Rejected:
    """The failure as a rejection, for the pod's status."""
    if isinstance(failure, Mismatch):
        return Rejected(failure.predicate, f"Predicate {failure.predicate} failed: {failure.text}")
    requested, used, capacity = (
        _counted(failure.resource, amount) for amount in (failure.requested, failure.used, failure.capacity)
    )
    room = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejected(f"{SHORTAGE}{failure.resource}", f"Node didn't have enough resource: {failure.resource}, {room}")


def _of_claims(pod: Pod) -> frozenset[str]:
    """Resources whose devices a scheduler gave to this pod by a claim. The node does not list them."""
    given = pod.status.extended_resource_claim_status if pod.status is not None else None
    return frozenset(each.resource_name for each in given.request_mappings) if given is not None else frozenset()


def _shortages(wanted: Allocation, node: Node, book: Book, of_claims: frozenset[str]) -> Iterator[Shortage]:
    allocatable = node.status.allocatable if node.status is not None else {}
    places = parse_quantity(allocatable.get(PODS, "0")).nanos
    if (len(book) + 1) * NANOS > places:
        yield Shortage(PODS, NANOS, len(book) * NANOS, places)
    if not wanted.requests:
        return
    # A pod may ask for thousands of resources. Of those that the node does not have, the first tell enough.
    asked = wanted.requests.keys() - of_claims
    unknown = nsmallest(UNKNOWN_AT_MOST, asked - allocatable.keys())
    known = sorted(asked & allocatable.keys())
    for resource in (*FIRST, *sorted(each for each in (*known, *unknown) if each not in FIRST)):
        requested = wanted.requests.get(resource, 0)
        if not requested:
            continue
        capacity, used = parse_quantity(allocatable.get(resource, "0")).nanos, book.used(resource)
        if requested > capacity - used:
            yield Shortage(resource, requested, used, capacity)


def _mismatches(pod: Pod, wanted: Allocation, node: Node, book: Book) -> Iterator[Mismatch]:
    spec, meta = pod.spec, node.metadata
    if not selected(spec, meta.labels, meta.name):
        yield Mismatch(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
    if spec.node_name and spec.node_name != meta.name:
        yield Mismatch("NodeName", "node(s) didn't match the requested node name")
    if book.takes_ports(host_port_sets(spec)):
        yield Mismatch("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    for taint in node.spec.taints:
        if taint.effect == NO_EXECUTE and not (is_static(pod) or tolerates(spec, taint)):
            yield Mismatch("TaintToleration", "node(s) had taints that the pod didn't tolerate")
            break


def _counted(resource: str, amount: int) -> int:
    """The amount in messages: thousandths of a CPU, whole units of everything else."""
    return -(-amount * (1000 if resource == CPU else 1) // NANOS)
