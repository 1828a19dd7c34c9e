"""The life of one pod under its worker: a state machine without any I/O (spec 2.6). Rules and theory of operation:

A pod's worker is in one of five stages and only ever moves down this list; the same UID never goes back up, not even
when its source brings the pod again. Whoever comes again starts with a new life after this one is finished.

    WAITING      nothing has been done; a static pod may be kept here until no other pod of its full name is left
    SYNCING      the pod is brought to what is desired, again and again
    TERMINATING  its containers are being ended; nothing is started any more
    TERMINATED   nothing of it runs; what it had on the node is being cleaned away
    FINISHED     nothing is left to do; the worker ends

Six kinds of events move it. Three come from outside: the pod as desired (`Desired`), the order to end it
(`KillRequested`), and the discovery that only the runtime knows it (`Orphaned`). Three are the good ends of a pass of
the worker itself: `Synced`, `ContainersStopped`, `CleanedUp`. A pass that fails is no event: it is tried again in the
same stage. `NameTaken` and `NameFree` belong to static pods that wait.

A pod has its worker from its turn on: for those that wait, and for those that come again while their worker ends, the
sync loop (`actors.sync.loop`) keeps to the rules of WAITING and of coming anew. A worker that has not looked yet does
not say that nothing runs; then TERMINATING finds nothing, which comes to the same.

`TABLE` below is everything: for each stage and event the rules in order, each with its condition, its target and the
reason. The first whose condition holds applies. A pair without rules is a mistake of the caller and raises
`IllegalTransitionError`, which says what would have been legal. `actors.pod_lifecycle_page` draws the table.

The grace period can only shrink: a second order to end a pod may hurry the first, never slow it down. When it shrinks,
or when the pod begins to end, the pass that is under way is cancelled (`Step.cancel_pass`): it would wait for what
nobody wants any more.

The ugly corner is the agent's own restart. A fresh worker does not know what the one before it did. That is safe,
because every stage can be done again from its start: ending what has ended and cleaning what is clean are both nothing.
Only one shortcut exists: a pod that had ended and of which nothing runs needs no TERMINATING, and goes to TERMINATED at
once.

Times are wall-clock nanoseconds and come with the event.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from config.objects import Pod

MINIMUM_GRACE_SECONDS = 1
TERMINAL_PHASES = ("Failed", "Succeeded")


class Stage(enum.StrEnum):
    """How far a pod's life has come; in order."""

    WAITING = "waiting"
    SYNCING = "syncing"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


WAITING, SYNCING, TERMINATING, TERMINATED, FINISHED = Stage
"""The same by name, for who asks at every turn: a member of an enum costs ten times a global name."""


class PodLife(msgspec.Struct, frozen=True):
    """Where a pod is. Times are None until the thing has happened.

    `deleted`: nobody desires it any more, or its deletion was asked for. `grace_seconds`: the least of all that were
    asked for, None while nobody has. `restart_requested`: the pod was brought anew while this life ended.
    """

    stage: Stage = Stage.WAITING
    static: bool = False
    runtime_only: bool = False
    name_taken: bool = False
    deleted: bool = False
    evicted: bool = False
    restart_requested: bool = False
    grace_seconds: int | None = None
    reason: str = ""
    message: str = ""
    started_at_ns: int | None = None
    terminating_at_ns: int | None = None
    terminated_at_ns: int | None = None
    finished_at_ns: int | None = None


BEGINNING = PodLife()


# --- events ---------------------------------------------------------------------------------------------------------


class Desired(msgspec.Struct, frozen=True):
    """A source desires the pod in this form. `created`: it says so for the first time. `over`: its phase is terminal.

    `nothing_runs`: the worker has looked, and the runtime runs nothing of it.
    """

    created: bool = False
    deleting: bool = False
    over: bool = False
    nothing_runs: bool = False
    static: bool = False
    deletion_grace_seconds: int | None = None
    spec_grace_seconds: int | None = None


