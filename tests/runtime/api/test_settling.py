"""Calls that an authorizer refuses because it has not seen a binding yet, in virtual time."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from typing import Any

import pytest

from config.api.resources import SECRETS
from runtime.api import ApiError, get
from runtime.api.settling import PATIENCE_NS, REFUSED_NS, SettlingApi
from tests.runtime.api.test_limited import MS, Recorded, VirtualTime

REFUSED = ApiError(403, "Forbidden", "no relationship found between node 'n' and this object", "get secrets")
AWAY = ApiError(0, "Unreachable", "connection refused", "get secrets")
REPEATED_MS = [0, 10, 30, 70, 150, 310, 630]
"""When the attempts come: 10, 20, 40, ... ms apart, the last within a second."""


class Refusing(Recorded):
    """Refuses until a time."""

    def __init__(self, time: VirtualTime, until_ns: int, error: ApiError) -> None:
        super().__init__(time)
        self.until_ns = until_ns
        self.error = error

    def call(self, call: Any, *, timeout_ns: int | None = None) -> Future[Any]:
        answer = super().call(call, timeout_ns=timeout_ns)
        if self.time.now_ns < self.until_ns:
            answer.set_exception(self.error)
        else:
            answer.set_result("the secret")
        return answer

    def came_ms(self) -> list[int]:
        return [at_ns // MS for _, at_ns in self.came]


def world(until_ms: int, error: ApiError = REFUSED) -> tuple[VirtualTime, Refusing, SettlingApi]:
    time = VirtualTime()
    behind = Refusing(time, until_ms * MS, error)
    return time, behind, SettlingApi(behind, lambda: time.now_ns, time.schedule)


def ask(api: SettlingApi, name: str = "s") -> Any:
    return api.call(get(SECRETS, "default", name))


@pytest.mark.parametrize(("until_ms", "attempts"), [(0, 1), (1, 2), (10, 2), (11, 3), (60, 4), (100, 5), (600, 7)])
def test_a_refused_call_is_repeated_until_it_is_granted(until_ms: int, attempts: int):
    time, behind, api = world(until_ms)
    answer = ask(api)
    time.run_until(PATIENCE_NS)
    assert answer.result(0) == "the secret"
    assert behind.came_ms() == REPEATED_MS[:attempts]


@pytest.mark.usefixtures("no_collections")
def test_a_call_that_has_ended_is_freed_without_a_pass_of_the_garbage_collector():
    time, behind, api = world(until_ms=60)
    answer = ask(api)
    time.run_until(PATIENCE_NS)
    seen = [weakref.ref(each) for each in (answer, *behind.answers)]
    del answer
    behind.answers.clear()
    assert [each() for each in seen] == [None] * 5


def test_a_call_that_stays_refused_fails_within_a_second():
    time, behind, api = world(10_000)
    answer = ask(api)
    time.run_until(629 * MS)
    assert not answer.done()
    time.run_until(PATIENCE_NS)
    assert answer.exception(0) is REFUSED
    assert behind.came_ms() == REPEATED_MS


def test_a_call_that_stayed_refused_is_tried_once_per_ten_minutes():
    time, behind, api = world(10 * REFUSED_NS)
    ask(api)
    time.run_until(PATIENCE_NS)
    behind.came.clear()
    assert ask(api).exception(0) is REFUSED
    assert len(behind.came) == 1
    ask(api, "another")
    time.run_until(2 * PATIENCE_NS)
    assert len(behind.came) == 1 + len(REPEATED_MS), "another object has its own second"
    behind.came.clear()
    time.run_until(2 * PATIENCE_NS + REFUSED_NS)
    ask(api)
    time.run_until(3 * PATIENCE_NS + REFUSED_NS)
    assert len(behind.came) == len(REPEATED_MS)


def test_other_failures_are_told_at_once():
    _, behind, api = world(10_000, AWAY)
    assert ask(api).exception(0) is AWAY
    assert len(behind.came) == 1


def test_a_cancelled_call_is_not_repeated():
    time, behind, api = world(10_000)
    assert ask(api).cancel()
    time.run_until(PATIENCE_NS)
    assert behind.came_ms() == [0]


def test_cancelling_reaches_the_call_under_way():
    time = VirtualTime()
    behind = Recorded(time)
    ask(SettlingApi(behind, lambda: time.now_ns, time.schedule)).cancel()
    assert behind.answers[0].cancelled()
