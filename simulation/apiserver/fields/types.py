"""How the fields of a type are owned.

A value of a type is owned as a whole, unless it is a map whose fields, or a list whose items, have owners of their own.
Items of such a list are known by some of their fields, or by their value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.apiserver.fields.sets import field_step, key_step, value_step


class UntellableItemError(ValueError):
    """An item of a list has no keys, or cannot be told from others by its value."""


class FieldType:
    """One type.

    `is_map`: the fields of a map have owners of their own. `fields`: the declared ones, `others`: the type of all
    other ones, or None where there are no other ones. `items`: the type of the items of a list that have owners of
    their own, or None. `keys`: the fields by which they are known, in the order of their names; without, by value.
    `defaults`: values of fields that are keys. `there`: fields that are there even if nobody has set them, since Go
    does not leave them out, with the values that they have then. `left_out`: the types of values that it leaves out if
    they are empty.
    """

    __slots__ = ("_below", "defaults", "fields", "is_map", "items", "keys", "left_out", "others", "there")

    def __init__(
        self,
        *,
        is_map: bool = False,
        others: FieldType | None = None,
        items: FieldType | None = None,
        keys: Sequence[str] = (),
        left_out: tuple[type, ...] = (),
    ) -> None:
        self.is_map = is_map
        self.fields: dict[str, FieldType] = {}
        self.others = others
        self.items = items
        self.keys = tuple(keys)
        self.defaults: dict[str, Any] = {}
        self.there: dict[str, Any] = {}
        self.left_out = left_out
        self._below: dict[str, tuple[str, FieldType]] = {}

    def step_below(self, name: str) -> tuple[str, FieldType]:
        """The step to a field of a map, and its type. Those of declared fields are kept."""
        try:
            return self._below[name]
        except KeyError:
            found = field_step(name), self.below(name)
        if name in self.fields:
            self._below[name] = found
        return found

    def below(self, name: str) -> FieldType:
        """The type of a field of a map."""
        return self.fields.get(name) or self.others or ONE_VALUE

    def has_parts(self, value: Any) -> bool:
        """Whether parts of that value have owners of their own."""
        return (self.is_map and isinstance(value, dict)) or (self.items is not None and isinstance(value, list))

    def step_to(self, item: Any) -> str:
        """The step to an item of a list. Raises UntellableItemError."""
        assert self.items is not None
        if not self.keys:
            if item is None or isinstance(item, dict | list):
                what = {dict: "a map", list: "a list", type(None): "null"}[type(item)]
                raise UntellableItemError(f"an item of a set is {what}")
            return value_step(item)
        if not isinstance(item, dict):
            raise UntellableItemError("an item of a list with keys is not an object")
        defaults = self.items.defaults
        found = {}
        for key in self.keys:
            if key in item:
                found[key] = item[key]
            elif key in defaults:
                found[key] = defaults[key]
        if not found:
            names = " ".join(f'"{key}"' for key in self.keys)
            raise UntellableItemError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_step(found)

    def gone(self, value: dict[str, Any]) -> list[str]:
        """The declared fields of a map that Go takes for nothing.

        It tells an empty list from none where it writes both.
        """
        fields, there = self.fields, self.there
        return [
            name
            for name, part in value.items()
            if not part
            and name in fields
            and type(part) in fields[name].left_out
            and (part is None or name not in there)
        ]

    def parts(self, value: dict[str, Any]) -> dict[str, Any]:
        """The fields of a map as Go writes them.

        They are with those that are always there, and without those that it leaves out or does not know.
        """
        gone = self.gone(value) if not all(value.values()) else []
        if self.others is None and not value.keys() <= self.fields.keys():
            gone += [name for name in value if name not in self.fields]
        if not gone and (not self.there or self.there.keys() <= value.keys()):
            return value
        return {**self.there, **{name: part for name, part in value.items() if name not in gone}}


ONE_VALUE = FieldType()
"""A value that is owned as a whole."""
ANYTHING = FieldType(is_map=True)
"""A value of which nothing is known: maps have parts, lists and the rest are owned as a whole."""
ANYTHING.others = ANYTHING


def field_of(kind: FieldType, path: Sequence[str]) -> FieldType:
    """The type of the field at a path of names."""
    for name in path:
        kind = kind.below(name)
    return kind
