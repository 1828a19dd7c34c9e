"""Custom resources, whose definitions say what is shown of them; and the definitions themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from config.values.ages import since
from simulation.apiserver.custom.json_paths import Path, find_all, parse_path
from simulation.apiserver.resources import CustomVersion
from simulation.apiserver.tables.columns import AGE, NAME, Cell, Column, Json, View, age_of, name_of, part

_NOTHING = object()


@lru_cache(maxsize=256)
def view_of(custom: CustomVersion) -> View:
    """Name and age where the definition says nothing; else the name and what it says."""
    if not custom.columns:
        return View((NAME, AGE), lambda json, wall_ns: [name_of(json), age_of(json, wall_ns)])
    columns = tuple(
        Column(
            column["name"],
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
            type=column["type"],
            format=column.get("format", ""),
            priority=column.get("priority", 0),
        )
        for column in custom.columns
    )
    ways = [(parse_path(column["jsonPath"]), column["type"]) for column in custom.columns]

    def cells(json: Json, wall_ns: int) -> list[Cell]:
        return [name_of(json), *(cell_of(json, path, kind, wall_ns) for path, kind in ways)]

    return View((NAME, *columns), cells)


def cell_of(json: Json, path: Path, kind: str, wall_ns: int) -> Cell:
    """The first of what stands at the path, as that type of column shows it; None where that is not possible."""
    found = next(find_all(json, path), _NOTHING)
    if found is _NOTHING or found is None:
        return None
    if kind == "date":
        return _age(found, wall_ns)
    if kind == "boolean":
        return found if isinstance(found, bool) else None
    make = _NUMBERS.get(kind)
    if make is not None:
        return make(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
    return _text(found)


_NUMBERS: dict[str, Callable[[float], int | float]] = {"integer": int, "number": float}


def _age(found: Any, wall_ns: int) -> Cell:
    if not isinstance(found, str):
        return None
    age = since(found, wall_ns)
    return "<invalid>" if age in ("", "?") else age


def _text(found: Any) -> str:
    if isinstance(found, str):
        return found
    return msgspec.json.encode(found).decode()


def _definition(json: Json, wall_ns: int) -> list[Cell]:
    return [name_of(json), part(json, "metadata").get("creationTimestamp", "")]


DEFINITIONS = View((NAME, Column("Created At", "When it was created.", type="date")), _definition)
