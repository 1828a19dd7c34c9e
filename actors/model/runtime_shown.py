"""The reported state of each sandbox and container of one pod. Pure.

Most reports repeat what a worker has just done and looked at. A worker that has seen every reported state does not look
again. That is safe because states never come back: a sandbox ends; a container is made, runs, ends and is removed.
Whatever does not fit, or is not reported, is a reason to look.
"""

from __future__ import annotations

from collections.abc import Callable

from config.frozen_map import FrozenMap
from runtime.cri.messages import ContainerEventResponse, ContainerEventType, ContainerState

GONE = 8
"""The runtime no longer has it."""
LOOK = 9
"""Reports about it contradict each other."""
STATES_AT_MOST = 32
"""Containers of one pod whose states are read from one event."""
_UNKNOWN = int(ContainerState.CONTAINER_UNKNOWN)

Shown = FrozenMap[str, int]
"""Id -> its state as the CRI numbers it, or `GONE`, or `LOOK`."""


def shown_by(event: ContainerEventResponse) -> Shown | None:
    """The states in an event; None if it lacks the state of its own subject.

    Each event shows all containers of its pod. Of many, only the subject counts here: the others have events of their
    own, and thousands of events with thousands of states each are too many.
    """
    statuses = event.containers_statuses
    if len(statuses) > STATES_AT_MOST:
        statuses = tuple([each for each in statuses if each.id == event.container_id])
    shown: dict[str, int] = {}
    for each in statuses:
        shown[each.id] = each.state
    sandbox = event.pod_sandbox_status
    if sandbox is not None and sandbox.id:
        shown[sandbox.id] = sandbox.state
    if event.container_event_type == ContainerEventType.CONTAINER_DELETED_EVENT:
        shown[event.container_id] = GONE
    return FrozenMap(shown) if event.container_id in shown else None


def nothing_is_left(shown: Shown) -> bool:
    """Whether everything in the report is gone."""
    return set(shown.values()) <= {GONE}


def both(newer: Shown, older: Shown) -> Shown:
    """Combine two reports, whichever came first."""
    if newer == older:
        return newer
    together: dict[str, int] = {}
    for each, state in newer.items():
        before = older.get(each, state)
        if state != before:
            state = LOOK if _UNKNOWN in (state, before) else max(state, before)
        together[each] = state
    return older | together


def news_in(shown: Shown, state_of: Callable[[str], int | None]) -> tuple[str, ...]:
    """Ids whose reported state is later than the last seen one.

    An id never seen is news unless it is gone.

    `state_of`: the last seen state of a sandbox or container; None: never seen.
    """
    found = []
    for each, told in shown.items():
        seen = state_of(each)
        if seen != told and _is_news(told, seen):
            found.append(each)
    return tuple(found)


def is_behind(seen: int | None, told: int) -> bool:
    """Whether the seen state is older than the reported one.

    Nobody waits for a report without a clear state.
    """
    return seen is not None and seen < told and told not in (LOOK, _UNKNOWN)


def _is_news(told: int, seen: int | None) -> bool:
    """Whether a reported state that differs from the seen one is news."""
    return told != GONE if seen is None else seen < told or seen == _UNKNOWN
