"""Files of known findings: one name a line, so that only new ones fail. Pure.

A `#` begins a comment. The name of a finding is `TARGET: what is left wrong`, with digits as 0. It does not change
between sweeps. The target is what its faults are about: requests, views or nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulation.sweep.findings import Finding

HEAD = "# Known findings of `actorlet sweep`: one name a line. Write the reason behind a #."


def read_known(text: str) -> frozenset[str]:
    """The names in a file."""
    lines = (line.partition("  #")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def known_text(found: Iterable[Finding], before: str = "") -> str:
    """The file with these findings added."""
    known = read_known(before)
    new = [each.name for each in found if each.name not in known]
    return "\n".join([before.rstrip("\n") or HEAD, *new, ""])
