"""The kernel stays small, and its modules import each other in one direction, but for one object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "actors.kernel"
FOLDER = Path(__file__).parents[3] / "actors" / "kernel"
ONE_OBJECT = {"cell", "handling", "lifecycle"}
MOST_LINES = 3_900
"""What makes the kernel longer must make something in it shorter."""


def imported(path: Path) -> Iterator[str]:
    """Modules of the kernel, also those that are imported for types only."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            yield (node.module or "").removeprefix(f"{PACKAGE}.")


def test_only_the_cell_is_in_a_circle_of_imports():
    imports = {path.stem: set(imported(path)) for path in FOLDER.glob("*.py") if path.stem != "__init__"}
    while leaves := {name for name, needs in imports.items() if not needs & imports.keys()}:
        for name in leaves:
            del imports[name]
    # What is left needs a circle: its members, and the modules above it.
    below = {needed for needs in imports.values() for needed in needs & imports.keys()}
    while tops := imports.keys() - below:
        for name in tops:
            del imports[name]
        below = {needed for needs in imports.values() for needed in needs & imports.keys()}
    assert imports.keys() == ONE_OBJECT


def test_the_kernel_stays_small():
    assert sum(len(path.read_text().splitlines()) for path in FOLDER.glob("*.py")) <= MOST_LINES
