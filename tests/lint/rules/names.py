"""File names are the thing inside them (design, "Names"): no `utils`, `helpers`, `common`, `manager2`.

A file of that name is a drawer: nobody knows what is in it, so it grows, and everything comes to import it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.lint.rules import Finding, Module

RULE = "names"
_DRAWERS = re.compile(r"(.*_)?(utils?|utilities|helpers?|commons?|misc|stuff)|manager\d+|.*[a-z_]v?2")


def check(module: Module) -> Iterator[Finding]:
    *folders, file = module.path.parts
    for name in (*folders, file.removesuffix(".py")):
        if _DRAWERS.fullmatch(name):
            why = f"{name!r} does not say what is inside; name it for the one thing it holds"
            yield Finding(str(module.path), 1, RULE, why)
