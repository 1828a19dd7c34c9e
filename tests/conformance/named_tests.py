"""Tests by their names in lists: `tests/real/test_agent_logs.py::test_...`."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TREE = Path(__file__).parents[2]


def exists(place: str) -> bool:
    """Whether there is such a file with such a test function."""
    path, _, name = place.partition("::")
    return name in _named_in(path)


@cache
def _named_in(path: str) -> frozenset[str]:
    """Names of the test functions of a file; none of a file that is not there."""
    file = TREE / path
    nodes = ast.parse(file.read_text()).body if file.exists() else []
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
