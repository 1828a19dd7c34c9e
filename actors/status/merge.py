"""The status to write for a pod, from what its worker computed and what the API has (spec 4.5). Pure.

Other writers keep their parts: conditions that are not the node's, and the fields of the scheduler and of claims. A pod
gets no terminal phase while something of it may still run.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import msgspec

from actors.pod_status.conditions import CONTAINERS_READY, DISRUPTION_TARGET, FAILED, OWNED, READY, TERMINAL, all_of
from config.objects import ContainerState, ContainerStatus, Pod, PodCondition, PodStatus

FOREIGN_FIELDS = (
    "nominated_node_name",
    "resource_claim_statuses",
    "extended_resource_claim_status",
    "node_allocatable_resource_claim_statuses",
)
"""Parts of a pod's status that others write."""
_foreign_fields = attrgetter(*FOREIGN_FIELDS)

NOTHING = PodStatus()


def status_to_write(computed: PodStatus, api: PodStatus | None, *, nothing_runs: bool) -> PodStatus:
    """The status for the API: nearly always `computed` itself.

    `nothing_runs`: the worker has seen the pod's last container end.
    """
    api = NOTHING if api is None else api
    kept: dict[str, Any] = {}
    conditions = _conditions(computed.conditions, api.conditions, nothing_runs=nothing_runs)
    if conditions is not computed.conditions:
        kept["conditions"] = conditions
    if api.start_time and api.start_time != computed.start_time:
        kept["start_time"] = api.start_time
    if api.qos_class and api.qos_class != computed.qos_class:
        kept["qos_class"] = api.qos_class
    if (theirs := _foreign_fields(api)) != _foreign_fields(computed):
        kept.update(zip(FOREIGN_FIELDS, theirs, strict=True))
    status = _plain_status(computed)
    if kept:
        status = msgspec.structs.replace(status, **kept)
    if status.phase in TERMINAL:
        if not nothing_runs and api.phase not in TERMINAL:
            return msgspec.structs.replace(
                status, phase=api.phase or computed.phase, reason=api.reason, message=api.message
            )
        return _unready(status)
    return status


def with_plain_status(pod: Pod) -> Pod:
    """`pod` without the empty last states that the API server fills in."""
    if pod.status is None:
        return pod
    plain = _plain_status(pod.status)
    return pod if plain is pod.status else msgspec.structs.replace(pod, status=plain)


def _plain_status(status: PodStatus) -> PodStatus:
    for each in status.init_container_statuses + status.container_statuses + status.ephemeral_container_statuses:
        if each.last_state == _NO_STATE:
            break
    else:
        return status
    return msgspec.structs.replace(
        status,
        init_container_statuses=tuple(map(_plain, status.init_container_statuses)),
        container_statuses=tuple(map(_plain, status.container_statuses)),
        ephemeral_container_statuses=tuple(map(_plain, status.ephemeral_container_statuses)),
    )


_NO_STATE = ContainerState()


def _plain(status: ContainerStatus) -> ContainerStatus:
    return status if status.last_state != _NO_STATE else msgspec.structs.replace(status, last_state=None)


def _conditions(
    computed: tuple[PodCondition, ...], api: tuple[PodCondition, ...], *, nothing_runs: bool
) -> tuple[PodCondition, ...]:
    """Our conditions as computed, others' as in the API.

    A computed DisruptionTarget comes with the end of the pod.
    """
    if all_of(OWNED, computed) and all_of(OWNED, api):
        return computed
    mine = tuple([each for each in computed if each.type in OWNED])
    theirs = {each.type: each for each in api if each.type not in OWNED}
    if len(mine) == len(computed):
        return (*mine, *theirs.values())
    for each in computed:
        if each.type == DISRUPTION_TARGET and nothing_runs:
            theirs[each.type] = each
    return mine + tuple(theirs.values())


_OF_READINESS = frozenset({READY, CONTAINERS_READY})


def _unready(status: PodStatus) -> PodStatus:
    """Make an ended pod unready, whatever its containers showed last.

    One that was unready keeps its reason.
    """
    if not any(each.status == "True" and each.type in _OF_READINESS for each in status.conditions):
        return status
    reason = "PodFailed" if status.phase == FAILED else "PodCompleted"
    conditions = tuple(
        msgspec.structs.replace(each, status="False", reason=reason, message=None)
        if each.type in _OF_READINESS
        else each
        for each in status.conditions
    )
    return msgspec.structs.replace(status, conditions=conditions)
