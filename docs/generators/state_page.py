"""Draw the page of a state machine from its table: a diagram of the moves, and every rule with its reason."""

from __future__ import annotations

import argparse
import enum
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.machines.table import StateTable, TransitionRow

FOLDER = Path(__file__).resolve().parents[1]


class StatePage(msgspec.Struct, frozen=True):
    """One page of `docs/`. `last`: the stage at which the machine ends. `module`: the page's own module here."""

    module: str
    title: str
    head: str
    table: StateTable[Any, Any]
    last: enum.Enum

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.module.replace('_', '-')}.md"

    @property
    def command(self) -> str:
        return f"python -m docs.generators.{self.module}"

    def text(self) -> str:
        """The whole page."""
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
    """The moves between stages, as a Mermaid state diagram. What every stage meets alike is drawn for the first."""
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


def main(page: StatePage, arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it. The exit status: 1 when the check finds it out of date."""
    parser = argparse.ArgumentParser(prog=page.command, description=f"Draw docs/{page.path.name}.")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the page is out of date")
    if not parser.parse_args(arguments).check:
        page.path.write_text(page.text())
    elif page.path.read_text() != page.text():
        print(f"docs/{page.path.name} is out of date; run: {page.command}", file=sys.stderr)
        return 1
    return 0
