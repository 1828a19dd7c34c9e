"""The status to write for a pod, out of what its worker computed and what the API has (spec 4.5). Pure.

Whoever else writes into a status keeps what is theirs: conditions that are not the node's, and the fields of the
scheduler and of claims. A pod is not called ended while something of it may still run.
"""

from __future__ import annotations

import msgspec

from actors.pod_status.conditions import CONTAINERS_READY, DISRUPTION_TARGET, OWNED, READY
from actors.pod_status.phase import FAILED, TERMINAL
from config.objects import ContainerState, ContainerStatus, Pod, PodCondition, PodStatus, ResourceRequirements

NODE_CONDITIONS = OWNED | {"PodResizePending", "PodResizeInProgress"}

FOREIGN_FIELDS = (
    "nominated_node_name",
    "resource_claim_statuses",
    "extended_resource_claim_status",
    "node_allocatable_resource_claim_statuses",
)
"""Parts of a pod's status that others write."""

NOTHING = PodStatus()


def status_to_write(computed: PodStatus, api: PodStatus | None, *, nothing_runs: bool) -> PodStatus:
    """What the API is to show. `nothing_runs`: the worker has seen the last container of the pod end."""
    api = NOTHING if api is None else api
    computed = _plain_status(computed)
    status = msgspec.structs.replace(
        computed,
        conditions=_conditions(computed.conditions, api.conditions),
        start_time=api.start_time or computed.start_time,
        qos_class=api.qos_class or computed.qos_class,
        **{name: getattr(api, name) for name in FOREIGN_FIELDS},
    )
    if status.phase in TERMINAL:
        if not nothing_runs and api.phase not in TERMINAL:
            return msgspec.structs.replace(
                status, phase=api.phase or computed.phase, reason=api.reason, message=api.message
            )
        return _unready(status)
    return status


def with_plain_status(pod: Pod) -> Pod:
    """`pod` as the API shows it, without what its server writes for nothing: an empty last state, no resources."""
    if pod.status is None:
        return pod
    plain = _plain_status(pod.status)
    return pod if plain is pod.status else msgspec.structs.replace(pod, status=plain)


def _plain_status(status: PodStatus) -> PodStatus:
    groups = {
        name: plain
        for name in ("init_container_statuses", "container_statuses", "ephemeral_container_statuses")
        if (plain := tuple(map(_plain, getattr(status, name)))) != getattr(status, name)
    }
    return msgspec.structs.replace(status, **groups) if groups else status


_NO_STATE = ContainerState()
_NO_RESOURCES = ResourceRequirements()


def _plain(status: ContainerStatus) -> ContainerStatus:
    if status.last_state != _NO_STATE and status.resources != _NO_RESOURCES:
        return status
    return msgspec.structs.replace(
        status,
        last_state=None if status.last_state == _NO_STATE else status.last_state,
        resources=None if status.resources == _NO_RESOURCES else status.resources,
    )


def _conditions(computed: tuple[PodCondition, ...], api: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    """Ours as computed, those of others as the API has them; a disruption as whoever knows of it says."""
    mine = tuple(each for each in computed if each.type in NODE_CONDITIONS)
    theirs = {each.type: each for each in api if each.type not in NODE_CONDITIONS}
    for each in computed:
        if each.type == DISRUPTION_TARGET:
            theirs[each.type] = each
    return mine + tuple(theirs.values())


def _unready(status: PodStatus) -> PodStatus:
    """A pod that has ended is not ready, whatever was last seen of its containers."""
    reason = "PodFailed" if status.phase == FAILED else "PodCompleted"
    conditions = tuple(
        msgspec.structs.replace(each, status="False", reason=reason, message=None)
        if each.type in (READY, CONTAINERS_READY) and (each.status != "False" or each.reason != reason)
        else each
        for each in status.conditions
    )
    return status if conditions == status.conditions else msgspec.structs.replace(status, conditions=conditions)
