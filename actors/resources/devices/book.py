"""The book of devices: who has what, and what a plugin has said of it (spec 10.11). Pure.

A device is in the book from the moment of the decision, also while its plugin is still being asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.model.devices import NO_DEVICES, DeviceBook, HeldDevices, Offer, PodDevices, held_ids
from actors.resources.devices.choosing import preferred
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device, DeviceSetup

NOTHING: PodDevices = FrozenMap()


def with_pod(book: DeviceBook, uid: str, devices: PodDevices) -> DeviceBook:
    """The book in which the pod has these devices; a pod without any is not in it."""
    return book | {uid: devices} if devices else without_pod(book, uid)


def without_pod(book: DeviceBook, uid: str) -> DeviceBook:
    if uid not in book:
        return book
    return FrozenMap({each: has for each, has in book.items() if each != uid}) or NO_DEVICES


def with_setup(devices: PodDevices, container: str, resource: str, setup: DeviceSetup) -> PodDevices:
    """The devices of a pod, after a plugin has said what the container needs."""
    held = HeldDevices(devices[container][resource].devices, setup)
    return devices | {container: devices[container] | {resource: held}}


def left_before(devices: PodDevices, container: str, resource: str) -> frozenset[str]:
    """The devices of the container that init containers before it have had, too."""
    before = list(devices)[: list(devices).index(container)]
    had = {each for name in before if resource in devices[name] for each in devices[name][resource].ids}
    return frozenset(had.intersection(devices[container][resource].ids))


def choice_of(
    book: DeviceBook, offer: Offer, uid: str, container: str, resource: str, *, any_node: bool
) -> tuple[str, ...]:
    """The devices among which the plugin may wish: those of the container, and free ones.

    `any_node`: without a topology policy. Else free ones count only where they are near the same nodes.
    """
    held, taken = book[uid][container][resource], held_ids(book, resource)
    places = {each.nodes for each in held.devices}
    free = (
        each.id
        for each in offer.devices
        if each.healthy and each.id not in taken and (any_node or each.nodes in places)
    )
    return (*held.ids, *free)


def with_wish(
    book: DeviceBook, offer: Offer, uid: str, container: str, resource: str, wish: tuple[str, ...], *, any_node: bool
) -> DeviceBook:
    """The book after the plugin's wish for a container, which counts only if it breaks no rule.

    Later containers of the pod that use the same devices again have the wished ones instead.
    """
    devices = book[uid]
    held = devices[container][resource]
    others = held_ids(book, resource) - frozenset(held.ids)
    included = left_before(devices, container, resource)
    wished = preferred(offer, others, held, included, wish, any_node=any_node)
    if wished.ids == held.ids:
        return book
    instead = _pairs(held, wished)
    names = list(devices)
    later = names[names.index(container) :]
    changed = {
        name: devices[name] | {resource: _replaced(devices[name][resource], instead)}
        for name in later
        if resource in devices[name]
    }
    changed[container] = devices[container] | {resource: wished}
    return book | {uid: devices | changed}


def _pairs(before: HeldDevices, after: HeldDevices) -> Mapping[str, Device]:
    """ID of a device given up -> the one that takes its place, near the same nodes if it can."""
    kept = {*before.ids} & {*after.ids}
    gone = sorted((each for each in before.devices if each.id not in kept), key=_place)
    new = sorted((each for each in after.devices if each.id not in kept), key=_place)
    return {old.id: each for old, each in zip(gone, new, strict=True)}


def _place(device: Device) -> tuple[tuple[int, ...], str]:
    return device.nodes, device.id


def _replaced(held: HeldDevices, instead: Mapping[str, Device]) -> HeldDevices:
    return HeldDevices(tuple(instead.get(each.id, each) for each in held.devices), held.setup)
