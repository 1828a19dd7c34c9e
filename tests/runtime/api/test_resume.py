"""What follows the end of a list or a watch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api import ApiError
from runtime.api.resume import (
    LONGEST_WAIT_NS,
    PROVEN_NS,
    SECOND_NS,
    ListFailed,
    ListSucceeded,
    Outcome,
    WatchAction,
    WatchEnded,
    WatchPlace,
    WatchStep,
    first_step,
    list_limit_ns,
    next_step,
    wait_ns,
    watch_seconds,
)

FIRST_NS, SECOND_WAIT_NS = 800_000_000, 1_600_000_000


def error(code: int, retry_after_ns: int | None = None) -> ApiError:
    return ApiError(code, "Reason", "why", "list pods", retry_after_ns)


def least() -> float:
    return 0.0


WATCHING = WatchPlace("7", synced=True)
FRESH = WatchPlace("7", synced=True, fresh=True)


@pytest.mark.parametrize(
    ("place", "outcome", "then", "step"),
    [
        pytest.param(
            WatchPlace(),
            ListSucceeded("7"),
            FRESH,
            WatchStep(WatchAction.WATCH, "7"),
            id="a list is followed by a watch",
        ),
        pytest.param(
            WatchPlace(failures=3),
            ListSucceeded("7"),
            WatchPlace("7", True, True, 3),
            WatchStep(WatchAction.WATCH, "7"),
            id="a list alone does not forget the failures",
        ),
        pytest.param(
            WatchPlace(),
            ListFailed(error(0)),
            WatchPlace(failures=1),
            WatchStep(WatchAction.LIST, "0", FIRST_NS),
            id="a failed list is repeated",
        ),
        pytest.param(
            WatchPlace("7", failures=1),
            ListFailed(error(503, 20 * SECOND_NS)),
            WatchPlace("7", failures=2),
            WatchStep(WatchAction.LIST, "7", 20 * SECOND_NS),
            id="the server asks for a longer wait",
        ),
        pytest.param(
            WatchPlace("7", failures=1),
            ListFailed(error(503, 1)),
            WatchPlace("7", failures=2),
            WatchStep(WatchAction.LIST, "7", SECOND_WAIT_NS),
            id="the server asks for a shorter wait",
        ),
        pytest.param(
            WatchPlace("7"),
            ListFailed(error(410)),
            WatchPlace("", failures=1),
            WatchStep(WatchAction.LIST, "", FIRST_NS),
            id="the version of a list is forgotten",
        ),
        pytest.param(
            WatchPlace("7"),
            ListFailed(error(504)),
            WatchPlace("", failures=1),
            WatchStep(WatchAction.LIST, "", FIRST_NS),
            id="the server is behind the version of a list",
        ),
        pytest.param(
            FRESH, WatchEnded(None, "9"), WatchPlace("9", True), WatchStep(WatchAction.WATCH, "9"), id="ended in order"
        ),
        pytest.param(
            WatchPlace("7", True, True, 5),
            WatchEnded(None, "", PROVEN_NS),
            WATCHING,
            WatchStep(WatchAction.WATCH, "7"),
            id="ended in order, nothing happened",
        ),
        pytest.param(
            FRESH,
            WatchEnded(None, "", PROVEN_NS - 1),
            WatchPlace("7", True, True, 1),
            WatchStep(WatchAction.WATCH, "7", FIRST_NS),
            id="ended in order far too soon",
        ),
        pytest.param(
            WATCHING,
            WatchEnded(error(0), "8"),
            WatchPlace("8", True, False, 1),
            WatchStep(WatchAction.WATCH, "8", FIRST_NS),
            id="cut after an event",
        ),
        pytest.param(
            WatchPlace("7", True, False, 1),
            WatchEnded(error(0)),
            WatchPlace("7", True, False, 2),
            WatchStep(WatchAction.WATCH, "7", SECOND_WAIT_NS),
            id="still unreachable",
        ),
        pytest.param(
            WATCHING,
            WatchEnded(error(429, 5 * SECOND_NS)),
            WatchPlace("7", True, False, 1),
            WatchStep(WatchAction.WATCH, "7", 5 * SECOND_NS),
            id="too many requests",
        ),
        pytest.param(
            WatchPlace("7", True, False, 9),
            WatchEnded(error(410)),
            WatchPlace("7", failures=9),
            WatchStep(WatchAction.LIST, "7"),
            id="forgotten after an absence: list at once",
        ),
        pytest.param(
            FRESH,
            WatchEnded(error(410), "8"),
            WatchPlace("8"),
            WatchStep(WatchAction.LIST, "8"),
            id="forgotten in the midst of events: list at once",
        ),
        pytest.param(
            FRESH,
            WatchEnded(error(410)),
            WatchPlace("7", fresh=True, failures=1),
            WatchStep(WatchAction.LIST, "7", FIRST_NS),
            id="forgotten right after a list: not at once",
        ),
        pytest.param(
            WATCHING,
            WatchEnded(error(403)),
            WatchPlace("7", failures=1),
            WatchStep(WatchAction.LIST, "7", FIRST_NS),
            id="refused: the list will say why",
        ),
    ],
)
def test_the_outcome_of_a_watch_decides_the_next_step(
    place: WatchPlace, outcome: Outcome, then: WatchPlace, step: WatchStep
) -> None:
    assert next_step(place, outcome, least) == (then, step)


def test_the_first_list_accepts_any_cached_version() -> None:
    assert first_step(WatchPlace()) == WatchStep(WatchAction.LIST, "0")
    assert first_step(WATCHING) == WatchStep(WatchAction.WATCH, "7")


def test_a_watch_that_never_works_after_a_list_waits_longer_each_time() -> None:
    place, waits = WatchPlace(), []
    for _ in range(8):
        place, _ = next_step(place, ListSucceeded("7"), least)
        place, step = next_step(place, WatchEnded(error(410)), least)
        assert step.action is WatchAction.LIST
        waits.append(step.after_ns)
    assert waits == [FIRST_NS * 2**n for n in range(5)] + [LONGEST_WAIT_NS // 2] * 3


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_every_wait_is_between_the_shortest_and_the_longest(failures: int, part: float) -> None:
    assert FIRST_NS <= wait_ns(failures, lambda: part) <= LONGEST_WAIT_NS


def test_a_list_gets_longer_after_each_failure_up_to_a_minute() -> None:
    limits = [list_limit_ns(WatchPlace(failures=failures)) // 10**9 for failures in (0, 1, 2, 3, 4, 5, 6, 10_000)]
    assert limits == [2, 4, 8, 16, 32, 60, 60, 60]


def test_watches_spread_out() -> None:
    assert watch_seconds(lambda: 0.0) == 300
    assert watch_seconds(lambda: 0.5) == 450
    assert watch_seconds(lambda: 0.999, 1800) == 3598
