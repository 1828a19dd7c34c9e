"""Decides which running containers of a pod are resized, and how (spec 10.16). Pure.

A container has the resources that the runtime was told last: at its creation (noted on it), or by an update since. If
these differ from the granted ones, it is updated in place. It restarts instead if its `resizePolicy` says so for a
changed resource. A container without a limit has the limit of the pod, also when that changes. A container that does
not run gets its resources at its next start.

Containers that get more memory are updated last. So all limits together never exceed the larger of the sums before
and after the resize. Of the others, those that get more CPU are updated last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

import msgspec

from actors.model.observed import ObservedContainer, ObservedPod
from actors.model.pod_resources import NO_RESOURCES, PodResources, amounts_of, restarts_for, same_amounts
from actors.start.resources import ResourceRules, container_resources
from actors.start.shares import without_quota
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, ResourceRequirements
from config.pods.requests import Amounts
from runtime.cri.identity import pod_limits_given, resources_given
from runtime.cri.messages import LinuxContainerResources

RESIZABLE = ("cpu", "memory")
MOST_SHARES, LEAST_SHARES, MOST_WEIGHT = 262_144, 2, 10_000
"""Cgroup v2 has a weight instead of shares, so that a runtime may report shares rounded."""


class Update(msgspec.Struct, frozen=True):
    """Tell the runtime the `resources` of a running container.

    `lowers_memory_to`: its new limit in bytes, if that is lower than before; else 0. `turn`: the lowest comes first.
    `whole`: those of the pod level that are in them.
    """

    id: str
    container: Container
    attempt: int
    resources: LinuxContainerResources
    lowers_memory_to: int = 0
    turn: int = 0
    whole: ResourceRequirements | None = None


class ResizePlan(msgspec.Struct, frozen=True):
    """`updates` in their order; `restarts`: names of containers."""

    updates: tuple[Update, ...] = ()
    restarts: frozenset[str] = frozenset()

    @property
    def done(self) -> bool:
        return not (self.updates or self.restarts)


class Told(msgspec.Struct, frozen=True):
    """The resources of a pod that the runtime was told.

    `containers`: by id, for those updated since their creation.

    `whole`: the pod-level resources, which bound containers without a limit. `within`: by id, the pod level at the last
    update of a container. `unsure`: ids of containers that may have other resources, after an update without an answer
    or if the runtime reports others.
    """

    containers: FrozenMap[str, ResourceRequirements] = FrozenMap()
    whole: ResourceRequirements | None = None
    unsure: frozenset[str] = frozenset()
    within: FrozenMap[str, ResourceRequirements | None] = FrozenMap()

    def of(self, container: Container, newest: ObservedContainer) -> ResourceRequirements:
        return self.containers.get(newest.id) or resources_given(container, newest.annotations) or NO_RESOURCES

    def whole_of(self, newest: ObservedContainer) -> ResourceRequirements | None:
        """The pod level at the last creation or update of the container; without a note: `whole`."""
        if newest.id in self.within:
            return self.within[newest.id]
        noted = pod_limits_given(newest.annotations)
        return self.whole if noted is None else ResourceRequirements(limits=noted)

    def after(self, update: Update) -> Told:
        """The record after a successful update."""
        told = {**self.containers, update.id: update.container.resources or NO_RESOURCES}
        within = {**self.within, update.id: update.whole}
        return Told(FrozenMap(told), self.whole, self.unsure - {update.id}, FrozenMap(within))

    def after_all(self, whole: ResourceRequirements | None) -> Told:
        """The record after every container got the present resources of the pod level."""
        return msgspec.structs.replace(self, whole=whole)

    def doubting(self, ids: Iterable[str]) -> Told:
        """The record with the resources of these containers marked as unknown."""
        return msgspec.structs.replace(self, unsure=self.unsure | frozenset(ids))


NOTHING_TOLD = Told()
NOT_PINNED = frozenset[str]()


def actuated(pod: Pod, observed: ObservedPod, told: Told) -> PodResources:
    """The resources that the runtime was told of all containers; granted ones for those not running.

    Unknown ones are left out, so the next life of the agent tells the runtime again.
    """
    has = {each.name: each.resources or NO_RESOURCES for each in _containers(pod)}
    for container, newest in _running(pod, observed):
        if newest.id in told.unsure:
            del has[container.name]
        else:
            has[container.name] = told.of(container, newest)
    return PodResources(FrozenMap(has), told.whole)


def may_have(pod: Pod, observed: ObservedPod, told: Told) -> PodResources:
    """The most that the containers may have in the runtime. One with unknown resources has no limit here.

    Cgroup v1 refuses a pod less CPU than one of its containers has.
    """
    unknown = {container.name for container, newest in _running(pod, observed) if newest.id in told.unsure}
    has = actuated(pod, observed, told)
    return PodResources(FrozenMap({**has.containers, **dict.fromkeys(unknown, NO_RESOURCES)}), has.whole)


def resize_plan(
    pod: Pod, observed: ObservedPod, told: Told, rules: ResourceRules, pinned: frozenset[str] = NOT_PINNED
) -> ResizePlan:
    """The remaining steps of a resize; `pod` has its granted resources.

    `pinned`: names of containers with CPUs for themselves and no quota.

    Raises QuantityError.
    """
    updates, restarts = [], set()
    for container, newest in _running(pod, observed):
        has = told.of(container, newest)
        whole = told.whole_of(newest)
        if _restarts(container, _bounds(has, whole), _bounds(container.resources, pod.spec.resources)):
            restarts.add(container.name)
            continue
        wanted = _numbers(pod, container, rules, pinned)
        now = _numbers(_bounded(pod, whole), msgspec.structs.replace(container, resources=has), rules, pinned)
        unsure = newest.id in told.unsure
        if not same_amounts(container.resources, has) or wanted != now or unsure:
            updates.append(_update(pod, container, newest, now, wanted, unsure))
    return ResizePlan(tuple(sorted(updates, key=attrgetter("turn"))), frozenset(restarts))


def not_in_force(
    pod: Pod, observed: ObservedPod, rules: ResourceRules, pinned: frozenset[str] = NOT_PINNED
) -> tuple[str, ...]:
    """Ids of running containers whose resources in the runtime differ from the granted ones.

    A container for which the runtime reports nothing counts as right.
    """
    return tuple(
        newest.id
        for container, newest in _running(pod, observed)
        if newest.resources is not None and not _shows(newest.resources, _numbers(pod, container, rules, pinned))
    )


def restored(pod: Pod, observed: ObservedPod, before: PodResources) -> Told:
    """The resources of running containers that the runtime was told, from the record of an earlier life.

    That life may have died during an update. So a container whose record differs from the grant is updated in any case.
    A record may also be older than a container. That costs an update which changes nothing, and never a restart: a
    container that restarts for a resource keeps that of its creation.
    """
    told: dict[str, ResourceRequirements] = {}
    within: dict[str, ResourceRequirements | None] = {}
    unsure = []
    for container, newest in _running(pod, observed):
        within[newest.id] = _whole_restored(container, newest, before.whole)
        if any(restarts_for(container, each) for each in RESIZABLE):
            continue
        record = before.containers.get(container.name)
        if record is None or not same_amounts(record, container.resources):
            unsure.append(newest.id)
        if record is not None and not same_amounts(record, resources_given(container, newest.annotations)):
            told[newest.id] = record
    return Told(FrozenMap(told), before.whole, frozenset(unsure), FrozenMap(within))


def _whole_restored(
    container: Container, newest: ObservedContainer, before: ResourceRequirements | None
) -> ResourceRequirements | None:
    """The pod level of a running container.

    A resource whose change restarts it is that of its creation; others are those of the record.
    """
    noted = pod_limits_given(newest.annotations)
    if before is None or noted is None:
        return before if noted is None else ResourceRequirements(limits=noted)
    limits = {each: (noted if restarts_for(container, each) else before.limits).get(each) for each in RESIZABLE}
    return ResourceRequirements(limits={each: text for each, text in limits.items() if text is not None})


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers)


def _running(pod: Pod, observed: ObservedPod) -> Iterator[tuple[Container, ObservedContainer]]:
    for container in _containers(pod):
        newest = observed.newest(container.name)
        if newest is not None and newest.running:
            yield container, newest


def _bounded(pod: Pod, whole: ResourceRequirements | None) -> Pod:
    """The pod with the limits of another pod level. Its requests bound no container."""
    own = pod.spec.resources
    if whole is not None and own is not None:
        whole = msgspec.structs.replace(own, limits=whole.limits)
    if same_amounts(own, whole):
        return pod
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resources=whole))


def _bounds(own: ResourceRequirements | None, whole: ResourceRequirements | None) -> tuple[Amounts, Amounts]:
    """The limits of a container and its requests. A missing limit is that of the pod."""
    limits, requests = amounts_of(own)
    return {**amounts_of(whole)[0], **limits}, requests


def _restarts(container: Container, had: tuple[Amounts, Amounts], has: tuple[Amounts, Amounts]) -> bool:
    """Whether its `resizePolicy` wants a restart for one of the resources that change."""
    return any(
        one.get(each) != other.get(each)
        for each in RESIZABLE
        if restarts_for(container, each)
        for one, other in zip(had, has, strict=True)
    )


def _numbers(pod: Pod, container: Container, rules: ResourceRules, pinned: frozenset[str]) -> LinuxContainerResources:
    """The numbers that a resize changes: neither huge pages nor the OOM score."""
    found = msgspec.structs.replace(container_resources(pod, container, rules), hugepage_limits=(), oom_score_adj=0)
    return without_quota(found) if container.name in pinned else found


def _update(
    pod: Pod,
    container: Container,
    newest: ObservedContainer,
    now: LinuxContainerResources,
    wanted: LinuxContainerResources,
    unsure: bool,
) -> Update:
    most, most_now = wanted.memory_limit_in_bytes, now.memory_limit_in_bytes
    lowered = most if most and (not most_now or most < most_now or unsure) else 0
    more_cpu = _exceeds(wanted.cpu_quota, now.cpu_quota) or wanted.cpu_shares > now.cpu_shares
    turn = 2 if _exceeds(most, most_now) else 1 if more_cpu else 0
    return Update(newest.id, container, newest.attempt, wanted, lowered, turn, pod.spec.resources)


def _exceeds(limit: int, other: int) -> bool:
    """Whether one limit is above the other; 0 and -1 mean no limit."""
    return other > 0 and (limit <= 0 or limit > other)


def _shows(shown: LinuxContainerResources, wanted: LinuxContainerResources) -> bool:
    """Whether all numbers that the runtime reports are the wanted ones; 0 is none."""
    memory, quota = shown.memory_limit_in_bytes, shown.cpu_quota
    if memory and wanted.memory_limit_in_bytes and memory != wanted.memory_limit_in_bytes:
        return False
    if quota > 0 and wanted.cpu_quota > 0 and quota * wanted.cpu_period != wanted.cpu_quota * shown.cpu_period:
        return False
    return not shown.cpu_shares or _weight(shown.cpu_shares) == _weight(wanted.cpu_shares)


def _weight(shares: int) -> int:
    """The weight that cgroup v2 has for these shares."""
    return 1 + (max(LEAST_SHARES, shares) - LEAST_SHARES) * (MOST_WEIGHT - 1) // (MOST_SHARES - LEAST_SHARES)
