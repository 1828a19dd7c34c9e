"""The messages of `v1beta1` as values, and back. Pure. Texts of plugins are bounded here."""

from __future__ import annotations

from typing import Any

from config.frozen_map import FrozenMap
from runtime.cri.errors import StatusCode
from runtime.device_plugins.capability import (
    DEVICES_AT_MOST,
    ID_CHARACTERS_AT_MOST,
    Device,
    DeviceMount,
    DeviceSetup,
    HostDevice,
    PluginOptions,
)
from runtime.device_plugins.v1beta1 import deviceplugin_pb2 as messages
from runtime.plugins.errors import PluginError

HEALTHY = "Healthy"
UNHEALTHY = "Unhealthy"
LIST_AND_WATCH = "ListAndWatch"


def options_of(message: Any) -> PluginOptions:
    """The values of a `DevicePluginOptions`."""
    return PluginOptions(message.pre_start_required, message.get_preferred_allocation_available)


def devices_in(data: bytes) -> tuple[Device, ...]:
    """The devices of a `ListAndWatchResponse`, each ID once: of several the last counts, as for a kubelet.

    Raises PluginError for more than a plugin may have.
    """
    try:
        answer = messages.ListAndWatchResponse.FromString(data)
    except Exception as fault:  # protobuf's DecodeError
        raise _wrong(f"the list of devices cannot be read: {fault}") from None
    if len(answer.devices) > DEVICES_AT_MOST:
        raise _wrong(f"it lists {len(answer.devices)} devices; this agent takes {DEVICES_AT_MOST} of a plugin")
    found: dict[str, Device] = {}
    for each in answer.devices:
        if not 0 < len(each.ID) <= ID_CHARACTERS_AT_MOST:
            raise _wrong(f"a device ID has {len(each.ID)} characters; it may have 1 to {ID_CHARACTERS_AT_MOST}")
        nodes = tuple(sorted({node.ID for node in each.topology.nodes}))
        found[each.ID] = Device(each.ID, each.health == HEALTHY, nodes)
    return tuple(found.values())


def devices_message(devices: tuple[Device, ...]) -> Any:
    """A `ListAndWatchResponse`."""
    return messages.ListAndWatchResponse(
        devices=[
            messages.Device(
                ID=each.id,
                health=HEALTHY if each.healthy else UNHEALTHY,
                topology=messages.TopologyInfo(nodes=[messages.NUMANode(ID=node) for node in each.nodes])
                if each.nodes
                else None,
            )
            for each in devices
        ]
    )


def setup_of(message: Any) -> DeviceSetup:
    """The values of a `ContainerAllocateResponse`."""
    return DeviceSetup(
        FrozenMap(sorted(message.envs.items())),
        tuple(DeviceMount(each.container_path, each.host_path, each.read_only) for each in message.mounts),
        tuple(HostDevice(each.container_path, each.host_path, each.permissions) for each in message.devices),
        FrozenMap(sorted(message.annotations.items())),
        tuple(each.name for each in message.cdi_devices),
    )


def setup_message(setup: DeviceSetup) -> Any:
    """A `ContainerAllocateResponse`."""
    return messages.ContainerAllocateResponse(
        envs=setup.env,
        mounts=[
            messages.Mount(container_path=each.path, host_path=each.host_path, read_only=each.read_only)
            for each in setup.mounts
        ],
        devices=[
            messages.DeviceSpec(container_path=each.path, host_path=each.host_path, permissions=each.permissions)
            for each in setup.devices
        ],
        annotations=setup.annotations,
        cdi_devices=[messages.CDIDevice(name=name) for name in setup.cdi],
    )


def setup_in(data: bytes) -> DeviceSetup:
    """The setup in a checkpoint. Raises ValueError."""
    try:
        return setup_of(messages.ContainerAllocateResponse.FromString(data))
    except Exception as fault:  # protobuf's DecodeError
        raise ValueError(f"the answer of a device plugin cannot be read: {fault}") from None


def written_setup(setup: DeviceSetup) -> bytes:
    """The setup for a checkpoint: the same bytes for the same setup."""
    data: bytes = setup_message(setup).SerializeToString(deterministic=True)
    return data


def _wrong(text: str) -> PluginError:
    return PluginError(StatusCode.INTERNAL, text, LIST_AND_WATCH)
