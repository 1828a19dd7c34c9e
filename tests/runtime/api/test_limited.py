"""The limit in front of an API server, in virtual time."""

from __future__ import annotations

import heapq
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from config.api.resources import NODES, PODS
from runtime.api import ApiError, get, in_turn_of, watch_objects
from runtime.api.limited import LimitedApi
from runtime.api.token_bucket import TokenBucket

MS = 1_000_000
WATCH = watch_objects(PODS, resource_version="1")


class VirtualTime:
    def __init__(self) -> None:
        self.now_ns = 0
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self.timers_made = 0

    def schedule(self, after_ns: int, operation: Callable[[], None]) -> None:
        self.timers_made += 1
        heapq.heappush(self._timers, (self.now_ns + after_ns, self.timers_made, operation))

    def run_until(self, end_ns: int) -> None:
        while self._timers and self._timers[0][0] <= end_ns:
            self.now_ns, _, operation = heapq.heappop(self._timers)
            operation()
        self.now_ns = end_ns


class Recorded:
    """An `Api` that notes when a call reaches it."""

    def __init__(self, time: VirtualTime) -> None:
        self.time = time
        self.came: list[tuple[str, int]] = []
        self.answers: list[Future[Any]] = []
        self.closed: list[str] = []

    def call(self, call: Any, *, timeout_ns: int | None = None) -> Future[Any]:
        self.came.append((call.verb.rpartition("/")[2], self.time.now_ns))
        self.answers.append(Future())
        return self.answers[-1]

    def watch(self, call: Any, on_event: Any, on_end: Any) -> Recorded:
        self.came.append((call.verb, self.time.now_ns))
        return self

    def close(self) -> None:
        self.closed.append("watch")


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def behind(time: VirtualTime) -> Recorded:
    return Recorded(time)


@pytest.fixture
def api(time: VirtualTime, behind: Recorded) -> LimitedApi:
    """10 a second, 2 at once."""
    return LimitedApi(behind, TokenBucket(10, 2), lambda: time.now_ns, time.schedule)


def ask(api: LimitedApi, name: str) -> Any:
    return api.call(get(PODS, "default", name))


