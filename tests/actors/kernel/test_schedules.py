"""Random schedules of messages, failures, restarts and stops against a simple model.

Seeds order the actors.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import Any

import pykka
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.kernel import (
    Actor,
    ActorRef,
    ActorSystem,
    Interrupted,
    KernelError,
    MailboxOverflowed,
    Message,
    RestartStrategy,
    SimulatedDispatcher,
    handles,
)
from tests.actors.kernel.cast import MS, SECOND

SENDERS = 3
RECEIVERS = 3

STRATEGY = RestartStrategy(budget=4, window_ns=SECOND, initial_ns=MS, max_ns=4 * MS, parked_retry_ns=20 * MS)


class Plain(Message, frozen=True):
    sender: int
    serial: int


class Update(Message, frozen=True):
    """Coalesces by receiver and key; carries every serial that was merged into it."""

    sender: int
    key: int
    serials: tuple[int, ...]

    def coalesce_key(self) -> Any:
        return self.sender, self.key

    def merged(self, waiting: Update) -> Update:
        return Update(self.sender, self.key, waiting.serials + self.serials)


class Slowly(Message, frozen=True):
    serial: int
    ns: int


class Urgent(Message, frozen=True):
    interrupts = True
    serial: int


class Break(Message, frozen=True):
    serial: int


class Receiver(Actor):
    mailbox_capacity = 8

    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self.seen = seen

    def on_stop(self) -> None:
        self.seen.append("stopped")

    @handles(Plain, Update, Urgent)
    def take(self, message: Any) -> Any:
        self.seen.append(message)
        return message

    @handles(Slowly)
    async def slowly(self, message: Slowly) -> Any:
        self.seen.append(message)
        try:
            await self.sleep(message.ns)
        except Interrupted:
            self.seen.append(("interrupted", message.serial))
            raise
        return message

    @handles(Break)
    def fall(self, message: Break) -> None:
        self.seen.append(message)
        raise ValueError("as told")

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        self.seen.append(message)


receivers = st.integers(0, RECEIVERS - 1)
steps = st.one_of(
    st.tuples(st.just("plain"), receivers, st.integers(0, SENDERS - 1)),
    st.tuples(st.just("update"), receivers, st.integers(0, SENDERS - 1), st.integers(0, 1)),
    st.tuples(st.just("ask"), receivers),
    st.tuples(st.just("ask slowly"), receivers, st.integers(0, 10)),
    st.tuples(st.just("slowly"), receivers, st.integers(0, 10)),
    st.tuples(st.just("urgent"), receivers),
    st.tuples(st.just("break"), receivers),
    st.tuples(st.just("ask to break"), receivers),
    st.tuples(st.just("stop"), receivers),
    st.tuples(st.just("pass"), st.integers(0, 30)),
    st.tuples(st.just("step"), st.integers(1, 5)),
)


class Run:
    """One schedule, played."""

    def __init__(self, seed: int) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.seen: list[list[Any]] = [[] for _ in range(RECEIVERS)]
        self.refs: list[ActorRef] = [
            self.system.spawn(Receiver, self.seen[number], name=f"r{number}", strategy=STRATEGY)
            for number in range(RECEIVERS)
        ]
        self.asked: list[Any] = []
        self.serial = 0

    def play(self, schedule: list[tuple[Any, ...]]) -> None:
        for what, *rest in schedule:
            self.serial += 1
            if what == "pass":
                self.dispatcher.run_for(rest[0] * MS)
            elif what == "step":
                for _ in range(rest[0]):
                    self.dispatcher.step(self.dispatcher.now_ns())
            else:
                self.send(what, self.refs[rest[0]], rest[1:])
        self.serial += 1
        for ref in self.refs:
            self.asked.append(ref.ask(Plain(-1, self.serial), block=False))
        self.dispatcher.run_for(60 * SECOND)
        self.system.stop()

    def send(self, what: str, ref: ActorRef, more: list[int]) -> None:
        serial = self.serial
        if what == "plain":
            ref.tell(Plain(more[0], serial))
        elif what == "update":
            ref.tell(Update(more[0], more[1], (serial,)))
        elif what == "ask":
            self.asked.append(ref.ask(Plain(-1, serial), block=False))
        elif what == "ask slowly":
            self.asked.append(ref.ask(Slowly(serial, more[0] * MS), block=False))
        elif what == "slowly":
            ref.tell(Slowly(serial, more[0] * MS))
        elif what == "urgent":
            ref.tell(Urgent(serial))
        elif what == "break":
            ref.tell(Break(serial))
        elif what == "ask to break":
            self.asked.append(ref.ask(Break(serial), block=False))
        elif what == "stop":
            ref.stop(block=False)


def serials_of(message: Any) -> tuple[int, ...]:
    if isinstance(message, Update):
        return message.serials
    return () if isinstance(message, str | tuple | MailboxOverflowed) else (message.serial,)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=60), st.integers(0, 2**32))
def test_whatever_happens_the_promises_hold(schedule: list[tuple[Any, ...]], seed: int):
    run = Run(seed)
    run.play(schedule)
    for seen in run.seen:
        handled = [serial for message in seen for serial in serials_of(message)]
        assert len(handled) == len(set(handled)), "a message was handled twice"
        assert "stopped" not in seen[:-1], "something was handled after the stop"
        by_sender: dict[Any, list[int]] = defaultdict(list)
        for message in seen:
            if isinstance(message, Plain):
                by_sender[message.sender].append(message.serial)
            elif isinstance(message, Update):
                by_sender[message.sender, message.key].extend(message.serials)
        assert all(serials == sorted(serials) for serials in by_sender.values()), "the order of a sender is not kept"
    for future in run.asked:
        assert future.done(), "a question was never answered"
        # An answer too: the failure, the refusal, or the end of who was asked.
        with contextlib.suppress(ValueError, KernelError, pykka.ActorDeadError):
            future.get()


@settings(max_examples=60, deadline=None)
@given(st.lists(steps.filter(lambda step: step[0] != "stop"), max_size=40), st.integers(0, 2**32))
def test_without_a_stop_everything_is_handled_or_counted_as_lost(schedule: list[tuple[Any, ...]], seed: int):
    run = Run(seed)
    run.play(schedule)
    handled = sum(len(serials_of(message)) for seen in run.seen for message in seen)
    told = sum(step[0] not in ("pass", "step") for step in schedule) + RECEIVERS
    assert handled + run.system.dead_letters.total() == told
    heard = sum(message.dropped for seen in run.seen for message in seen if isinstance(message, MailboxOverflowed))
    assert heard == run.system.dead_letters.total()


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, max_size=40), st.integers(0, 2**32))
def test_a_schedule_played_again_is_the_same(schedule: list[tuple[Any, ...]], seed: int):
    first, second = Run(seed), Run(seed)
    first.play(schedule)
    second.play(schedule)
    assert first.seen == second.seen
