"""Which devices of plugins each pod of a node has (spec 10.11). Values, pure."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device, DeviceSetup, PluginOptions


class Offer(msgspec.Struct, frozen=True):
    """What the plugin of a resource offers. `connected` False: it is away, and nothing can be allocated."""

    devices: tuple[Device, ...] = ()
    options: PluginOptions = PluginOptions()
    connected: bool = True


class HeldDevices(msgspec.Struct, frozen=True):
    """The devices of one resource that a container has.

    `devices`: as they were when the container got them. `setup` None: their plugin has not answered yet.
    """

    devices: tuple[Device, ...]
    setup: DeviceSetup | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Their IDs."""
        return tuple(each.id for each in self.devices)


PodDevices: TypeAlias = FrozenMap[str, FrozenMap[str, HeldDevices]]
"""Container -> resource -> what it has."""
DeviceBook: TypeAlias = FrozenMap[str, PodDevices]
"""UID -> what the pod has."""
NO_DEVICES: DeviceBook = FrozenMap()


def held_ids(book: DeviceBook, resource: str) -> frozenset[str]:
    """The devices of a resource that pods have, those included that their plugin was not yet asked for."""
    return frozenset(
        device.id
        for pod in book.values()
        for resources in pod.values()
        if resource in resources
        for device in resources[resource].devices
    )
