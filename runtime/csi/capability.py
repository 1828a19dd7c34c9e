"""The capability of storage drivers: `CsiNode` asks one, `CsiDrivers` finds it by name.

All calls block, for up to two minutes each: actors run them on lanes. All may be repeated with the same arguments.
Failures are `PluginError`. The real ones are in `runtime.csi.client`, simulated ones in `simulation.host.plugins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Protocol

import msgspec

from config.frozen_map import FrozenMap
from config.objects.base import Hidden

_NOTHING: Mapping[str, str] = {}


class Ability(IntEnum):
    """Abilities of the node service of a driver (`NodeServiceCapability.RPC`)."""

    UNKNOWN = 0
    STAGE_UNSTAGE_VOLUME = 1
    GET_VOLUME_STATS = 2
    EXPAND_VOLUME = 3
    VOLUME_CONDITION = 4
    SINGLE_NODE_MULTI_WRITER = 5
    VOLUME_MOUNT_GROUP = 6


class AccessMode(IntEnum):
    """How many nodes use a volume, and how many of its users write (`VolumeCapability.AccessMode`)."""

    UNKNOWN = 0
    SINGLE_NODE_WRITER = 1
    SINGLE_NODE_READER_ONLY = 2
    MULTI_NODE_READER_ONLY = 3
    MULTI_NODE_SINGLE_WRITER = 4
    MULTI_NODE_MULTI_WRITER = 5
    SINGLE_NODE_SINGLE_WRITER = 6
    SINGLE_NODE_MULTI_WRITER = 7


class NodeInfo(msgspec.Struct, frozen=True):
    """What a driver reports of this node. `node_id`: its name there; `topology`: its location.

    `max_volumes` 0: no limit.
    """

    node_id: str
    max_volumes: int = 0
    topology: FrozenMap[str, str] = FrozenMap()


class Access(msgspec.Struct, frozen=True):
    """How a volume is used: as a device (`block`), or as a file system with mount options.

    `group` is for drivers that set the group of the files themselves.
    """

    mode: AccessMode
    block: bool = False
    fs_type: str = ""
    mount_options: tuple[str, ...] = ()
    group: str = ""


class StageVolume(Hidden, msgspec.Struct, frozen=True):
    """`publish_context`: of the attachment. `path` is a directory that exists."""

    handle: str
    path: str
    access: Access
    publish_context: Mapping[str, str] = _NOTHING
    attributes: Mapping[str, str] = _NOTHING
    secrets: Mapping[str, str] = _NOTHING


class PublishVolume(Hidden, msgspec.Struct, frozen=True):
    """`path` is made by the driver, a directory or a device as a file; what it lies in exists."""

    handle: str
    path: str
    access: Access
    staging_path: str = ""
    read_only: bool = False
    publish_context: Mapping[str, str] = _NOTHING
    attributes: Mapping[str, str] = _NOTHING
    secrets: Mapping[str, str] = _NOTHING


class ExpandVolume(Hidden, msgspec.Struct, frozen=True):
    """`path`: where it is published, or else staged."""

    handle: str
    path: str
    required_bytes: int
    access: Access
    staging_path: str = ""
    secrets: Mapping[str, str] = _NOTHING


class Usage(msgspec.Struct, frozen=True):
    """Bytes or inodes of a volume; None where the driver does not say."""

    available: int | None = None
    total: int | None = None
    used: int | None = None


class DriverVolumeStats(msgspec.Struct, frozen=True):
    """Volume statistics of a driver. `abnormal` None: it does not report the condition."""

    space: Usage = Usage()
    inodes: Usage = Usage()
    abnormal: bool | None = None
    condition: str = ""


class CsiNode(Protocol):
    """The node half of one driver. Every method raises PluginError."""

    def info(self) -> NodeInfo:
        """NodeGetInfo."""

    def abilities(self) -> frozenset[Ability]:
        """NodeGetCapabilities; asked once for each registration."""

    def stage(self, volume: StageVolume) -> None:
        """NodeStageVolume."""

    def unstage(self, handle: str, path: str) -> None:
        """NodeUnstageVolume."""

    def publish(self, volume: PublishVolume) -> None:
        """NodePublishVolume."""

    def unpublish(self, handle: str, path: str) -> None:
        """NodeUnpublishVolume."""

    def expand(self, volume: ExpandVolume) -> int:
        """NodeExpandVolume: the size in bytes now, 0 when the driver does not say."""

    def stats(self, handle: str, path: str, staging_path: str) -> DriverVolumeStats:
        """NodeGetVolumeStats."""


class CsiDrivers(Protocol):
    """The drivers of this node.

    Who registers them is the PluginWatcherActor alone; any lane may look one up.
    """

    def register(self, name: str, endpoint: str) -> CsiNode:
        """Register the socket of the driver of that name.

        Raises PluginError for a text that is no endpoint.
        """

    def unregister(self, name: str) -> None:
        """Remove the driver of that name."""

    def find(self, name: str) -> CsiNode | None:
        """The driver of that name; None: none is registered (yet)."""

    def names(self) -> tuple[str, ...]:
        """The names of all registered drivers, sorted."""
