"""What tables are made of: columns, and a view that turns one object into the cells of its row. Pure.

Owns the shapes and the words that all families share: `<none>`, `<unknown>`, `<unset>`, the age of an object. Objects
are JSON as the store holds them; a field that is missing is one that nobody has set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.values.ages import since

Json = Mapping[str, Any]
Cell = str | int | float | bool | None

NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Priority 0 is always shown, 1 with `-o wide`; `type` and `format` are those of OpenAPI."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it stands in `columnDefinitions`."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class View:
    """The columns of a resource, and the cells of one object at that time of day (nanoseconds), one per column."""

    columns: tuple[Column, ...]
    cells: Callable[[Json, int], Sequence[Cell]]


NAME = Column("Name", "What the object is called; unique within its namespace.", format="name")
AGE = Column("Age", "How long ago the object was created.")


def wide(name: str, description: str, **more: str) -> Column:
    """A column that only `-o wide` shows."""
    return Column(name, description, priority=1, **more)


def name_of(json: Json) -> str:
    """`metadata.name`."""
    return str(part(json, "metadata").get("name", ""))


def age_of(json: Json, wall_ns: int) -> str:
    """Since its creation."""
    return since(part(json, "metadata").get("creationTimestamp"), wall_ns) or UNKNOWN


def part(json: Json, *path: str) -> Json:
    """The object at `path`; empty when it is not there."""
    for step in path:
        json = json.get(step) or {}
    return json


def items(json: Json, field: str) -> Sequence[Any]:
    """The list in `field`; empty when it is not there."""
    return json.get(field) or ()


def joined(values: Iterable[object], otherwise: str = NONE) -> str:
    """With commas; `otherwise` when there are none."""
    return ",".join(map(str, values)) or otherwise


def is_leaving(json: Json) -> bool:
    """It is being deleted."""
    return bool(part(json, "metadata").get("deletionTimestamp"))
