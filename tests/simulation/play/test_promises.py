"""Which rules a scenario asks for by itself, and that they come first."""

from __future__ import annotations

from pathlib import Path

import pytest

import simulation
from simulation.play.promises import OF_LEASES, OF_MIXES, promises_first, promises_of
from simulation.scenarios.scenario import read_scenario

TEXT = "about: a test\npods: [{{name: a, count: 1{}}}]\n{}"


@pytest.mark.parametrize(
    ("of_mix", "of_scenario", "rules"),
    [
        ("", "", set()),
        (", startsWithin: 1s", "", {"starts-in-time", "the-newest-starts-in-time"}),
        (", steady: true, endsWithin: 9s", "", {"the-steady-start-once", "the-steady-stay-ready", "ends-in-time"}),
        ("", "leasesEvery: 10s", {"leases-are-renewed-in-time"}),
    ],
)
def test_a_limit_in_the_scenario_is_its_promise(of_mix: str, of_scenario: str, rules: set[str]):
    assert promises_of(read_scenario(TEXT.format(of_mix, of_scenario).encode())) == rules


def test_promises_come_first_and_else_the_order_stays():
    assert promises_first(["c", "b", "c", "a", "d"], frozenset({"a", "b"})) == ["b", "a", "c", "d"]


def test_every_promise_is_a_rule_that_some_code_judges():
    root = Path(simulation.__file__).parent
    code = "\n".join(file.read_text() for file in root.rglob("*.py") if file.name != "promises.py")
    for rule in (*(rule for rules in OF_MIXES.values() for rule in rules), OF_LEASES):
        assert f'violated("{rule}"' in code or f"def {rule.replace('-', '_')}(" in code, rule
