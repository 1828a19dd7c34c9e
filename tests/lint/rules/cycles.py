"""The cycle rule: no modules of the five floors import each other in a ring.

An import under `if TYPE_CHECKING` counts: whoever reads one of these modules has to read all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.lint.rules import Finding, Module, imported_names
from tests.lint.rules.floors import FLOORS

RULE = "cycle"
ALLOWED = (frozenset({"actors.kernel.cell", "actors.kernel.handling", "actors.kernel.lifecycle"}),)
"""Rings that may stay.

The turns of a cell are written in three files, by what they do; together they are one class.
"""


def check(modules: Iterable[Module]) -> Iterator[Finding]:
    """One finding for each ring that is not allowed."""
    known = {module.name: module for module in modules if module.floor in FLOORS}
    graph = {name: _imports(module, known) for name, module in known.items()}
    while (ring := _ring(graph)) is not None:
        if not any(set(ring) <= allowed for allowed in ALLOWED):
            why = f"these modules import each other: {', '.join(sorted(ring))}; move what they share below them"
            yield Finding(str(known[min(ring)].path), 1, RULE, why)
        for name in ring:
            del graph[name]
        for imported in graph.values():
            imported.difference_update(ring)


def _ring(graph: Mapping[str, set[str]]) -> set[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return set(error.args[1])
    return None


def _imports(module: Module, known: Mapping[str, Module]) -> set[str]:
    found = set()
    for package, names in imported_names(module):
        for name in names:
            inner = f"{package}.{name}"
            if inner in known:
                found.add(inner)
            elif package in known:
                found.add(package)
        if not names and package in known:
            found.add(package)
    return found - {module.name}
