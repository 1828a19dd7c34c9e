"""The records of the `ObjectCacheActor`, one per ConfigMap or Secret, and its messages to itself.

A record has its holders and the open questions.
"""

from __future__ import annotations

import msgspec

from actors.cluster.fair_calls import FairCall
from actors.kernel import ActorRef, Message, Pending, SoleMessage, outcome_of
from actors.messages.references import ObjectRef, ReadFailure, ReadObjects
from config.objects import ConfigMap, Secret
from runtime.api import ApiError, as_api_error

Value = ConfigMap | Secret


class Reading(msgspec.Struct, eq=False):
    """A `ReadObjects` without an answer yet. `open`: the objects that it waits for.

    `whole`: all its objects have been looked for.
    """

    number: int
    message: ReadObjects
    since_ns: int
    objects: dict[ObjectRef, Value] = {}
    failures: dict[ObjectRef, ReadFailure] = {}
    open: dict[ObjectRef, None] = {}
    whole: bool = False

    @property
    def is_complete(self) -> bool:
        return self.whole and not self.open


class Untold:
    """Marks an object of which no reader has been told anything yet."""


UNTOLD = Untold()


class Entry(msgspec.Struct, eq=False):
    """One object that pods hold.

    `holders`: UID -> whether a volume of the pod shows the object. `value`: as last seen, None if it does not exist;
    valid if `seen`. `current`: `value` may be given as an answer. `told`: the last answer to readers. `let_down`:
    UID -> the reader that was told that it cannot have the object. `waiting`: by number. `asking`: a GET for all that
    wait.
    """

    ref: ObjectRef
    holders: dict[str, bool] = {}
    value: Value | None = None
    seen: bool = False
    current: bool = False
    immutable: bool = False
    at_ns: int = 0
    read_ns: int = 0
    told: Value | Untold | None = UNTOLD
    trouble: str = ""
    asking: FairCall[Value] | None = None
    waiting: dict[int, Reading] = {}
    let_down: dict[str, ActorRef] = {}


def absent(ref: ObjectRef) -> ReadFailure:
    """The failure in the words of the API server."""
    return ReadFailure(True, f'{ref.kind.lower()} "{ref.name}" not found')


def is_same(one: Value | None, other: Value | None) -> bool:
    """Whether readers that know `one` need not hear of `other`."""
    if one is None or other is None:
        return one is other
    mine, theirs = one.metadata, other.metadata
    return (mine.uid, mine.resource_version) == (theirs.uid, theirs.resource_version) and one == other


# --- what the actor tells itself ---


class ObjectGot(Message, frozen=True):
    """To itself: the answer to one GET.

    `reading`: the number of the reading it is for; None: for all that wait.
    """

    ref: ObjectRef
    value: Value | None
    error: ApiError | None
    reading: int | None


class AnswerDue(Message, frozen=True):
    """To itself: this reading has waited long enough for watches that fail or have an old value.

    `last`: it has waited long enough for every watch.
    """

    reading: int
    last: bool


class DropIdle(SoleMessage, frozen=True):
    """To itself: stop following objects that nobody reads."""


def get_ended(ref: ObjectRef, reading: int | None, done: Pending[Value]) -> ObjectGot:
    """How a GET has ended."""
    outcome = outcome_of(done)
    return ObjectGot(ref, outcome.value, as_api_error(outcome.error, f"get {ref}"), reading)
