"""The last status of a pod: nothing of it runs, and nothing will (spec 4.5, TerminatePod). Pure.

A container without an observed end is shown as ended in an unknown way. One that cannot have started, because earlier
init containers had not finished, stays as it is, and so does each ephemeral container.
"""

from __future__ import annotations

import msgspec

from actors.pod_status.conditions import FAILED, TERMINAL
from actors.pod_status.container_statuses import LOST_MESSAGE, STATUS_UNKNOWN, UNKNOWN_EXIT_CODE
from config.objects import ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus
from config.pods.identity import is_sidecar, is_static


def final_status(pod: Pod, status: PodStatus) -> PodStatus:
    """`status` with every container ended, and a terminal phase unless the pod is static."""
    sidecars = {container.name for container in pod.spec.init_containers if is_sidecar(container)}
    init: list[ContainerStatus] = []
    reached = True
    for each in status.init_container_statuses:
        init.append(_ended(each) if reached else each)
        reached = reached and (each.ready or each.name in sidecars)
    regular = status.container_statuses
    phase = status.phase
    if phase not in TERMINAL and not is_static(pod):
        phase = FAILED
    final = msgspec.structs.replace(
        status,
        phase=phase,
        init_container_statuses=tuple(init),
        container_statuses=tuple(map(_ended, regular)) if reached else regular,
    )
    return status if final == status else final


def _ended(status: ContainerStatus) -> ContainerStatus:
    state = status.state
    if state is not None and state.terminated is not None:
        return status
    return msgspec.structs.replace(status, state=_ENDED_UNSEEN, ready=False, started=False)


_ENDED_UNSEEN = ContainerState(
    terminated=ContainerStateTerminated(exit_code=UNKNOWN_EXIT_CODE, reason=STATUS_UNKNOWN, message=LOST_MESSAGE)
)
