"""The resources of a pod and its containers, apart from the rest of the spec (spec 10.16). Pure.

A pod has them three times: what its spec asks for (desired), what the node has agreed to (allocated), and what the
runtime was told (actuated). They differ while a resize is pending or in progress. Ephemeral containers have none.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from config.frozen_map import FrozenMap
from config.objects import Container, Pod, PodSpec, ResourceRequirements
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import Amounts, read_amounts
from config.values.quantity import QuantityError

C = TypeVar("C", bound=Container)
NO_RESOURCES = ResourceRequirements()
RESTART = "RestartContainer"


class PodResources(msgspec.Struct, frozen=True):
    """`containers`: by name, init containers included. `whole`: of the pod level, None for none."""

    containers: FrozenMap[str, ResourceRequirements] = FrozenMap()
    whole: ResourceRequirements | None = None

    def of(self, container: Container) -> ResourceRequirements:
        """The resources of a container; one without an entry has those of its spec."""
        return self.containers.get(container.name) or container.resources or NO_RESOURCES


@once_per_spec
def resources_of(spec: PodSpec) -> PodResources:
    """The resources in the spec."""
    everyone = (*spec.init_containers, *spec.containers)
    return PodResources(FrozenMap({each.name: each.resources or NO_RESOURCES for each in everyone}), spec.resources)


def with_resources(pod: Pod, has: PodResources) -> Pod:
    """The pod as if it had asked for these; the same object if it has.

    Amounts that are equal stay as it wrote them.
    """
    spec = pod.spec
    inits, regular = _given(spec.init_containers, has), _given(spec.containers, has)
    whole = spec.resources if same_amounts(spec.resources, has.whole) else has.whole
    if inits is spec.init_containers and regular is spec.containers and whole is spec.resources:
        return pod
    changed = msgspec.structs.replace(spec, init_containers=inits, containers=regular, resources=whole)
    return msgspec.structs.replace(pod, spec=changed)


def _given(containers: tuple[C, ...], has: PodResources) -> tuple[C, ...]:
    if all(same_amounts(each.resources, has.of(each)) for each in containers):
        return containers
    return tuple(
        each if same_amounts(each.resources, has.of(each)) else msgspec.structs.replace(each, resources=has.of(each))
        for each in containers
    )


def same_resources(one: PodResources, other: PodResources) -> bool:
    """Whether all amounts are equal, however they are written."""
    names = one.containers.keys() | other.containers.keys()
    return same_amounts(one.whole, other.whole) and all(
        same_amounts(one.containers.get(name), other.containers.get(name)) for name in names
    )


def same_amounts(one: ResourceRequirements | None, other: ResourceRequirements | None) -> bool:
    """Whether limits and requests are equal, however they are written."""
    if one is other:
        return True
    try:
        return amounts_of(one) == amounts_of(other)
    except QuantityError:  # the step that makes its containers reports it
        return one == other


def restarts_for(container: Container, resource: str) -> bool:
    """Whether a change of this resource takes a restart of the container (`resizePolicy`)."""
    return any(each.resource_name == resource and each.restart_policy == RESTART for each in container.resize_policy)


def amounts_of(resources: ResourceRequirements | None) -> tuple[Amounts, Amounts]:
    """Limits and requests, in billionths of their units. Raises QuantityError."""
    if resources is None:
        return {}, {}
    return read_amounts(resources.limits), read_amounts(resources.requests)
