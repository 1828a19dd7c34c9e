"""The resources of a pod as a whole, for its status (spec 4.2). Pure.

A kubelet shows them for every pod, also for one whose spec has resources of its containers alone. A pod that runs shows
what its cgroup enforces: a limit that one container lacks bounds nothing. Any other shows the sums. While a resize is
carried out, the old values stay.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.pod_status.conditions import RESIZE_IN_PROGRESS, RUNNING, ResizeCondition
from config.objects import Pod, PodSpec, PodStatus, ResourceRequirements
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import EPHEMERAL_STORAGE, HUGE_PAGES, pod_limits, read_amounts, spec_requests, whole_limits
from config.values.quantity import Quantity, QuantityError, Suffixes

CPU, MEMORY = "cpu", "memory"
_OF_CGROUP = frozenset({CPU, MEMORY})
_BINARY = frozenset({MEMORY, EPHEMERAL_STORAGE})


class WholeResources(msgspec.Struct, frozen=True):
    """Pod-level resources in a status: `given` to the pod, those while `running`, and at `other` times."""

    given: Mapping[str, str] = {}
    running: ResourceRequirements | None = None
    other: ResourceRequirements | None = None


def resources_shown(
    pod: Pod, phase: str, previous: PodStatus, resizes: tuple[ResizeCondition, ...] | None
) -> tuple[Mapping[str, str], ResourceRequirements | None]:
    """`allocatedResources` and `resources` of the status."""
    shown = _of_spec(pod.spec)
    now = shown.running if phase == RUNNING else shown.other
    under_way = previous.conditions if resizes is None else resizes
    if previous.resources is not None and any(each.type == RESIZE_IN_PROGRESS for each in under_way):
        now = previous.resources
    return shown.given, now


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
