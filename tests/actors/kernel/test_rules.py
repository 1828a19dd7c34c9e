"""The kernel's pure parts by table: the supervision rule, the mailbox, promises."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from actors.kernel import (
    ESCALATE,
    RESTART,
    STOP,
    Action,
    ActorStopped,
    BlockingInHandlerError,
    CancelledPromiseError,
    MailboxOverflowed,
    Promise,
    RestartStrategy,
    all_done,
    broken,
    describe,
    kept,
    outcome_of,
)
from actors.kernel.dead_letters import Reason
from actors.kernel.mailbox import Item, Mailbox
from actors.kernel.supervision import decide
from tests.actors.kernel.cast import SECOND, Interrupt, Latest, Say, Tick

THREE = RestartStrategy(
    budget=3, window_ns=10 * SECOND, initial_ns=SECOND, max_ns=3 * SECOND, jitter=0.5, parked_retry_ns=60 * SECOND
)


@pytest.mark.parametrize(
    ("strategy", "failures_s", "now_s", "chance", "action", "delay_s", "kept_s"),
    [
        pytest.param(THREE, (), 100, 0.0, Action.RESTART, 1, (100,), id="the first waits the initial time"),
        pytest.param(THREE, (99,), 100, 0.0, Action.RESTART, 2, (99, 100), id="the second twice as long"),
        pytest.param(THREE, (98, 99), 100, 0.0, Action.RESTART, 3, (98, 99, 100), id="the third at most the limit"),
        pytest.param(THREE, (), 100, 0.5, Action.RESTART, 1.25, (100,), id="chance adds up to the jitter"),
        pytest.param(THREE, (97, 98, 99), 100, 0.0, Action.PARK, 60, (97, 98, 99, 100), id="past the budget: parked"),
        pytest.param(THREE, (97, 98, 99), 100, 0.5, Action.PARK, 75, (97, 98, 99, 100), id="parking has jitter too"),
        pytest.param(THREE, (80, 90, 95), 100, 0.0, Action.RESTART, 2, (95, 100), id="forgiven outside the window"),
        pytest.param(THREE, (90,), 100, 0.0, Action.RESTART, 1, (100,), id="the window's end is outside"),
        pytest.param(STOP, (1,), 100, 0.9, Action.STOP, 0, (1,), id="stop"),
        pytest.param(ESCALATE, (), 100, 0.9, Action.ESCALATE, 0, (), id="escalate"),
    ],
)
def test_the_strategy_decides_whether_a_failed_actor_restarts_parks_or_stops(
    strategy: RestartStrategy,
    failures_s: tuple[int, ...],
    now_s: int,
    chance: float,
    action: Action,
    delay_s: float,
    kept_s: tuple[int, ...],
):
    verdict = decide(strategy, tuple(at * SECOND for at in failures_s), now_s * SECOND, chance)
    assert (verdict.action, verdict.delay_ns / SECOND) == (action, delay_s)
    assert verdict.failures == tuple(at * SECOND for at in kept_s)


def test_the_memory_of_failures_is_bounded_however_long_it_fails():
    failures: tuple[int, ...] = ()
    for at in range(10_000):
        verdict = decide(RESTART, failures, at, 0.5)
        failures = verdict.failures
    assert len(failures) == RESTART.budget + 1
    assert verdict.action is Action.PARK


def test_a_back_off_never_overflows():
    endless = RestartStrategy(budget=10**6, window_ns=10**18)
    assert decide(endless, tuple(range(5_000)), 5_000, 0.0).delay_ns == endless.max_ns


def drain(mailbox: Mailbox) -> list[Any]:
    taken = []
    while mailbox.has_messages():
        item = mailbox.take()
        taken.append(item.message)
    return taken


NOBODY: Any = None
SIGNAL = ActorStopped(NOBODY, "/x")


@pytest.mark.parametrize(
    ("posted", "taken"),
    [
        pytest.param([Tick(1), Tick(2), Tick(3)], [Tick(1), Tick(2), Tick(3)], id="first come, first served"),
        pytest.param([Tick(1), SIGNAL, Tick(2)], [SIGNAL, Tick(1), Tick(2)], id="signals first"),
        pytest.param([Tick(1), Interrupt("a"), SIGNAL], [Interrupt("a"), SIGNAL, Tick(1)], id="interrupts are urgent"),
        pytest.param(
            [Latest("k", 1), Tick(1), Latest("k", 2)],
            [Latest("k", 2, 2), Tick(1)],
            id="newest in oldest's place",
        ),
        pytest.param(
            [Latest("k", 1), Latest("l", 1)], [Latest("k", 1), Latest("l", 1)], id="other keys are other messages"
        ),
        pytest.param(
            [Tick(1), Tick(2), Tick(3), Tick(4), Tick(5)],
            [MailboxOverflowed(2), Tick(1), Tick(2), Tick(3)],
            id="what does not fit is counted",
        ),
        pytest.param(
            [Tick(1), Tick(2), Latest("k", 1), Latest("k", 2)],
            [Tick(1), Tick(2), Latest("k", 2, 2)],
            id="coalescing needs no room",
        ),
        pytest.param([SIGNAL] * 5, [SIGNAL] * 5, id="signals always fit"),
    ],
)
def test_a_mailbox_of_three_returns_messages_in_its_order(posted: list[Any], taken: list[Any]):
    mailbox = Mailbox(3)
    for now_ns, message in enumerate(posted):
        mailbox.post(message, None, "test", now_ns)
    assert mailbox.depth() == len(taken)
    assert mailbox.has_messages()
    assert drain(mailbox) == taken
    assert not mailbox.has_messages()
    assert mailbox.depth() == 0
    assert mailbox.oldest_since_ns() is None


def test_a_coalesced_message_is_as_old_as_the_first_of_its_key():
    mailbox = Mailbox(3)
    for at_ns in (100, 900):
        assert mailbox.post(Latest("k", 1), None, "test", at_ns) is None
    assert mailbox.depth() == 1
    assert mailbox.oldest_since_ns() == 100


def test_a_new_overflow_is_announced_after_the_first_was_handled():
    mailbox = Mailbox(1)
    outcomes = [mailbox.post(Tick(number), None, "test", 0) for number in range(3)]
    assert outcomes == [None, Reason.OVERFLOW, Reason.OVERFLOW]
    assert drain(mailbox) == [MailboxOverflowed(2), Tick(0)]
    mailbox.post(Tick(3), None, "test", 0)
    mailbox.post(Tick(4), None, "test", 0)
    assert drain(mailbox) == [MailboxOverflowed(1), Tick(3)]
    assert mailbox.dropped_total == 3


def test_the_first_interrupt_is_found_behind_signals_and_the_next_after_it():
    mailbox = Mailbox(5)
    assert mailbox.first_interrupt() is None
    for message in (SIGNAL, Interrupt("a"), SIGNAL, Interrupt("b")):
        mailbox.post(message, None, "test", 0)
    seen = []
    while mailbox.has_messages():
        seen.append(mailbox.first_interrupt())
        mailbox.take()
    assert seen == [Interrupt("a"), Interrupt("a"), Interrupt("b"), Interrupt("b")]


def test_a_closed_mailbox_gives_back_what_waited_and_takes_no_more():
    mailbox = Mailbox(5)
    for message in (Tick(1), SIGNAL):
        mailbox.post(message, None, "test", 0)
    left: list[Item] = mailbox.close()
    assert [item.message for item in left] == [SIGNAL, Tick(1)]
    assert mailbox.post(Tick(2), None, "test", 0) is Reason.STOPPED
    assert not mailbox.has_messages()


def test_a_mailbox_without_room_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Mailbox(0)


def test_a_message_that_waits_alone_is_met_by_its_key_and_overtaken_by_an_urgent_one():
    mailbox = Mailbox(1)
    mailbox.post(Latest("k", 1), None, "test", 7)
    assert not mailbox.has_urgent()
    assert mailbox.post(Latest("k", 2), None, "test", 8) is None
    assert (mailbox.depth(), mailbox.oldest_since_ns()) == (1, 7)
    assert mailbox.post(Latest("other", 3), None, "test", 9) is Reason.OVERFLOW
    mailbox.post(SIGNAL, None, "test", 9)
    assert [type(item.message) for item in mailbox.waiting()] == [MailboxOverflowed, ActorStopped, Latest]
    assert [type(each) for each in drain(mailbox)] == [MailboxOverflowed, ActorStopped, Latest]


def test_an_urgent_message_that_waits_alone_is_urgent():
    mailbox = Mailbox(1)
    mailbox.post(SIGNAL, None, "test", 0)
    assert mailbox.has_urgent()
    assert [item.message for item in mailbox.close()] == [SIGNAL]
    assert not mailbox.has_messages()


def test_a_mailbox_gives_the_memory_of_a_crowd_back():
    mailbox = Mailbox(10_000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(5_000):
            mailbox.post(Latest(str(number), 1), None, "test", 0)
            mailbox.post(Interrupt(str(number)), None, "test", 0)
        assert tracemalloc.get_traced_memory()[0] - before > 1_000_000
        while mailbox.has_messages():
            mailbox.take()
        assert tracemalloc.get_traced_memory()[0] - before < 200_000  # free lists of the interpreter
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("message", "text"), [(Say("x"), "Say"), (Latest("pod-1", 3), "Latest(pod-1)"), (object(), "object"), (5, "int")]
)
def test_messages_are_described_by_type_and_key(message: Any, text: str):
    assert describe(message) == text


@pytest.mark.parametrize(
    ("keep", "then"),
    [
        (lambda promise: promise.set_result(1), lambda promise: promise.set_result(2)),
        (lambda promise: promise.set_result(1), lambda promise: promise.set_exception(OSError())),
        (lambda promise: promise.set_result(1), lambda promise: promise.cancel()),
    ],
)
def test_a_promise_is_kept_once(keep: Callable[[Promise[int]], Any], then: Callable[[Promise[int]], Any]):
    promise: Promise[int] = Promise()
    seen: list[int] = []
    promise.add_done_callback(lambda done: seen.append(done.result()))
    keep(promise)
    then(promise)
    assert promise.result() == 1
    assert promise.exception() is None
    assert seen == [1]


def test_a_cancelled_promise_says_so_and_cannot_be_kept_any_more():
    promise: Promise[int] = Promise()
    assert promise.cancel()
    promise.set_result(1)
    assert promise.cancelled()
    assert not promise.cancel()
    with pytest.raises(CancelledPromiseError):
        promise.result()


def test_a_promise_never_blocks():
    with pytest.raises(BlockingInHandlerError):
        Promise[int]().result()


def test_a_callback_that_raises_does_not_keep_the_others_from_running(caplog: pytest.LogCaptureFixture):
    promise: Promise[int] = Promise()
    seen: list[str] = []
    promise.add_done_callback(lambda _: 1 / 0)
    promise.add_done_callback(lambda _: seen.append("ran"))
    promise.set_result(1)
    promise.add_done_callback(lambda _: 1 / 0)
    assert seen == ["ran"]
    assert caplog.text.count("a callback of a promise failed") == 2


def test_a_callback_may_add_callbacks_and_meets_a_kept_promise():
    promise: Promise[int] = Promise()
    seen: list[str] = []

    def first(done: Promise[int]) -> None:
        done.add_done_callback(lambda _: seen.append("inner"))
        seen.append("outer")
        done.set_result(5)

    promise.add_done_callback(first)
    promise.set_result(1)
    assert sorted(seen) == ["inner", "outer"]
    assert promise.result() == 1


def test_callbacks_run_exactly_once_and_values_are_set_once_whichever_threads_meet():
    for _ in range(300):
        promise: Promise[str] = Promise()
        ran: list[tuple[int, str]] = []
        start = threading.Barrier(4)

        def add(promise: Promise[str] = promise, ran: Any = ran, start: threading.Barrier = start) -> None:
            start.wait(120)
            for number in range(20):

                def note(done: Promise[str], number: int = number) -> None:
                    ran.append((number, done.result()))

                promise.add_done_callback(note)

        def keep(value: str, promise: Promise[str] = promise, start: threading.Barrier = start) -> None:
            start.wait(120)
            promise.set_result(value)

        threads = [threading.Thread(target=add) for _ in range(2)]
        threads += [threading.Thread(target=keep, args=(value,)) for value in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sorted(number for number, _ in ran) == sorted([*range(20), *range(20)])
        assert {value for _, value in ran} == {promise.result()}


def test_outcomes_and_all_done():
    waiting: Promise[int] = Promise()
    all_three = all_done([kept(1), broken(OSError("x")), waiting])
    assert not all_three.done()
    waiting.cancel()
    assert all_three.done()
    assert outcome_of(kept(1)).value == 1
    assert isinstance(outcome_of(broken(OSError("x"))).error, OSError)
    assert isinstance(outcome_of(waiting).error, CancelledPromiseError)
    assert all_done([]).done()
