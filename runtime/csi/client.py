"""Storage drivers over gRPC: `GrpcCsiNode` at one socket, `GrpcCsiDrivers` by their names.

Only this module knows the messages of `csi.v1`. The abilities of a driver are asked once, and kept while the driver is
registered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from config.credentials.masked import masked
from config.frozen_map import FrozenMap
from runtime.csi.capability import (
    Ability,
    Access,
    DriverVolumeStats,
    ExpandVolume,
    NodeInfo,
    PublishVolume,
    StageVolume,
    Usage,
)
from runtime.csi.v1 import csi_pb2 as wire
from runtime.plugins.errors import PluginError
from runtime.plugins.socket import PluginSocket

CALL_NS = 120 * 10**9
"""The time limit of one call to a driver (spec 8.1)."""
OK = "OK"
TOKENS = "csi.storage.k8s.io/serviceAccount.tokens"
"""The attribute of a volume that holds the tokens of its pod."""

Asked = Callable[[str, str, int], None]
"""`asked("/csi.v1.Node/NodeGetInfo", "OK", took_ns)`: after each call, on its thread."""


def _nobody(method: str, code: str, took_ns: int) -> None:
    """A listener that does nothing."""


class GrpcCsiNode:
    """`CsiNode` at a socket. Raises PluginError for a text that is no endpoint."""

    def __init__(self, endpoint: str, timeout_ns: int = CALL_NS, asked: Asked = _nobody) -> None:
        self.endpoint = endpoint
        self._asked = asked
        self._socket = PluginSocket(endpoint)
        self._timeout_ns = timeout_ns
        self._abilities: frozenset[Ability] | None = None

    def info(self) -> NodeInfo:
        answer = self._ask("NodeGetInfo")
        return NodeInfo(answer.node_id, answer.max_volumes_per_node, FrozenMap(answer.accessible_topology.segments))

    def abilities(self) -> frozenset[Ability]:
        if self._abilities is None:
            found = {each.rpc.type for each in self._ask("NodeGetCapabilities").capabilities}
            self._abilities = frozenset(ability for ability in Ability if ability and ability in found)
        return self._abilities

    def stage(self, volume: StageVolume) -> None:
        self._ask(
            "NodeStageVolume",
            volume_id=volume.handle,
            publish_context=volume.publish_context,
            staging_target_path=volume.path,
            volume_capability=_capability(volume.access),
            secrets=volume.secrets,
            volume_context=volume.attributes,
        )

    def unstage(self, handle: str, path: str) -> None:
        self._ask("NodeUnstageVolume", volume_id=handle, staging_target_path=path)

    def publish(self, volume: PublishVolume) -> None:
        self._ask(
            "NodePublishVolume",
            volume_id=volume.handle,
            publish_context=volume.publish_context,
            staging_target_path=volume.staging_path,
            target_path=volume.path,
            volume_capability=_capability(volume.access),
            readonly=volume.read_only,
            secrets=volume.secrets,
            volume_context=volume.attributes,
        )

    def unpublish(self, handle: str, path: str) -> None:
        self._ask("NodeUnpublishVolume", volume_id=handle, target_path=path)

    def expand(self, volume: ExpandVolume) -> int:
        answer = self._ask(
            "NodeExpandVolume",
            volume_id=volume.handle,
            volume_path=volume.path,
            capacity_range=wire.CapacityRange(required_bytes=volume.required_bytes),
            staging_target_path=volume.staging_path,
            volume_capability=_capability(volume.access),
            secrets=volume.secrets,
        )
        return int(answer.capacity_bytes)

    def stats(self, handle: str, path: str, staging_path: str) -> DriverVolumeStats:
        answer = self._ask("NodeGetVolumeStats", volume_id=handle, volume_path=path, staging_target_path=staging_path)
        by_unit = {usage.unit: Usage(usage.available, usage.total, usage.used) for usage in answer.usage}
        condition = answer.volume_condition
        told = answer.HasField("volume_condition")
        return DriverVolumeStats(
            by_unit.get(wire.VolumeUsage.BYTES, Usage()),
            by_unit.get(wire.VolumeUsage.INODES, Usage()),
            condition.abnormal if told else None,
            condition.message if told else "",
        )

    def close(self) -> None:
        """Give up the connection."""
        self._socket.close()

    def _ask(self, method: str, **fields: Any) -> Any:
        """Call the method of that name; `fields` are of its request."""
        request, kind = getattr(wire, f"{method}Request")(**fields), getattr(wire, f"{method}Response")
        path, began_ns, code = f"/csi.v1.Node/{method}", time.monotonic_ns(), OK
        try:
            return self._socket.ask(path, request, kind, timeout_ns=self._timeout_ns)
        except PluginError as failure:
            code = failure.code.name
            # Tokens of service accounts are among the attributes for drivers that want them there.
            secrets = (*fields.get("secrets", {}).values(), fields.get("volume_context", {}).get(TOKENS))
            raise PluginError(failure.code, masked(failure.message, secrets), failure.method) from None
        finally:
            self._asked(path, code, time.monotonic_ns() - began_ns)


class GrpcCsiDrivers:
    """`CsiDrivers` at their sockets. `asked`: as `Asked`, with the name of the driver before it."""

    def __init__(self, timeout_ns: int = CALL_NS, asked: Callable[[str, str, str, int], None] | None = None) -> None:
        self._timeout_ns = timeout_ns
        self._asked = asked
        self._lock = threading.Lock()
        self._nodes: dict[str, GrpcCsiNode] = {}

    def register(self, name: str, endpoint: str) -> GrpcCsiNode:
        # A fresh connection even at the same socket: another version of the driver may be behind it now.
        asked = self._asked
        node = GrpcCsiNode(endpoint, self._timeout_ns, _nobody if asked is None else partial(asked, name))
        with self._lock:
            self._nodes[name] = node
        # The old connection is not closed: calls of pods may be on their way there. It goes with the last of them.
        return node

    def unregister(self, name: str) -> None:
        with self._lock:
            self._nodes.pop(name, None)

    def find(self, name: str) -> GrpcCsiNode | None:
        with self._lock:
            return self._nodes.get(name)

    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._nodes))


def _capability(access: Access) -> wire.VolumeCapability:
    mode = wire.VolumeCapability.AccessMode(mode=wire.VolumeCapability.AccessMode.Mode.Name(access.mode))
    if access.block:
        return wire.VolumeCapability(block=wire.VolumeCapability.BlockVolume(), access_mode=mode)
    mount = wire.VolumeCapability.MountVolume(
        fs_type=access.fs_type, mount_flags=access.mount_options, volume_mount_group=access.group
    )
    return wire.VolumeCapability(mount=mount, access_mode=mode)
