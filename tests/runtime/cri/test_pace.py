"""How many calls that make something go on at once: the rules, and the queue."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from runtime.cri import CriError, StatusCode
from runtime.cri.messages import (
    CreateContainerRequest,
    RunPodSandboxRequest,
    StartContainerRequest,
    StartContainerResponse,
    StopPodSandboxRequest,
)
from runtime.cri.pace import LEAST, Pace
from runtime.cri.paced import PacedCri
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER, STOP_POD_SANDBOX
from runtime.io.pending import PendingAnswer

DEADLINE = 120


def crowded(slow: int = 60, at_once: int = 40) -> Pace:
    """Many calls began at once; one has succeeded after `slow`, and one has missed its deadline."""
    pace = Pace()
    for key in range(at_once):
        pace.begins(key, 0)
    pace.succeeded(0, slow, 0)
    pace.missed_deadline(1, DEADLINE)
    return pace


def test_as_many_as_there_are_go_on_at_once_until_a_deadline_is_missed() -> None:
    pace = Pace()
    for key in range(1000):
        assert pace.may_begin(key)
        pace.begins(key, key)


@pytest.mark.parametrize(
    ("slow", "at_once", "limit"),
    [
        (60, 40, 9),
        (30, 40, 9),
        (29, 40, None),  # quick enough: the call that missed its deadline hangs
        (60, 6, LEAST),
        (60, 2, LEAST),
    ],
)
def test_a_missed_deadline_beside_slow_successes_lets_fewer_go_on(slow: int, at_once: int, limit: int | None) -> None:
    assert crowded(slow, at_once).limit == limit


@pytest.mark.parametrize("at_once", [1, 3, 40])
def test_calls_that_hang_where_nothing_succeeds_hold_nobody_back(at_once: int) -> None:
    pace = Pace()
    for key in range(at_once):
        pace.begins(key, 0)
    assert not pace.missed_deadline(0, DEADLINE)
    assert pace.limit is None


def test_a_success_from_before_the_call_began_says_nothing_of_it() -> None:
    pace = Pace()
    pace.begins("hangs", 0)
    pace.begins("slow", 0)
    pace.succeeded("slow", 60, 0)
    pace.begins("later", 70)
    assert not pace.missed_deadline("later", 70 + DEADLINE)


def test_calls_of_before_the_reduction_do_not_reduce_again() -> None:
    pace = crowded()
    for key in range(2, 40):
        assert not pace.missed_deadline(key, DEADLINE + key)
    assert pace.limit == 9


def test_a_call_older_than_half_the_deadline_holds_no_place() -> None:
    pace = crowded(at_once=4)
    assert pace.limit == 2
    for key in ("a", "b"):
        assert pace.may_begin(DEADLINE)
        pace.begins(key, DEADLINE)
    assert not pace.may_begin(DEADLINE)
    assert pace.may_begin(DEADLINE + DEADLINE // 2)


def test_quick_successes_raise_the_limit_and_end_it_when_nothing_waits() -> None:
    pace, now = crowded(), DEADLINE
    for took, waiting, limit in ((15, 5, 9), (14, 5, 10), (60, 5, 10), (1, 1, 11), (1, 0, None)):
        pace.begins("one", now)
        now += took
        pace.succeeded("one", now, waiting)
        assert pace.limit == limit, (took, waiting)


class Runtime:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Future[Any]]] = []

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> PendingAnswer[Any]:
        self.asked.append((verb.name, Future()))
        return self.asked[-1][1]

    def stream(self, *_: Any) -> Any:
        raise NotImplementedError

    def late(self, index: int) -> None:
        self.asked[index][1].set_exception(CriError(StatusCode.DEADLINE_EXCEEDED, "too late", "RunPodSandbox"))


class Bench:
    """A runtime that is asked for eight sandboxes, is slow, and misses the deadline of the first two."""

    def __init__(self) -> None:
        self.now = 0
        self.runtime = Runtime()
        self.due: list[Callable[[], None]] = []
        self.cri = PacedCri(self.runtime, lambda: self.now, lambda _, then: self.due.append(then))
        for _ in range(8):
            self.sandbox()
        self.now = 60
        self.runtime.asked[7][1].set_result(None)
        self.now = DEADLINE
        for index in range(2):
            self.runtime.late(index)
        self.asked = len(self.runtime.asked)

    def sandbox(self) -> PendingAnswer[Any]:
        return self.cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest())

    def begun(self) -> list[str]:
        return [name for name, _ in self.runtime.asked[self.asked :]]


def test_more_calls_than_the_limit_wait_and_those_nearest_to_the_end_go_first() -> None:
    bench = Bench()
    first = [bench.sandbox() for _ in range(4)]
    created = bench.cri.call(CREATE_CONTAINER, CreateContainerRequest())
    started = bench.cri.call(START_CONTAINER, StartContainerRequest())
    assert bench.begun() == ["RunPodSandbox"] * 2
    bench.now += 60
    bench.runtime.asked[bench.asked][1].set_result(None)
    assert first[0].done()
    assert bench.begun()[2:] == ["StartContainer", "CreateContainer"], "old calls hold no place"
    bench.runtime.asked[-2][1].set_result(StartContainerResponse())
    assert started.result(0) == StartContainerResponse()
    assert not created.done()


def test_other_verbs_wait_for_nobody() -> None:
    bench = Bench()
    for _ in range(4):
        bench.sandbox()
    bench.cri.call(STOP_POD_SANDBOX, StopPodSandboxRequest())
    assert bench.begun() == ["RunPodSandbox"] * 2 + ["StopPodSandbox"]


def test_a_call_that_is_given_up_while_it_waits_is_never_begun() -> None:
    bench = Bench()
    waiting = [bench.sandbox() for _ in range(5)]
    assert waiting[2].cancel()
    for place in range(2):
        bench.runtime.asked[bench.asked + place][1].set_result(None)
    assert len(bench.begun()) == 4


def test_giving_up_a_call_that_waited_reaches_the_runtime() -> None:
    bench = Bench()
    waiting = [bench.sandbox() for _ in range(3)]
    bench.runtime.asked[bench.asked][1].set_result(None)
    assert waiting[2].cancel()
    assert bench.runtime.asked[-1][1].cancelled()


def test_a_failure_is_passed_on_and_gives_its_place_away() -> None:
    bench = Bench()
    waiting = [bench.sandbox() for _ in range(4)]
    refusal = CriError(StatusCode.UNKNOWN, "no", "RunPodSandbox")
    for place in range(3):
        bench.runtime.asked[bench.asked + place][1].set_exception(refusal)
    assert waiting[2].exception(0) is refusal
    assert len(bench.begun()) == 4


def test_calls_that_hang_hand_their_places_on_though_nothing_ends() -> None:
    bench = Bench()
    for _ in range(4):
        bench.sandbox()
    assert len(bench.begun()) == 2
    bench.now += DEADLINE // 2
    for then in bench.due:
        then()
    assert len(bench.begun()) == 4


@pytest.mark.parametrize("pods", [60, 110])
def test_a_node_full_of_pods_comes_up_on_a_machine_that_is_too_slow_for_all_at_once(pods: int) -> None:
    """One CPU, of which each call needs ten seconds; the oldest has half of it, and all share the rest."""
    now = 0
    runtime = Runtime()
    cri = PacedCri(runtime, lambda: now, lambda _, __: None)
    waiting = [cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest()) for _ in range(pods)]
    done: dict[int, float] = {}
    began: dict[int, int] = {}
    while waiting and now < pods * 10 + 2 * DEADLINE:
        now += 1
        going = [index for index, (_, answer) in enumerate(runtime.asked) if not answer.done()]
        for index in going:
            done[index] = done.get(index, 0.0) + 0.5 / len(going) + (0.5 if index == going[0] else 0.0)
            began.setdefault(index, now)
            if done[index] >= 10:
                runtime.asked[index][1].set_result(None)
            elif now - began[index] >= DEADLINE:
                runtime.late(index)
        again = [each for each in waiting if each.done() and each.exception(0)]
        waiting = [each for each in waiting if not each.done()]
        waiting += [cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest()) for _ in again]
    assert waiting == []