class KillRequested(msgspec.Struct, frozen=True):
    """End the pod. `grace_seconds` None leaves it to the pod; `removed`: no source desires it any more."""

    grace_seconds: int | None = None
    removed: bool = False
    evicted: bool = False
    reason: str = ""
    message: str = ""
    deletion_grace_seconds: int | None = None
    spec_grace_seconds: int | None = None


class Orphaned(msgspec.Struct, frozen=True):
    """The runtime has containers of a pod that no source desires."""


class NameTaken(msgspec.Struct, frozen=True):
    """Another static pod of the same full name is still there."""


class NameFree(msgspec.Struct, frozen=True):
    """It is not any more."""


class Synced(msgspec.Struct, frozen=True):
    """A pass of SYNCING has come to its end. `terminal`: the pod's phase is now Failed or Succeeded."""

    terminal: bool = False


class ContainersStopped(msgspec.Struct, frozen=True):
    """A pass of TERMINATING has come to its end: nothing of the pod runs."""


class CleanedUp(msgspec.Struct, frozen=True):
    """A pass of TERMINATED has come to its end: nothing of the pod is left on the node."""


Event: TypeAlias = Desired | KillRequested | Orphaned | NameTaken | NameFree | Synced | ContainersStopped | CleanedUp


def desired(pod: Pod, *, created: bool = False, nothing_runs: bool = False, static: bool = False) -> Desired:
    """The event that tells a worker its pod."""
    meta, status = pod.metadata, pod.status
    return Desired(
        created=created,
        deleting=meta.deletion_timestamp is not None,
        over=status is not None and status.phase in TERMINAL_PHASES,
        nothing_runs=nothing_runs,
        static=static,
        deletion_grace_seconds=meta.deletion_grace_period_seconds,
        spec_grace_seconds=pod.spec.termination_grace_period_seconds,
    )


def kill_requested(
    pod: Pod | None,
    *,
    grace_seconds: int | None = None,
    removed: bool = False,
    evicted: bool = False,
    reason: str = "",
    message: str = "",
) -> KillRequested:
    """The event that tells a worker to end its pod, of which the spec may be lost."""
    return KillRequested(
        grace_seconds,
        removed,
        evicted,
        reason,
        message,
        pod.metadata.deletion_grace_period_seconds if pod is not None else None,
        pod.spec.termination_grace_period_seconds if pod is not None else None,
    )


# --- rules ----------------------------------------------------------------------------------------------------------

Condition: TypeAlias = Callable[[PodLife, Any], bool]
"""Of a life and an event of the type under which the rule stands in the table."""


class Rule(msgspec.Struct, frozen=True):
    """When `holds` (in words: `when`; None and empty for always), the pod goes to `target`, because of `why`."""

    when: str
    holds: Condition | None
    target: Stage
    why: str
    again: bool = False
    """The pod was brought anew: this life goes on to its end, and another is asked for."""


def _ended_before(life: PodLife, event: Desired) -> bool:
    return event.over and event.nothing_runs


def _must_end(life: PodLife, event: Desired) -> bool:
    return event.deleting or event.over


def _name_taken(life: PodLife, event: Event) -> bool:
    return life.name_taken


def _brought_anew(life: PodLife, event: Desired) -> bool:
    return event.created or life.runtime_only


def _terminal(life: PodLife, event: Synced) -> bool:
    return event.terminal


def _runtime_only(life: PodLife, event: Event) -> bool:
    return life.runtime_only


def _rule(target: Stage, why: str, when: str = "", holds: Condition | None = None, again: bool = False) -> Rule:
    return Rule(when, holds, target, why, again)


_S = Stage

