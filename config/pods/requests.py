"""Requests and limits of a pod, added up over its containers (spec 7.6, 10.3, 10.14, 10.17). Pure.

The requests of containers and sidecars are added. An init container runs before them, together with the sidecars before
it; the larger of the two sums counts. Pod-level requests replace the sum, and the overhead of the RuntimeClass is
added. Amounts are billionths of the resource's unit, so that sums are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TypeAlias

import msgspec

from config.objects import Container, Pod, PodSpec
from config.pods.identity import is_sidecar
from config.pods.once_per_spec import once_per_spec
from config.values.quantity import QuantityError, parse_quantity

Amounts: TypeAlias = Mapping[str, int]
"""Resource -> billionths of its unit."""

Port: TypeAlias = tuple[str, str, int]
"""Address, protocol and number of a port on the host."""

EPHEMERAL_STORAGE = "ephemeral-storage"
HUGE_PAGES = "hugepages-"
_NOTHING: Mapping[str, str] = {}
ANY_ADDRESS = ("", "0.0.0.0", "::")
"""How a port on every address of the host is written."""


def pod_requests(pod: Pod) -> Amounts:
    """The requests of the pod, without zero amounts. Raises QuantityError."""
    return spec_requests(pod.spec)


@once_per_spec
def spec_requests(spec: PodSpec) -> Amounts:
    """See the module. Raises QuantityError."""
    total = _sum(spec, _requests_of)
    if spec.resources is not None:
        total |= read_amounts(spec.resources.requests)
    _add(total, read_amounts(spec.overhead))
    return {resource: amount for resource, amount in total.items() if amount > 0}


@once_per_spec
def has_domain_requests(spec: PodSpec) -> bool:
    """Whether a container asks for a resource with a domain, such as vendor.example/gpu."""
    asked = (each.resources for each in (*spec.init_containers, *spec.containers))
    return any("/" in name for each in asked if each is not None for name in (*each.requests, *each.limits))


@once_per_spec
def pod_limits(spec: PodSpec) -> Amounts:
    """The limits of the pod, for resources with a limit on any container.

    Raises QuantityError.

    A container without a limit adds nothing: the sum of the others is the limit of all.
    """
    total = _sum(spec, _limits_of)
    if spec.resources is not None:
        total |= read_amounts(spec.resources.limits)
    return {resource: amount for resource, amount in total.items() if amount > 0}


@once_per_spec
def whole_limits(spec: PodSpec) -> Amounts:
    """The limits that bound the whole pod: a resource that some container does not limit has none.

    Raises QuantityError.
    """
    whole = read_amounts(spec.resources.limits) if spec.resources is not None else {}
    bounds = {**_bounds_together(spec), **whole}
    overhead = read_amounts(spec.overhead)
    return {name: bounds[name] + overhead.get(name, 0) for name in sorted(bounds)}


def _bounds_together(spec: PodSpec) -> dict[str, int]:
    """The most that all containers have together of each resource that all of them limit.

    Huge pages count without that. Raises QuantityError.
    """
    limited_by: Counter[str] = Counter()
    together: dict[str, int] = {}
    for container in spec.containers:
        limits = _limits_of(container)
        limited_by.update(limits.keys())
        _add(together, limits)
    sidecars: dict[str, int] = {}
    at_first: dict[str, int] = {}
    for container in spec.init_containers:
        limits = _limits_of(container)
        limited_by.update(limits.keys())
        # Each runs together with the sidecars that were started before it.
        _raise_to(at_first, {name: amount + sidecars.get(name, 0) for name, amount in limits.items()})
        if is_sidecar(container):
            _add(sidecars, limits)
    _add(together, sidecars)
    _raise_to(together, at_first)
    containers = len(spec.containers) + len(spec.init_containers)
    return {
        name: amount
        for name, amount in together.items()
        if limited_by[name] == containers or name.startswith(HUGE_PAGES)
    }


@once_per_spec
def has_disk_limits(spec: PodSpec) -> bool:
    """Whether the node has to check how much disk the pod uses. Limits that cannot be read do not count."""
    try:
        return bool(empty_dir_limits(spec)) or EPHEMERAL_STORAGE in pod_limits(spec)
    except QuantityError:
        return False


@once_per_spec
def empty_dir_limits(spec: PodSpec) -> Mapping[str, str]:
    """Volume name -> limit, for emptyDirs that have one. Raises QuantityError."""
    return {
        volume.name: str(volume.empty_dir.size_limit)
        for volume in spec.volumes
        if volume.empty_dir is not None
        and volume.empty_dir.size_limit
        and parse_quantity(str(volume.empty_dir.size_limit)).nanos > 0
    }


def read_amounts(texts: Mapping[str, str]) -> dict[str, int]:
    """Quantities as amounts. Raises QuantityError."""
    return {resource: parse_quantity(text).nanos for resource, text in texts.items()}


@once_per_spec
def host_ports(spec: PodSpec) -> tuple[Port, ...]:
    """The host ports of the pod, including those of sidecars."""
    running = [*spec.containers, *(each for each in spec.init_containers if is_sidecar(each))]
    return tuple(
        (port.host_ip or "", port.protocol or "TCP", port.host_port)
        for container in running
        for port in container.ports
        if port.host_port
    )


class HostPorts(msgspec.Struct, frozen=True):
    """Host ports as sets, to compare those of two pods.

    `numbers`: protocol and number of all; `everywhere`: of those on every address.
    """

    exact: frozenset[Port] = frozenset()
    numbers: frozenset[tuple[str, int]] = frozenset()
    everywhere: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, ports: tuple[Port, ...]) -> HostPorts:
        if not ports:
            return NO_HOST_PORTS
        number = itemgetter(1, 2)
        everywhere = (port for port in ports if port[0] in ANY_ADDRESS)
        return cls(frozenset(ports), frozenset(map(number, ports)), frozenset(map(number, everywhere)))

    def clash(self, other: HostPorts) -> bool:
        """Whether both cannot be had at once."""
        return not (
            self.numbers.isdisjoint(other.everywhere)
            and self.everywhere.isdisjoint(other.numbers)
            and self.exact.isdisjoint(other.exact)
        )


NO_HOST_PORTS = HostPorts()


@once_per_spec
def host_port_sets(spec: PodSpec) -> HostPorts:
    """The host ports of the pod, as sets."""
    return HostPorts.of(host_ports(spec))


def clash(mine: Port, other: Port) -> bool:
    """Whether both cannot be had at once."""
    if mine[1:] != other[1:]:
        return False
    return mine[0] == other[0] or mine[0] in ANY_ADDRESS or other[0] in ANY_ADDRESS


def _sum(spec: PodSpec, of: Callable[[Container], dict[str, int]]) -> dict[str, int]:
    """Over the containers of a pod: the most that those have together which run at the same time."""
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, of(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.init_containers:
        amounts = of(container)
        if is_sidecar(container):
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _add(total, sidecars)
    _raise_to(total, peak)
    return total


def _requests_of(container: Container) -> dict[str, int]:
    return read_amounts(container.resources.requests if container.resources is not None else _NOTHING)


def _limits_of(container: Container) -> dict[str, int]:
    return read_amounts(container.resources.limits if container.resources is not None else _NOTHING)


def _add(total: dict[str, int], amounts: Amounts) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + amount


def _raise_to(total: dict[str, int], amounts: Amounts) -> None:
    for resource, amount in amounts.items():
        total[resource] = max(total.get(resource, 0), amount)
