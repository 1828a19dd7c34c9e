"""The records of the `ObjectCacheActor`: one per ConfigMap or Secret, with who holds it and who waits for it."""

from __future__ import annotations

from actors.kernel import ActorRef
from actors.messages.references import ObjectRef, ReadFailure, ReadObjects
from config.objects import ConfigMap, Secret

Value = ConfigMap | Secret


class Reading:
    """One `ReadObjects` that is not answered yet; `open` are the objects that it waits for."""

    __slots__ = ("failures", "message", "number", "objects", "open", "since_ns")

    def __init__(self, number: int, message: ReadObjects, since_ns: int) -> None:
        self.number = number
        self.message = message
        self.since_ns = since_ns
        self.objects: dict[ObjectRef, Value] = {}
        self.failures: dict[ObjectRef, ReadFailure] = {}
        self.open: set[ObjectRef] = set()


class Untold:
    """Nobody has been told anything of the object yet."""


UNTOLD = Untold()


class Entry:
    """One object that pods hold.

    `value`: as seen last, None: there is none; meaningful when `seen`. `current`: it may be told. `told`: what readers
    were told last. `let_down`: by pod, who was told that it cannot have the object.
    """

    __slots__ = (
        "asking",
        "at_ns",
        "current",
        "holders",
        "immutable",
        "let_down",
        "read_ns",
        "ref",
        "seen",
        "told",
        "trouble",
        "value",
        "waiting",
    )

    def __init__(self, ref: ObjectRef) -> None:
        self.ref = ref
        self.holders: dict[str, bool] = {}
        """Pod -> whether a volume of it shows the object."""
        self.value: Value | None = None
        self.seen = False
        self.current = False
        self.immutable = False
        self.at_ns = 0
        self.read_ns = 0
        self.told: Value | Untold | None = UNTOLD
        self.trouble = ""
        self.asking = False
        self.waiting: list[Reading] = []
        self.let_down: dict[str, ActorRef] = {}


def absent(ref: ObjectRef) -> ReadFailure:
    """In the words of the API server."""
    return ReadFailure(True, f'{ref.kind.lower()} "{ref.name}" not found')


def is_same(one: Value | None, other: Value | None) -> bool:
    """Whether nobody needs to be told of `other` who knows `one`."""
    if one is None or other is None:
        return one is other
    mine, theirs = one.metadata, other.metadata
    return (mine.uid, mine.resource_version) == (theirs.uid, theirs.resource_version) and one == other