TABLE: dict[tuple[Stage, type[Event]], tuple[Rule, ...]] = {
    (_S.WAITING, Desired): (
        _rule(_S.TERMINATED, "it ended under an earlier agent; traces are left", "ended, nothing runs", _ended_before),
        _rule(_S.TERMINATING, "it is to be deleted, or has ended", "deleting or ended", _must_end),
        _rule(_S.WAITING, "one static pod of a name at a time", "name taken", _name_taken),
        _rule(_S.SYNCING, "it is desired"),
    ),
    (_S.WAITING, NameTaken): (_rule(_S.WAITING, "one static pod of a name at a time"),),
    (_S.WAITING, NameFree): (_rule(_S.SYNCING, "its turn has come"),),
    (_S.WAITING, KillRequested): (
        _rule(_S.FINISHED, "it was ended before its turn came; nothing of it ever ran", "name taken", _name_taken),
        _rule(_S.TERMINATING, "an earlier agent may have started it"),
    ),
    (_S.WAITING, Orphaned): (_rule(_S.TERMINATING, "nobody desires it; its end is all there is to do"),),
    (_S.SYNCING, Desired): (
        _rule(_S.TERMINATING, "it is to be deleted, or has ended", "deleting or ended", _must_end),
        _rule(_S.SYNCING, "the newest form is desired"),
    ),
    (_S.SYNCING, KillRequested): (_rule(_S.TERMINATING, "its end is asked for"),),
    (_S.SYNCING, Synced): (
        _rule(_S.TERMINATING, "its phase is final: what is left of it is ended", "phase terminal", _terminal),
        _rule(_S.SYNCING, "it is as desired, for now"),
    ),
    (_S.TERMINATING, Desired): (
        _rule(_S.TERMINATING, "a UID lives once at a time", "brought anew", _brought_anew, again=True),
        _rule(_S.TERMINATING, "an end is final; it may only be hurried"),
    ),
    (_S.TERMINATING, KillRequested): (_rule(_S.TERMINATING, "an end is final; it may only be hurried"),),
    (_S.TERMINATING, ContainersStopped): (
        _rule(_S.FINISHED, "only the runtime knew it, and now has nothing of it", "runtime only", _runtime_only),
        _rule(_S.TERMINATED, "nothing of it runs"),
    ),
    (_S.TERMINATED, Desired): (
        _rule(_S.TERMINATED, "a UID lives once at a time", "brought anew", _brought_anew, again=True),
        _rule(_S.TERMINATED, "it has ended already"),
    ),
    (_S.TERMINATED, KillRequested): (_rule(_S.TERMINATED, "it has ended already"),),
    (_S.TERMINATED, CleanedUp): (_rule(_S.FINISHED, "nothing of it is left on the node"),),
    (_S.FINISHED, Desired): (
        _rule(_S.FINISHED, "a UID lives once at a time", "brought anew", _brought_anew, again=True),
        _rule(_S.FINISHED, "it has ended already"),
    ),
    (_S.FINISHED, KillRequested): (_rule(_S.FINISHED, "it has ended already"),),
}


class IllegalTransitionError(ValueError):
    """The event cannot happen in this stage: the caller has lost track of the pod."""

    def __init__(self, stage: Stage, event: type[Event]) -> None:
        legal = ", ".join(sorted(kind.__name__ for known, kind in TABLE if known is stage))
        super().__init__(f"a pod that is {stage.value} cannot meet {event.__name__}; it can meet {legal}")
        self.stage = stage
        self.event = event


_ENDS_OF_A_PASS = frozenset({Synced, ContainersStopped, CleanedUp})
_REACHED: dict[Stage, tuple[str, ...]] = {
    WAITING: (),
    SYNCING: ("started_at_ns",),
    TERMINATING: ("terminating_at_ns",),
    TERMINATED: ("terminating_at_ns", "terminated_at_ns"),
    FINISHED: ("terminating_at_ns", "terminated_at_ns", "finished_at_ns"),
}
"""The times that a life has which has come so far."""


class Step(msgspec.Struct, frozen=True):
    """The life after an event, the rule that applied, and whether the pass under way is to be cancelled."""

    life: PodLife
    rule: Rule
    moved: bool
    cancel_pass: bool


