"""Which NUMA nodes can meet a request for devices, and which devices are near them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from actors.resources.topology.hints import Hints
from actors.resources.topology.masks import NodeMask, mask_of, sets_of
from actors.resources.topology.merging import NODES_AT_MOST
from runtime.device_plugins.capability import Device


def device_hints(
    devices: Sequence[Device], free: Collection[str], reusable: Collection[str], wanted: int, nodes: Collection[int]
) -> Hints:
    """The sets of nodes with `wanted` devices that are free or reusable. `nodes`: those of the machine.

    None: no device is near a node, so any will do. A set that leaves out a reusable device is none, since reusable ones
    are taken first.
    """
    if not any(each.nodes for each in devices):
        return None
    if len({*free, *reusable}) < wanted:
        return {}
    usable = [each for each in devices if each.id in free or each.id in reusable]
    hosts = tuple(sorted({node for each in devices for node in each.nodes} & set(nodes)))
    # Devices that are near the same nodes count together: there are few such groups, and up to 2**16 sets of nodes.
    groups = _groups(devices)
    usable_groups = _groups(usable)
    reused = {mask_of(each.nodes) for each in usable if each.id in reusable and each.nodes}
    if len(hosts) > NODES_AT_MOST:
        return None
    smallest, found = len(hosts), []
    for mask, some in sets_of(hosts or tuple(sorted(nodes))):
        if len(some) < smallest and _near(groups, mask) >= wanted:
            smallest = len(some)
        if all(mask & group for group in reused) and _near(usable_groups, mask) >= wanted:
            found.append((mask, len(some)))
    return {mask: size == smallest for mask, size in found}


def _groups(devices: Iterable[Device]) -> Counter[NodeMask]:
    return Counter(mask_of(each.nodes) for each in devices)


def _near(groups: Counter[NodeMask], mask: NodeMask) -> int:
    return sum(count for group, count in groups.items() if group & mask)


def by_distance(devices: Iterable[Device], mask: NodeMask | None) -> tuple[tuple[Device, ...], ...]:
    """Those near the nodes of the mask, those near others, and those near none, each in the order of IDs.

    Without a mask, all are near none.
    """
    near: list[Device] = []
    elsewhere: list[Device] = []
    anywhere: list[Device] = []
    for each in sorted(devices, key=_rank):
        if mask is None or not each.nodes:
            anywhere.append(each)
        elif mask_of(each.nodes) & mask:
            near.append(each)
        else:
            elsewhere.append(each)
    return tuple(near), tuple(elsewhere), tuple(anywhere)


def _rank(device: Device) -> tuple[int, str]:
    """gpu-2 before gpu-10."""
    return len(device.id), device.id
