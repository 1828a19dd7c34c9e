"""What a value has, and what differs between two values, as sets of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_
from typing import Any, TypeAlias

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
    """What differs between two objects of a type, as Go writes them (see `as_written`)."""
    return _compared(before, after, kind, FieldType.parts)


def compared_as_they_are(before: Json, after: Json, kind: FieldType) -> Comparison:
    """What differs between two objects of a type; an empty map is there."""
    return _compared(before, after, kind, _as_it_is)


Parts: TypeAlias = Callable[[FieldType, Json], Json]
"""The fields of a map that count. Only maps that differ are asked, so that equal parts cost nothing."""


def _as_it_is(_: FieldType, value: Json) -> Json:
    return value


def _compared(before: Json, after: Json, kind: FieldType, parts: Parts) -> Comparison:
    if before is after:
        return SAME
    found = _Found(parts)
    found.compare_maps(parts(kind, before), parts(kind, after), kind)
    return Comparison(found.added, found.changed, found.removed)


class _Found:
    """The nodes below one node."""

    __slots__ = ("_parts", "added", "changed", "removed")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.added: Fields = {}
        self.changed: Fields = {}
        self.removed: Fields = {}

    def _put(self, step: str, below: _Found) -> None:
        if below.added:
            self.added[step] = below.added
        if below.changed:
            self.changed[step] = below.changed
        if below.removed:
            self.removed[step] = below.removed

    def compare_maps(self, before: Json, after: Json, kind: FieldType) -> None:
        """Compare two maps that have the fields that count."""
        for name, new in after.items():
            old = before.get(name, _MISSING)
            if old is new or old == new:
                continue
            step, below = kind.step_below(name)
            if old is _MISSING:
                self.added[step] = _everything(new, below, self._parts)
            else:
                self._compare(step, old, new, below)
        if not before.keys() <= after.keys():
            for name, old in before.items():
                if name not in after:
                    step, below = kind.step_below(name)
                    self.removed[step] = _everything(old, below, self._parts)

    def _compare(self, step: str, old: Any, new: Any, kind: FieldType) -> None:
        """Compare two values that are not equal."""
        has_parts, had_parts = kind.has_parts(new), kind.has_parts(old)
        if not has_parts and not had_parts:
            self.changed[step] = LEAF
            return
        old = self._parts(kind, old) if had_parts and isinstance(old, dict) else old
        new = self._parts(kind, new) if has_parts and isinstance(new, dict) else new
        was, now = had_parts and bool(old), has_parts and bool(new)
        below = _Found(self._parts)
        if was and now and type(old) is type(new):
            if isinstance(new, dict):
                below.compare_maps(old, new, kind)
            else:
                below._compare_lists(old, new, kind)
            self._put(step, below)
            return
        if not was and not now and type(old) is type(new):
            return
        # Null and an empty value become the value that is there on the other side.
        if was:
            below.removed = _nodes_of(old, kind, self._parts)
        if now:
            below.added = _nodes_of(new, kind, self._parts)
        if not (was and not now and not new) and not (now and not was and not old):
            self.changed[step] = LEAF
        self._put(step, below)

    def _compare_lists(self, old: list[Any], new: list[Any], kind: FieldType) -> None:
        """Items that cannot be told apart count as one value."""
        items = kind.items
        assert items is not None
        before, after = _by_step(old, kind, self._parts), _by_step(new, kind, self._parts)
        for step, now in after.items():
            was = before.get(step)
            if was is None:
                self.added[step] = _everything(now[0], items, self._parts) if len(now) == 1 else LEAF
            elif len(was) == len(now) == 1:
                if was[0] != now[0]:
                    self._compare(step, was[0], now[0], items)
            elif len(was) > 1 and len(now) > 1:
                if _all_parts(was, items, self._parts) != _all_parts(now, items, self._parts):
                    self.changed[step] = LEAF
            elif len(now) > 1:
                self.removed[step] = _everything(was[0], items, self._parts)
                self.added[step] = LEAF
            else:
                self.added[step] = _everything(now[0], items, self._parts)
                self.removed[step] = LEAF
        for step, was in before.items():
            if step not in after:
                self.removed[step] = _everything(was[0], items, self._parts) if len(was) == 1 else LEAF


def _by_step(items: list[Any], kind: FieldType, parts: Parts) -> dict[str, list[Any]]:
    """The items by the step to them, as they count. Those that have none are left out."""
    below = kind.items
    assert below is not None
    found: dict[str, list[Any]] = {}
    for item in items:
        part = parts(below, item) if isinstance(item, dict) and below.is_map else item
        try:
            found.setdefault(kind.step_to(part), []).append(part)
        except UntellableItemError:
            continue
    return found


def _all_parts(values: list[Any], kind: FieldType, parts: Parts) -> list[Any]:
    return [_as_written(value, kind) for value in values] if parts is FieldType.parts else values


def _everything(value: Any, kind: FieldType, parts: Parts) -> Fields:
    """The node of a value that was not there before: itself, and all below it."""
    if not kind.has_parts(value):
        return LEAF
    written = parts(kind, value) if isinstance(value, dict) else value
    return {_HERE: LEAF, **_nodes_of(written, kind, parts)} if written else LEAF


def _nodes_of(value: Any, kind: FieldType, parts: Parts) -> Fields:
    """The nodes of a map that has the fields that count, or of a list."""
    made: Fields = {}
    if isinstance(value, dict):
        for name, part in value.items():
            step, below = kind.step_below(name)
            made[step] = _everything(part, below, parts)
        return made
    assert kind.items is not None
    for step, items in _by_step(value, kind, parts).items():
        made[step] = _everything(items[0], kind.items, parts) if len(items) == 1 else LEAF
    return made


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


def without_left_out(value: Json, kind: FieldType, before: Json | None = None) -> Json:
    """The object without the fields that Go leaves out. Unchanged parts are shared.

    `before`: an object without such fields. What the two share is not looked at.
    """
    made: Json = _without_left_out(value, kind, before or {})
    return made


def _without_left_out(value: Any, kind: FieldType, before: Any) -> Any:
    if not value or value is before or not kind.has_parts(value):
        return value
    if isinstance(value, dict):
        old = before if isinstance(before, dict) else {}
        gone = [name for name in kind.gone(value) if name not in kind.there]
        kept = {
            name: _without_left_out(part, kind.below(name), old.get(name)) if part else part
            for name, part in value.items()
            if name not in gone
        }
        return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept
    assert kind.items is not None
    items = [_without_left_out(item, kind.items, None) for item in value]
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
    for step, items in _by_step(value, kind, _as_it_is).items():
        below = _owned(items[0], kind.items) if len(items) == 1 else LEAF
        made[step] = {_HERE: LEAF, **below} if below else LEAF
    return made or None
