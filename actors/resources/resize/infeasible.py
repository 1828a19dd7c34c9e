"""The reasons for which a pod never gets the resources that it asks for (spec 10.16). Pure.

Whether the node is large enough is none of them: that may change, and the API server asks it before. Texts and details
are those of a kubelet.
"""

from __future__ import annotations

import msgspec

from actors.model.pod_resources import PodResources, restarts_for, same_amounts, with_resources
from actors.start.resources import ResourceRules, swap_bytes
from config.objects import Container, Pod, ResourceRequirements
from config.pods.identity import QosClass, is_sidecar, is_static, qos_class
from config.pods.requests import read_amounts
from config.values.quantity import NANOS

STATIC = "static"


class ResizeRules(msgspec.Struct, frozen=True):
    """The rules of the node for resizes.

    `containers`: how requests become limits, and whether containers may swap.

    `cpu_policy`, `memory_policy`: of the managers that pin CPUs and memory. `pod_level`, `init_containers`: whether
    these are resized in place. `exclusive_cpus`, `exclusive_memory`: whether pinned resources may be resized.
    """

    containers: ResourceRules = ResourceRules()
    cpu_policy: str = "none"
    memory_policy: str = "None"
    pod_level: bool = True
    init_containers: bool = True
    exclusive_cpus: bool = False
    exclusive_memory: bool = False


BY_DEFAULT = ResizeRules()


class Infeasible(msgspec.Struct, frozen=True):
    """`message` is for the status, `detail` for the metric."""

    message: str
    detail: str


def infeasible(pod: Pod, given: PodResources, rules: ResizeRules) -> Infeasible | None:
    """Why a pod that was `given` these resources never gets those that it asks for.

    None: nothing is in the way.

    Raises QuantityError.
    """
    if is_static(pod):
        return Infeasible("In-place resize of static-pods is not supported", "static_pod")
    changed = [each for each in _containers(pod) if not same_amounts(each.resources, given.of(each))]
    if _changes_swap(pod, given, rules.containers):
        return Infeasible("In-place resize of containers with swap is not supported.", "swap_limitation")
    if not rules.pod_level and not same_amounts(pod.spec.resources, given.whole):
        return Infeasible("InPlacePodLevelResourcesVerticalScaling is disabled", "plr_feature_gate_off")
    inits = {each.name for each in pod.spec.init_containers}
    if not rules.init_containers and any(each.name in inits and not is_sidecar(each) for each in changed):
        return Infeasible("InPlacePodVerticalScalingInitContainers is disabled", "feature_gate_off")
    if qos_class(pod) is not QosClass.GUARANTEED:
        return None
    if rules.cpu_policy == STATIC and _changes(changed, given, "cpu"):
        if not rules.exclusive_cpus or pod.spec.resources is not None:
            return _pinned("CPU", rules.cpu_policy)
        if any(_is_whole(each.resources) != _is_whole(given.of(each)) for each in changed):
            return _pinned("CPU", rules.cpu_policy, "between whole CPUs and parts of one ")
    if rules.memory_policy == STATIC.title() and not rules.exclusive_memory and _changes(changed, given, "memory"):
        return _pinned("Memory", rules.memory_policy)
    return None


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers)


def _changes_swap(pod: Pod, given: PodResources, rules: ResourceRules) -> bool:
    """Whether a container that may swap is to get another memory request without a restart."""
    if rules.swap is None or not rules.swap.limited:
        return False
    before = with_resources(pod, given)
    return any(
        _request(new.resources, "memory") != _request(old.resources, "memory")
        and not restarts_for(new, "memory")
        and bool(swap_bytes(pod, new, rules) or swap_bytes(before, old, rules))
        for new, old in zip(_containers(pod), _containers(before), strict=True)
    )


def _changes(changed: list[Container], given: PodResources, resource: str) -> bool:
    return any(_request(each.resources, resource) != _request(given.of(each), resource) for each in changed)


def _request(resources: ResourceRequirements | None, resource: str) -> int:
    return read_amounts(resources.requests).get(resource, 0) if resources is not None else 0


def _is_whole(resources: ResourceRequirements | None) -> bool:
    """Whether a container asks for whole CPUs, which it has for itself then."""
    return not _request(resources, "cpu") % NANOS


def _pinned(manager: str, policy: str, which: str = "") -> Infeasible:
    text = f'Resize {which}is infeasible for Guaranteed Pods alongside {manager} Manager policy "{policy}"'
    return Infeasible(text, f"guaranteed_pod_{manager.lower()}_manager_static_policy")
