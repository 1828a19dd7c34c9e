"""The capability of device plugins.

`DevicePlugin` asks one, `DevicePlugins` connects to it and lets it register.

All calls but `follow` block, each with a limit: actors run them on a lane of the plugin. Failures are `PluginError`.
The real ones are in `client.py` and `local.py`, simulated ones in `simulation.host.device_plugins`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from config.frozen_map import FrozenMap

API_VERSION = "v1beta1"

DIRECTORY = "device-plugins"
"""Below the agent's directory: the sockets, and the checkpoint of devices."""
DIRECTORY_MODE = 0o750

DEVICES_AT_MOST = 16_384
"""Devices of one plugin. The largest lists in use have some thousands: one device for each VM."""
ID_CHARACTERS_AT_MOST = 256
"""Of a device ID. The interface speaks of 63; some plugins use longer ones, such as paths."""


class Device(msgspec.Struct, frozen=True):
    """A device as its plugin describes it. `nodes`: the NUMA nodes near it, ascending."""

    id: str
    healthy: bool = True
    nodes: tuple[int, ...] = ()


class PluginOptions(msgspec.Struct, frozen=True):
    """`pre_start`: tell it before each start of a container. `prefers`: it may be asked for its wish."""

    pre_start: bool = False
    prefers: bool = False


class HostDevice(msgspec.Struct, frozen=True):
    """A device node. `permissions`: some of the letters r, w and m."""

    path: str
    host_path: str
    permissions: str = ""


class DeviceMount(msgspec.Struct, frozen=True):
    """A directory or file of the node that the container sees."""

    path: str
    host_path: str
    read_only: bool = False


class DeviceSetup(msgspec.Struct, frozen=True):
    """What a container needs for its devices of one resource. `cdi`: names such as vendor.example/gpu=0."""

    env: FrozenMap[str, str] = FrozenMap()
    mounts: tuple[DeviceMount, ...] = ()
    devices: tuple[HostDevice, ...] = ()
    annotations: FrozenMap[str, str] = FrozenMap()
    cdi: tuple[str, ...] = ()


class PluginFound(msgspec.Struct, frozen=True):
    """A plugin that has registered.

    `endpoint`: the path of its socket. `options` None: it was not asked for them yet.
    """

    resource: str
    endpoint: str
    options: PluginOptions | None = None


class Following(Protocol):
    """The list of devices of a plugin, which changes."""

    def newest(self) -> tuple[Device, ...] | None:
        """The last list that came; None: none yet.

        Raises PluginError for a list beyond the limits.
        """

    def close(self) -> None:
        """Tell no more."""


class DevicePlugin(Protocol):
    """One device plugin. Every method but `follow` and `close` raises PluginError."""

    def options(self) -> PluginOptions:
        """GetDevicePluginOptions."""

    def allocate(self, ids: Sequence[str]) -> DeviceSetup:
        """Allocate, for one container."""

    def prefer(self, available: Sequence[str], included: Sequence[str], size: int) -> tuple[str, ...]:
        """GetPreferredAllocation: a wish for `size` of the available devices. It may be wrong."""

    def pre_start(self, ids: Sequence[str]) -> None:
        """PreStartContainer."""

    def follow(self, on_change: Callable[[], None], on_end: Callable[[str], None]) -> Following:
        """ListAndWatch. `on_change` is called after each list, `on_end` once, with the reason.

        Both on any thread.

        Only the newest list is kept, however often it changes.
        """

    def close(self) -> None:
        """Give up the connection."""


class Registrations(Protocol):
    """Plugins may register until it is closed."""

    def close(self) -> None:
        """Take no more."""


class DevicePlugins(Protocol):
    def connect(self, endpoint: str) -> DevicePlugin:
        """The plugin at a socket. Raises PluginError for what is no endpoint, or no socket."""

    def serve(self, accept: Callable[[PluginFound], str]) -> Registrations:
        """Let plugins register from now on. Raises OSError with what to do.

        The sockets of plugins of an earlier life are removed: that tells plugins to register anew. `accept` is called
        on any thread; it gives the reason of a refusal, or "".
        """
