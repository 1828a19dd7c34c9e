"""What rich draws: names are no markup, and no text acts, wherever in a table it stands."""

from __future__ import annotations

import pytest
from rich.console import Group
from rich.table import Table

from cli.styling import CELL_CHARACTERS_AT_MOST, console, shown
from tests.attacks.words import MARKUP, WORDS, raw_characters


def drawn(*things: object) -> str:
    out = console()
    with out.capture() as captured:
        out.print(*things)
    return captured.get()


def table(*cells: str) -> Table:
    made = Table("HEAD")
    for cell in cells:
        made.add_row(cell)
    return made


@pytest.mark.parametrize("thing", [WORDS, shown(WORDS), table(WORDS), Group(WORDS, shown(WORDS, "bold"))])
def test_no_text_acts(thing: object) -> None:
    text = drawn(thing)
    assert not raw_characters(text)
    assert MARKUP in text


def test_a_cell_is_as_wide_as_what_is_shown() -> None:
    lines = drawn(table("\x1b\x1b\x1b", "x")).splitlines()
    assert len({len(line) for line in lines}) == 1


def test_a_cell_is_bounded() -> None:
    assert drawn(table("x" * 10**6)).count("x") <= CELL_CHARACTERS_AT_MOST
