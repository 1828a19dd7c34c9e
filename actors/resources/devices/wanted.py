"""Which containers of a pod ask for resources that plugins may offer (spec 10.11). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from actors.model.allocation import Allocation
from actors.model.devices import Offer
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, PodSpec
from config.pods.identity import is_sidecar, is_static
from config.pods.once_per_spec import once_per_spec
from config.values.quantity import parse_quantity


class DeviceWant(msgspec.Struct, frozen=True):
    """A container. `ends_first`: an init container that is no sidecar. `amounts`: by resource."""

    name: str
    ends_first: bool
    amounts: FrozenMap[str, int]


@once_per_spec
def device_wants(spec: PodSpec) -> tuple[DeviceWant, ...]:
    """All containers, in the order in which they start. Raises QuantityError.

    Every resource with a domain counts: a plugin may come for it.
    """
    inits = tuple(_want(each, ends_first=not is_sidecar(each)) for each in spec.init_containers)
    return inits + tuple(_want(each, ends_first=False) for each in spec.containers)


@once_per_spec
def domain_resources(spec: PodSpec) -> tuple[str, ...]:
    """The resources with a domain that the pod asks for. Raises QuantityError."""
    return tuple(sorted({name for want in device_wants(spec) for name in want.amounts}))


def plugins_of(pod: Pod, resources: Collection[str]) -> tuple[str, ...]:
    """The resources of these that a pod asks for. Raises QuantityError."""
    return tuple(name for name in domain_resources(pod.spec) if name in resources)


def never_listed(pod: Pod, offers: Collection[str], listed: Collection[str]) -> tuple[str, ...]:
    """The resources of a static pod that no plugin has offered yet, and that the node does not list.

    Nobody makes such a pod anew when it has failed, and its plugin may come for the first time. Other pods come from a
    scheduler, which goes by what a node lists. Raises QuantityError.
    """
    if not is_static(pod):
        return ()
    return tuple(name for name in domain_resources(pod.spec) if name not in offers and name not in listed)


def _want(container: Container, *, ends_first: bool) -> DeviceWant:
    limits = container.resources.limits if container.resources is not None else {}
    amounts = {name: parse_quantity(text).value() for name, text in sorted(limits.items()) if "/" in name}
    return DeviceWant(container.name, ends_first, FrozenMap({name: each for name, each in amounts.items() if each}))


def without_devices(wanted: Allocation, offers: Mapping[str, Offer]) -> Allocation:
    """The same without devices of plugins: of these there is room if the search finds them."""
    if not any(name in offers for name in wanted.requests):
        return wanted
    others = {name: amount for name, amount in wanted.requests.items() if name not in offers}
    return msgspec.structs.replace(wanted, requests=FrozenMap(others))


def without_healthy(pod: Pod, offers: Mapping[str, Offer]) -> tuple[str, ...]:
    """The resources of a pod whose plugin is away or has no healthy device. Raises QuantityError."""
    asked = plugins_of(pod, offers)
    return tuple(name for name in asked if not any(each.healthy for each in offers[name].devices))
