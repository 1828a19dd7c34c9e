"""Tests do not sleep on the wall clock: they wait for what is to happen, or run in virtual time.

`time.sleep` in a test is slow when it is long enough, and wrong when it is not. Where another process tells nobody when
it is done, `tests.real.waiting.until` looks again up to a limit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.lint.rules import Finding, Module

RULE = "no-sleep"
_WHY = "a test that sleeps is slow or wrong; wait for the event itself, or use the SimulatedDispatcher"


def check(module: Module) -> Iterator[Finding]:
    if module.floor != "tests":
        return
    modules: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "time"}
        elif isinstance(node, ast.ImportFrom) and "time.sleep" in {
            f"{node.module}.{alias.name}" for alias in node.names
        }:
            yield module.finding(node, RULE, _WHY)
    for node in module.nodes:
        called_on = node.value if isinstance(node, ast.Attribute) and node.attr == "sleep" else None
        if isinstance(called_on, ast.Name) and called_on.id in modules:
            yield module.finding(node, RULE, _WHY)
