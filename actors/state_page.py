"""How the page of a state machine is drawn from its table: a picture of the moves, and every rule with its reason.

Knows no machine: `pod_lifecycle_page`, `probe_state_page` and `container_start_page` give it their tables. A table maps
(stage, event) to rules, of which the first applies whose condition holds; that is all that is asked of it.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec


class DrawnRule(Protocol):
    """What is shown of a rule: its condition in words (empty for always), where it leads, and why."""

    @property
    def when(self) -> str: ...

    @property
    def target(self) -> enum.StrEnum: ...

    @property
    def why(self) -> str: ...


Pair = TypeVar("Pair", bound=tuple[enum.StrEnum, type[Any]])


class Machine(msgspec.Struct, frozen=True):
    """What a page is about. `silent`: reasons of rules that stay because nothing has changed; they are left out."""

    title: str
    head: str
    first: enum.StrEnum
    last: enum.StrEnum
    note: str
    silent: Collection[str] = ()


def diagram(machine: Machine, table: Mapping[Pair, Sequence[DrawnRule]]) -> str:
    """The moves between stages, as a Mermaid state diagram. What stays where it is is left to the rules.

    What every stage meets in the same way is drawn for the first.
    """
    edges: dict[tuple[str, str], list[str]] = {}
    everywhere = _everywhere(table)
    for (stage, event), rules in table.items():
        if event.__name__ in everywhere and stage is not machine.first:
            continue
        for rule in rules:
            if rule.target is not stage:
                label = event.__name__ + (f" [{rule.when}]" if rule.when else "")
                edges.setdefault((stage.value, rule.target.value), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {machine.first.value}"]
    lines += [f"    {stage} --> {target}: {', '.join(labels)}" for (stage, target), labels in edges.items()]
    return "\n".join([*lines, f"    {machine.last.value} --> [*]"])


def rules_of(machine: Machine, table: Mapping[Pair, Sequence[DrawnRule]]) -> str:
    """The rules, one line each, as a Markdown table. What is the same in every stage stands there once."""
    lines = ["| in | meets | when | goes to | because |", "|---|---|---|---|---|"]
    everywhere = _everywhere(table)
    told: set[str] = set()
    for (stage, event), rules in table.items():
        place = "any" if event.__name__ in everywhere else stage.value
        if place == "any" and event.__name__ in told:
            continue
        told.add(event.__name__)
        for rule in rules:
            if rule.target is stage and rule.why in machine.silent:
                continue
            target = "(stays)" if rule.target is stage and place != "any" else rule.target.value
            lines.append(f"| {place} | {event.__name__} | {rule.when} | {target} | {rule.why} |")
    return "\n".join(lines)


def page(machine: Machine, table: Mapping[Pair, Sequence[DrawnRule]]) -> str:
    """The whole page."""
    picture = diagram(machine, table)
    return (
        f"# {machine.title}\n\n{machine.head}\n\n```mermaid\n{picture}\n```\n\n{machine.note}\n\n"
        f"{rules_of(machine, table)}\n"
    )


def _everywhere(table: Mapping[Pair, Sequence[DrawnRule]]) -> frozenset[str]:
    """Names of events that every stage of the machine meets with the very same rules."""
    met: dict[str, list[tuple[enum.StrEnum, Sequence[DrawnRule]]]] = {}
    for (stage, event), rules in table.items():
        met.setdefault(event.__name__, []).append((stage, rules))
    return frozenset(name for name, found in met.items() if _is_same_in_all(found))


def _is_same_in_all(found: Sequence[tuple[enum.StrEnum, Sequence[DrawnRule]]]) -> bool:
    stage, rules = found[0]
    return len(found) == len(type(stage)) and all(each is rules for _, each in found)
