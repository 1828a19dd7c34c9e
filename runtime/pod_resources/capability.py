"""What the pod resources API tells: the CPUs, memory, devices and claims of each container."""

from __future__ import annotations

from typing import Protocol

import msgspec


class MemoryOnNodes(msgspec.Struct, frozen=True):
    """Memory of one kind ("memory", "hugepages-<size>") on NUMA nodes."""

    kind: str
    size_bytes: int
    nodes: tuple[int, ...]


class DevicesOnNodes(msgspec.Struct, frozen=True):
    """Devices of one resource. `nodes`: the NUMA nodes that they are near to, if known."""

    resource: str
    ids: tuple[str, ...]
    nodes: tuple[int, ...] = ()


class ClaimedDevice(msgspec.Struct, frozen=True):
    """A device of a claim. `cdi`: what the runtime adds for it."""

    driver: str
    pool: str
    device: str
    cdi: tuple[str, ...] = ()
    share: str = ""


class ClaimHoldings(msgspec.Struct, frozen=True):
    """A claim, and the devices that drivers have made ready for it."""

    namespace: str
    name: str
    devices: tuple[ClaimedDevice, ...] = ()


class Holdings(msgspec.Struct, frozen=True):
    """What one container has for itself, or what all containers of a node could have."""

    cpus: tuple[int, ...] = ()
    memory: tuple[MemoryOnNodes, ...] = ()
    devices: tuple[DevicesOnNodes, ...] = ()
    claims: tuple[ClaimHoldings, ...] = ()


class PodHoldings(msgspec.Struct, frozen=True):
    """A pod: its sidecars and containers by name, in the order of its spec."""

    namespace: str
    name: str
    containers: tuple[tuple[str, Holdings], ...] = ()
    sidecars: int = 0
    """How many of the containers are sidecars. They come first."""


class PodResourcesSource(Protocol):
    """Who knows. Each method may wait a few seconds; None: that is not known now."""

    def allocatable(self) -> Holdings | None:
        """All that containers could have, whether or not it is given."""

    def pods(self, *, active: bool) -> tuple[PodHoldings, ...] | None:
        """All pods; with `active`, only those that are admitted and have not ended."""

    @property
    def lists_active_pods(self) -> bool:
        """The gate KubeletPodResourcesListUseActivePods."""
