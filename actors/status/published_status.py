"""What a pod's published status becomes when its worker computes a new one (spec 4.5). Pure.

The worker reports what it sees; this module keeps the promises to readers of a status:

- A terminal phase is final: no other phase is published after it.
- Unknown values keep the last one: a phase or an address that the new status leaves out stays.
- The start time never changes, and a condition's transition time changes only with its status.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.pod_status.conditions import by_type, type_of
from config.objects import PodCondition, PodStatus

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
_KEPT = ("phase", "host_ip", "host_ips", "pod_ip", "pod_ips")
"""Fields that keep their value when a new status leaves them out."""


def next_status(published: PodStatus | None, computed: PodStatus) -> PodStatus | None:
    """The status to publish after `published`; None when `computed` would bring an ended pod back to life.

    Gives `published` itself when nothing has changed.
    """
    if published is None:
        return computed
    if published.phase in TERMINAL_PHASES and computed.phase not in (None, published.phase):
        return None
    kept: dict[str, Any] = {}
    if not (computed.phase and computed.host_ip and computed.host_ips and computed.pod_ip and computed.pod_ips):
        kept = {name: old for name in _KEPT if not getattr(computed, name) and (old := getattr(published, name))}
    if published.start_time and published.start_time != computed.start_time:
        kept["start_time"] = published.start_time
    conditions = _with_kept_times(published.conditions, computed.conditions)
    if conditions is not computed.conditions:
        kept["conditions"] = conditions
    status = msgspec.structs.replace(computed, **kept) if kept else computed
    return published if status == published else status


def _with_kept_times(
    published: tuple[PodCondition, ...], computed: tuple[PodCondition, ...]
) -> tuple[PodCondition, ...]:
    """The computed conditions with the transition times of unchanged statuses; the same tuple if nothing differs."""
    before = by_type(published)
    moved = [
        new.type
        for old, new in zip(map(before.get, map(type_of, computed)), computed, strict=True)
        if old is not new
        and old is not None
        and old.status == new.status
        and old.last_transition_time is not None
        and old.last_transition_time != new.last_transition_time
    ]
    if not moved:
        return computed
    return tuple(
        msgspec.structs.replace(each, last_transition_time=before[each.type].last_transition_time)
        if each.type in moved
        else each
        for each in computed
    )
