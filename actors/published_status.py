"""What a pod's published status becomes when its worker computes a new one (spec 4.5).

Pure. The worker says what it sees; this keeps the promises that whoever reads a status relies on:

- A terminal phase is the end: nothing is published after it that says otherwise.
- "I do not know" keeps the last value: a phase or an address that the new status leaves out stays as it was.
- The start time never changes, and a condition's transition time changes with its status only.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from config.objects import PodCondition, PodStatus

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


def next_status(published: PodStatus | None, computed: PodStatus) -> PodStatus | None:
    """The status to publish after `published`; None when `computed` would bring an ended pod back to life.

    Gives `published` itself when nothing has changed.
    """
    if published is None:
        return computed
    if published.phase in TERMINAL_PHASES and computed.phase not in (None, published.phase):
        return None
    status = msgspec.structs.replace(
        computed,
        phase=computed.phase or published.phase,
        start_time=published.start_time or computed.start_time,
        host_ip=computed.host_ip or published.host_ip,
        host_ips=computed.host_ips or published.host_ips,
        pod_ip=computed.pod_ip or published.pod_ip,
        pod_ips=computed.pod_ips or published.pod_ips,
        conditions=_with_kept_times(
            {condition.type: condition for condition in published.conditions}, computed.conditions
        ),
    )
    return published if status == published else status


def _with_kept_times(
    before: Mapping[str, PodCondition], conditions: tuple[PodCondition, ...]
) -> tuple[PodCondition, ...]:
    return tuple(
        msgspec.structs.replace(condition, last_transition_time=old.last_transition_time)
        if (old := before.get(condition.type)) is not None
        and old.status == condition.status
        and old.last_transition_time is not None
        and old.last_transition_time != condition.last_transition_time
        else condition
        for condition in conditions
    )
