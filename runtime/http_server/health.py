"""Health checks of the node: `/healthz`, `/livez`, `/readyz` (spec 11.2, 11.8).

`ping`: this answers at all. `log`: lines of the log can be written. `syncloop`: the sync loop is not late. `actors`: no
actor is late. A failed check names the late actors.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from config.values.harmless_text import harmless_line
from runtime.http_server.heads import HttpRefusal, Query

SYNC_LOOP = "/node/sync-loop"
CHECKS = ("ping", "log", "syncloop", "actors")
ALIVE = CHECKS[:1]


def wanted_checks(checks: tuple[str, ...], only: str | None, query: Query) -> tuple[str, ...]:
    """The requested ones of `checks`. Raises HttpRefusal."""
    if only is not None:
        if only not in checks:
            raise HttpRefusal(404, f"there is no check {only}; there are {', '.join(checks)}")
        return (only,)
    left_out = {value for name, value in query if name == "exclude"}
    return tuple(each for each in checks if each not in left_out)


def asks_actors(checks: Sequence[str]) -> bool:
    """Whether it has to be known who is late."""
    return "actors" in checks or "syncloop" in checks


def health(name: str, checks: Sequence[str], late: Sequence[str], unlogged: str, *, verbose: bool) -> tuple[int, str]:
    """Status and text.

    `late`: a line for each actor that is, beginning with its path; `unlogged`: why no line can be written, or empty.
    """
    wrong = {
        "log": [unlogged] if unlogged else [],
        "syncloop": [each for each in late if each.split(" ")[0] == SYNC_LOOP],
        "actors": list(late),
    }
    lines = []
    bad = False
    for check in checks:
        faults = wrong.get(check, [])
        bad = bad or bool(faults)
        lines += [f"[-]{check} failed: {harmless_line(each)}" for each in faults] or [f"[+]{check} ok"]
    if bad:
        return 500, "\n".join([*lines, f"{name} check failed", ""])
    return 200, "\n".join([*lines, f"{name} check passed", ""]) if verbose else "ok"


def why_unlogged() -> str:
    """Why the log takes no lines; empty when it does. May wait for the disk."""
    try:
        for handler in logging.getLogger().handlers:
            handler.flush()
    except (OSError, ValueError) as error:
        return f"lines cannot be written: {error}"
    return ""
