"""How many CPUs and how much memory a pod and its containers have for themselves (spec 10.8, 10.9).

Only containers of a Guaranteed pod have any: CPUs if they ask for a whole number, memory in any case. In a pod with
resources of its own, the container's own requests must equal its limits too. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.resources.memory.amounts import MEMORY, Memory
from actors.resources.peaks import peak
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, PodSpec, ResourceRequirements
from config.pods.identity import QosClass, is_sidecar, qos_class
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import HUGE_PAGES
from config.values.quantity import parse_quantity

CPU = "cpu"


class Want(msgspec.Struct, frozen=True):
    """One container. `cpus`: 0 for none. `ends_first`: an init container that is no sidecar."""

    name: str
    ends_first: bool = False
    is_init: bool = False
    cpus: int = 0
    memory: FrozenMap[str, int] = FrozenMap()


class PodWants(msgspec.Struct, frozen=True):
    """A pod: its init containers and the others, in order, and the most that they have at the same time.

    `pod_level`: the pod has resources of its own, which `cpus` and `memory` are then.
    """

    containers: tuple[Want, ...] = ()
    cpus: int = 0
    memory: FrozenMap[str, int] = FrozenMap()
    pod_level: bool = False


def wanted_of(pod: Pod) -> PodWants:
    """What a pod has for itself. Raises QuantityError."""
    return _of_guaranteed(pod.spec) if qos_class(pod) is QosClass.GUARANTEED else PodWants()


@once_per_spec
def _of_guaranteed(spec: PodSpec) -> PodWants:
    pod_level = has_pod_level_resources(spec)
    inits = tuple(_of_container(each, pod_level, is_init=True) for each in spec.init_containers)
    regular = tuple(_of_container(each, pod_level, is_init=False) for each in spec.containers)
    if pod_level and spec.resources is not None:
        memory = {kind: size for kind, size in _memory(spec.resources.requests).items() if size}
        return PodWants(inits + regular, _whole_cpus(spec.resources.requests), FrozenMap(memory), pod_level=True)
    # Kinds of memory that only init containers ask for are left out, as a kubelet does.
    kinds = dict.fromkeys(kind for each in regular for kind in each.memory)
    memory = {kind: peak((each.ends_first, each.memory.get(kind, 0)) for each in inits + regular) for kind in kinds}
    return PodWants(inits + regular, peak((each.ends_first, each.cpus) for each in inits + regular), FrozenMap(memory))


@once_per_spec
def has_pod_level_resources(spec: PodSpec) -> bool:
    """Whether the pod as a whole asks for, or limits, something that can be of the whole pod."""
    whole = spec.resources
    return whole is not None and any(
        name == CPU or is_kind_of_memory(name) for name in (*whole.requests, *whole.limits)
    )


def is_kind_of_memory(name: str) -> bool:
    """Whether a resource is memory or huge pages."""
    return name == MEMORY or name.startswith(HUGE_PAGES)


def _of_container(container: Container, pod_level: bool, *, is_init: bool) -> Want:
    own = container.resources or ResourceRequirements()
    ends_first = is_init and not is_sidecar(container)
    if pod_level and not _is_guaranteed_alone(own):
        return Want(container.name, ends_first, is_init)
    return Want(container.name, ends_first, is_init, _whole_cpus(own.requests), FrozenMap(_memory(own.requests)))


def _is_guaranteed_alone(own: ResourceRequirements) -> bool:
    for name in (CPU, MEMORY):
        wanted = parse_quantity(own.requests.get(name, "0"))
        if wanted.is_zero() or wanted != parse_quantity(own.limits.get(name, "0")):
            return False
    return True


def _whole_cpus(requests: Mapping[str, str]) -> int:
    wanted = parse_quantity(requests.get(CPU, "0"))
    return wanted.value() if wanted.value() * 1000 == wanted.milli_value() else 0


def _memory(requests: Mapping[str, str]) -> Memory:
    return {kind: parse_quantity(text).value() for kind, text in sorted(requests.items()) if is_kind_of_memory(kind)}