def advance(life: PodLife, event: Event, now_ns: int) -> Step:
    """Walk one event. Raises IllegalTransitionError."""
    stage, kind = life.stage, type(event)
    rules = TABLE.get((stage, kind))
    if rules is None:
        raise IllegalTransitionError(stage, kind)
    ends_a_pass = kind in _ENDS_OF_A_PASS  # that says nothing of the pod, and there is no pass to cancel
    if not ends_a_pass:
        life = _noted(life, event)
    for rule in rules:
        if rule.holds is None or rule.holds(life, event):
            break
    else:
        raise AssertionError("the last rule of each row holds always")
    target, before = rule.target, life.grace_seconds
    moved, grace = target is not stage, before
    if ends_a_pass:
        return Step(_moved(life, rule, grace, now_ns) if moved else life, rule, moved, False)
    if target is TERMINATING or target is TERMINATED:
        if isinstance(event, Desired):
            grace = _shrunk(life, event, None)
        elif isinstance(event, KillRequested):
            grace = _shrunk(life, event, event.grace_seconds)
        elif isinstance(event, Orphaned):
            grace = MINIMUM_GRACE_SECONDS
    hurried = before is not None and grace is not None and grace < before
    cancel = (moved and target is TERMINATING and stage is SYNCING) or (hurried and stage is TERMINATING)
    return Step(_moved(life, rule, grace, now_ns), rule, moved, cancel)


def _noted(life: PodLife, event: Event) -> PodLife:
    """What an event says, whatever becomes of it."""
    replace = msgspec.structs.replace
    if isinstance(event, Desired):
        static = life.static or event.static
        if event.deleting != life.deleted or static != life.static:
            return replace(life, deleted=life.deleted or event.deleting, static=static)
        return life
    if isinstance(event, KillRequested):
        return replace(
            life,
            deleted=life.deleted or event.removed,
            evicted=life.evicted or event.evicted,
            reason=event.reason or life.reason,
            message=event.message or life.message,
        )
    if isinstance(event, Orphaned):
        return replace(life, runtime_only=True, deleted=True)
    if isinstance(event, NameTaken):
        return replace(life, name_taken=True)
    if isinstance(event, NameFree):
        return replace(life, name_taken=False)
    return life


def _moved(life: PodLife, rule: Rule, grace_seconds: int | None, now_ns: int) -> PodLife:
    target = rule.target
    if target is life.stage and grace_seconds == life.grace_seconds and not rule.again:
        return life
    changed: dict[str, object] = {"stage": target, "grace_seconds": grace_seconds}
    if rule.again:
        changed["restart_requested"] = True
    for reached in _REACHED[target]:
        if getattr(life, reached) is None:
            changed[reached] = now_ns
    return msgspec.structs.replace(life, **changed)


def _shrunk(life: PodLife, event: Desired | KillRequested, ordered: int | None) -> int:
    """The least grace of all that were asked for; when nobody asked, the spec's; never less than a second."""
    asked = [each for each in (life.grace_seconds, event.deletion_grace_seconds, ordered) if each is not None]
    if not asked and event.spec_grace_seconds is not None:
        asked = [event.spec_grace_seconds]
    return max(MINIMUM_GRACE_SECONDS, min(asked)) if asked else MINIMUM_GRACE_SECONDS


# --- queries (spec 2.6; `life` None: no worker knows the pod; `synced`: every source has spoken) ----------------------


def is_termination_requested(life: PodLife | None) -> bool:
    """Whether the pod is to end, or has."""
    return life is not None and life.terminating_at_ns is not None


def should_content_be_removed(life: PodLife | None, synced: bool) -> bool:
    """Whether dead containers and logs may be removed too: nobody will ask for them."""
    if life is None:
        return synced
    return life.evicted or (life.deleted and life.terminated_at_ns is not None)
