"""Mailboxes of running actors: bounded, coalescing, urgent things first."""

from __future__ import annotations

from typing import Any

from actors.kernel import MailboxOverflowed, Message, Promise, describe, handles
from tests.actors.kernel.cast import (
    MS,
    Counter,
    Do,
    Interrupt,
    Later,
    Latest,
    Look,
    Narrow,
    Parent,
    Puppet,
    Say,
    Tick,
    Unknown,
    a_moment,
)
from tests.actors.kernel.drivers import Driver


def test_updates_of_one_key_coalesce_where_the_oldest_of_them_waits(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes, a_moment)
    for message in (Latest("a", 1), Say("between"), Latest("b", 1), Latest("a", 2), Latest("a", 3)):
        ref.tell(message)
    driver.until(lambda: len(notes) == 3)
    assert notes == [Latest("a", 3, seen=3), "between", Latest("b", 1)]


def test_only_the_newest_of_a_sole_message_waits(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes, a_moment)
    for message in (Look(1), Say("between"), Look(2)):
        ref.tell(message)
    driver.until(lambda: len(notes) == 2)
    assert notes == [Look(2), "between"]
    assert describe(Look(2)) == "Look"


def test_a_message_does_not_coalesce_with_one_that_is_being_handled(driver: Driver):
    notes: list[Any] = []
    promise: Promise[None] = Promise()

    class Slow(Puppet):
        async def heard(self, message: Message) -> None:  # type: ignore[override]  # slow where the puppet is quick
            await self.wait(promise)
            self.notes.append(message)

    ref = driver.spawn(Slow, notes)
    ref.tell(Latest("a", 1))
    driver.settle()
    ref.tell(Latest("a", 2))
    ref.tell(Latest("a", 3))
    promise.set_result(None)
    driver.until(lambda: len(notes) == 2)
    assert notes == [Latest("a", 1), Latest("a", 3, seen=2)]


def test_questions_never_coalesce(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes, a_moment)
    futures = [ref.ask(Latest("a", version), block=False) for version in range(3)]
    for future in futures:
        assert future.get() is None
    assert [message.version for message in notes] == [0, 1, 2]


def test_a_full_mailbox_refuses_and_tells_its_owner_once_how_much(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Narrow, notes, a_moment)
    for number in range(10):
        ref.tell(Tick(number))
    driver.until(lambda: len(notes) == 4)
    assert notes == [MailboxOverflowed(7), Tick(0), Tick(1), Tick(2)]
    assert driver.system.dead_letters.counts() == {("OVERFLOW", "Tick"): 7}
    ref.tell(Tick(10))
    driver.until(lambda: notes[-1] == Tick(10))
    assert notes.count(MailboxOverflowed(7)) == 1


def test_an_actor_that_messages_itself_about_an_overflow_still_handles_its_mailbox(driver: Driver):
    """Its message to itself is refused too. It hears of that, sends itself another, and so on."""
    notes: list[Any] = []

    class TellsItself(Narrow):
        @handles(MailboxOverflowed)
        def overflowed(self, message: MailboxOverflowed) -> None:
            self.notes.append(message)
            self.ref.tell(Say("looked again"))

    ref = driver.spawn(TellsItself, notes, a_moment)
    for number in range(4):
        ref.tell(Tick(number))
    driver.until(lambda: "looked again" in notes)
    driver.settle()
    assert notes == [
        MailboxOverflowed(1),
        Tick(0),
        MailboxOverflowed(1),
        Tick(1),
        Tick(2),
        "looked again",
    ]


def test_a_full_mailbox_still_takes_the_newest_of_a_key_that_waits(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Narrow, notes, a_moment)
    for version in range(100):
        for key in "abc":
            ref.tell(Latest(key, version))
    driver.until(lambda: len(notes) == 3)
    assert notes == [Latest(key, 99, seen=100) for key in "abc"]
    assert driver.system.dead_letters.total() == 0


def test_a_full_mailbox_takes_the_ticks_of_its_owners_timers(driver: Driver):
    """A timer whose only tick is lost would never be set again, so one tick of each timer may wait."""
    notes: list[Any] = []

    async def be_busy(puppet: Puppet) -> None:
        for number in range(4):
            puppet.ref.tell(Tick(number))
        puppet.after(2 * MS, Say("limit"))
        puppet.every(MS, Tick(7), key="beat")
        await puppet.sleep(10 * MS)
        puppet.cancel_timer("beat")

    ref = driver.spawn(Narrow, notes)
    ref.tell(Later(be_busy))
    driver.until(lambda: "limit" in notes)
    assert notes == [MailboxOverflowed(1), Tick(0), Tick(1), Tick(2), "limit"]


