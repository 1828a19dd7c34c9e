"""Two plays are compared by the median and the longest wait of each kind."""

from __future__ import annotations

import pytest

from simulation.scenarios.pods import PodMix
from simulation.world.timings import END, MS, START, Timings

WEB = PodMix(name="web", count=1, slower_at_most=1.5)
USUAL = (100, 100, 200)


def timings(waits_ms: tuple[int, ...], what: str = START, mix: PodMix = WEB) -> Timings:
    found = Timings()
    for ms in waits_ms:
        found.waited(mix, what, ms * MS)
    return found


@pytest.mark.parametrize(
    ("waits_ms", "told"),
    [
        (USUAL, ()),
        ((150, 150, 300), ()),
        ((100, 151, 300), ("the median wait of web for its start was 151.0 ms, and 100.0 ms without greedy pods",)),
        ((100, 100, 301), ("the longest wait of web for its start was 301.0 ms, and 200.0 ms without greedy pods",)),
        ((100,), ()),
        ((), ("no web came to its start",)),
    ],
)
def test_what_takes_too_long_is_told(waits_ms: tuple[int, ...], told: tuple[str, ...]):
    assert tuple(timings(waits_ms).slower_than(timings(USUAL), WEB)) == told


def test_each_kind_of_wait_is_compared_with_its_own():
    both = timings((100,))
    both.waited(WEB, END, 900 * MS)
    told = list(both.slower_than(timings((500,), END), WEB))
    assert told == [
        "the median wait of web for its end was 900.0 ms, and 500.0 ms without greedy pods",
        "the longest wait of web for its end was 900.0 ms, and 500.0 ms without greedy pods",
    ]


def test_pods_without_a_limit_are_not_looked_at():
    free = PodMix(name="web", count=1)
    assert list(timings((), mix=free).slower_than(timings(USUAL, mix=free), free)) == []
