"""Draw the page of a state machine from its table.

It has a diagram of the moves, and every rule with its reason.
"""

from __future__ import annotations

import enum
from typing import Any

from actors.machines.table import StateTable, TransitionRow
from docs.generators.drawn_page import DrawnPage


class StatePage(DrawnPage, frozen=True):
    """`last`: the stage at which the machine ends."""

    title: str
    head: str
    table: StateTable[Any, Any]
    last: enum.Enum

    def text(self) -> str:
        otherwise = self.table.otherwise
        unlisted = f"Every other event changes nothing: {otherwise}." if otherwise else "No other event is legal."
        return "\n\n".join(
            (
                f"# {self.title}",
                f"{self.head}\n`{self.command}` draws this page from that table.",
                f"```mermaid\n{diagram(self.table, self.last)}\n```",
                f"The first rule whose condition holds applies. {unlisted}",
                f"{rules_of(self.table)}\n",
            )
        )


def diagram(table: StateTable[Any, Any], last: enum.Enum) -> str:
    """The moves between stages, as a Mermaid state diagram.

    What every stage meets alike is drawn for the first.
    """
    edges: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        stages = (table.first,) if _is_everywhere(table, row) else row.stages
        for rule in row.rules:
            label = row.event.__name__ + (f" [{rule.when}]" if rule.when else "")
            for stage in stages:
                if rule.target is not None and rule.target is not stage:
                    edges.setdefault((stage.value, rule.target.value), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {table.first.value}"]
    order = [stage.value for stage in table.stages]
    for (stage, target), labels in sorted(edges.items(), key=lambda edge: order.index(edge[0][0])):
        lines.append(f"    {stage} --> {target}: {', '.join(labels)}")
    return "\n".join([*lines, f"    {last.value} --> [*]"])


def rules_of(table: StateTable[Any, Any]) -> str:
    """The rules, one line each, as a Markdown table."""
    lines = ["| in | meets | when | goes to | because |", "|---|---|---|---|---|"]
    for row in table.rows:
        place = "any" if _is_everywhere(table, row) else ", ".join(stage.value for stage in row.stages)
        for rule in row.rules:
            target = "(stays)" if rule.target is None else rule.target.value
            lines.append(f"| {place} | {row.event.__name__} | {rule.when} | {target} | {rule.why} |")
    return "\n".join(lines)


def _is_everywhere(table: StateTable[Any, Any], row: TransitionRow[Any, Any, Any]) -> bool:
    return row.stages == table.stages
