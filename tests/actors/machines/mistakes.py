"""Mistakes that a table of rules can have."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from actors.machines.table import Rule, StateTable, TransitionRow


def moves(table: StateTable[Any, Any]) -> Iterator[tuple[enum.Enum, enum.Enum]]:
    """(from, to) of every rule that changes the stage."""
    for row in table.rows:
        for rule in row.rules:
            if rule.target is not None:
                yield from ((stage, rule.target) for stage in row.stages)


def unreachable(table: StateTable[Any, Any]) -> frozenset[enum.Enum]:
    """Stages that no chain of rules leads to from the first stage."""
    reached, fresh = {table.first}, {table.first}
    while fresh:
        fresh = {target for stage, target in moves(table) if stage in fresh} - reached
        reached |= fresh
    return frozenset(table.stages) - reached


def shadowed(table: StateTable[Any, Any]) -> tuple[Rule[Any, Any, Any], ...]:
    """Rules that can never apply: an earlier rule of the row has no guard that they lack."""
    return tuple(
        rule
        for row in table.rows
        for place, rule in enumerate(row.rules)
        if any(set(earlier.guards) <= set(rule.guards) for earlier in row.rules[:place])
    )


def undecided(table: StateTable[Any, Any]) -> tuple[TransitionRow[Any, Any, Any], ...]:
    """Rows in which every rule has a guard.

    Where none holds, `otherwise` decides, or the event is refused.
    """
    return tuple(row for row in table.rows if all(rule.guards for rule in row.rules))


def has_rules(table: StateTable[Any, Any], stage: enum.Enum, event: type[Any]) -> bool:
    return any(row.event is event and stage in row.stages for row in table.rows)
