"""What drivers offer on a node: devices in pools, read from ResourceSlices. Pure.

A pool has the slices of its newest generation. With slices missing it is incomplete, and gives no devices. A device
that is in a pool twice makes the pool invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from config.objects import NodeSelectorTerm, Taint
from config.pods.node_selection import in_terms
from config.values.quantity import ZERO, Quantity, QuantityError, parse_quantity

Json = Mapping[str, Any]
KEEPS_AWAY = ("NoSchedule", "NoExecute")
Counters = Mapping[tuple[str, str], int]
"""Set and counter -> nanos."""


class DeviceId(NamedTuple):
    """The name of a device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class Capacity(msgspec.Struct, frozen=True):
    """How much a device has of something. `policy`: how shares of it are rounded, as in the API."""

    value: Quantity
    policy: Json = {}


class Device(msgspec.Struct, frozen=True, eq=False):
    """One device. Names of attributes and capacities have their domain; a value is (kind, value).

    `shared`: it may be given several times.
    """

    id: DeviceId
    attributes: Mapping[str, tuple[str, Any]]
    capacity: Mapping[str, Capacity]
    taints: tuple[Taint, ...]
    shared: bool


class Pool(msgspec.Struct, frozen=True, eq=False):
    """The devices of a pool that a node can use. `fault`: why none can be given, "" without one.

    `counters`: nanos that the pool has of (set, counter); `consumers`: what each of its devices takes of them, on
    whichever node.
    """

    driver: str
    name: str
    devices: tuple[Device, ...]
    incomplete: bool
    fault: str
    counters: Counters
    consumers: Mapping[str, Counters]

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class OfNode(msgspec.Struct, frozen=True):
    """What decides whether a node can use a device."""

    name: str
    labels: Mapping[str, str]


def pools_of(slices: Iterable[Json], node: OfNode) -> tuple[Pool, ...]:
    """The pools with devices for that node, by driver and name.

    Slices are read in the order of their names.
    """
    pools: dict[tuple[str, str], list[Json]] = {}
    for each in sorted(slices, key=lambda one: str(one["metadata"]["name"])):
        spec = each["spec"]
        pools.setdefault((str(spec["driver"]), str(spec["pool"]["name"])), []).append(spec)
    found = (_pool(driver, name, specs, node) for (driver, name), specs in sorted(pools.items()))
    return tuple(pool for pool in found if pool.devices)


def _pool(driver: str, name: str, specs: list[Json], node: OfNode) -> Pool:
    newest = max(int(spec["pool"].get("generation") or 0) for spec in specs)
    current = [spec for spec in specs if int(spec["pool"].get("generation") or 0) == newest]
    count = max(int(spec["pool"].get("resourceSliceCount") or 0) for spec in current)
    names = [str(device["name"]) for spec in current for device in spec.get("devices") or ()]
    twice = next((one for one in names if names.count(one) > 1), "") if len(set(names)) < len(names) else ""
    return Pool(
        driver,
        name,
        tuple(
            _device(DeviceId(driver, name, str(device["name"])), device)
            for spec in current
            for device in spec.get("devices") or ()
            if _reaches(spec, device, node)
        ),
        len(current) < count,
        f"duplicate device name {twice}" if twice else "",
        {
            (str(counters["name"]), str(counter)): _amount(value).nanos
            for spec in current
            for counters in spec.get("sharedCounters") or ()
            for counter, value in (counters.get("counters") or {}).items()
        },
        {
            str(device["name"]): _consumed(device)
            for spec in current
            for device in spec.get("devices") or ()
            if device.get("consumesCounters")
        },
    )


def _consumed(device: Json) -> Counters:
    return {
        (str(consumed["counterSet"]), str(counter)): _amount(value).nanos
        for consumed in device["consumesCounters"]
        for counter, value in (consumed.get("counters") or {}).items()
    }


def _reaches(spec: Json, device: Json, node: OfNode) -> bool:
    """Whether the node can use a device of that slice."""
    place = device if spec.get("perDeviceNodeSelection") else spec
    if place.get("allNodes"):
        return True
    if place.get("nodeName"):
        return bool(place["nodeName"] == node.name)
    return in_selector(place.get("nodeSelector") or {}, node)


def in_selector(selector: Json, node: OfNode) -> bool:
    """Whether a node selector of the API selects the node."""
    terms = msgspec.convert(selector.get("nodeSelectorTerms") or (), tuple[NodeSelectorTerm, ...])
    return in_terms(terms, node.labels, node.name)


def _device(name: DeviceId, device: Json) -> Device:
    return Device(
        name,
        {
            qualified(str(key), name.driver): next(iter(value.items()))
            for key, value in (device.get("attributes") or {}).items()
            if value
        },
        {
            qualified(str(key), name.driver): Capacity(_amount(value), value.get("requestPolicy") or {})
            for key, value in (device.get("capacity") or {}).items()
        },
        tuple(
            Taint(key=str(taint["key"]), value=taint.get("value"), effect=str(taint["effect"]))
            for taint in device.get("taints") or ()
            if taint["effect"] in KEEPS_AWAY
        ),
        bool(device.get("allowMultipleAllocations")),
    )


def qualified(name: str, driver: str) -> str:
    """The name with its domain; without one it is the driver's."""
    return name if "/" in name else f"{driver}/{name}"


def _amount(value: Json) -> Quantity:
    try:
        return parse_quantity(str(value["value"]))
    except (QuantityError, KeyError):
        return ZERO
