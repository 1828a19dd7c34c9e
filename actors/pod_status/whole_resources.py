"""The resources of a pod as a whole, for its status (spec 4.2). Pure.

A kubelet shows them for every pod, also for one whose spec has resources of its containers alone. A pod that runs shows
what its cgroup enforces: a limit that one container lacks bounds nothing. Any other shows the sums. While a resize is
carried out, the old values stay.

Two oddities of a kubelet are kept. No cgroup has the memory request of a pod, so a pod that runs goes on to show its
first one. Without a limit cgroup v1 reports the most that it can count.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.pod_status.conditions import RESIZE_IN_PROGRESS, RUNNING, ResizeCondition
from config.objects import Pod, PodSpec, PodStatus, ResourceRequirements
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import EPHEMERAL_STORAGE, HUGE_PAGES, pod_limits, read_amounts, spec_requests, whole_limits
from config.values.quantity import Quantity, QuantityError, Suffixes

MEMORY_UNLIMITED_V1 = "9007199254740988Ki"
"""What cgroup v1 reports for a cgroup without a limit, with pages of 4 KiB."""
CPU, MEMORY = "cpu", "memory"
_OF_CGROUP = frozenset({CPU, MEMORY})
_BINARY = frozenset({MEMORY, EPHEMERAL_STORAGE})


class WholeResources(msgspec.Struct, frozen=True):
    """Pod-level resources in a status: `given` to the pod, those while `running`, and at `other` times."""

    given: Mapping[str, str] = {}
    running: ResourceRequirements | None = None
    other: ResourceRequirements | None = None


def resources_shown(
    pod: Pod,
    phase: str,
    previous: PodStatus,
    resizes: tuple[ResizeCondition, ...] | None,
    memory_unlimited: str = "",
) -> tuple[Mapping[str, str], ResourceRequirements | None]:
    """`allocatedResources` and `resources` of the status.

    `memory_unlimited`: the limit that the kernel reports of a cgroup without one, or "".
    """
    shown = _of_spec(pod.spec)
    now = shown.running if phase == RUNNING else shown.other
    under_way = previous.conditions if resizes is None else resizes
    if previous.resources is not None and any(each.type == RESIZE_IN_PROGRESS for each in under_way):
        now = previous.resources
    elif phase == RUNNING and now is not None:
        before = previous.resources
        if before is not None and previous.phase == RUNNING and before is not now:
            now = _with_first_request(now, before)
        if memory_unlimited and MEMORY not in now.limits:
            now = msgspec.structs.replace(now, limits={**now.limits, MEMORY: memory_unlimited})
    return shown.given, now


def _with_first_request(resources: ResourceRequirements, previous: ResourceRequirements) -> ResourceRequirements:
    first = previous.requests.get(MEMORY)
    if first is None or first == resources.requests.get(MEMORY):
        return resources
    return msgspec.structs.replace(resources, requests={**resources.requests, MEMORY: first})


@once_per_spec
def _of_spec(spec: PodSpec) -> WholeResources:
    """The resources in the spec; nothing for an unreadable pod, which is refused."""
    try:
        requests, limits, bounds = spec_requests(spec), pod_limits(spec), whole_limits(spec)
        overhead = read_amounts(spec.overhead)
    except QuantityError:
        return WholeResources()
    given = _texts(requests)
    sums = {name: amount + overhead.get(name, 0) for name, amount in limits.items()}
    own = spec.resources or ResourceRequirements()
    enforced = {name: amount for name, amount in bounds.items() if name in _OF_CGROUP}
    asked = {name: amount for name, amount in requests.items() if name in _OF_CGROUP}
    return WholeResources(
        given=given,
        running=ResourceRequirements(
            limits={**own.limits, **_texts(enforced)}, requests={**own.requests, **_texts(asked)}
        ),
        other=ResourceRequirements(limits=_texts(sums), requests=given),
    )


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts as a kubelet writes sums of them."""
    return {name: str(Quantity(amount, _suffixes(name))) for name, amount in amounts.items()}


def _suffixes(name: str) -> Suffixes:
    return Suffixes.BINARY if name in _BINARY or name.startswith(HUGE_PAGES) else Suffixes.DECIMAL
