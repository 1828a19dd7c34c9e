"""The life of one pod under its worker: a state machine without I/O (spec 2.6). Theory of operation:

A pod's worker is in one of five stages and only moves down this list. The same UID never goes back up, even when its
source brings the pod again: a pod that comes back starts a new life after this one is finished.

    WAITING      nothing has been done; a static pod waits until no other pod of its full name is left
    SYNCING      the worker brings the pod to what is desired, again and again
    TERMINATING  the worker stops its containers and starts nothing any more
    TERMINATED   nothing of it runs; the worker cleans up what it had on the node
    FINISHED     nothing is left to do; the worker ends

Three events come from outside: the pod as desired (`PodDesired`), the order to end it (`KillRequested`), and the
discovery that only the runtime knows it (`Orphaned`). Three are good ends of a pass: `Synced`, `ContainersStopped`,
`CleanedUp`. A pass that fails is no event: it is tried again in the same stage. `NameTaken` and `NameFree` concern
static pods.

A waiting pod has no worker, nor has one that comes back while its old worker ends. The sync loop (`actors.sync.loop`)
applies the rules of WAITING and of coming back for them.

`TABLE` holds all rules; `docs/reference/pod-lifecycle.md` draws it. It refuses an event that has no rule: the caller is
wrong.

The grace period only shrinks: a second order to end a pod may hurry the first, never slow it down. When it shrinks, or
when the pod begins to end, `PodStep.cancel_pass` cancels the pass under way, because nobody wants its result any more.

The ugly corner is a restart of the agent: a fresh worker does not know what the last one did. That is safe, because
every stage can be repeated from its start: ending what has ended and cleaning what is clean change nothing. A pod that
had ended, with nothing running, takes a shortcut past TERMINATING.

Times are wall-clock nanoseconds and come with the event.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from actors.machines.table import StagedState, StateTable
from config.objects import Pod

MINIMUM_GRACE_SECONDS = 1
TERMINAL_PHASES = ("Failed", "Succeeded")


class PodStage(enum.StrEnum):
    """How far a pod's life has come; in order."""

    WAITING = "waiting"
    SYNCING = "syncing"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class PodLife(StagedState[PodStage], frozen=True):
    """The stage of a pod's life. A time is None until its stage is reached.

    `deleted`: no source desires it any more, or its deletion was requested. `grace_seconds`: the shortest grace period
    requested so far, or None. `restart_requested`: the pod came back while this life ended.
    """

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


BEGINNING = PodLife(PodStage.WAITING)


# --- events ---------------------------------------------------------------------------------------------------------


class PodDesired(msgspec.Struct, frozen=True):
    """A source desires the pod in this form. `created`: for the first time. `over`: its phase is terminal.

    `nothing_runs`: the worker has looked, and no container of the pod runs.
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
    """No other static pod of that name is left."""


class Synced(msgspec.Struct, frozen=True):
    """A pass of SYNCING has ended. `terminal`: the pod's phase is now Failed or Succeeded."""

    terminal: bool = False


class ContainersStopped(msgspec.Struct, frozen=True):
    """A pass of TERMINATING has ended: nothing of the pod runs."""


class CleanedUp(msgspec.Struct, frozen=True):
    """A pass of TERMINATED has ended: nothing of the pod is left on the node."""


Event: TypeAlias = PodDesired | KillRequested | Orphaned | NameTaken | NameFree | Synced | ContainersStopped | CleanedUp


