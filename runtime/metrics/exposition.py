"""Metrics as text for Prometheus (format 0.0.4).

The library's own writer gives every counter the ending `_total`. But a kubelet's names are fixed, `kubelet_evictions`
among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from runtime.metrics.families import Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


class MetricRow(NamedTuple):
    """One line.

    `labels`: values, in the order of the family's names. `ending`: of the name (`_bucket`). `bound`: the label `le`.
    `at_ms`: the time of the value; None for now.
    """

    labels: Sequence[str]
    value: float
    at_ms: int | None = None
    ending: str = ""
    bound: str = ""


class FamilyRows(NamedTuple):
    """A family with its rows."""

    family: Family
    rows: Sequence[MetricRow]


def exposition(told: Iterable[FamilyRows]) -> bytes:
    """The text. Each family appears once, in the given order."""
    lines: list[str] = []
    for family, rows in told:
        name = family.name
        text = family.help.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"# HELP {name} {text}\n# TYPE {name} {family.kind.value}\n")
        names = family.labels
        for row in rows:
            pairs = [f'{label}="{value.translate(_ESCAPES)}"' for label, value in zip(names, row.labels, strict=True)]
            if row.bound:
                pairs.append(f'le="{row.bound}"')
            labels = f"{{{','.join(pairs)}}}" if pairs else ""
            at = "" if row.at_ms is None else f" {row.at_ms}"
            lines.append(f"{name}{row.ending}{labels} {number(row.value)}{at}\n")
    return "".join(lines).encode()


def number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
