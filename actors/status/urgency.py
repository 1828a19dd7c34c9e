"""Decides which waiting status is written first, and which is held back for a newer one. Pure.

The order is: ended, not ready any more, newly ready, in trouble or further with a resize, the rest. The rest are pods
that are starting (sandbox made, image being pulled). Their next status says more, so they are held back for a while,
and a pod that starts quickly costs one write.
"""

from __future__ import annotations

import enum
from itertools import chain, islice

from actors.pod_status.conditions import READY, RESIZE_IN_PROGRESS, RESIZE_PENDING, RUNNING, TERMINAL
from config.objects import ContainerStatus, PodStatus

MILLISECOND_NS = 1_000_000
ON_ITS_WAY_NS = 1_500 * MILLISECOND_NS
"""How long to hold back a status without news for anybody who waits for the pod."""

CONTAINERS_AT_MOST = 64
"""Containers of one pod that are looked at for trouble.

That of others is written after `ON_ITS_WAY_NS`.
"""
_RESIZES = (RESIZE_IN_PROGRESS, RESIZE_PENDING)
_ON_THEIR_WAY = frozenset({"", "ContainerCreating", "PodInitializing"})


class Urgency(enum.IntEnum):
    """In the order of writing."""

    ENDED = 0
    UNREADY = 1
    READY = 2
    TROUBLE = 3
    REST = 4


def urgency(api: PodStatus | None, wanted: PodStatus, *, ending: bool = False) -> Urgency:
    """How urgent it is that the API shows `wanted` instead of `api`.

    `ending`: the containers of the pod have come to their end, and the last word on it is about to follow.
    """
    if wanted.phase in TERMINAL:
        return Urgency.ENDED
    if ending:
        return Urgency.REST
    was, is_now = _ready(api), _ready(wanted)
    if was and not is_now:
        return Urgency.UNREADY
    if is_now and not was:
        return Urgency.READY
    before = None if api is None else api.phase
    if wanted.phase != before and wanted.phase == RUNNING:
        return Urgency.READY
    if _troubles(wanted) - _troubles(api) or _resize_is_further(api, wanted):
        return Urgency.TROUBLE
    return Urgency.REST


def _ready(status: PodStatus | None) -> bool:
    for each in () if status is None else status.conditions:
        if each.type == READY:
            return each.status == "True"
    return False


def _resize_is_further(api: PodStatus | None, wanted: PodStatus) -> bool:
    if api is None or api.phase != RUNNING or wanted.phase != RUNNING:
        return False
    if api.allocated_resources != wanted.allocated_resources or api.resources != wanted.resources:
        return True
    return _resizes(api) != _resizes(wanted)


def _resizes(status: PodStatus) -> list[tuple[str, str | None]]:
    """How far the resizes of the pod are."""
    return [(each.type, each.reason) for each in status.conditions if each.type in _RESIZES]


def _troubles(status: PodStatus | None) -> set[tuple[str, str, int]]:
    """The trouble of each of the first containers: why it waits, how often it was restarted."""
    if status is None:
        return set()
    return {
        (each.name, reason, each.restart_count)
        for each in islice(chain(status.init_container_statuses, status.container_statuses), CONTAINERS_AT_MOST)
        if (reason := _waits_for(each)) not in _ON_THEIR_WAY or each.restart_count
    }


def _waits_for(status: ContainerStatus) -> str:
    waiting = None if status.state is None else status.state.waiting
    return "" if waiting is None else waiting.reason or ""
