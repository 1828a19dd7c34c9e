"""Messages find their handler by type.

What nobody handles is a fact about the system, never an error of the sender.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from actors.kernel import RESTART, Actor, Message, UnhandledMessageError, handles
from tests.actors.kernel.cast import Do, Latest, Puppet, Say, Tick, Unknown, a_moment
from tests.actors.kernel.drivers import Driver


def test_a_message_reaches_the_handler_of_its_very_type(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)
    ref.tell(Say("a"))
    ref.tell(Tick(1))
    driver.until(lambda: len(notes) == 2)
    assert notes == ["a", Tick(1)]


def test_one_actor_handles_one_message_at_a_time_in_the_order_of_each_sender(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)
    for number in range(500):
        ref.tell(Tick(number))
    driver.until(lambda: len(notes) == 500)
    assert [tick.number for tick in notes] == list(range(500))


def test_an_unknown_message_is_a_dead_letter_that_names_its_sender(driver: Driver, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    receiver = driver.spawn(Puppet, name="receiver")
    sender = driver.spawn(Puppet, name="sender")
    sender.tell(Do(lambda puppet: receiver.tell(Unknown())))
    receiver.tell(Unknown())
    driver.until(lambda: driver.system.dead_letters.total() == 2)
    assert {letter.sender for letter in driver.system.dead_letters.last()} == {"/sender", "outside"}
    assert driver.system.dead_letters.counts() == {("UNHANDLED", "Unknown"): 2}
    assert "dead letter Unknown" in caplog.text


def test_the_actor_lives_on_after_an_unknown_message(driver: Driver):
    ref = driver.spawn()
    ref.tell(Unknown())
    assert ref.ask(Say("still here")) == "still here"


def test_a_question_that_nobody_handles_is_answered_with_an_error(driver: Driver):
    with pytest.raises(UnhandledMessageError, match=r"/it has no handler for Unknown"):
        driver.spawn().ask(Unknown())


def test_a_message_of_any_class_may_be_handled(driver: Driver):
    class Plain:
        pass

    class Takes(Actor):
        @handles(Plain, int)
        def take(self, message: Any) -> str:
            return type(message).__name__

    ref = driver.spawn(Takes)
    assert (ref.ask(Plain()), ref.ask(5)) == ("Plain", "int")


def test_a_subclass_inherits_handlers_and_overriding_the_method_overrides_the_handler(driver: Driver):
    class Loud(Puppet):
        def say(self, message: Say) -> str:
            return message.text.upper()

    ref = driver.spawn(Loud)
    assert ref.ask(Say("hello")) == "HELLO"


def test_a_subclass_may_handle_a_type_with_another_method(driver: Driver):
    class Other(Puppet):
        @handles(Say)
        def other(self, message: Say) -> str:
            return "other"

    assert driver.spawn(Other).ask(Say("hello")) == "other"


def test_tell_never_raises_whatever_has_become_of_the_receiver(driver: Driver):
    ref = driver.spawn()
    assert ref.stop()
    ref.tell(Say("too late"))
    assert driver.system.dead_letters.counts() == {("STOPPED", "Say"): 1}


def test_tell_never_raises_for_a_message_whose_key_does(driver: Driver, caplog: pytest.LogCaptureFixture):
    class BadKey(Message, frozen=True):
        def coalesce_key(self) -> Any:
            raise RuntimeError("no key")

    class UnhashableKey(Message, frozen=True):
        def coalesce_key(self) -> Any:
            return []

    class BadMerge(Latest, frozen=True):
        def merged(self, waiting: Any) -> Any:
            raise RuntimeError("no merge")

    notes: list[Any] = []

    class Takes(Puppet):
        @handles(BadKey, UnhashableKey, BadMerge)
        def take(self, message: Any) -> None:
            self.notes.append(type(message).__name__)

    ref = driver.spawn(Takes, notes, a_moment)
    for message in (BadKey(), UnhashableKey(), BadMerge("k", 1), BadMerge("k", 2)):
        ref.tell(message)
    driver.until(lambda: len(notes) >= 3)
    assert notes[:3] == ["BadKey", "UnhashableKey", "BadMerge"]
    assert "coalesce_key failed" in caplog.text


def test_an_actor_knows_itself_and_draws_time_chance_and_names_from_the_dispatcher(driver: Driver):
    ref = driver.spawn(name="me")

    def look(puppet: Puppet) -> tuple[Any, ...]:
        return puppet.path, puppet.ref is ref, puppet.now_ns() <= puppet.now_ns(), len(puppet.new_uid())

    assert ref.ask(Do(look)) == ("/me", True, True, 36)
    assert ref.ask(Do(lambda puppet: puppet.new_uid())) != ref.ask(Do(lambda puppet: puppet.new_uid()))
    assert ref.ask(Do(lambda puppet: 0 <= puppet.chance.random() < 1))
    assert ref.ask(Do(lambda puppet: puppet.wall_ns() > 1_700_000_000 * 10**9))


def test_an_actor_is_not_made_by_hand():
    with pytest.raises(TypeError, match="spawn"):
        Puppet()
    with pytest.raises(TypeError, match="spawn"):
        Puppet.start()


def test_a_reference_has_no_proxy(driver: Driver):
    with pytest.raises(TypeError, match="tell"):
        driver.spawn().proxy()


def test_actors_that_must_know_each_other_are_reserved_first_and_take_mail_at_once(driver: Driver):
    left_notes: list[Any] = []
    reserved = driver.system.root.reserve(Puppet, "left", RESTART)
    left = reserved.ref
    left.tell(Say("early"))
    right = driver.spawn(Puppet, None, lambda puppet: left.tell(Say("from right")), name="right")
    driver.settle()
    assert left_notes == []
    reserved.start((left_notes, lambda puppet: right.tell(Say("from left"))), None)
    driver.until(lambda: left_notes == ["early", "from right"])


def test_ten_thousand_idle_actors_cost_no_thread(driver: Driver):
    before = threading.active_count()
    refs = [driver.spawn(name=f"n{number}") for number in range(10_000)]
    assert refs[-1].ask(Say("here")) == "here"
    driver.settle()
    assert {actor.state for actor in driver.system.report().actors} == {"idle"}
    driver.until(lambda: threading.active_count() <= before)  # one that a busy machine held up is replaced, and ends
