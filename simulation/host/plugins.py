"""Storage drivers of a simulated host: `PluginSockets` and `CsiDrivers` in one.

There is no socket between them.

`add` is a driver that starts and puts its socket there, `remove` one that ends. `SimulatedNodeVolumes` does the volume
work of drivers; a driver here has only its identity.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.errors import StatusCode
from runtime.csi.capability import Ability, DriverVolumeStats, ExpandVolume, NodeInfo, PublishVolume, StageVolume
from runtime.plugin_registration.capability import CSI_PLUGIN, PluginInfo
from runtime.plugins.errors import PluginError

DIRECTORY = "/plugins_registry"


class SimulatedDriver:
    """`CsiNode` that says who it is, and does what it is asked without a trace."""

    def __init__(self, info: NodeInfo) -> None:
        self.node_info = info

    def info(self) -> NodeInfo:
        return self.node_info

    def abilities(self) -> frozenset[Ability]:
        return frozenset({Ability.STAGE_UNSTAGE_VOLUME})

    def stage(self, volume: StageVolume) -> None:
        """Does nothing."""

    def unstage(self, handle: str, path: str) -> None:
        """Does nothing."""

    def publish(self, volume: PublishVolume) -> None:
        """Does nothing."""

    def unpublish(self, handle: str, path: str) -> None:
        """Does nothing."""

    def expand(self, volume: ExpandVolume) -> int:
        return volume.required_bytes

    def stats(self, handle: str, path: str, staging_path: str) -> DriverVolumeStats:
        return DriverVolumeStats()


class SimulatedPluginWatch:
    """Tells of each change, until closed."""

    def __init__(self, watches: list[SimulatedPluginWatch], on_change: Callable[[], None]) -> None:
        self._watches = watches
        self.on_change = on_change
        watches.append(self)

    def renew(self) -> str:
        return ""

    def close(self) -> None:
        if self in self._watches:
            self._watches.remove(self)


class SimulatedPlugins:
    def __init__(self) -> None:
        self._infos: dict[str, tuple[PluginInfo, NodeInfo, int]] = {}
        self._registered: dict[str, SimulatedDriver] = {}
        self.watches: list[SimulatedPluginWatch] = []
        self._started = 0
        self.told: list[tuple[str, str]] = []
        """What plugins were told: name and error, empty when they were registered."""

    # --- what the world does ----------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        info: NodeInfo,
        *,
        kind: str = CSI_PLUGIN,
        versions: tuple[str, ...] = ("1.0.0",),
        endpoint: str = "",
    ) -> None:
        """A plugin starts, or starts again."""
        self._started += 1
        socket = f"{DIRECTORY}/{name}-reg.sock"
        self._infos[socket] = (PluginInfo(kind, name, endpoint or f"/run/{name}", versions), info, self._started)
        self._changed()

    def remove(self, name: str) -> None:
        """A plugin ends and takes its socket along."""
        self._infos.pop(f"{DIRECTORY}/{name}-reg.sock", None)
        self._changed()

    def forget(self) -> None:
        """The agent has died, and what it knew of plugins with it."""
        self._registered.clear()
        self.watches.clear()

    def _changed(self) -> None:
        for watch in list(self.watches):
            watch.on_change()

    # --- PluginSockets ----------------------------------------------------------------------------------------------

    def sockets(self) -> dict[str, str]:
        return {socket: str(number) for socket, (_, _, number) in sorted(self._infos.items())}

    def watch(self, on_change: Callable[[], None]) -> SimulatedPluginWatch:
        return SimulatedPluginWatch(self.watches, on_change)

    def ask(self, socket: str) -> PluginInfo:
        return self._at(socket)[0]

    def notify(self, socket: str, *, registered: bool, error: str) -> None:
        self.told.append((self._at(socket)[0].name, error))

    def _at(self, socket: str) -> tuple[PluginInfo, NodeInfo, int]:
        found = self._infos.get(socket)
        if found is None:
            raise PluginError(StatusCode.UNAVAILABLE, f"{socket}: there is no such socket", "dial")
        return found

    # --- CsiDrivers -------------------------------------------------------------------------------------------------

    def register(self, name: str, endpoint: str) -> SimulatedDriver:
        info = next((info for plugin, info, _ in self._infos.values() if plugin.name == name), NodeInfo(""))
        driver = self._registered[name] = SimulatedDriver(info)
        return driver

    def unregister(self, name: str) -> None:
        self._registered.pop(name, None)

    def find(self, name: str) -> SimulatedDriver | None:
        return self._registered.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._registered))