def test_interrupts_go_before_what_waits_even_into_a_full_mailbox(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Narrow, notes, a_moment)
    for number in range(3):
        ref.tell(Tick(number))
    ref.tell(Interrupt())
    driver.until(lambda: len(notes) == 4)
    assert notes == [Interrupt(), Tick(0), Tick(1), Tick(2)]


def test_interrupts_are_bounded_like_everything_else(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Narrow, notes, a_moment)
    for number in range(10):
        ref.tell(Interrupt(str(number)))
    driver.until(lambda: len(notes) == 4)
    assert notes == [*(Interrupt(str(number)) for number in range(3)), MailboxOverflowed(7)]


def test_signals_reach_an_actor_whose_mailbox_is_full(driver: Driver):
    """Each child's death is told, however many die while the parent is busy."""
    notes: list[Any] = []
    children = tuple((f"c{number}", Puppet, ()) for number in range(50))

    class Small(Parent):
        mailbox_capacity = 1

    parent = driver.spawn(Small, notes, children, name="parent")
    refs = [parent.ask(Say(name)) for name, _, _ in children]
    for ref in refs:
        ref.stop(block=False)
    driver.until(lambda: len(notes) == 51)
    assert {note.path for note in notes[1:]} == {ref.path for ref in refs}


def test_the_overflow_of_an_actor_that_does_not_care_is_no_dead_letter(driver: Driver):
    class Careless(Counter):
        mailbox_capacity = 1

    ref = driver.spawn(Careless, [], name="careless")
    driver.settle()
    ref.tell(Later(lambda puppet: puppet.sleep(1)))  # unhandled: the only dead letter but for the refused
    driver.until(lambda: driver.system.dead_letters.counts() == {("UNHANDLED", "Later"): 1})


def test_messages_an_actor_sends_itself_wait_in_its_mailbox(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)

    def tell_twice(puppet: Puppet) -> None:
        puppet.ref.tell(Say("second"))
        puppet.ref.tell(Say("third"))
        notes.append("first")

    ref.tell(Do(tell_twice))
    driver.until(lambda: notes == ["first", "second", "third"])


def test_mail_for_an_actor_that_is_restarting_is_kept(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)
    ref.tell(Do(lambda puppet: 1 / 0))
    for number in range(20):
        ref.tell(Tick(number))
    ref.tell(Unknown())
    driver.until(lambda: len(notes) == 20)
    assert [note.number for note in notes] == list(range(20))


class Batching(Puppet):
    batch_window_ns = 500 * MS


def test_a_batching_actor_coalesces_messages_in_its_mailbox(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Batching, notes)
    driver.settle()
    ref.tell(Latest("a", 1))
    driver.settle()
    ref.tell(Say("between"))
    ref.tell(Latest("a", 2))
    driver.settle()
    assert notes == []
    driver.until(lambda: len(notes) == 2)
    assert notes == [Latest("a", 2, seen=2), "between"]
    ref.tell(Latest("a", 3))
    driver.until(lambda: len(notes) == 3)
    assert notes[2] == Latest("a", 3)


def test_a_question_to_a_batching_actor_is_answered_at_once_after_earlier_messages(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Batching, notes)
    driver.settle()
    ref.tell(Latest("a", 1))
    began_ns = driver.dispatcher.now_ns()
    assert ref.ask(Say("question")) == "question"
    assert driver.dispatcher.now_ns() - began_ns < 400 * MS
    assert notes == [Latest("a", 1), "question"]
    ref.tell(Latest("a", 2))
    ref.tell(Interrupt())
    driver.settle()
    assert notes[2:] == [Interrupt(), Latest("a", 2)]


def test_an_actor_knows_whether_more_waits(driver: Driver):
    notes: list[Any] = []

    class Patient(Puppet):
        def heard(self, message: Message) -> None:
            assert isinstance(message, Latest)
            self.notes.append((message.key, self.has_mail()))

    ref = driver.spawn(Patient, notes, a_moment)
    for key in "abc":
        ref.tell(Latest(key, 1))
    driver.until(lambda: len(notes) == 3)
    assert notes == [("a", True), ("b", True), ("c", False)]
