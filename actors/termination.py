"""How a pod's containers are ended: grace periods and order (spec 3.10). Pure.

A plan is a list of phases. The containers of one phase are stopped in parallel; the next phase begins when they have
ended or the grace is used up. Without sidecars there is one phase. With them the regular containers go first, then
the sidecars, the last one first.
"""

from __future__ import annotations

import msgspec

from actors.observed import ObservedContainer, ObservedPod
from config.objects import Container, Pod
from config.pod_identity import is_sidecar

MINIMUM_GRACE_SECONDS = 2
"""A container always gets this long between the signal and the kill (spec 3.10)."""
ORPHAN_GRACE_SECONDS = 1
"""For pods that only the runtime knows (spec 2.8)."""
DEFAULT_GRACE_SECONDS = 30


class KillPlan(msgspec.Struct, frozen=True):
    """`grace_seconds` is for all phases together."""

    phases: tuple[tuple[ObservedContainer, ...], ...]
    grace_seconds: int


def plan_kill(pod: Pod | None, observed: ObservedPod, grace_seconds: int) -> KillPlan:
    """Every running container, in the order in which they end."""
    running = observed.running()
    sidecars = [c.name for c in pod.spec.init_containers if is_sidecar(c)] if pod is not None else []
    regular = tuple(container for container in running if container.name not in sidecars)
    phases = [regular] if regular else []
    for name in reversed(sidecars):
        same = tuple(container for container in running if container.name == name)
        if same:
            phases.append(same)
    return KillPlan(tuple(phases), grace_seconds)


def pod_grace_seconds(pod: Pod) -> int:
    """The grace of a pod that is asked to end without being told how fast."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    spec_grace = pod.spec.termination_grace_period_seconds
    return DEFAULT_GRACE_SECONDS if spec_grace is None else spec_grace


def container_grace_seconds(pod: Pod, container: Container | None, reason: str) -> int:
    """The grace of one container that is ended while its pod lives on (spec 3.10)."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    if container is not None:
        probe = {"liveness": container.liveness_probe, "startup": container.startup_probe}.get(reason)
        if probe is not None and probe.termination_grace_period_seconds is not None:
            return probe.termination_grace_period_seconds
    return pod_grace_seconds(pod)


def remaining_grace_seconds(grace_seconds: int, elapsed_ns: int) -> int:
    """What is left for a stop after whole seconds that have gone, never under the minimum."""
    return max(MINIMUM_GRACE_SECONDS, grace_seconds - elapsed_ns // 1_000_000_000)