def desired(pod: Pod, *, created: bool = False, nothing_runs: bool = False, static: bool = False) -> PodDesired:
    """The event that tells a worker its pod."""
    meta, status = pod.metadata, pod.status
    return PodDesired(
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
    """The event that tells a worker to end its pod. `pod` is None when its spec is lost."""
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


def _ended_and_nothing_runs(life: PodLife, event: PodDesired) -> bool:
    return event.over and event.nothing_runs


def _deleting_or_ended(life: PodLife, event: PodDesired) -> bool:
    return event.deleting or event.over


def _name_taken(life: PodLife, event: PodDesired | KillRequested) -> bool:
    return life.name_taken


def _brought_anew(life: PodLife, event: PodDesired) -> bool:
    return event.created or life.runtime_only


def _phase_terminal(life: PodLife, event: Synced) -> bool:
    return event.terminal


def _runtime_only(life: PodLife, event: ContainersStopped) -> bool:
    return life.runtime_only


def _restart_requested(life: PodLife, event: PodDesired) -> PodLife:
    return msgspec.structs.replace(life, restart_requested=True)


_S = PodStage
TABLE = StateTable[PodStage, PodLife]("a pod", _S.WAITING)
(
    TABLE.on(_S.WAITING, PodDesired)
    .to(_S.TERMINATED, "it ended under an earlier agent; traces are left", _ended_and_nothing_runs)
    .to(_S.TERMINATING, "it is to be deleted, or has ended", _deleting_or_ended)
    .stay("one static pod of a name at a time", _name_taken)
    .to(_S.SYNCING, "it is desired")
)
TABLE.on(_S.WAITING, NameTaken).stay("one static pod of a name at a time")
TABLE.on(_S.WAITING, NameFree).to(_S.SYNCING, "its turn has come")
(
    TABLE.on(_S.WAITING, KillRequested)
    .to(_S.FINISHED, "it was ended before its turn came; nothing of it ever ran", _name_taken)
    .to(_S.TERMINATING, "an earlier agent may have started it")
)
TABLE.on(_S.WAITING, Orphaned).to(_S.TERMINATING, "nobody desires it; its end is all there is to do")
(
    TABLE.on(_S.SYNCING, PodDesired)
    .to(_S.TERMINATING, "it is to be deleted, or has ended", _deleting_or_ended)
    .stay("the newest form is desired")
)
TABLE.on(_S.SYNCING, KillRequested).to(_S.TERMINATING, "its end is asked for")
(
    TABLE.on(_S.SYNCING, Synced)
    .to(_S.TERMINATING, "its phase is final: what is left of it is ended", _phase_terminal)
    .stay("it is as desired, for now")
)
(
    TABLE.on(_S.TERMINATING, PodDesired)
    .stay("a UID lives once at a time", _brought_anew, effect=_restart_requested)
    .stay("an end is final; it may only be hurried")
)
TABLE.on(_S.TERMINATING, KillRequested).stay("an end is final; it may only be hurried")
(
    TABLE.on(_S.TERMINATING, ContainersStopped)
    .to(_S.FINISHED, "only the runtime knew it, and now has nothing of it", _runtime_only)
    .to(_S.TERMINATED, "nothing of it runs")
)
(
    TABLE.on((_S.TERMINATED, _S.FINISHED), PodDesired)
    .stay("a UID lives once at a time", _brought_anew, effect=_restart_requested)
    .stay("it has ended already")
)
TABLE.on((_S.TERMINATED, _S.FINISHED), KillRequested).stay("it has ended already")
TABLE.on(_S.TERMINATED, CleanedUp).to(_S.FINISHED, "nothing of it is left on the node")

_TIMES: dict[PodStage, tuple[str, ...]] = {
    _S.WAITING: (),
    _S.SYNCING: ("started_at_ns",),
    _S.TERMINATING: ("terminating_at_ns",),
    _S.TERMINATED: ("terminating_at_ns", "terminated_at_ns"),
    _S.FINISHED: ("terminating_at_ns", "terminated_at_ns", "finished_at_ns"),
}
"""The times that a life has set when it reaches a stage."""


class PodStep(msgspec.Struct, frozen=True):
    """The life after an event, the reason of the rule, and whether to cancel the pass under way."""

    life: PodLife
    why: str
    moved: bool
    cancel_pass: bool


def advance(life: PodLife, event: Event, now_ns: int) -> PodStep:
    """Walk one event. Raises IllegalTransitionError."""
    noted = _noted(life, event)
    rule = TABLE.rule(life.stage, noted, event)
    assert rule is not None, "the table refuses what it has no rule for"
    stage, target = life.stage, rule.target or life.stage
    grace = _grace(noted, event) if target in (PodStage.TERMINATING, PodStage.TERMINATED) else life.grace_seconds
    after = rule.effect(noted, event) if rule.effect is not None else noted
    if target is not stage or grace != life.grace_seconds:
        times = {each: now_ns for each in _TIMES[target] if getattr(life, each) is None}
        after = msgspec.structs.replace(after, stage=target, grace_seconds=grace, **times)
    ends_now = stage is PodStage.SYNCING and target is PodStage.TERMINATING and not isinstance(event, Synced)
    hurried = stage is PodStage.TERMINATING and life.grace_seconds is not None and grace != life.grace_seconds
    return PodStep(after, rule.why, target is not stage, cancel_pass=ends_now or hurried)


def _noted(life: PodLife, event: Event) -> PodLife:
    """The life with everything that an event adds in any stage; the same object when nothing is new."""
    changed: dict[str, object]
    match event:
        case PodDesired():
            changed = {"deleted": life.deleted or event.deleting, "static": life.static or event.static}
        case KillRequested():
            changed = {
                "deleted": life.deleted or event.removed,
                "evicted": life.evicted or event.evicted,
                "reason": event.reason or life.reason,
                "message": event.message or life.message,
            }
        case Orphaned():
            changed = {"runtime_only": True, "deleted": True}
        case NameTaken() | NameFree():
            changed = {"name_taken": isinstance(event, NameTaken)}
        case _:
            return life
    noted = msgspec.structs.replace(life, **changed)
    return life if noted == life else noted


def _grace(life: PodLife, event: Event) -> int | None:
    """The shortest grace period that was requested, at least one second. The spec's if none was."""
    if isinstance(event, Orphaned):
        return MINIMUM_GRACE_SECONDS
    if not isinstance(event, (PodDesired, KillRequested)):
        return life.grace_seconds
    ordered = event.grace_seconds if isinstance(event, KillRequested) else None
    asked = [each for each in (life.grace_seconds, event.deletion_grace_seconds, ordered) if each is not None]
    if not asked and event.spec_grace_seconds is not None:
        asked = [event.spec_grace_seconds]
    return max(MINIMUM_GRACE_SECONDS, min(asked, default=MINIMUM_GRACE_SECONDS))


# --- queries (spec 2.6). `life` None: no worker knows the pod. `synced`: every source has told all of its pods. -------


def is_termination_requested(life: PodLife | None) -> bool:
    """Whether the pod is to end, or has ended."""
    return life is not None and life.terminating_at_ns is not None


def should_content_be_removed(life: PodLife | None, synced: bool) -> bool:
    """Whether dead containers and logs may be removed too, because nobody will ask for them."""
    if life is None:
        return synced
    return life.evicted or (life.deleted and life.terminated_at_ns is not None)
