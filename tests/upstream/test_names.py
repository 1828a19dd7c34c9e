"""Every event, reason and condition of kubelet 1.36 is used here, or has a reason.

The reasons are in `docs/reference/kubelet-names.md`; `docs/reference/events.md` says what each name means.

A name is used when the code has it as a string: a misspelt, lost or new name fails. What each means is tested where it
is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

DATA = Path(__file__).with_name("names.txt")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/kubelet-names.md"
REFERENCE = ROOT / "docs/reference/events.md"
OUT_OF = "OutOf"
"""The code adds the name of the resource."""
EVENT_TYPES = ("Normal", "Warning")


def upstream() -> Iterator[tuple[str, str]]:
    """(kind, name)."""
    kind = ""
    for line in DATA.read_text().splitlines():
        if line.startswith("kind "):
            kind = line.removeprefix("kind ")
        elif not line.startswith("#"):
            yield from ((kind, name) for name in line.split())


UPSTREAM = tuple(upstream())


@cache
def trees() -> tuple[ast.Module, ...]:
    files = (file for floor in ("actors", "runtime", "config") for file in sorted((ROOT / floor).rglob("*.py")))
    return tuple(ast.parse(file.read_text()) for file in files)


@cache
def strings() -> frozenset[str]:
    nodes = (node for tree in trees() for node in ast.walk(tree))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def rows() -> Iterator[list[str]]:
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and "`" in line:
            yield [cell.strip() for cell in line.strip("|").split("|")]


def quoted(cell: str) -> list[str]:
    return cell.split("`")[1::2]


LISTED = {(row[0], name): row[2] for row in rows() if len(row) == 3 and not quoted(row[0]) for name in quoted(row[1])}
OURS = {name for row in rows() if len(row) == 2 for name in quoted(row[0])}
OUR_CONDITIONS = {name for row in rows() if len(row) == 3 and quoted(row[0]) for name in quoted(row[0] + row[1])}
"""With their reasons."""


@pytest.mark.parametrize(("kind", "name"), UPSTREAM, ids=lambda text: text.replace(" ", "-"))
# (spec 15.1)
def test_a_name_of_a_kubelet_is_used_or_listed_with_a_reason(kind: str, name: str) -> None:
    used = name in strings() or (name.startswith(OUT_OF) and OUT_OF in strings())
    if (kind, name) in LISTED:
        assert not used, f"it is used, so {PAGE.name} need not list it"
        assert LISTED[kind, name], "it has no reason"
    else:
        assert used, f"use it, or list it in {PAGE.name}"


def test_no_name_is_listed_that_a_kubelet_does_not_have() -> None:
    assert set(LISTED) <= set(UPSTREAM)


def sent() -> Iterator[str]:
    """The reasons of events that stand as a string after their type."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                values = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
                for kind, reason in pairwise(values):
                    if kind in EVENT_TYPES and isinstance(reason, str):
                        yield reason


# (spec 15.1)
def test_an_event_that_a_kubelet_does_not_have_is_listed_as_ours() -> None:
    of_kubelet = {name for kind, name in UPSTREAM if kind == "event"}
    assert set(sent()) - of_kubelet == OURS


def test_the_reference_has_every_name_that_is_used() -> None:
    named = set(quoted(REFERENCE.read_text()))
    used = {name for kind, name in UPSTREAM if (kind, name) not in LISTED} | OURS | OUR_CONDITIONS
    assert used - named == set()
    assert strings() >= OUR_CONDITIONS
    others = {name for name in named if name.isalnum() and name[0].isupper() and name not in {"OnRootMismatch"}}
    assert others - used == set(), "these names are not used"
