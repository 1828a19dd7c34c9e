"""`PullTurns`: pods take turns with their pulls, within the limits of the node."""

from __future__ import annotations

import pytest

from actors.images.pull_flights import Flight, PullLimits, PullWaiter
from actors.images.pull_turns import PullTurns
from actors.kernel import ActorRef
from actors.messages.images import PullImage
from config.objects import ObjectMeta, Pod, PodSpec
from tests.work import lines_of

NOBODY: ActorRef = None  # type: ignore[assignment]  # no turn tells anybody anything


class Line:
    """Flights by their image; the pods that wait for one are letters, critical ones capital."""

    def __init__(self, at_once: int = 1, per_second: int = 0) -> None:
        self.turns = PullTurns(PullLimits.of(False, at_once, per_second, 1), 0)
        self.flights: dict[str, Flight] = {}

    def ask(self, pod: str, image: str, *, checks: bool = False) -> Flight:
        number = len(self.flights)
        flight = self.flights.setdefault(image, Flight((image, (), ""), 0, number))
        priority = 2_000_000_000 if pod.isupper() else 0
        made = Pod(metadata=ObjectMeta(name=pod, namespace="shop", uid=pod), spec=PodSpec(priority=priority))
        waiter = PullWaiter(PullImage(NOBODY, made, f"of {image}", image, ""), 0, checks)
        flight.join((pod, waiter.request.container), waiter)
        self.turns.join(flight, made)
        return flight

    def begin(self, now_ns: int = 0) -> str:
        """The images of the flights that begin now."""
        begun: list[str] = []
        while (flight := self.turns.begin(now_ns)) is not None:
            flight.started_ns = now_ns
            begun.append(flight.image)
        return " ".join(begun)

    def end(self, image: str) -> None:
        self.turns.over(self.flights.pop(image))

    def all(self) -> str:
        """End each pull as soon as it is in the air; the order in which they began."""
        begun: list[str] = []
        while image := self.begin():
            begun.append(image)
            self.end(image)
        return " ".join(begun)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1", "a1 b1 a2 a3"),
        ("a1 a2 b1 b2 c1", "a1 b1 c1 a2 b2"),
        ("a1 a2 b1 Z1 Z2", "Z1 Z2 a1 b1 a2"),
    ],
)
def test_pods_take_turns(asked: str, expected: str) -> None:
    line = Line()
    for each in asked.split():
        line.ask(each[0], each)
    assert line.all() == expected


def test_a_flight_begins_in_the_turn_of_the_first_pod_that_waits_for_it() -> None:
    line = Line()
    for each in ("one", "two", "three", "shared"):
        line.ask("a", each)
    line.ask("b", "shared")
    assert line.begin() == "one"
    assert line.turns.why_not_yet(line.flights["shared"]) == "one comes first, in the turn of pod shop/a"
    line.end("one")
    assert line.all() == "shared two three", "and only once"


# (spec 6.2.1)
def test_as_many_as_allowed_are_in_the_air() -> None:
    line = Line(at_once=3)
    for number in range(5):
        line.ask("a", str(number))
    assert line.begin() == "0 1 2"
    assert line.turns.why_not_yet(line.flights["3"]) == "0 and 2 more come first, it in the turn of pod shop/a"
    line.end("1")
    assert line.begin() == "3"


def test_the_rate_says_how_long_to_wait() -> None:
    line = Line(at_once=9, per_second=2)
    line.ask("a", "1")
    line.ask("a", "2")
    assert line.begin() == "1"
    assert line.turns.wait_ns == 500_000_000
    assert line.turns.why_not_yet(line.flights["2"]) == "the rate of pulls allows none now"
    assert line.begin(500_000_000) == "2"
    assert line.turns.wait_ns == 0


def test_a_flight_that_is_held_or_has_lost_its_pod_costs_no_turn() -> None:
    line = Line()
    held = line.ask("a", "held", checks=True)
    held.asked = True
    left = line.ask("a", "left")
    left.leave(("a", "of left"))
    line.ask("a", "next")
    line.ask("b", "other")
    assert line.begin() == "next"
    assert "credential programs" in line.turns.why_not_yet(held)
    held.heard = True
    line.turns.wait(held)
    line.end("next")
    assert line.all() == "other held"


def test_a_flight_that_resumes_goes_before_the_others_of_its_pod_and_needs_no_token_of_the_rate() -> None:
    line = Line(at_once=1, per_second=1)
    for each in ("a1", "a2", "b1"):
        line.ask(each[0], each)
    first = line.flights["a1"]
    assert line.begin() == "a1"
    line.turns.over(first)
    first.asks = True
    assert line.begin(10**9) == "b1"
    first.asks, first.resumes = False, True
    line.turns.wait(first)
    line.end("b1")
    assert line.begin(10**9) == "a1"


def test_a_turn_costs_the_same_however_many_pulls_wait() -> None:
    def cost(waiting: int) -> int:
        line = Line()
        for number in range(waiting):
            line.ask("a", str(number))
        line.begin()

        def turn() -> None:
            line.ask("b", "mine")
            line.end("0")
            line.begin()

        return lines_of(turn)

    assert cost(2_000) == cost(20)
