"""The entries of `metadata.managedFields`, and how a write that is no apply changes them.

An entry is known by its manager, operation, version and part of the object. The entries of appliers have one version
at a time. Each write takes the fields that it sets from all others, and gives them to its manager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from config.caches import KIB, kept
from simulation.apiserver.fields.comparison import Comparison
from simulation.apiserver.fields.sets import LEAF, Fields, read_fields, shared, text_of, united, without, written
from simulation.apiserver.status import Json

APPLY, UPDATE = "Apply", "Update"
FORM = "FieldsV1"
BEFORE_FIRST_APPLY, ANCIENT = "before-first-apply", "ancient-changes"
MANAGERS_BYTES_AT_MOST = 256 * KIB
UPDATERS_AT_MOST = 10
"""The entries of updates. The oldest ones become one entry."""
NOBODYS: Fields = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {
        ".": LEAF,
        "f:name": LEAF,
        "f:namespace": LEAF,
        "f:creationTimestamp": LEAF,
        "f:selfLink": LEAF,
        "f:uid": LEAF,
        "f:clusterName": LEAF,
        "f:generation": LEAF,
        "f:managedFields": LEAF,
        "f:resourceVersion": LEAF,
    },
}
"""Fields that have no owner."""


class Manager(msgspec.Struct, frozen=True):
    """Who writes what. `api_version` is that of an update; an applier is the same in all versions."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def key(self) -> str:
        """Conflicts name their managers in this order."""
        return msgspec.json.encode(
            {
                "manager": self.name,
                "operation": self.operation,
                **({"apiVersion": self.api_version} if self.api_version else {}),
                **({"subresource": self.subresource} if self.subresource else {}),
            }
        ).decode()

    def __str__(self) -> str:
        name = msgspec.json.encode(self.name).decode()
        part = f' with subresource "{self.subresource}"' if self.subresource else ""
        return f"{name}{part}" + (f" using {self.api_version}" if self.operation == UPDATE else "")


class Entry(msgspec.Struct, eq=False):
    """What one manager owns; it never changes.

    `api_version`: of the fields. `time`: of the last change, or None.
    """

    manager: Manager
    api_version: str
    fields: Fields
    time: str | None = None
    _text: msgspec.Raw | None = None

    @property
    def is_apply(self) -> bool:
        return self.manager.operation == APPLY

    def text(self) -> msgspec.Raw:
        """The set as JSON."""
        if self._text is None:
            self._text = msgspec.Raw(text_of(self.fields))
        return self._text

    def with_fields(self, fields: Fields) -> Entry:
        return self if fields is self.fields else Entry(self.manager, self.api_version, fields, self.time)

    def is_like(self, other: Entry) -> bool:
        """Whether nothing differs but the time."""
        return (
            self.manager == other.manager
            and self.api_version == other.api_version
            and (self.fields is other.fields or self.fields == other.fields)
        )


Managed: TypeAlias = tuple[Entry, ...]
"""All entries of one object, in the order in which a kube-apiserver writes them."""
Changes: TypeAlias = Callable[[str], Comparison | None]
"""What a write has changed, in the fields of a version; None for a version that is not served."""


@kept(MANAGERS_BYTES_AT_MOST)
def updater(name: str, api_version: str, subresource: str) -> Manager:
    return Manager(name or "unknown", UPDATE, api_version, subresource)


def applier(name: str, subresource: str = "") -> Manager:
    return Manager(name, APPLY, "", subresource)


def entry_of(managed: Managed, manager: Manager) -> Entry | None:
    return next((entry for entry in managed if entry.manager == manager), None)


def in_order(entries: Iterable[Entry]) -> Managed:
    return tuple(sorted(entries, key=_order))


def _order(entry: Entry) -> tuple[str, ...]:
    manager = entry.manager
    return (manager.operation, entry.time or "", manager.name, entry.api_version, manager.subresource)


def last_of_each(managed: Managed) -> Managed:
    """The entries as they are read: of several of one manager, the last one counts."""
    by_manager = {entry.manager: entry for entry in managed}
    return managed if len(by_manager) == len(managed) else in_order(by_manager.values())


def differ(one: Managed, other: Managed) -> bool:
    """Whether two objects have other owners; the times of entries do not count."""
    if one is other:
        return False
    return len(one) != len(other) or not all(map(Entry.is_like, one, other))


