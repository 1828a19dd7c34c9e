"""A configuration put into an object, and fields taken out of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simulation.apiserver.fields.sets import Fields, is_member, shown_step
from simulation.apiserver.fields.types import ANYTHING, FieldType, UntellableItemError
from simulation.apiserver.status import Json

_MISSING = object()


class ConfigurationError(Exception):
    """A configuration that cannot be applied. `path`: of the field, or of the list with the wrong item."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}" if path else why)


# --- checking -------------------------------------------------------------------------------------------------------


def check_configuration(value: Json, kind: FieldType) -> None:
    """Check that a type declares all fields, and that no two items of a list are the same.

    Raises ConfigurationError.
    """
    _check(value, kind, "")


def _check(value: Any, kind: FieldType, path: str) -> None:
    if not kind.has_parts(value):
        if value is not None and kind is not ANYTHING and (kind.is_map or kind.items is not None):
            raise ConfigurationError(path, f"expected {'map' if kind.is_map else 'list'}, got {value!r}")
        return
    if isinstance(value, dict):
        for name, below in value.items():
            if name not in kind.fields and kind.others is None:
                raise ConfigurationError(f"{path}.{name}", "field not declared in schema")
            _check(below, kind.below(name), f"{path}.{name}")
        return
    assert kind.items is not None
    seen = set()
    for place, item in enumerate(value):
        try:
            step = kind.step_to(item)
        except UntellableItemError as error:
            raise ConfigurationError(path, f"element {place}: {error}") from None
        shown = shown_step(step)
        if step in seen:
            raise ConfigurationError(path, f"duplicate entries for key {shown}")
        seen.add(step)
        _check(item, kind.items, f"{path}{shown}")


def whole_parts(value: Any, kind: FieldType, path: str = "") -> Iterator[str]:
    """The paths of the maps and lists in a value that are owned as a whole."""
    if isinstance(value, dict | list) and not kind.has_parts(value):
        yield path
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from whole_parts(below, kind.below(name), f"{path}.{name}")
    elif isinstance(value, list):
        assert kind.items is not None
        for place, item in enumerate(value):
            yield from whole_parts(item, kind.items, f"{path}[{place}]")


# --- merging --------------------------------------------------------------------------------------------------------


def merged(value: Json, configuration: Json, kind: FieldType) -> Json:
    """The object with the values of a checked configuration. Nothing goes; unchanged parts are shared."""
    made = _merged(value, configuration, kind)
    assert isinstance(made, dict)
    return made


def _merged(old: Any, new: Any, kind: FieldType) -> Any:
    if kind.is_map and isinstance(old, dict) and (isinstance(new, dict) or new is None):
        if not new:
            return old or new
        changed = {name: _merged(old.get(name, _MISSING), below, kind.below(name)) for name, below in new.items()}
        if all(name in old and old[name] is below for name, below in changed.items()):
            return old
        return {**old, **changed}
    if kind.items is not None and isinstance(old, list) and (isinstance(new, list) or new is None):
        return _merged_lists(old, new, kind) if new else old or new
    return old if old is not _MISSING and type(old) is type(new) and old == new else new


def _merged_lists(old: list[Any], new: list[Any], kind: FieldType) -> list[Any]:
    """The items of both, in the order of the new list; other old items stay where they are between those."""
    of_items = kind.items
    assert of_items is not None
    olds, news = _steps(old, kind), [kind.step_to(item) for item in new]
    known, wanted = _first_items(olds, old), set(news)
    made: list[Any] = []

    def take(step: str, item: Any) -> None:
        made.append(_merged(known.get(step, _MISSING), item, of_items))

    at = 0
    for place, step in enumerate(news):
        shared = next((one for one in news[place:] if one in known), None)
        while at < len(olds) and olds[at] != step:
            if olds[at] not in wanted:
                made.append(old[at])
            elif olds[at] == shared:
                break
            at += 1
        take(step, new[place])
        if at < len(olds) and olds[at] == step:
            at += 1
    made += [item for item, step in zip(old[at:], olds[at:], strict=True) if step not in wanted]
    return old if len(made) == len(old) and all(map(_is, made, old)) else made


def _is(one: object, other: object) -> bool:
    return one is other


def _steps(items: list[Any], kind: FieldType) -> list[str]:
    """The steps to the items of a stored list; an item that has none gets one that no other has."""
    found = []
    for place, item in enumerate(items):
        try:
            found.append(kind.step_to(item))
        except UntellableItemError:
            found.append(f"i:{place}")
    return found


def _first_items(steps: list[str], items: list[Any]) -> Mapping[str, Any]:
    """Each item by its step; of items that are the same, nothing is merged."""
    found: dict[str, Any] = {}
    for step, item in zip(steps, items, strict=True):
        found[step] = _MISSING if step in found else item
    return found


# --- taking out -----------------------------------------------------------------------------------------------------


def taken_out(value: Json, fields: Fields, kind: FieldType) -> Json:
    """The object without these fields and all that is in them. A map or list that becomes empty stays."""
    made = _taken_out(value, fields, kind)
    assert isinstance(made, dict)
    return made


def _taken_out(value: Any, fields: Fields, kind: FieldType) -> Any:
    if not fields or not kind.has_parts(value):
        return value
    if isinstance(value, dict):
        kept: Json = {}
        for name, below in value.items():
            node = fields.get(f"f:{name}")
            if node is None:
                kept[name] = below
            elif not is_member(node):
                kept[name] = _taken_out(below, node, kind.below(name))
        return kept
    assert kind.items is not None
    items = []
    for item, step in zip(value, _steps(value, kind), strict=True):
        node = fields.get(step)
        if node is None:
            items.append(item)
        elif not is_member(node):
            items.append(_taken_out(item, node, kind.items))
    return items
