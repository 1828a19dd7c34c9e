"""Plugins of the node and the sockets at which they introduce themselves (spec 8.8).

`PluginSockets` is the capability, `runtime.plugin_registration.local` the real one. All calls but `watch` touch disks
or ask plugins, and may hang: actors run them on a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

CSI_PLUGIN = "CSIPlugin"
DEVICE_PLUGIN = "DevicePlugin"
DRA_PLUGIN = "DRAPlugin"


class PluginInfo(msgspec.Struct, frozen=True):
    """The identity of a plugin.

    `endpoint`: the socket of its service; empty: the one that was asked.
    """

    kind: str
    name: str
    endpoint: str = ""
    versions: tuple[str, ...] = ()


class PluginWatch(Protocol):
    """Tells of changes below the directory until closed."""

    def renew(self) -> str:
        """Make sure that the directory, and all below it, is watched; to be called before each listing.

        Gives the reason when it cannot be watched.
        """

    def close(self) -> None:
        """Tell no more."""


class PluginSockets(Protocol):
    def sockets(self) -> dict[str, str]:
        """Path of every socket -> what tells it from another that was there before. Raises OSError.

        Names that begin with a dot are passed over, with all that is below them.
        """

    def watch(self, on_change: Callable[[], None]) -> PluginWatch:
        """Call `on_change`, on any thread, when sockets may have come or gone; from the first `renew` on."""

    def ask(self, socket: str) -> PluginInfo:
        """GetInfo. Raises PluginError."""

    def notify(self, socket: str, *, registered: bool, error: str) -> None:
        """NotifyRegistrationStatus. Raises PluginError."""