# --- changes --------------------------------------------------------------------------------------------------------


def after_update(managed: Managed, changes: Changes, manager: Manager, now: str) -> Managed:
    """The owners after a write that is no apply."""
    own = changes(manager.api_version)
    assert own is not None
    if own.is_same:
        return managed
    fields = own.set()
    gained = without(fields, NOBODYS)
    if not gained:
        return without_changed(managed, changes)
    before = entry_of(managed, manager)
    left = without_changed(managed if before is None else [one for one in managed if one is not before], changes)
    if before is None:
        owned = shared(gained)
    else:
        # What he had and sets again stays his. Seldom does he set what nobody owns.
        kept = before.fields if gained is fields else without(before.fields, fields)
        owned = united(without(kept, own.removed), gained)
    return in_order(_capped([*left, Entry(manager, manager.api_version, owned, now)]))


def without_changed(managed: Sequence[Entry], changes: Changes) -> Managed:
    """The owners but for the fields that a write has changed or removed."""
    left = []
    for entry in managed:
        own = changes(entry.api_version)
        if own is None:
            continue
        fields = without(without(entry.fields, own.set()), own.removed)
        if fields:
            left.append(entry.with_fields(fields))
    return tuple(left)


def _capped(entries: list[Entry]) -> list[Entry]:
    """The oldest updates of each version become one entry while there are too many."""
    if len(entries) <= UPDATERS_AT_MOST:
        return entries
    updates = sorted(
        (entry for entry in entries if not entry.is_apply), key=lambda one: (one.time or "", one.manager.key)
    )
    excess = len(updates) - UPDATERS_AT_MOST
    if excess <= 0:
        return entries
    gone: set[int] = set()
    buckets: dict[str, Entry] = {}
    for entry in updates:
        if excess <= 0:
            break
        bucket = buckets.get(entry.api_version)
        buckets[entry.api_version] = entry
        if bucket is None:
            continue
        manager = updater(ANCIENT, entry.api_version, "")
        made = Entry(manager, entry.api_version, united(entry.fields, bucket.fields), entry.time)
        gone |= {id(entry), id(bucket)}
        entries = [*entries, made]
        buckets[entry.api_version] = made
        excess -= 1
    return [entry for entry in entries if id(entry) not in gone]


# --- reading and writing --------------------------------------------------------------------------------------------


def read_managed(value: Any) -> Managed:
    """The entries in an object. Raises ValueError for what a kube-apiserver does not take."""
    if not isinstance(value, list):
        raise ValueError("managedFields is not a list")
    return in_order([_read_entry(place, one) for place, one in enumerate(value)])


def _read_entry(place: int, value: Any) -> Entry:
    if not isinstance(value, dict):
        raise ValueError(f"entry {place} of managedFields is not an object")
    texts = {
        name: value.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource", "fieldsType")
    }
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"a field of entry {place} of managedFields is not text")
    operation, api_version = texts["operation"], texts["apiVersion"]
    if operation not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not api_version:
        raise ValueError("apiVersion must not be empty")
    if texts["fieldsType"] != FORM:
        kind = texts["fieldsType"]
        what = f'invalid fieldsType "{kind}"' if kind else "missing fieldsType"
        raise ValueError(f"{what} in managed fields entry {place}")
    known = "" if operation == APPLY else api_version
    manager = Manager(texts["manager"], operation, known, texts["subresource"])
    return Entry(manager, api_version, read_fields(value.get("fieldsV1")), value.get("time"))


def clears(value: Any) -> bool:
    """Whether managed fields that a client sends ask for an object without owners."""
    return value in ([], [{}])


def shown(managed: Managed) -> list[Json]:
    """The entries as in an object."""
    return [_shown(entry, written(entry.fields)) for entry in managed]


def _shown(entry: Entry, fields: Any) -> Json:
    manager = entry.manager
    made: Json = {"manager": manager.name, "operation": manager.operation, "apiVersion": entry.api_version}
    if entry.time is not None:
        made["time"] = entry.time
    made |= {"fieldsType": FORM, "fieldsV1": fields}
    if manager.subresource:
        made["subresource"] = manager.subresource
    return made


def encodable(managed: Managed) -> list[Json]:
    """As `shown`, to be encoded: the sets are JSON already, each written once."""
    return [_shown(entry, entry.text()) for entry in managed]
