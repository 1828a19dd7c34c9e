"""docs/explanation/threat-model.md names existing tests in each row, and what is not defended.

It does so for each party.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[^`]*)::([^`]*)`", PAGE)))
PARTIES = PAGE.split("\n## ")[1:]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(path: str, name: str) -> None:
    assert (ROOT / path).is_file(), f"there is no {path}"
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path} has no {name}"


@pytest.mark.parametrize("party", PARTIES, ids=[party.partition("\n")[0] for party in PARTIES])
def test_each_row_of_a_party_names_a_test_and_the_rest_is_said_to_be_open(party: str) -> None:
    rows = [line for line in party.splitlines() if line.startswith("| ") and not line.endswith("| test |")]
    assert rows
    assert [row for row in rows if "::test_" not in row] == []
    assert "\nNot defended: " in party
