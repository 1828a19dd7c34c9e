"""The start of one container: a state machine without I/O (spec 3.6, 3.7, 6.1). Theory of operation:

    RESTING    nothing happens: it is not wanted yet, or its image has just arrived
    LOOKING    ask the runtime for the images that it mounts, then for its own
    PULLING    pull the image; nobody waits for that
    UNPULLED   the pull failed, and its back-off is not over
    GATHERING  collect its configuration, and write its files on the host
    ASKING     an object or an image that it refers to was requested; nobody waits for that
    CREATING   the runtime creates it
    STARTING   the runtime starts it
    HOOKED     it runs, and so does its postStart hook
    UNDONE     it runs, but its hook has failed: it is being stopped
    STARTED    it has started
    REFUSED    it cannot start now; `reason` and `message` say why

A pass of the worker sends `Wanted`, and goes on while the stage asks for an action. LOOKING, PULLING, GATHERING,
CREATING, STARTING and HOOKED each have one, and its result is the next event. `actors.pod.steps.containers` performs
the actions, `actors.pod.post_starts` runs the hooks. In every other stage the pass ends. An answer or a time triggers
the next pass, which begins again with the first step, since what was found before may have changed.
`actors.pod_rules.actions` decides whether and when a container is wanted.

`TABLE` holds all rules; `docs/reference/container-start.md` draws it. It ignores every other event: that answers an old
question.

A restarted worker knows none of this, and need not: it looks for its containers, and those that do not run are wanted
again. Times are monotonic nanoseconds and come with the events.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from actors.machines.table import StagedState, StateTable


class StartStage(enum.StrEnum):
    """How far a start has come."""

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


HELD_UP = (StartStage.UNPULLED, StartStage.REFUSED)
"""Its status says why it has not started."""
RUNNING = (StartStage.HOOKED, StartStage.UNDONE, StartStage.STARTED)
BEGUN = (StartStage.HOOKED, StartStage.STARTED)
"""Stages in which the container runs and its postStart hook has not failed."""
RUNS_UNSTARTED = (StartStage.HOOKED, StartStage.UNDONE)
"""The container runs but has not started: the status still shows it as being created."""

WAITS = (StartStage.PULLING, *HELD_UP, *RUNS_UNSTARTED)
"""The start waits for something that may take long."""


# --- events ---------------------------------------------------------------------------------------------------------


class Wanted(msgspec.Struct, frozen=True):
    """Start it from `image`. `made`: id of a container that was created and not started, or empty."""

    image: str
    made: str = ""


class ImageFound(msgspec.Struct, frozen=True):
    """The runtime has the image, and it may be used."""


class PullNeeded(msgspec.Struct, frozen=True):
    """The runtime does not have the image, or must look for a newer one."""

    now_ns: int


class Pulled(msgspec.Struct, frozen=True):
    """A pull of `image` has succeeded."""

    image: str


class PullFailed(msgspec.Struct, frozen=True):
    """A pull of `image` has failed.

    `shown`: the (reason, message) to show from `shown_from_ns` on. Until then readers see why it failed.
    """

    image: str
    reason: str
    message: str
    retry_at_ns: int
    shown: tuple[str, str]
    shown_from_ns: int = 0


class Missing(msgspec.Struct, frozen=True):
    """An object that it refers to, or an image that it mounts, is not here yet, and was requested."""


class ConfigGathered(msgspec.Struct, frozen=True):
    """Its configuration is complete, and its files are there."""


class Created(msgspec.Struct, frozen=True):
    """The runtime has created it."""

    id: str


class StepRefused(msgspec.Struct, frozen=True):
    """The current step failed, for this (reason, message). It is tried again at `retry_at_ns`."""

    reason: str
    message: str
    retry_at_ns: int


class StartedContainer(msgspec.Struct, frozen=True):
    """The runtime has started it. `hooked`: it has a postStart hook."""

    hooked: bool = False


class PostStartEnded(msgspec.Struct, frozen=True):
    """The postStart hook of container `id` has ended. `error` is (reason, message), or None."""

    id: str
    error: tuple[str, str] | None = None


class Gone(msgspec.Struct, frozen=True):
    """Container `id` has stopped. `error`: the (reason, message) if its hook was still running."""

    id: str
    error: tuple[str, str] | None = None


class PodEnds(msgspec.Struct, frozen=True):
    """The pod is ending: its hooks are no longer awaited."""


Event: TypeAlias = (
    Wanted
    | ImageFound
    | PullNeeded
    | Pulled
    | PullFailed
    | Missing
    | ConfigGathered
    | Created
    | StepRefused
    | StartedContainer
    | PostStartEnded
    | Gone
    | PodEnds
)


class StartLife(StagedState[StartStage], frozen=True):
    """The progress of one start.

    `reason`, `message`: why it has not started, as the status shows it; empty when unknown.

    `image`: what it starts from. `pulled`: the image that was pulled for it, until it is created. `failed`: the last
    pull, if it failed. `id`: of the container, once it is created. `retry_at_ns`: when to try again without an event.
    """

    image: str = ""
    pulled: str = ""
    failed: PullFailed | None = None
    id: str = ""
    reason: str = ""
    message: str = ""
    retry_at_ns: int | None = None

    @property
    def is_pulled(self) -> bool:
        """Whether the image was pulled for this start, so that no pull policy asks for it again."""
        return self.pulled == self.image


BEGINNING = StartLife(StartStage.RESTING)


# --- rules ----------------------------------------------------------------------------------------------------------

_replace = msgspec.structs.replace


def _created_before(life: StartLife, event: Wanted) -> bool:
    return bool(event.made)


def _back_off_is_not_over(life: StartLife, event: PullNeeded) -> bool:
    failed = life.failed
    return failed is not None and failed.image == life.image and event.now_ns < failed.retry_at_ns


def _it_has_a_hook(life: StartLife, event: StartedContainer) -> bool:
    return event.hooked


def _of_this_container(life: StartLife, event: PostStartEnded | Gone) -> bool:
    return event.id == life.id


def _it_failed(life: StartLife, event: PostStartEnded) -> bool:
    return event.error is not None


def _begun(life: StartLife, event: Wanted) -> StartLife:
    """Begin with the first step. Show the reason of the last failure until this try yields a new one."""
    return _replace(life, image=event.image, id=event.made, retry_at_ns=None)


def _at_rest(life: StartLife, event: Pulled) -> StartLife:
    return _replace(life, pulled=event.image, failed=None)


def _unpulled(life: StartLife, event: PullFailed) -> StartLife:
    looks_again_ns = event.shown_from_ns or event.retry_at_ns
    return _replace(_refused(life, event), failed=event, pulled="", retry_at_ns=looks_again_ns)


def _backing_off(life: StartLife, event: PullNeeded) -> StartLife:
    assert life.failed is not None, "only a failed pull backs off"
    failed = life.failed
    if event.now_ns < failed.shown_from_ns:
        return _replace(life, reason=failed.reason, message=failed.message, retry_at_ns=failed.shown_from_ns)
    reason, message = failed.shown
    return _replace(life, reason=reason, message=message, retry_at_ns=failed.retry_at_ns)


def _pulling(life: StartLife, event: PullNeeded) -> StartLife:
    return _replace(life, failed=None, pulled="")


def _created(life: StartLife, event: Created) -> StartLife:
    return _replace(life, id=event.id, pulled="")


def _refused(life: StartLife, event: StepRefused | PullFailed) -> StartLife:
    return _replace(life, reason=event.reason, message=event.message, retry_at_ns=event.retry_at_ns)


def _running(life: StartLife, event: StartedContainer) -> StartLife:
    return _replace(life, reason="", message="", failed=None)


def _spoiled(life: StartLife, event: PostStartEnded | Gone) -> StartLife:
    if event.error is None:
        return life
    reason, message = event.error
    return _replace(life, reason=reason, message=message)


_S = StartStage
TABLE = StateTable[StartStage, StartLife]("a container's start", _S.RESTING, otherwise="it answers an old question")
(
    TABLE.on(tuple(_S), Wanted)
    .to(_S.STARTING, "it was created before, and not started", _created_before, effect=_begun)
    .to(_S.LOOKING, "every start begins with its image", effect=_begun)
)
TABLE.on(_S.LOOKING, ImageFound).to(_S.GATHERING, "its image is here")
(
    TABLE.on(_S.LOOKING, PullNeeded)
    .to(_S.UNPULLED, "a pull has failed, and backs off", _back_off_is_not_over, effect=_backing_off)
    .to(_S.PULLING, "its image is not here, or may be old", effect=_pulling)
)
TABLE.on(_S.PULLING, Pulled).to(_S.RESTING, "the next pass finds it", effect=_at_rest)
TABLE.on(_S.PULLING, PullFailed).to(_S.UNPULLED, "it is pulled again after its back-off", effect=_unpulled)
TABLE.on(_S.GATHERING, ConfigGathered).to(_S.CREATING, "everything that it is made of is here")
TABLE.on((_S.LOOKING, _S.PULLING, _S.GATHERING), Missing).to(_S.ASKING, "the answer is a reason to look again")
TABLE.on(_S.CREATING, Created).to(_S.STARTING, "it is created", effect=_created)
(
    TABLE.on(_S.STARTING, StartedContainer)
    .to(_S.HOOKED, "it has not started before its hook has ended", _it_has_a_hook, effect=_running)
    .to(_S.STARTED, "it runs", effect=_running)
)
_ACTING = (_S.LOOKING, _S.PULLING, _S.GATHERING, _S.CREATING, _S.STARTING)
TABLE.on(_ACTING, StepRefused).to(_S.REFUSED, "it cannot be done now", effect=_refused)
(
    TABLE.on(_S.HOOKED, PostStartEnded)
    .to(_S.UNDONE, "a container whose hook fails is stopped", _of_this_container, _it_failed, effect=_spoiled)
    .to(_S.STARTED, "it runs, and its hook has succeeded", _of_this_container)
)
TABLE.on(_S.HOOKED, Gone).to(_S.RESTING, "it ended before its hook", _of_this_container, effect=_spoiled)
TABLE.on(_S.UNDONE, Gone).to(_S.RESTING, "we stopped it; what follows is decided anew", _of_this_container)
TABLE.on(RUNS_UNSTARTED, PodEnds).to(_S.STARTED, "a pod that ends waits for no hook")


def advance(life: StartLife, event: Event) -> StartLife:
    """The start after the event; the very same object when nothing has changed."""
    return TABLE.meet(life, event)
