"""The checkpoint of devices, `kubelet_internal_checkpoint`, in a kubelet's format. Pure.

It says which devices each container has, with the answer of the plugin, and which resources had plugins. A kubelet
refuses a file whose checksum does not fit; it is of Go's dump of the content.

Devices whose plugin has not answered are left out: a kubelet would start their containers without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from actors.model.devices import DeviceBook, HeldDevices, PodDevices
from config.frozen_map import FrozenMap
from config.values.fnv import fnv1a_32
from runtime.device_plugins.capability import Device
from runtime.device_plugins.wire import setup_in, written_setup

NO_NODE = -1
"""The key of devices that are near no NUMA node."""


class KeptDevices(msgspec.Struct, frozen=True):
    """What a checkpoint says. `registered`: resource -> IDs of its healthy devices."""

    book: DeviceBook = FrozenMap()
    registered: FrozenMap[str, tuple[str, ...]] = FrozenMap()


class _Entry(msgspec.Struct, rename="pascal"):
    pod_uid: str = msgspec.field(name="PodUID", default="")
    container_name: str = ""
    resource_name: str = ""
    device_ids: dict[int, list[str] | None] | None = msgspec.field(name="DeviceIDs", default=None)
    alloc_resp: bytes | None = None


class _Content(msgspec.Struct, rename="pascal"):
    pod_device_entries: list[_Entry] | None = None
    registered_devices: dict[str, list[str] | None] | None = None


class _Document(msgspec.Struct, rename="pascal"):
    data: _Content
    checksum: int


_decode_document = msgspec.json.Decoder(_Document).decode


def read_checkpoint(content: bytes) -> KeptDevices:
    """What the file says. Raises ValueError with the reason."""
    try:
        document = _decode_document(content)
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise ValueError(f"it cannot be read: {fault}") from None
    if document.checksum != _checksum(document.data):
        raise ValueError("checkpoint is corrupted")
    book: dict[str, dict[str, dict[str, HeldDevices]]] = {}
    for entry in document.data.pod_device_entries or ():
        held = HeldDevices(_devices(entry.device_ids or {}), setup_in(entry.alloc_resp or b""))
        book.setdefault(entry.pod_uid, {}).setdefault(entry.container_name, {})[entry.resource_name] = held
    registered = {name: tuple(ids or ()) for name, ids in (document.data.registered_devices or {}).items()}
    return KeptDevices(FrozenMap({uid: _frozen(pod) for uid, pod in book.items()}), FrozenMap(registered))


def written_checkpoint(kept: KeptDevices) -> bytes:
    """The content of the file."""
    entries = [
        _Entry(uid, container, resource, _by_node(held.devices), written_setup(held.setup))
        for uid, pod in kept.book.items()
        for container, resources in pod.items()
        for resource, held in resources.items()
        if held.setup is not None
    ]
    registered = {name: list(ids) for name, ids in kept.registered.items()}
    content = _Content(entries or None, dict(registered))
    return msgspec.json.encode(_Document(content, _checksum(content)))


def _frozen(pod: Mapping[str, Mapping[str, HeldDevices]]) -> PodDevices:
    return FrozenMap({name: FrozenMap(resources) for name, resources in pod.items()})


def _devices(by_node: Mapping[int, Sequence[str] | None]) -> tuple[Device, ...]:
    nodes: dict[str, set[int]] = {}
    for node, ids in by_node.items():
        for each in ids or ():
            nodes.setdefault(each, set()).update(() if node == NO_NODE else (node,))
    return tuple(Device(each, nodes=tuple(sorted(near))) for each, near in nodes.items())


def _by_node(devices: Iterable[Device]) -> dict[int, list[str] | None]:
    found: dict[int, list[str]] = {}
    for device in devices:
        for node in device.nodes or (NO_NODE,):
            found.setdefault(node, []).append(device.id)
    return dict(found.items())


def _checksum(content: _Content) -> int:
    entries, registered = content.pod_device_entries, content.registered_devices
    dump = (
        "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)"
        + ("<nil>" if entries is None else f"[{' '.join(map(_dumped_entry, entries))}]")
        + " RegisteredDevices:(map[string][]string)"
        + _dumped_lists(registered)
        + "}"
    )
    return fnv1a_32(dump.encode())


def _dumped_entry(entry: _Entry) -> str:
    answer = "<nil>" if entry.alloc_resp is None else f"[{' '.join(map(str, entry.alloc_resp))}]"
    return (
        f"{{PodUID:(string){entry.pod_uid} ContainerName:(string){entry.container_name} "
        f"ResourceName:(string){entry.resource_name} "
        f"DeviceIDs:(checkpoint.DevicesPerNUMA){_dumped_lists(entry.device_ids)} AllocResp:([]uint8){answer}}}"
    )


def _dumped_lists(lists: Mapping[str, Sequence[str] | None] | Mapping[int, Sequence[str] | None] | None) -> str:
    if lists is None:
        return "<nil>"
    texts = (f"{key}:{_dumped_list(ids)}" for key, ids in sorted(lists.items()))
    return f"map[{' '.join(texts)}]"


def _dumped_list(ids: Sequence[str] | None) -> str:
    return "<nil>" if ids is None else f"[{' '.join(ids)}]"
