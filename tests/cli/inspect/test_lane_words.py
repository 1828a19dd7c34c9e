"""The place of a pod on the lanes, in words that a user understands."""

from __future__ import annotations

import pytest

from actors.kernel import KeyReport, LaneReport
from cli.inspect.lane_words import lane_line, places_of


def lane(*keys: KeyReport, exhausted: bool = False) -> LaneReport:
    lost = (("web", "Host.filesystem", 0),) * sum(key.hanging for key in keys)
    running, waiting = sum(key.running for key in keys), sum(key.waiting for key in keys)
    return LaneReport("disk", 3, 2, running, waiting, 5, lost, len(lost), exhausted, keys)


@pytest.mark.parametrize(
    ("running", "waiting", "hanging", "before", "words"),
    [
        (1, 0, 0, None, ""),
        (0, 1, 0, 0, "lane disk: 1 call waits; its turn is next"),
        (0, 12, 0, 1, "lane disk: 12 calls wait; 1 other has its turn before it"),
        (1, 2, 1, 7, "lane disk: 1 call runs, 2 wait, 1 hangs; 7 others have their turns before it"),
        (2, 1, 0, None, "lane disk: 2 calls run, 1 waits; the next starts when one of its own has returned"),
        (0, 0, 3, None, "lane disk: 3 calls hang"),
    ],
)
def test_the_place_of_a_pod(running: int, waiting: int, hanging: int, before: int | None, words: str):
    lanes = (lane(KeyReport("other", 0, 9, 9, 0), KeyReport("uid", running, waiting, hanging, before)),)
    assert list(places_of("uid", lanes)) == ([words] if words else [])


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (lane(), ""),
        (lane(KeyReport("a", 1, 0, 0, None)), "lane disk: 1 of 3 at work, 0 waiting"),
        (
            lane(KeyReport("a", 1, 2, 0, 0), KeyReport("b", 2, 5, 0, 1)),
            "lane disk: 3 of 3 at work, 7 waiting of 2 pods or things, which take turns",
        ),
        (
            lane(KeyReport("a", 0, 0, 1, None), exhausted=True),
            "lane disk: 0 of 3 at work, 0 waiting, 1 hangs, given up: web: Host.filesystem; "
            "it is full: all its calls hang, and it takes no more",
        ),
    ],
)
def test_a_lane_in_one_line(shown: LaneReport, words: str):
    assert lane_line(shown) == words
