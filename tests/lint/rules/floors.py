"""The floor rule: a file imports only from its own floor and from those below it.

See design, "The house".

Two packages of `actors` are libraries of their own: `machines` imports itself, the standard library and msgspec; the
kernel imports that, itself and Pykka. `actorlet/` is imported into users' processes, which must see no floor: it
imports itself, the standard library and pytest, and no floor imports it. Path equals import, so relative imports, which
hide the floor, are not used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.lint.rules import Finding, Module, imported_modules

FLOORS = ("config", "runtime", "actors", "simulation", "cli")
"""From the ground up."""
BESIDE = ("tests", "benchmarks", "docs", "tools", "actorlet")
"""No floor may import them. All but the last may import every floor."""
PUBLIC_MAY_IMPORT = frozenset({"actorlet", "pytest"}) | sys.stdlib_module_names
LIBRARIES = {
    "kernel": ("actors.kernel", "actors.machines", "pykka", "msgspec"),
    "machines": ("actors.machines", "msgspec"),
}
"""Packages of `actors`, and what each may import beside the standard library."""

RULE = "floor"


def check(module: Module) -> Iterator[Finding]:
    if module.floor == "actorlet":
        for node, name in imported_modules(module):
            if name.partition(".")[0] not in PUBLIC_MAY_IMPORT:
                why = f"actorlet/ runs in users' processes and may not import {name}; start a process of its own"
                yield module.finding(node, RULE, why)
    if module.floor not in FLOORS:
        return
    height = FLOORS.index(module.floor)
    library = module.path.parts[1] if module.floor == "actors" else ""
    for node, name in imported_modules(module):
        top = name.partition(".")[0]
        if name.startswith("."):
            yield module.finding(node, RULE, f"the relative import {name!r} hides its floor; write the whole path")
        elif library in LIBRARIES:
            if top not in sys.stdlib_module_names and not _is_below(name, LIBRARIES[library]):
                why = f"the package {library} is a library of its own and may not know {name}; hand it in from outside"
                yield module.finding(node, RULE, why)
        elif top in BESIDE:
            yield module.finding(node, RULE, f"{module.floor}/ may not know {name}, which only stands beside the house")
        elif top in FLOORS and FLOORS.index(top) > height:
            here, there = f"{module.floor}/ (floor {height + 1})", f"{name} (floor {FLOORS.index(top) + 1})"
            yield module.finding(node, RULE, f"{here} may not know {there}; turn it round, or hand it in from above")


def _is_below(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in packages)
