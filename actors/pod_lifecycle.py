"""The life of a pod on its node: every state, every transition, and the reason for each. Pure.

Theory of operation (spec 2.6)
------------------------------
A pod lives once per worker. It is *synced* as long as it is wanted and not done; something then makes it *terminating*:
its containers are ended, within a grace that can only shrink. When nothing of it runs, it is *terminated*: its final
status is known, its volumes are taken down, its remains are collected as far as nobody needs them. After that it is
*finished*; only the word that it is desired no more makes it *gone*, and its worker with it.

It never goes back. A pod that comes back under its old UID gets a new worker after the old one is gone. What arrives
too late (a sync for a pod that is ending) changes nothing but what it says about the grace.

Two corners are not pretty. A pod that only the runtime knows (an orphan) has no object: it starts out terminating
with the shortest grace and is gone when it has ended. A pod that is first seen with a final phase skips to
terminating as well, even when nothing runs: ending nothing is quick, and one path for all is easier to trust than
two.

The worker feeds events to `advance` and does what the state asks for (`DEED`). The diagram in the documentation is
made from `TRANSITIONS`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec


class State(enum.Enum):
    """Where a pod is in its life."""

    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"
    GONE = "gone"


DEED: Mapping[State, str] = {
    State.SYNC: "make the runtime show what is desired",
    State.TERMINATING: "end every container within the grace",
    State.TERMINATED: "publish the final status, take down volumes, collect the remains",
    State.FINISHED: "nothing, until the pod is desired no more",
    State.GONE: "end the worker",
}


class Event(enum.Enum):
    """What can happen to a pod."""

    DESIRED = "the pod is desired, in this form"
    DELETED = "the object carries a deletion timestamp"
    REMOVED = "no source desires the pod any more"
    KILLED = "somebody on the node ends it (eviction, preemption, shutdown)"
    ORPHANED = "only the runtime knows the pod"
    COMPLETED = "its phase is final: it succeeded or failed"
    STOPPED = "nothing of it runs any more"
    CLEANED = "nothing of it is left that must go"


class Transition(msgspec.Struct, frozen=True):
    """From `state`, on `event`, to `to`, because of `reason`."""

    state: State
    event: Event
    to: State
    reason: str


TRANSITIONS: tuple[Transition, ...] = (
    Transition(State.SYNC, Event.DESIRED, State.SYNC, "a newer form of the pod is synced as it comes"),
    Transition(State.SYNC, Event.DELETED, State.TERMINATING, "the user wants it ended"),
    Transition(State.SYNC, Event.REMOVED, State.TERMINATING, "what nobody desires does not run"),
    Transition(State.SYNC, Event.KILLED, State.TERMINATING, "the node cannot keep it"),
    Transition(State.SYNC, Event.ORPHANED, State.TERMINATING, "what was never desired does not run"),
    Transition(State.SYNC, Event.COMPLETED, State.TERMINATING, "it has done its work, or never will"),
    Transition(State.TERMINATING, Event.DESIRED, State.TERMINATING, "a pod never goes back to running"),
    Transition(State.TERMINATING, Event.DELETED, State.TERMINATING, "the grace may have become shorter"),
    Transition(State.TERMINATING, Event.REMOVED, State.TERMINATING, "its end is already under way"),
    Transition(State.TERMINATING, Event.KILLED, State.TERMINATING, "the grace may have become shorter"),
    Transition(State.TERMINATING, Event.ORPHANED, State.TERMINATING, "its end is already under way"),
    Transition(State.TERMINATING, Event.COMPLETED, State.TERMINATING, "its end is already under way"),
    Transition(State.TERMINATING, Event.STOPPED, State.TERMINATED, "no container of it runs"),
    Transition(State.TERMINATED, Event.DESIRED, State.TERMINATED, "a pod never goes back to running"),
    Transition(State.TERMINATED, Event.DELETED, State.TERMINATED, "nothing is left to end"),
    Transition(State.TERMINATED, Event.REMOVED, State.TERMINATED, "nothing is left to end"),
    Transition(State.TERMINATED, Event.KILLED, State.TERMINATED, "nothing is left to end"),
    Transition(State.TERMINATED, Event.CLEANED, State.FINISHED, "nothing of it is left that must go"),
    Transition(State.FINISHED, Event.DESIRED, State.FINISHED, "a pod runs once"),
    Transition(State.FINISHED, Event.DELETED, State.FINISHED, "nothing is left to end"),
    Transition(State.FINISHED, Event.KILLED, State.FINISHED, "nothing is left to end"),
    Transition(State.FINISHED, Event.REMOVED, State.TERMINATED, "its remains may go now, too"),
)

_TABLE: Mapping[tuple[State, Event], Transition] = {(row.state, row.event): row for row in TRANSITIONS}

MINIMUM_GRACE_SECONDS = 1
"""No pod is given less (spec 2.6)."""


class LifecycleError(Exception):
    """An event that cannot happen in this state: a mistake of the worker, not of the pod."""


class PodLife(msgspec.Struct, frozen=True):
    """Where one pod is, and what has been decided about its end.

    `grace_seconds` is None until something asks for an end. `deleted`: the object is being deleted. `removed`: no
    source desires the pod. `reason` says what made it terminating, for people.
    """

    state: State = State.SYNC
    grace_seconds: int | None = None
    deleted: bool = False
    removed: bool = False
    evicted: bool = False
    orphan: bool = False
    reason: str = ""

    @property
    def ending(self) -> bool:
        return self.state is not State.SYNC

    @property
    def content_may_go(self) -> bool:
        """Dead containers, sandboxes and logs may be removed (spec 2.6, ShouldPodContentBeRemoved)."""
        terminated = self.state in (State.TERMINATED, State.FINISHED, State.GONE)
        return self.evicted or (terminated and (self.deleted or self.removed or self.orphan))


def advance(life: PodLife, event: Event, grace_seconds: int | None = None) -> PodLife:
    """The life after `event`. `grace_seconds` is what this event allows the pod for its end; the shortest counts.

    Raises LifecycleError for an event that the table does not have in this state.
    """
    transition = _TABLE.get((life.state, event))
    if transition is None:
        raise LifecycleError(f"a pod that is {life.state.value} cannot meet {event.name}: {event.value}")
    state = transition.to
    if event is Event.CLEANED and (life.removed or life.orphan):
        state = State.GONE
    return msgspec.structs.replace(
        life,
        state=state,
        grace_seconds=shorter_grace(life.grace_seconds, grace_seconds),
        deleted=life.deleted or event is Event.DELETED,
        removed=life.removed or event is Event.REMOVED,
        orphan=life.orphan or event is Event.ORPHANED,
        reason=transition.reason if life.state is State.SYNC and state is not State.SYNC else life.reason,
    )


def shorter_grace(before: int | None, now: int | None) -> int | None:
    """A grace period only ever shrinks, and never below the minimum (spec 2.6)."""
    if now is None:
        return before
    now = max(MINIMUM_GRACE_SECONDS, now)
    return now if before is None else min(before, now)


def diagram() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", "    [*] --> sync"]
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in TRANSITIONS:
        if row.state is not row.to:
            arrows.setdefault((row.state.value, row.to.value), []).append(row.event.name)
    lines += [f"    {source} --> {to}: {', '.join(events)}" for (source, to), events in arrows.items()]
    lines += ["    terminated --> gone: CLEANED and REMOVED or ORPHANED", "    gone --> [*]"]
    return "\n".join(lines) + "\n"
