"""The device plugin of a node: one process after the other, as its DaemonSet would have it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from runtime.device_plugins.capability import Device
from tests.device_plugin.plugin import SamplePlugin, Setup
from tests.real.agent import Agent


class Plugins:
    """See the module.

    `devices`: those of a plugin that is told of none. `setup`: what containers get for them.
    """

    def __init__(self, agent: Agent, devices: tuple[Device, ...], setup: Setup) -> None:
        self._directory = agent.root / "device-plugins"
        self._devices = devices
        self._setup = setup
        self._life = ExitStack()

    def start(self, *devices: Device, **options: Any) -> SamplePlugin:
        """A new one. An agent that begins removes the sockets of plugins: then it begins again, as plugins do."""
        self._directory.mkdir(exist_ok=True)
        while True:
            self.stop()
            plugin = SamplePlugin(self._directory, devices or self._devices, setup=self._setup, **options)
            self._life.enter_context(plugin)
            refused = plugin.register(self._directory)
            if not refused:
                return plugin
            assert "there is no such socket" in refused, refused

    def stop(self) -> None:
        self._life.close()
