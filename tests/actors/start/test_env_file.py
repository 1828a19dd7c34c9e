"""Files of variables: what counts as a variable, and what is refused with its line (spec 13.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.start.env_file import EnvFileError, read_env_file


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("A='1'", {"A": "1"}, id="one"),
        pytest.param("A='1'\nB='2'\n", {"A": "1", "B": "2"}, id="two"),
        pytest.param("\n  \n# A='0'\n  # x\nA='1'\n", {"A": "1"}, id="blank lines and comments"),
        pytest.param("  A='1'", {"A": "1"}, id="space before the name"),
        pytest.param("A='a\nb\n'\nC='d'", {"A": "a\nb\n", "C": "d"}, id="a value of several lines"),
        pytest.param("A='# no $(B) \"x\" \\'", {"A": '# no $(B) "x" \\'}, id="nothing is special in quotes"),
        pytest.param('A=plain\nB="x"\nC=', {"A": "", "B": "", "C": ""}, id="without quotes it is empty"),
        pytest.param("A='1'x # y\nB='2'", {"A": "1", "B": "2"}, id="what follows the quote is passed over"),
        pytest.param("A='1'\nA='2'", {"A": "2"}, id="the last of a name counts"),
        pytest.param("A='x=y'", {"A": "x=y"}, id="a value with an equals sign"),
        pytest.param("A='1'\r\nB='2'\r\n", {"A": "1", "B": "2"}, id="lines of another system"),
    ],
)
# (spec 13.3.4)
def test_variables_of_a_file(text: str, variables: dict[str, str]) -> None:
    assert read_env_file(text) == variables


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A ='1'", "line 1: no space"),
        ("A='1'\nB", "line 2: must be"),
        ("='1'", "line 1: must be"),
        ("A='x\ny'\n\nB='", "line 4: the quote"),
    ],
)
# (spec 13.3.4)
def test_a_fault_is_told_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(EnvFileError, match=reason):
        read_env_file(text)


@given(st.dictionaries(st.from_regex(r"[A-Z_]+", fullmatch=True), st.text().filter(lambda text: "'" not in text)))
def test_whatever_is_written_in_quotes_is_read_back(variables: dict[str, str]) -> None:
    assert read_env_file("".join(f"{name}='{value}'\n" for name, value in variables.items())) == variables
