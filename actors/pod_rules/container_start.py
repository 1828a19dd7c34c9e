"""The start of one container: a state machine without any I/O (spec 3.6, 3.7, 6.1). Rules and theory of operation:

    RESTING    nothing is done for it: it is not wanted yet, or its image has just come
    LOOKING    the runtime is asked for its image
    PULLING    the image is being pulled; nobody waits for that
    UNPULLED   the image could not be pulled, and the time for the next try has not come
    GATHERING  what it is configured from is collected, and its files are made on the host
    ASKING     an object that it refers to was asked for; nobody waits for that
    CREATING   the runtime makes it
    STARTING   the runtime starts it
    HOOKED     it runs, and its postStart hook does too
    UNDONE     it runs, but its hook has failed: it is being ended
    STARTED    it has started
    REFUSED    it cannot be started now; `reason` and `message` say why

A pass of the worker tells it that it is `Wanted`, and then goes on as long as the state asks for a deed: LOOKING,
PULLING, GATHERING, CREATING, STARTING and HOOKED each have one, and what comes of it is the next event. The deeds are
in `actors.pod.container_starts`, what becomes of hooks in `actors.pod.post_starts`. In all other states the pass ends;
somebody's answer, or a time, is the reason for the next, and that begins with the first step again: whatever was found
out before may not hold any more. Whether a container is wanted at all, and not before when, is decided elsewhere
(`actors.pod_rules.actions`, `actors.pod_rules.action_types`).

`TABLE` is everything: for each state and event the rules in order; the first whose condition holds applies. What is
not listed is an answer to a question of before, and changes nothing. `actors.container_start_page` draws the table.

A worker that was restarted knows none of this, and need not: it finds its containers by looking, and those that do not
run are wanted again. Times are monotonic nanoseconds and come with the events.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec


class Stage(enum.StrEnum):
    """How far a start has come."""

    __hash__ = str.__hash__  # it is looked up at every step, and the one that an enum has is slow

    RESTING = "resting"
    LOOKING = "looking"
    PULLING = "pulling"
    UNPULLED = "unpulled"
    GATHERING = "gathering"
    ASKING = "asking"
    CREATING = "creating"
    STARTING = "starting"
    HOOKED = "hooked"
    UNDONE = "undone"
    STARTED = "started"
    REFUSED = "refused"


UNPULLED = Stage.UNPULLED
"""By name, for who asks at every step: a member of an enum costs ten times a global name."""
HELD_UP = (Stage.UNPULLED, Stage.REFUSED)
"""Its status says why it has not started."""
RUNNING = (Stage.HOOKED, Stage.UNDONE, Stage.STARTED)
BEGUN = (Stage.HOOKED, Stage.STARTED)
"""It runs, and nothing is wrong with it."""
RUNS_UNSTARTED = (Stage.HOOKED, Stage.UNDONE)
"""Its container runs and has not started: from outside it is still being made."""


# --- events ---------------------------------------------------------------------------------------------------------


class Wanted(msgspec.Struct, frozen=True):
    """It is to be started from `image`. `made`: id of a container that was made and not started, if there is one."""

    image: str
    made: str = ""


class ImageFound(msgspec.Struct, frozen=True):
    """The runtime has the image, and it may be used."""


class PullNeeded(msgspec.Struct, frozen=True):
    """The runtime does not have it, or has to look for a newer one."""

    now_ns: int


class Pulled(msgspec.Struct, frozen=True):
    """A pull of `image` has ended well."""

    image: str


class PullFailed(msgspec.Struct, frozen=True):
    """A pull of `image` has failed. `shown`: (reason, message) of the container from its next look at this on."""

    image: str
    reason: str
    message: str
    retry_at_ns: int
    shown: tuple[str, str]


class Missing(msgspec.Struct, frozen=True):
    """Something that it refers to is not known yet; it has been asked for."""


class Gathered(msgspec.Struct, frozen=True):
    """Its configuration is complete, and its files are there."""


class Created(msgspec.Struct, frozen=True):
    """The runtime has made it."""

    id: str


class Refused(msgspec.Struct, frozen=True):
    """The step at hand cannot be done now, for this (reason, message). It is tried again at `retry_at_ns`."""

    reason: str
    message: str
    retry_at_ns: int


class Running(msgspec.Struct, frozen=True):
    """The runtime has started it. `hooked`: it has a postStart hook."""

    hooked: bool = False


class HookEnded(msgspec.Struct, frozen=True):
    """The postStart hook of container `id` has ended. `error` is (reason, message), None after success."""

    id: str
    error: tuple[str, str] | None = None


class Gone(msgspec.Struct, frozen=True):
    """Container `id` does not run any more. `error`: the (reason, message) where its hook was still under way."""

    id: str
    error: tuple[str, str] | None = None


class PodEnds(msgspec.Struct, frozen=True):
    """The pod is to end: nobody waits for hooks any more."""


Event: TypeAlias = (
    Wanted
    | ImageFound
    | PullNeeded
    | Pulled
    | PullFailed
    | Missing
    | Gathered
    | Created
    | Refused
    | Running
    | HookEnded
    | Gone
    | PodEnds
)
EVENTS: tuple[type[Event], ...] = (
    Wanted,
    ImageFound,
    PullNeeded,
    Pulled,
    PullFailed,
    Missing,
    Gathered,
    Created,
    Refused,
    Running,
    HookEnded,
    Gone,
    PodEnds,
)


class StartLife(msgspec.Struct, frozen=True):
    """Where a start is. `reason`, `message`: why it has not started, as the status shows it; empty: nothing is known.

    `image`: what it is to be started from; `pulled`: what was pulled for it, until it is made; `failed`: the last pull
    that has failed, until one has not; `id`: of the container, once it is made. `retry_at_ns`: when it is tried again
    though nothing has happened, None where something must happen first.
    """

    stage: Stage = Stage.RESTING
    image: str = ""
    pulled: str = ""
    failed: PullFailed | None = None
    id: str = ""
    reason: str = ""
    message: str = ""
    retry_at_ns: int | None = None

    @property
    def is_pulled(self) -> bool:
        """Whether its image was pulled for this very start, so that no policy asks for it again."""
        return self.pulled == self.image


BEGINNING = StartLife()


# --- rules ----------------------------------------------------------------------------------------------------------

Condition: TypeAlias = Callable[[StartLife, Any], bool]
Effect: TypeAlias = Callable[[StartLife, Any], dict[str, object]]
"""Both of a life and an event of the type under which the rule stands in the table."""
_replace = msgspec.structs.replace


class Rule(msgspec.Struct, frozen=True):
    """When `holds` (in words: `when`; None and empty for always), the start goes to `target`, because of `why`.

    `effect`: the fields of its life that are others then, beside the stage.
    """

    when: str
    holds: Condition | None
    target: Stage
    why: str
    effect: Effect | None


def _is_made(life: StartLife, event: Wanted) -> bool:
    return bool(event.made)


def _too_early(life: StartLife, event: PullNeeded) -> bool:
    failed = life.failed
    return failed is not None and failed.image == life.image and event.now_ns < failed.retry_at_ns


def _has_hook(life: StartLife, event: Running) -> bool:
    return event.hooked


def _of_another(life: StartLife, event: HookEnded | Gone) -> bool:
    return event.id != life.id


def _hook_failed(life: StartLife, event: HookEnded) -> bool:
    return event.error is not None


def _begun(life: StartLife, event: Wanted) -> dict[str, object]:
    """From the first step; why the last try has failed is shown until this one says something else."""
    return {"image": event.image, "id": event.made, "retry_at_ns": None}


def _at_rest(life: StartLife, event: Pulled) -> dict[str, object]:
    return {"pulled": event.image, "failed": None}


def _unpulled(life: StartLife, event: PullFailed) -> dict[str, object]:
    shown = {"reason": event.reason, "message": event.message, "retry_at_ns": event.retry_at_ns}
    return {**shown, "failed": event, "pulled": ""}


def _backing_off(life: StartLife, event: Event) -> dict[str, object]:
    assert life.failed is not None, "it is too early only after a failure"
    reason, message = life.failed.shown
    return {"reason": reason, "message": message, "retry_at_ns": life.failed.retry_at_ns}


def _pulling(life: StartLife, event: Event) -> dict[str, object]:
    return {"failed": None, "pulled": ""}


def _made(life: StartLife, event: Created) -> dict[str, object]:
    return {"id": event.id, "pulled": ""}


def _refused(life: StartLife, event: Refused) -> dict[str, object]:
    return {"reason": event.reason, "message": event.message, "retry_at_ns": event.retry_at_ns}


def _running(life: StartLife, event: Event) -> dict[str, object]:
    return {"reason": "", "message": "", "failed": None}


def _spoiled(life: StartLife, event: HookEnded | Gone) -> dict[str, object]:
    if event.error is None:
        return {}
    reason, message = event.error
    return {"reason": reason, "message": message}


def _rule(
    target: Stage, why: str, when: str = "", holds: Condition | None = None, effect: Effect | None = None
) -> Rule:
    return Rule(when, holds, target, why, effect)


_S = Stage
_WANTED = (
    _rule(_S.STARTING, "it was made before, and not started", "made", _is_made, _begun),
    _rule(_S.LOOKING, "every start begins with its image", effect=_begun),
)
_REFUSED = (_rule(_S.REFUSED, "it cannot be done now", effect=_refused),)
_MISSING = (_rule(_S.ASKING, "the answer is a reason to look again"),)
_NOT_ITS_OWN = "of another container"

TABLE: dict[tuple[Stage, type[Event]], tuple[Rule, ...]] = {
    **{(stage, Wanted): _WANTED for stage in Stage},
    (_S.LOOKING, ImageFound): (_rule(_S.GATHERING, "its image is here"),),
    (_S.LOOKING, PullNeeded): (
        _rule(_S.UNPULLED, "a pull has failed, and backs off", "its time has not come", _too_early, _backing_off),
        _rule(_S.PULLING, "its image is not here, or may be old", effect=_pulling),
    ),
    (_S.LOOKING, Refused): _REFUSED,
    (_S.PULLING, Missing): _MISSING,
    (_S.PULLING, Refused): _REFUSED,
    (_S.PULLING, Pulled): (_rule(_S.RESTING, "the next pass finds it", effect=_at_rest),),
    (_S.PULLING, PullFailed): (_rule(_S.UNPULLED, "it is pulled again after its back-off", effect=_unpulled),),
    (_S.GATHERING, Gathered): (_rule(_S.CREATING, "everything that it is made of is here"),),
    (_S.GATHERING, Missing): _MISSING,
    (_S.GATHERING, Refused): _REFUSED,
    (_S.CREATING, Created): (_rule(_S.STARTING, "it is made", effect=_made),),
    (_S.CREATING, Refused): _REFUSED,
    (_S.STARTING, Running): (
        _rule(_S.HOOKED, "it has not started before its hook has ended", "it has a hook", _has_hook, _running),
        _rule(_S.STARTED, "it runs", effect=_running),
    ),
    (_S.STARTING, Refused): _REFUSED,
    (_S.HOOKED, HookEnded): (
        _rule(_S.HOOKED, "it says nothing of this one", _NOT_ITS_OWN, _of_another),
        _rule(_S.UNDONE, "a container whose hook fails is ended", "it has failed", _hook_failed, _spoiled),
        _rule(_S.STARTED, "it runs, and its hook has ended well"),
    ),
    (_S.HOOKED, Gone): (
        _rule(_S.HOOKED, "it says nothing of this one", _NOT_ITS_OWN, _of_another),
        _rule(_S.RESTING, "it has ended before its hook", effect=_spoiled),
    ),
    (_S.HOOKED, PodEnds): (_rule(_S.STARTED, "who is to end need not have started"),),
    (_S.UNDONE, Gone): (
        _rule(_S.UNDONE, "it says nothing of this one", _NOT_ITS_OWN, _of_another),
        _rule(_S.RESTING, "its end was ours; what follows is decided anew"),
    ),
    (_S.UNDONE, PodEnds): (_rule(_S.STARTED, "who is to end need not have started"),),
}


def advance(life: StartLife, event: Event) -> StartLife:
    """The start after the event; the very same object when nothing has changed."""
    for rule in TABLE.get((life.stage, type(event)), ()):
        if rule.holds is None or rule.holds(life, event):
            target, effect = rule.target, rule.effect
            if effect is not None:
                return _replace(life, stage=target, **effect(life, event))
            return life if life.stage is target else _replace(life, stage=target)
    return life
