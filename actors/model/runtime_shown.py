"""What the runtime has told of one pod: how far each of its sandboxes and containers has come. Pure.

Most of it repeats what a worker has just done and already looked at. A worker that has seen every state that was told
does not look again. That is safe because states never come back: a sandbox ends; a container is made, runs, ends and is
removed. Whatever does not fit, or is not told, is a reason to look.
"""

from __future__ import annotations

from collections.abc import Callable

from config.frozen_map import FrozenMap
from runtime.cri.messages import ContainerEventResponse, ContainerEventType, ContainerState

GONE = 8
"""The runtime has it no more."""
LOOK = 9
"""Told in ways that do not go together."""
_UNKNOWN = int(ContainerState.CONTAINER_UNKNOWN)

Shown = FrozenMap[str, int]
"""Id -> its state as the CRI numbers it, or `GONE`, or `LOOK`."""


def shown_by(event: ContainerEventResponse) -> Shown | None:
    """What an event tells of its pod; None where it does not tell how its own subject is."""
    shown: dict[str, int] = {}
    for each in event.containers_statuses:
        shown[each.id] = each.state
    sandbox = event.pod_sandbox_status
    if sandbox is not None and sandbox.id:
        shown[sandbox.id] = sandbox.state
    if event.container_event_type == ContainerEventType.CONTAINER_DELETED_EVENT:
        shown[event.container_id] = GONE
    return FrozenMap(shown) if event.container_id in shown else None


def nothing_is_left(shown: Shown) -> bool:
    """Whether all that is told of is gone."""
    return set(shown.values()) <= {GONE}


def both(newer: Shown, older: Shown) -> Shown:
    """What two reports say together, whichever came first."""
    if newer == older:
        return newer
    together = dict(older)
    for each, state in newer.items():
        before = older.get(each, state)
        if state != before:
            state = LOOK if _UNKNOWN in (state, before) else max(state, before)
        together[each] = state
    return FrozenMap(together)


def news_in(shown: Shown, state_of: Callable[[str], int | None]) -> tuple[str, ...]:
    """Ids of which nothing so late has been seen; what was never seen may be anything but gone.

    `state_of`: how far the sandbox or container of an id had come when it was seen last; None: it never was.
    """
    found = []
    for each, told in shown.items():
        seen = state_of(each)
        if seen != told and _is_news(told, seen):
            found.append(each)
    return tuple(found)


def is_behind(seen: int | None, told: int) -> bool:
    """Whether less is seen of it than was told. What was told in ways that say nothing is never waited for."""
    return seen is not None and seen < told and told not in (LOOK, _UNKNOWN)


def _is_news(told: int, seen: int | None) -> bool:
    """Of what was seen otherwise."""
    return told != GONE if seen is None else seen < told or seen == _UNKNOWN
