"""Parts of an actor have handlers of their own.

A message type has one handler in an actor and all its parts.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Actor, handles, part
from tests.actors.kernel.cast import MS, QUICK, Fail, Latest, Say, Tick, Unknown
from tests.actors.kernel.drivers import Driver


class Clockwork:
    """A part of a part."""

    def __init__(self, notes: list[Any]) -> None:
        self.notes = notes

    @handles(Tick)
    def tick(self, message: Tick) -> None:
        self.notes.append(("clockwork", message.number))


class Voice:
    """A part whose handler waits."""

    clockwork = part(Clockwork)

    def __init__(self, owner: Actor, notes: list[Any]) -> None:
        self.owner = owner
        self.clockwork = Clockwork(notes)

    @handles(Say)
    async def say(self, message: Say) -> str:
        await self.owner.sleep(MS)
        return self.spoken(message)

    def spoken(self, message: Say) -> str:
        return f"{self.owner.path} says {message.text}"

    @handles(Fail)
    def fail(self, message: Fail) -> None:
        raise message.kind("as told")


class Doll(Actor):
    """Handles one type itself, and the rest with its parts."""

    voice = part(Voice)

    def __init__(self, notes: list[Any]) -> None:
        super().__init__()
        self.notes = notes
        self.voice = Voice(self, notes)

    @handles(Latest)
    def latest(self, message: Latest) -> None:
        self.notes.append(("doll", message.version))


class Loud(Voice):
    def spoken(self, message: Say) -> str:
        return message.text.upper()

    def fail(self, message: Fail) -> None:
        raise message.kind("loudly")


class LoudDoll(Doll):
    """A part may be of a subclass of the declared class."""

    def __init__(self, notes: list[Any]) -> None:
        super().__init__(notes)
        self.voice = Loud(self, notes)


def test_a_message_reaches_the_handler_of_the_actor_or_of_the_part_that_has_one(driver: Driver):
    notes: list[Any] = []
    doll = driver.spawn(Doll, notes)
    for number in range(3):
        doll.tell(Latest("k", number))
        doll.tell(Tick(number))
    driver.until(lambda: ("clockwork", 2) in notes and ("doll", 2) in notes)


def test_the_handler_of_a_part_may_wait_and_answers_a_question(driver: Driver):
    doll = driver.spawn(Doll, [])
    assert doll.ask(Say("mama")) == "/it says mama"


def test_a_failure_in_a_part_is_a_failure_of_its_actor_and_the_next_has_parts_of_its_own(driver: Driver):
    doll = driver.spawn(Doll, [], strategy=QUICK)
    doll.tell(Fail())
    driver.until(lambda: driver.system.report().actors[-1].restarts == 1)
    assert doll.ask(Say("mama")) == "/it says mama"
    assert "as told" in driver.system.report().actors[-1].last_failure


def test_methods_that_a_subclass_of_the_part_overrides_are_called_there(driver: Driver):
    doll = driver.spawn(LoudDoll, [])
    assert doll.ask(Say("mama")) == "MAMA"
    with pytest.raises(ValueError, match="loudly"):
        doll.ask(Fail())


def test_a_message_that_no_part_handles_is_a_dead_letter(driver: Driver):
    driver.spawn(Doll, []).tell(Unknown())
    driver.until(lambda: driver.system.dead_letters.counts() == {("UNHANDLED", "Unknown"): 1})


def test_two_handlers_of_one_type_in_one_class_are_refused():
    with pytest.raises(TypeError, match="Twice handles Say twice: in first and in second"):

        class Twice(Actor):
            @handles(Say)
            def first(self, message: Say) -> None: ...

            @handles(Say)
            def second(self, message: Say) -> None: ...


def test_a_handler_of_the_actor_and_one_of_a_part_for_one_type_are_refused():
    with pytest.raises(TypeError, match=r"Both handles Say twice: in say and in voice\.say"):

        class Both(Actor):
            voice = part(Voice)

            @handles(Say)
            def say(self, message: Say) -> None: ...


def test_handlers_of_two_parts_for_one_type_are_refused():
    with pytest.raises(TypeError, match=r"Two handles Tick twice: in first\.tick and in second\.clockwork\.tick"):

        class Two(Actor):
            first = part(Clockwork)
            second = part(Voice)


def test_a_part_that_the_constructor_has_not_set_is_named(driver: Driver, caplog: pytest.LogCaptureFixture):
    class Hollow(Actor):
        voice = part(Voice)

        def on_start(self) -> None:
            self.voice.clockwork.tick(Tick(1))

    driver.spawn(Hollow)
    driver.until(lambda: driver.system.report().actors[-1].restarts > 0)
    assert "Hollow.__init__ has not set its part voice" in caplog.text
