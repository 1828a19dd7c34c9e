"""The records of the `ObjectCacheActor`: one per ConfigMap or Secret.

A record has its holders and the open questions.
"""

from __future__ import annotations

import msgspec

from actors.kernel import ActorRef
from actors.messages.references import ObjectRef, ReadFailure, ReadObjects
from config.objects import ConfigMap, Secret

Value = ConfigMap | Secret


class Reading(msgspec.Struct, eq=False):
    """A `ReadObjects` without an answer yet. `open`: the objects that it waits for."""

    number: int
    message: ReadObjects
    since_ns: int
    objects: dict[ObjectRef, Value] = {}
    failures: dict[ObjectRef, ReadFailure] = {}
    open: set[ObjectRef] = set()


class Untold:
    """Marks an object of which no reader has been told anything yet."""


UNTOLD = Untold()


class Entry(msgspec.Struct, eq=False):
    """One object that pods hold.

    `holders`: UID -> whether a volume of the pod shows the object. `value`: as last seen, None if it does not exist;
    valid if `seen`. `current`: `value` may be given as an answer. `told`: the last answer to readers. `let_down`:
    UID -> the reader that was told that it cannot have the object.
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
    asking: bool = False
    waiting: list[Reading] = []
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
