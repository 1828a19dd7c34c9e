"""Rules in a process of their own: what they may use, and what becomes of those that take too much."""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil
import pytest

from simulation.validations.program import WAIT_S, RuleProgram, the_program

pytestmark = pytest.mark.skipif(the_program() is None, reason="actorlet[cel] is not installed")


@pytest.fixture(scope="module")
def program() -> RuleProgram:
    return RuleProgram()


ADDRESSES = ["10.0.0.1", "fd00::1", "10.0.0.01", "::ffff:1.2.3.4", "fe80::1%e", "a", ""]
NETWORKS = ["10.0.0.1/8", "fd00::/8", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0", "10.0.0.0/", "::ffff:1.2.3.4/96"]


def verdict(program: RuleProgram, rule: str, now: Any) -> Any:
    held = program.evaluate([(rule, "", False, now)])
    return held if held is None else held[0]


@pytest.mark.parametrize(
    ("rule", "now"),
    [
        ("self.find('[0-9]+') == '12'", "ab12"),
        ("self.findAll('[0-9]') == ['1', '2']", "1b2"),
        ("self.isSorted() && self.sum() == 6 && self.min() == 1 && self.max() == 3", [1, 2, 3]),
        ("sets.contains(self, [1]) && sets.intersects(self, [2, 9]) && sets.equivalent(self, [2, 1])", [1, 2]),
        ("self.filter(a, isIP(a)) == ['10.0.0.1', 'fd00::1']", ADDRESSES),
        ("self.filter(a, isCIDR(a)) == ['10.0.0.1/8', 'fd00::/8']", NETWORKS),
        ("self.lowerAscii().replace('a', 'b').split(',')[1] == 'b'", "x,A"),
        ("self.?missing.orValue(3) == 3 && !has(self.missing)", {}),
        ("math.greatest(self) == 2", [1, 2]),
        ("cel.bind(n, size(self), n == 2)", ["a", "b"]),
        ("duration(self) < duration('1h')", "5m"),
        ("timestamp(self) < timestamp('2030-01-01T00:00:00Z')", "2026-01-01T00:00:00Z"),
        ("self.a > 1 && self.b < 2.5", {"a": 2, "b": 2.0}),
    ],
)
def test_rules_may_use(program: RuleProgram, rule: str, now: Any) -> None:
    assert program.compile([(rule, "BOOL")]) == [""]
    assert verdict(program, rule, now) == (True, "")


@pytest.mark.parametrize(
    ("rule", "now", "told"),
    [
        ("self.x > 1", {}, 'Key not found in map : "x"'),
        ("self.all(a, self.all(b, true))", list(range(1000)), "Iteration budget exceeded"),
        ("self.min() == 1", [], "min"),
        ("self == 1", 2**70, "out of"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_says_why(program: RuleProgram, rule: str, now: Any, told: str) -> None:
    held, why = verdict(program, rule, now)
    assert held is None
    assert told in why


@pytest.mark.parametrize(
    "rule",
    [
        "self.replace('a', 'aaaaaaaaaa')" + ".replace('a', 'aaaaaaaaaa')" * 9 + ".size() > 0",
        "self.find('(a+)+$') == ''",
    ],
)
def test_a_rule_that_takes_too_much_is_ended_and_the_next_one_is_not(program: RuleProgram, rule: str) -> None:
    assert verdict(program, rule, "a" * 100 + "b") is None
    assert verdict(program, "self == 'a'", "a") == (True, "")


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_was_killed_while_idle_is_replaced_and_refuses_nothing(signal_number: int) -> None:
    program, before = RuleProgram(), children()
    assert verdict(program, "self == 'a'", "a") == (True, "")
    (child,) = children() - before
    os.kill(child, signal_number)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert verdict(program, "self == 'a'", "a") == (True, "")


@pytest.mark.parametrize("size", [1, 2**20], ids=["while it answers", "while it reads"])
def test_a_process_that_is_stopped_is_ended_and_the_next_request_gets_another(size: int) -> None:
    program, before = RuleProgram(), children()
    assert verdict(program, "self == 'a'", "a") == (True, "")
    (child,) = children() - before
    os.kill(child, signal.SIGSTOP)
    os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOWAIT)
    program.wait_s = 0.05
    assert verdict(program, "self == 'a'", "a" * size) is None
    assert child not in children()
    program.wait_s = WAIT_S
    assert verdict(program, "self != 'a'", "a" * size) == (size > 1, "")


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children()}


def test_nested_too_deep_is_an_error_and_no_crash(program: RuleProgram) -> None:
    (why,) = program.compile([("(" * 5000 + "true" + ")" * 5000, "BOOL")])
    assert "recursion" in why