def test_calls_leave_in_the_order_they_came(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for name in "abcde":
        ask(api, name)
    assert behind.came == [("a", 0), ("b", 0)]
    assert api.waiting == 3
    time.run_until(150 * MS)
    ask(api, "f")
    time.run_until(1000 * MS)
    assert behind.came[2:] == [("c", 100 * MS), ("d", 200 * MS), ("e", 300 * MS), ("f", 400 * MS)]


def test_many_calls_of_one_kind_do_not_hold_up_the_others(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for name in "abcdefgh":
        ask(api, name)
    api.call(get(NODES, "", "n"))
    ask(api, "i")
    api.watch(WATCH, lambda _: None, lambda _: None)
    time.run_until(2000 * MS)
    assert [each for each, _ in behind.came] == ["a", "b", "c", "get nodes n", "watch pods", *"defghi"]


def ask_for_pod(api: LimitedApi, uid: str, name: str, *, urgent: bool = False) -> Any:
    return api.call(in_turn_of(get(PODS, "default", name), uid, urgent=urgent))


def test_a_pod_with_thousands_of_calls_delays_another_by_one_turn(
    api: LimitedApi, behind: Recorded, time: VirtualTime
) -> None:
    for number in range(3_000):
        ask_for_pod(api, "large", str(number))
    ask_for_pod(api, "small", "mine")
    api.watch(in_turn_of(WATCH, "small"), lambda _: None, lambda _: None)
    time.run_until(1000 * MS)
    assert [each for each, _ in behind.came[:5]] == ["0", "1", "2", "watch pods", "mine"]


def names_by_time(behind: Recorded) -> dict[str, int]:
    return dict(behind.came)


def test_a_pod_with_thousands_of_calls_leaves_half_of_the_burst_to_others(behind: Recorded, time: VirtualTime) -> None:
    api = LimitedApi(behind, TokenBucket(10, 40), lambda: time.now_ns, time.schedule)
    for number in range(1_000):
        ask_for_pod(api, "large", f"large-{number}")
    assert len(behind.came) == 20
    for second in range(10):
        time.run_until(second * 1000 * MS)
        for number in range(5):
            ask_for_pod(api, f"small-{second}", f"{second}-{number}")
    when = names_by_time(behind)
    waited = [when[f"{second}-{number}"] - second * 1000 * MS for second in range(10) for number in range(5)]
    assert waited == [0] * 50


def test_no_token_is_lost_while_nobody_else_wants_it(behind: Recorded, time: VirtualTime) -> None:
    api = LimitedApi(behind, TokenBucket(10, 40), lambda: time.now_ns, time.schedule)
    for number in range(1_000):
        ask_for_pod(api, "large", str(number))
    time.run_until(20_000 * MS)
    assert len(behind.came) == 20 + 200


def test_many_small_pods_do_not_stop_a_large_one(behind: Recorded, time: VirtualTime) -> None:
    api = LimitedApi(behind, TokenBucket(10, 40), lambda: time.now_ns, time.schedule)
    for number in range(100):
        ask_for_pod(api, "large", f"large-{number}")
    for pod in range(200):
        time.run_until(pod * 50 * MS)
        ask_for_pod(api, f"small-{pod}", f"small-{pod}")
    came = [name for name, at in behind.came if name.startswith("large") and at > 5_000 * MS]
    assert len(came) >= 2
    assert len(behind.came) == 40 + 10 * 10 - 1


def test_calls_of_the_node_wait_behind_no_pod(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for uid in range(500):
        for number in range(3):
            ask_for_pod(api, str(uid), str(number), urgent=uid % 2 == 0)
    api.call(get(NODES, "", "n"))
    time.run_until(1000 * MS)
    assert "get nodes n" in [each for each, _ in behind.came[:4]]


def test_critical_pods_come_before_others(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for uid, name in ("xa", "xb", "xc", "xd", "yk", "zl", "zm", "yn"):
        ask_for_pod(api, uid, name, urgent=uid in "yz")
    time.run_until(1000 * MS)
    assert "".join(each for each, _ in behind.came) == "abklnmcd"


def test_calls_of_a_pod_that_were_cancelled_cost_it_no_turn(
    api: LimitedApi, behind: Recorded, time: VirtualTime
) -> None:
    waiting = [ask_for_pod(api, "x", name) for name in "abcdef"]
    for each in waiting[2:5]:
        each.cancel()
    for name in "kl":
        ask_for_pod(api, "y", name)
    time.run_until(1000 * MS)
    assert [each for each, _ in behind.came] == list("abfkl")


def test_one_timer_serves_the_whole_queue(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for number in range(100):
        ask(api, str(number))
    assert time.timers_made == 1
    time.run_until(60_000 * MS)
    assert len(behind.came) == 100
    assert time.timers_made == 98


def test_calls_that_wait_together_leave_together_and_no_slower(behind: Recorded, time: VirtualTime) -> None:
    bucket = TokenBucket(50, 100)
    api = LimitedApi(behind, bucket, lambda: time.now_ns, time.schedule, together_ns=140 * MS)
    for number in range(500):
        ask(api, str(number))
    time.run_until(20_000 * MS)
    waves = sorted({at_ns for _, at_ns in behind.came})
    assert len(behind.came) == 500
    assert len(waves) <= 1 + 400 / 8
    assert behind.came[-1][1] <= 400 * 20 * MS + 140 * MS


@pytest.mark.parametrize(("burst", "expected"), [(1, [0, 100, 200, 300]), (2, [0, 0, 200, 200]), (9, [0, 0, 0, 0])])
def test_waiting_together_costs_no_token(burst: int, expected: list[int], behind: Recorded, time: VirtualTime) -> None:
    api = LimitedApi(behind, TokenBucket(10, burst), lambda: time.now_ns, time.schedule, together_ns=1000 * MS)
    for name in "abcd":
        ask(api, name)
    time.run_until(20_000 * MS)
    assert [at_ns for _, at_ns in behind.came] == [each * MS for each in expected]


def test_a_late_timer_lets_go_of_what_is_due(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    for name in "abcde":
        ask(api, name)
    time.now_ns = 250 * MS
    time.run_until(250 * MS)
    time.run_until(1000 * MS)
    assert [name for name, _ in behind.came] == list("abcde")


def test_a_cancelled_call_in_the_queue_takes_no_token(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    waiting = [ask(api, name) for name in "abcde"]
    assert waiting[2].cancel()
    assert waiting[3].cancel()
    time.run_until(1000 * MS)
    assert behind.came[2:] == [("e", 100 * MS)]


def test_an_answer_comes_through(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    waiting = [ask(api, name) for name in "abcdef"]
    time.run_until(1000 * MS)
    error = ApiError(404, "NotFound", "why", "get")
    for at in (0, 2):
        behind.answers[at].set_result(at)
        assert waiting[at].result(0) == at
    for at in (1, 3):
        behind.answers[at].set_exception(error)
        assert waiting[at].exception(0) is error
    assert waiting[4].cancel()
    assert behind.answers[4].cancelled(), "cancelling goes on to the call that has left"
    behind.answers[5].cancel()
    assert isinstance(waiting[5].exception(0), ApiError)


@pytest.mark.usefixtures("no_collections")
def test_a_call_that_has_ended_is_freed_without_a_pass_of_the_garbage_collector(
    api: LimitedApi, behind: Recorded, time: VirtualTime
) -> None:
    waiting = [ask(api, name) for name in "abcde"]
    time.run_until(1000 * MS)
    for answer in behind.answers[:4]:
        answer.set_result("pod")
    waiting[4].cancel()
    seen = [weakref.ref(answer) for answer in (*waiting, *behind.answers)]
    del waiting, answer
    behind.answers.clear()
    assert [each() for each in seen] == [None] * 10


def test_a_call_may_be_cancelled_in_the_moment_in_which_it_leaves(
    api: LimitedApi, behind: Recorded, time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = [ask(api, name) for name in "abc"][2]
    leave = behind.call

    def leave_and_cancel(call: Any, *, timeout_ns: int | None = None) -> Future[Any]:
        waiting.cancel()
        return leave(call, timeout_ns=timeout_ns)

    monkeypatch.setattr(behind, "call", leave_and_cancel)
    time.run_until(1000 * MS)
    assert behind.answers[2].cancelled()


def test_a_watch_waits_like_a_call(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    ask(api, "a")
    ends: list[Any] = []
    first, second, third = (api.watch(WATCH, lambda _: None, ends.append) for _ in range(3))
    second.close()
    assert ends == [None]
    second.close()
    time.run_until(1000 * MS)
    assert behind.came == [("a", 0), ("watch pods", 0), ("watch pods", 100 * MS)]
    third.close()
    first.close()
    assert behind.closed == ["watch", "watch"]
    assert ends == [None]


def test_closing_fails_what_waits(api: LimitedApi, behind: Recorded, time: VirtualTime) -> None:
    waiting = [ask(api, name) for name in "abc"]
    ends: list[Any] = []
    api.watch(WATCH, lambda _: None, ends.append)
    api.close()
    for error in (waiting[2].exception(0), ends[0]):
        assert isinstance(error, ApiError)
        assert error.message == "the client was closed"
    time.run_until(1000 * MS)
    assert [name for name, _ in behind.came] == ["a", "b"]
    ask(api, "d")
    assert [name for name, _ in behind.came] == ["a", "b", "d"], "what is behind says that it is closed"


def test_a_scheduler_that_has_ended_fails_the_call(behind: Recorded, time: VirtualTime) -> None:
    def ended(_: int, __: Callable[[], None]) -> None:
        raise RuntimeError("closed")

    api = LimitedApi(behind, TokenBucket(10, 1), lambda: 0, ended)
    ask(api, "a")
    assert isinstance(ask(api, "b").exception(0), ApiError)
