"""`NodePodResources`: the `PodResourcesSource` of a node (spec 16).

It asks actors and decides nothing: the pods from those who know them, what they have from the owner of the book.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actors.messages.shares import NodeShares
from actors.model.devices import PodDevices
from actors.model.resource_claims import NO_CLAIMS, PodClaims
from actors.model.shares import NOTHING, PodShares, Share
from actors.node.node import NodeAgent
from actors.start.claims import claims_of
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, PodSpec
from config.pods.identity import is_sidecar
from config.pods.once_per_spec import once_per_spec
from runtime.device_plugins.capability import Device
from runtime.pod_resources.capability import (
    ClaimedDevice,
    ClaimHoldings,
    DevicesOnNodes,
    Holdings,
    MemoryOnNodes,
    PodHoldings,
)

PATIENCE_NS = 60_000_000_000
"""How long to wait for sources that have not told their pods.

After that, a node without an API server tells its static pods.
"""
NO_POD_SHARES = PodShares()
NO_POD_DEVICES: PodDevices = FrozenMap()
NO_DEVICES: Mapping[str, Sequence[Device]] = {}


class NodePodResources:
    """See the module. Every method may wait for actors."""

    def __init__(self, node: NodeAgent) -> None:
        self._node = node
        self._patient_until_ns = node.system.dispatcher.now_ns() + PATIENCE_NS

    @property
    def lists_active_pods(self) -> bool:
        return self._node.plan.gates.enabled("KubeletPodResourcesListUseActivePods")

    def allocatable(self) -> Holdings | None:
        shares = self._node.shares()
        if shares is None:
            return None
        offers = shares.devices.offers.items()
        healthy = {name: tuple(each for each in offer.devices if each.healthy) for name, offer in offers}
        return _held(shares.allocatable, healthy)

    def pods(self, *, active: bool) -> tuple[PodHoldings, ...] | None:
        is_patient = self._node.system.dispatcher.now_ns() < self._patient_until_ns
        if is_patient and not self._node.pods_are_told():
            return None
        pods, shares, claims = self._node.every_pod(), self._node.shares(), self._node.claims()
        if pods is None or shares is None:
            return None
        return tuple(
            _held_by(pod, shares, claims.get(pod.metadata.uid, NO_CLAIMS))
            for pod in pods
            if not active or pod.metadata.uid in shares.admitted
        )


def _held_by(pod: Pod, node: NodeShares, claims: PodClaims) -> PodHoldings:
    """What the sidecars and the containers have. Init containers that end are left out, as a kubelet does."""
    uid = pod.metadata.uid
    shares, devices = node.book.get(uid, NO_POD_SHARES).containers, node.devices.book.get(uid, NO_POD_DEVICES)
    sidecars, others = _lasting(pod.spec)
    held = {name: {each: has.devices for each, has in resources.items()} for name, resources in devices.items()}
    containers = tuple(
        (name, _held(shares.get(name, NOTHING), held.get(name, NO_DEVICES))) for name in (*sidecars, *others)
    )
    if claims:
        by_name = _by_name(pod.spec)
        containers = tuple(
            (name, msgspec.structs.replace(held, claims=_claimed(pod, by_name[name], claims)))
            for name, held in containers
        )
    return PodHoldings(pod.metadata.namespace, pod.metadata.name, containers, len(sidecars))


def _claimed(pod: Pod, container: Container, claims: PodClaims) -> tuple[ClaimHoldings, ...]:
    return tuple(
        ClaimHoldings(
            claim.ref.namespace,
            claim.ref.name,
            tuple(
                ClaimedDevice(driver, each.pool, each.device, each.cdi, each.share)
                for driver, each in claim.of_request("")
            ),
        )
        for claim in claims_of(pod, container, claims)
    )


@once_per_spec
def _by_name(spec: PodSpec) -> Mapping[str, Container]:
    return {each.name: each for each in (*spec.init_containers, *spec.containers)}


@once_per_spec
def _lasting(spec: PodSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sidecars and of the containers."""
    sidecars = tuple(each.name for each in spec.init_containers if is_sidecar(each))
    return sidecars, tuple(each.name for each in spec.containers)


def _held(share: Share, devices: Mapping[str, Sequence[Device]]) -> Holdings:
    """`devices`: by resource. Each is told by itself, as a kubelet does."""
    memory = tuple(MemoryOnNodes(each.kind, each.size_bytes, each.nodes) for each in share.memory)
    told = tuple(
        DevicesOnNodes(name, (each.id,), each.nodes) for name, some in sorted(devices.items()) for each in some
    )
    return Holdings(tuple(sorted(share.cpus)), memory, told)
