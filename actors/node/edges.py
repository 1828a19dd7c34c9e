"""The edges of a node: which of its capabilities a record has, and what stands for them in a replay.

Meters and traces are left out: nobody decides by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from actors.node.plan import NodeCapabilities
from runtime.api import ApiLines
from runtime.metrics.meters import Meters

NOT_RECORDED = frozenset({"meters", "tracer"})
LINES = ("main", "leases", "events", "reviews", "references")
_API = "api"


def names_of(capabilities: NodeCapabilities) -> tuple[str, ...]:
    """The capabilities that a node has, as its record names them: `cri`, `api.main`, ..."""
    return tuple(_names(capabilities))


def _names(capabilities: NodeCapabilities) -> Iterable[str]:
    for field in fields(NodeCapabilities):
        value = getattr(capabilities, field.name)
        if value is None or field.name in NOT_RECORDED:
            continue
        if isinstance(value, ApiLines):
            yield from (f"{_API}.{line}" for line in LINES if getattr(value, line) is not None)
        else:
            yield field.name


def recorded(capabilities: NodeCapabilities, edge: Callable[[Any, str], Any]) -> NodeCapabilities:
    """The same capabilities behind edges. `edge` makes one of a capability and its name."""
    made: dict[str, Any] = {}
    for name in names_of(capabilities):
        field, _, line = name.partition(".")
        if not line:
            made[field] = edge(getattr(capabilities, field), name)
        else:
            lines: ApiLines = made.get(field) or getattr(capabilities, field)
            made[field] = replace(lines, **{line: edge(getattr(lines, line), name)})
    return replace(capabilities, **made)


def replayed(names: Iterable[str], edge: Callable[[str], Any]) -> NodeCapabilities:
    """Capabilities that answer from a record. `edge` makes one of its name.

    Those that only a newer version knows are left out: nobody here asks them.
    """
    known = {field.name for field in fields(NodeCapabilities)}
    made: dict[str, Any] = {"meters": Meters(alone=True)}
    edges: dict[str, Any] = {}
    for name in names:
        field, _, line = name.partition(".")
        if line in LINES:
            edges[line] = edge(name)
        elif not line and field in known:
            made[field] = edge(name)
    if edges:
        made[_API] = ApiLines(**edges)
    return NodeCapabilities(**made)
