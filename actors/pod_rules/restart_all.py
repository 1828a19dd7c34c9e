"""RestartAllContainers: one container's end restarts all containers of its pod in place.

See spec 3.2, 4.2, 4.3 and KEP-5532.

Pure. A container whose end matches such a rule of its own is a *source*. While a source exists, nothing else is decided
for the pod. Running containers are killed without a grace; then every container is removed, the sources last. So a
restarted agent still finds a source and finishes the work. Then the pod begins anew in its sandbox, init containers
first; volumes and addresses stay. Logs stay too, and tell how often each container was started.

Ephemeral containers are not restarted: they are not part of the pod's definition.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.model.observed import ObservedContainer, ObservedPod
from actors.pod_rules.restart_rules import rule_of
from config.objects import Container, ContainerStatus, Pod, PodStatus
from config.pods.identity import RESTART_ALL, restarts_all_containers

ALL_RESTARTING = "AllContainersRestarting"
"""The condition of a pod. `RESTARTING_ALL` is the matching waiting reason of its containers."""
RESTARTING_ALL = "RestartingAllContainers"


_NOBODY: frozenset[str] = frozenset()


class Reset(msgspec.Struct, frozen=True):
    """Remove one container; kill it first where it `may_run`."""

    id: str
    name: str
    may_run: bool
    container: Container
    source: bool = False


def sources(pod: Pod, observed: ObservedPod) -> frozenset[str]:
    """Names of the containers whose last end restarts all. Empty for a pod that is to be deleted."""
    if not restarts_all_containers(pod.spec) or pod.metadata.deletion_timestamp is not None:
        return _NOBODY
    return frozenset(
        container.name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        if (last := observed.newest(container.name)) is not None and _is_source(container, last)
    )


def resets(pod: Pod, observed: ObservedPod) -> tuple[Reset, ...]:
    """The containers to remove, in order.

    Others come before sources, regular before init containers, old before new ones.
    """
    names = sources(pod, observed)
    if not names:
        return ()
    return (
        *_resets(observed, pod.spec.containers, names, False),
        *_resets(observed, reversed(pod.spec.init_containers), names, False),
        *_resets(observed, pod.spec.containers, names, True),
        *_resets(observed, reversed(pod.spec.init_containers), names, True),
    )


def without_rules(pod: Pod) -> Pod:
    """The pod without rules that restart all, for a node whose feature gate is off."""
    if not restarts_all_containers(pod.spec):
        return pod
    replace = msgspec.structs.replace
    inits, regular = (
        tuple(
            replace(each, restart_policy_rules=tuple(r for r in each.restart_policy_rules if r.action != RESTART_ALL))
            for each in group
        )
        for group in (pod.spec.init_containers, pod.spec.containers)
    )
    return replace(pod, spec=replace(pod.spec, init_containers=inits, containers=regular))


def in_progress(pod: Pod, observed: ObservedPod, previous: PodStatus | None) -> bool:
    """Whether a restart of all is in progress.

    Then a source exists, or all containers are gone and none has been made since.
    """
    if not restarts_all_containers(pod.spec):
        return False
    if sources(pod, observed):
        return True
    was = previous is not None and any(
        each.type == ALL_RESTARTING and each.status == "True" for each in previous.conditions
    )
    everyone = (*pod.spec.init_containers, *pod.spec.containers)
    return was and not any(observed.newest(each.name) is not None for each in everyone)


def marked(statuses: Iterable[ContainerStatus]) -> frozenset[str]:
    """Names of containers that the published status shows as restarting with all others."""
    names = _NOBODY
    for each in statuses:
        waiting = each.state.waiting if each.state is not None else None
        if waiting is not None and waiting.reason == RESTARTING_ALL:
            names |= {each.name}
    return names


def _is_source(container: Container, last: ObservedContainer) -> bool:
    if not last.exited or container.restart_policy is None:
        return False
    rule = rule_of(container, last.exit_code)
    return rule is not None and rule.action == RESTART_ALL


def _resets(
    observed: ObservedPod, containers: Iterable[Container], names: frozenset[str], source: bool
) -> Iterable[Reset]:
    for container in containers:
        if (container.name in names) is source:
            for each in reversed(observed.by_name.get(container.name, ())):
                yield Reset(each.id, each.name, each.may_run, container, source)
