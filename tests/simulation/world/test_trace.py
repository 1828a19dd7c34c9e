"""What happened, line by line: its hash, and its last lines."""

from __future__ import annotations

import pytest

from simulation.world.trace import LINES_AT_ONCE, LINES_KEPT, RollingTrace
from tests.attacks.words import WORDS, raw_characters

Handled = tuple[str, int, str, str, str]
"""Node, now in ns, actor, message, outcome."""

FIRST: Handled = ("node-0", 5, "/node/pleg", "Relist", "ok")


def traced(*lines: Handled) -> RollingTrace:
    trace = RollingTrace()
    for node, now_ns, actor, message, outcome in lines:
        trace.of(node)(now_ns, actor, message, outcome)
    return trace


@pytest.mark.parametrize(
    "other",
    [
        ("node-1", 5, "/node/pleg", "Relist", "ok"),
        ("node-0", 6, "/node/pleg", "Relist", "ok"),
        ("node-0", 5, "/node/plegs", "Relist", "ok"),
        ("node-0", 5, "/node/pleg", "Relists", "ok"),
        ("node-0", 5, "/node/pleg", "Relist", "interrupted"),
    ],
)
def test_any_difference_changes_the_hash_of_a_trace(other: Handled) -> None:
    assert traced(FIRST).hash() == traced(FIRST).hash()
    assert traced(FIRST, FIRST).hash() != traced(FIRST, other).hash()


def test_a_look_on_the_way_changes_no_hash() -> None:
    often, once = RollingTrace(), RollingTrace()
    for number in range(2 * LINES_AT_ONCE):
        for trace in (often, once):
            trace.of("node-0")(number, "/node", "Look", "ok")
        if number % 7 == 0:
            often.hash()
            often.last()
    assert often.hash() == once.hash()
    assert often.messages == once.messages == 2 * LINES_AT_ONCE


def test_the_last_lines_are_written_for_people_and_all_of_them_for_who_reads_them_all() -> None:
    read: list[str] = []
    trace = RollingTrace(read.append)
    for number in range(LINES_KEPT + 1):
        trace.of("node-0")(number, "/node/pleg", "Relist", "ok")
    trace.note(900, "world", "creates a-1")
    assert trace.last()[-2:] == (f"{LINES_KEPT} node-0/node/pleg Relist ok", "900 world creates a-1")
    assert len(trace.last()) == LINES_KEPT
    assert "".join(read).splitlines()[-LINES_KEPT:] == list(trace.last())
    assert trace.messages == LINES_KEPT + 1, "an operation of the world is no message"


def test_failures_of_actors_are_told() -> None:
    failed: list[tuple[str, str, str]] = []
    trace = RollingTrace()
    trace.on_failure = lambda *what: failed.append(what)
    trace.of("node-0")(5, "/node/pleg", "Relist", "failed: ValueError")
    trace.of("node-0")(5, "/node/pleg", "Relist", "ok")
    assert failed == [("node-0/node/pleg", "Relist", "failed: ValueError")]


def test_no_word_from_outside_forges_a_line_or_acts_on_who_reads_the_trace() -> None:
    read: list[str] = []
    trace = RollingTrace(read.append)
    answered = trace.told_answers("node-0", lambda: 7)
    assert answered is not None
    trace.of("node-0")(5, "/node/pleg", "Relist", f"failed {WORDS}")
    trace.note(6, "world", WORDS)
    answered("/runtime", WORDS)
    assert len(trace.last()) == 2
    assert "".join(read).count("\n") == 3
    assert not raw_characters("".join((*read, *trace.last())))
