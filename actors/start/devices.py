"""What a container gets with its devices of plugins: variables, mounts, nodes, notes. Pure.

A container may have devices of several resources. Where two plugins set the same variable, or use the same path, the
first resource counts, in the order of names. What the pod says itself counts more (spec 10.11).
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.model.devices import HeldDevices
from config.frozen_map import FrozenMap
from runtime.cri.messages import CDIDevice, Device, Mount
from runtime.device_plugins.capability import DeviceMount, DeviceSetup, HostDevice

NO_SETUP = DeviceSetup()


def joined_setup(resources: Mapping[str, HeldDevices]) -> DeviceSetup:
    """All that the plugins of a container's devices ask for."""
    env: dict[str, str] = {}
    notes: dict[str, str] = {}
    mounts: dict[str, DeviceMount] = {}
    devices: dict[str, HostDevice] = {}
    cdi: dict[str, None] = {}
    for _, held in sorted(resources.items()):
        setup = held.setup or NO_SETUP
        env = {**setup.env, **env}
        notes = {**setup.annotations, **notes}
        mounts = {**{each.path: each for each in reversed(setup.mounts)}, **mounts}
        devices = {**{each.path: each for each in reversed(setup.devices)}, **devices}
        cdi |= dict.fromkeys(setup.cdi)
    return DeviceSetup(
        FrozenMap(sorted(env.items())),
        tuple(mounts[path] for path in sorted(mounts)),
        tuple(devices[path] for path in sorted(devices)),
        FrozenMap(sorted(notes.items())),
        tuple(cdi),
    )


def setup_mounts(setup: DeviceSetup) -> tuple[Mount, ...]:
    """The mounts of a setup, for the runtime."""
    return tuple(
        Mount(container_path=each.path, host_path=each.host_path, readonly=each.read_only) for each in setup.mounts
    )


def setup_devices(setup: DeviceSetup) -> tuple[Device, ...]:
    """The device nodes of a setup, for the runtime."""
    return tuple(
        Device(container_path=each.path, host_path=each.host_path, permissions=each.permissions)
        for each in setup.devices
    )


def setup_cdi(setup: DeviceSetup) -> tuple[CDIDevice, ...]:
    """The CDI devices of a setup, for the runtime."""
    return tuple(CDIDevice(name=name) for name in setup.cdi)
