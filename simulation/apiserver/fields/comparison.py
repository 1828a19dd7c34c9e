"""What a value has, and what differs between two values, as sets of fields."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

import msgspec

from simulation.apiserver.fields.sets import LEAF, NONE, Fields, field_step, united, without_all_below
from simulation.apiserver.fields.types import FieldType, UntellableItemError
from simulation.apiserver.status import Json

_HERE = "."
_MISSING = object()


class Comparison(msgspec.Struct, frozen=True):
    """The fields that one object has and the other lacks, and those whose values differ.

    No field is in two sets.
    """

    added: Fields = NONE
    changed: Fields = NONE
    removed: Fields = NONE

    @property
    def is_same(self) -> bool:
        return not (self.added or self.changed or self.removed)

    def set(self) -> Fields:
        """The fields that the new object has set."""
        return united(self.changed, self.added)

    def ignoring(self, fields: Fields) -> Comparison:
        """Without these fields and all below them."""
        if not fields or self.is_same:
            return self
        return Comparison(
            without_all_below(self.added, fields),
            without_all_below(self.changed, fields),
            without_all_below(self.removed, fields),
        )


SAME = Comparison()


def compared(before: Json, after: Json, kind: FieldType) -> Comparison:
    """What differs between two objects of a type, as Go writes them."""
    if before is after:
        return SAME
    shared = [name for name, part in after.items() if before.get(name) is part]
    if shared:
        # Most of them are large, as the spec is when a status changes.
        before, after = ({name: part for name, part in one.items() if name not in shared} for one in (before, after))
    return compared_as_they_are(as_written(before, kind), as_written(after, kind), kind)


def compared_as_they_are(before: Json, after: Json, kind: FieldType) -> Comparison:
    """What differs between two objects of a type; an empty map is there."""
    if before is after:
        return SAME
    found = _Found()
    _compare_maps(before, after, kind, found)
    return Comparison(found.added, found.changed, found.removed)


class _Found:
    """The nodes below one node."""

    __slots__ = ("added", "changed", "removed")

    def __init__(self) -> None:
        self.added: Fields = {}
        self.changed: Fields = {}
        self.removed: Fields = {}

    def put(self, step: str, below: _Found) -> None:
        if below.added:
            self.added[step] = below.added
        if below.changed:
            self.changed[step] = below.changed
        if below.removed:
            self.removed[step] = below.removed


def _compare_maps(before: Json, after: Json, kind: FieldType, found: _Found) -> None:
    for name, new in after.items():
        old = before.get(name, _MISSING)
        if old is new:
            continue
        step = field_step(name)
        if old is _MISSING:
            found.added[step] = everything(new, kind.below(name))
        else:
            _compare(step, old, new, kind.below(name), found)
    for name, old in before.items():
        if name not in after:
            found.removed[field_step(name)] = everything(old, kind.below(name))


def _compare(step: str, old: Any, new: Any, kind: FieldType, found: _Found) -> None:
    if old == new:
        return
    was, now = kind.has_parts(old) and bool(old), kind.has_parts(new) and bool(new)
    below = _Found()
    if was and now and type(old) is type(new):
        if isinstance(new, dict):
            _compare_maps(old, new, kind, below)
        else:
            _compare_lists(old, new, kind, below)
        found.put(step, below)
        return
    # Null and an empty value become the value that is there on the other side.
    if was:
        below.removed = _parts(old, kind)
    if now:
        below.added = _parts(new, kind)
    if not (was and not now and not new) and not (now and not was and not old):
        found.changed[step] = LEAF
    found.put(step, below)


def _compare_lists(old: list[Any], new: list[Any], kind: FieldType, found: _Found) -> None:
    """Items that cannot be told apart count as one value."""
    assert kind.items is not None
    before, after = _by_step(old, kind), _by_step(new, kind)
    for step, now in after.items():
        was = before.get(step)
        if was is None:
            found.added[step] = everything(now[0], kind.items) if len(now) == 1 else LEAF
        elif len(was) == len(now) == 1:
            _compare(step, was[0], now[0], kind.items, found)
        elif len(was) > 1 and len(now) > 1:
            if was != now:
                found.changed[step] = LEAF
        elif len(now) > 1:
            found.removed[step] = everything(was[0], kind.items)
            found.added[step] = LEAF
        else:
            found.added[step] = everything(now[0], kind.items)
            found.removed[step] = LEAF
    for step, was in before.items():
        if step not in after:
            found.removed[step] = everything(was[0], kind.items) if len(was) == 1 else LEAF


def _by_step(items: list[Any], kind: FieldType) -> dict[str, list[Any]]:
    """The items by the step to them. Those that have none are left out."""
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            found.setdefault(kind.step_to(item), []).append(item)
        except UntellableItemError:
            continue
    return found


def everything(value: Any, kind: FieldType) -> Fields:
    """The node of a value that was not there before: itself, and all below it."""
    if not value or not kind.has_parts(value):
        return LEAF
    return {_HERE: LEAF, **_parts(value, kind)}


def _parts(value: Any, kind: FieldType) -> Fields:
    if isinstance(value, dict):
        return {field_step(name): everything(below, kind.below(name)) for name, below in value.items()}
    assert kind.items is not None
    return {
        step: everything(items[0], kind.items) if len(items) == 1 else LEAF
        for step, items in _by_step(value, kind).items()
    }


def as_written(value: Json, kind: FieldType) -> Json:
    """The object as Go writes it: with the fields that are always there, without those that it leaves out.

    Unchanged parts are shared.
    """
    made: Json = _as_written(value, kind)
    return made


def _as_written(value: Any, kind: FieldType) -> Any:
    if not kind.has_parts(value):
        return value
    if isinstance(value, dict):
        parts = kind.parts(value)
        changed = {}
        for name, part in parts.items():
            if part or part == {}:
                made = _as_written(part, kind.below(name))
                if made is not part:
                    changed[name] = made
        return {**parts, **changed} if changed else parts
    assert kind.items is not None
    items = [_as_written(item, kind.items) for item in value]
    return value if all(map(is_, items, value)) else items


def without_left_out(value: Json, kind: FieldType) -> Json:
    """The object without the fields that Go leaves out. Unchanged parts are shared."""
    made: Json = _without_left_out(value, kind)
    return made


def _without_left_out(value: Any, kind: FieldType) -> Any:
    if not value or not kind.has_parts(value):
        return value
    if isinstance(value, dict):
        gone = [name for name in kind.gone(value) if name not in kind.there]
        kept = {
            name: _without_left_out(part, kind.below(name)) if part else part
            for name, part in value.items()
            if name not in gone
        }
        return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept
    assert kind.items is not None
    items = [_without_left_out(item, kind.items) for item in value]
    return value if all(map(is_, items, value)) else items


def owned(value: Json, kind: FieldType) -> Fields:
    """The fields that somebody owns who applies that object: its values, and the items of its lists.

    A map is owned itself if it is empty, or if its type does not declare it.
    """
    return dict(_owned_below(value, kind))


def _owned_below(value: Json, kind: FieldType) -> Iterator[tuple[str, Fields]]:
    for name, part in value.items():
        node = _owned(part, kind.below(name))
        if node is None:
            if name in kind.fields:
                continue
            node = LEAF
        elif node and name not in kind.fields:
            node = {_HERE: LEAF, **node}
        yield field_step(name), node


def _owned(value: Any, kind: FieldType) -> Fields | None:
    """The node of a value; None for a list without items, and for a map of such lists, which nobody owns."""
    if value == {} or not kind.has_parts(value):
        return LEAF
    if isinstance(value, dict):
        return dict(_owned_below(value, kind)) or None
    assert kind.items is not None
    made: Fields = {}
    for step, items in _by_step(value, kind).items():
        below = _owned(items[0], kind.items) if len(items) == 1 else LEAF
        made[step] = {_HERE: LEAF, **below} if below else LEAF
    return made or None
