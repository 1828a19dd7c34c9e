"""Device plugins of a simulated host: `DevicePlugins` without sockets.

`add` is a plugin that starts and registers, `stop` one that ends. It has knobs for what plugins do wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from actors.devices.registrar import name_fault
from actors.kernel import Promise
from config.frozen_map import FrozenMap
from runtime.cri.errors import StatusCode
from runtime.device_plugins.capability import DEVICES_AT_MOST, Device, DeviceSetup, PluginFound, PluginOptions
from runtime.plugins.errors import PluginError

SOCKETS = "/run/"
"""Where plugins have their sockets, one of the name of each resource."""


def some_devices(count: int, numa_nodes: int = 0) -> tuple[Device, ...]:
    """`count` healthy devices, spread evenly over so many NUMA nodes."""
    near = [(number * numa_nodes // count,) if numa_nodes else () for number in range(count)]
    return tuple(Device(f"device-{number}", nodes=nodes) for number, nodes in enumerate(near))


def devices_in(text: str) -> dict[str, int]:
    """Resource -> count, of a text such as "vendor.example/gpu=8,vendor.example/nic=2".

    Raises ValueError with what to write.
    """
    found: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        resource, _, count = part.partition("=")
        fault = name_fault(resource)
        if not fault and count.isdecimal() and int(count) <= DEVICES_AT_MOST:
            found[resource] = int(count)
            continue
        why = fault or f"a number up to {DEVICES_AT_MOST} has to follow the ="
        raise ValueError(f"devices={text!r} cannot be read at {part!r}: {why}; write vendor.example/gpu=8")
    return found


class SimulatedDevicePlugin:
    """`DevicePlugin`. `hangs`: methods that never answer; `fails`: method -> why it fails.

    `away`: methods that answer as if the plugin were not there.

    `calls`: methods with IDs, in their order. `preferred`: its wish.
    """

    def __init__(self, resource: str, devices: tuple[Device, ...], options: PluginOptions) -> None:
        self.resource = resource
        self.devices = devices
        self.plugin_options = options
        self.alive = True
        self.registers = False
        """Whether it registers by itself, else its socket is found."""
        self.hangs: set[str] = set()
        self.fails: dict[str, str] = {}
        self.away: set[str] = set()
        self.preferred: tuple[str, ...] = ()
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._followers: list[SimulatedFollowing] = []

    # --- what the world does ----------------------------------------------------------------------------------------

    def offer(self, devices: Iterable[Device]) -> None:
        """Offer these devices instead."""
        self.devices = tuple(devices)
        for each in list(self._followers):
            each.changed()

    def stop(self, reason: str = "it was killed") -> None:
        """End, and with it all streams."""
        self.alive = False
        followers, self._followers = self._followers, []
        for each in followers:
            each.end(reason)

    def leave(self) -> None:
        """The agent is gone, and with it its streams."""
        self._followers.clear()

    # --- DevicePlugin -----------------------------------------------------------------------------------------------

    def options(self) -> PluginOptions:
        return self.plugin_options

    def allocate(self, ids: Sequence[str]) -> Any:
        return self._answer(
            "Allocate",
            ids,
            DeviceSetup(FrozenMap({"DEVICES": ",".join(ids)}), cdi=tuple(f"{self.resource}={i}" for i in ids)),
        )

    def prefer(self, available: Sequence[str], included: Sequence[str], size: int) -> Any:
        return self._answer("GetPreferredAllocation", available, self.preferred)

    def pre_start(self, ids: Sequence[str]) -> Any:
        return self._answer("PreStartContainer", ids, None)

    def follow(self, on_change: Callable[[], None], on_end: Callable[[str], None]) -> SimulatedFollowing:
        following = SimulatedFollowing(self, on_change, on_end)
        if not self.alive:
            on_end("there is no such socket; is the plugin running?")
            return following
        self._followers.append(following)
        on_change()
        return following

    def close(self) -> None:
        """The agent is gone; the plugin does not mind."""

    def forget(self, following: SimulatedFollowing) -> None:
        """Tell it no more."""
        if following in self._followers:
            self._followers.remove(following)

    def _answer(self, method: str, ids: Sequence[str], answer: object) -> object:
        if not self.alive or method in self.away:
            raise PluginError(StatusCode.UNAVAILABLE, "there is no such socket; is the plugin running?", method)
        self.calls.append((method, tuple(ids)))
        if method in self.fails:
            raise PluginError(StatusCode.UNKNOWN, self.fails[method], method)
        return Promise() if method in self.hangs else answer


class SimulatedFollowing:
    """`Following` of a simulated plugin."""

    def __init__(
        self, plugin: SimulatedDevicePlugin, on_change: Callable[[], None], on_end: Callable[[str], None]
    ) -> None:
        self._plugin = plugin
        self.changed, self.end = on_change, on_end

    def newest(self) -> tuple[Device, ...] | None:
        return self._plugin.devices

    def close(self) -> None:
        self._plugin.forget(self)


class SimulatedRegistrations:
    """`Registrations` of a simulated host."""

    def __init__(self, host: SimulatedDevicePlugins) -> None:
        self._host = host

    def close(self) -> None:
        self._host.accept = None


class SimulatedDevicePlugins:
    """`DevicePlugins`. `refused`: resource -> why the agent did not take its plugin."""

    def __init__(self) -> None:
        self._plugins: dict[str, SimulatedDevicePlugin] = {}
        self.accept: Callable[[PluginFound], str] | None = None
        self.refused: dict[str, str] = {}

    def add(
        self, resource: str, devices: Iterable[Device], options: PluginOptions | None = None
    ) -> SimulatedDevicePlugin:
        """A plugin starts, or starts again, and registers if the agent takes plugins."""
        plugin = self.start(resource, devices, options)
        plugin.registers = True
        self._register(plugin)
        return plugin

    def start(
        self, resource: str, devices: Iterable[Device], options: PluginOptions | None = None
    ) -> SimulatedDevicePlugin:
        """A plugin starts that does not register: its socket is found."""
        before = self._plugins.get(resource)
        if before is not None and before.alive:
            before.stop("another has taken its socket")
        plugin = self._plugins[resource] = SimulatedDevicePlugin(resource, tuple(devices), options or PluginOptions())
        return plugin

    def _register(self, plugin: SimulatedDevicePlugin) -> None:
        if self.accept is None:
            return
        why = self.accept(PluginFound(plugin.resource, f"{SOCKETS}{plugin.resource}", plugin.plugin_options))
        if why:
            self.refused[plugin.resource] = why

    def running(self) -> dict[str, SimulatedDevicePlugin]:
        """The newest plugin of each resource, alive or not."""
        return dict(self._plugins)

    def forget(self) -> None:
        """The agent has died: its socket and its streams end."""
        self.accept = None
        for plugin in self._plugins.values():
            plugin.leave()

    # --- DevicePlugins ----------------------------------------------------------------------------------------------

    def connect(self, endpoint: str) -> SimulatedDevicePlugin:
        return self._plugins[endpoint.removeprefix(SOCKETS)]

    def serve(self, accept: Callable[[PluginFound], str]) -> SimulatedRegistrations:
        """The socket of the agent is new, which plugins notice: they register."""
        self.accept = accept
        for plugin in self._plugins.values():
            if plugin.alive and plugin.registers:
                self._register(plugin)
        return SimulatedRegistrations(self)
