"""Questions come from the edges; a handler that would block on one is refused."""

from __future__ import annotations

import threading
from typing import Any

import pykka
import pytest

from actors.kernel import BlockingInHandlerError, KernelError, MailboxFullError, NoAnswerError, Promise
from tests.actors.kernel.cast import MS, QUICK, Crash, Do, Fail, Hang, Later, Narrow, Puppet, Say
from tests.actors.kernel.drivers import Driver, PoolDriver

BRIEFLY = threading.Event().wait


def test_a_question_is_answered_with_what_the_handler_returns(driver: Driver):
    assert driver.spawn().ask(Say("hello")) == "hello"


def test_a_question_need_not_block(driver: Driver):
    future = driver.spawn().ask(Say("hello"), block=False)
    assert future.get(timeout=120) == "hello"
    assert future.get() == "hello"


def test_pykkas_futures_can_be_mapped_and_joined(driver: Driver):
    ref = driver.spawn()
    first, second = (ref.ask(Say(text), block=False) for text in "ab")
    assert first.join(second).map(lambda answers: "".join(answers)).get() == "ab"


def test_an_exception_goes_to_the_asker_and_the_actor_lives_on(driver: Driver):
    made: list[str] = []
    ref = driver.spawn(Crash, made)
    with pytest.raises(ValueError, match="as told"):
        ref.ask(Fail())
    assert ref.ask(Say("")) == 1


def test_an_exception_of_a_handler_that_waited_goes_to_the_asker_too(driver: Driver):
    async def fail_late(puppet: Puppet) -> None:
        await puppet.sleep(MS)
        raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        driver.spawn().ask(Later(fail_late))


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_fatal_exception_restarts_the_actor_and_reaches_the_asker_as_an_error(
    driver: Driver, kind: type[BaseException]
):
    made: list[str] = []
    ref = driver.spawn(Crash, made, strategy=QUICK)
    with pytest.raises(NoAnswerError, match=kind.__name__) as caught:
        ref.ask(Fail(kind))
    assert isinstance(caught.value.__cause__, kind)
    assert ref.ask(Say("")) == 2


def test_an_asker_that_is_an_actor_is_not_interrupted_by_the_interrupt_of_the_asked(driver: Driver):
    hang = driver.spawn(Hang, name="hang")

    async def ask(puppet: Puppet) -> str:
        try:
            await puppet.wait(hang.ask(Say("hang"), block=False))
        except KernelError as failure:
            return str(failure)
        return "answered"

    answer = driver.spawn().ask(Later(ask), block=False)
    driver.settle()
    hang.stop(block=False)
    assert "gave no answer" in answer.get()


def test_a_question_times_out_in_the_dispatchers_time(driver: Driver):
    ref = driver.spawn(Hang)
    with pytest.raises(pykka.Timeout):
        ref.ask(Say("hang"), timeout=0.02)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(lambda puppet, other: other.ask(Say("x")), id="ask"),
        pytest.param(lambda puppet, other: other.ask(Say("x"), block=False).get(), id="get"),
        pytest.param(lambda puppet, other: Promise[None]().result(), id="promise"),
        pytest.param(lambda puppet, other: other.stop(), id="stop of another"),
        pytest.param(lambda puppet, other: puppet.lane("l").submit("k", BRIEFLY, 0.2).result(), id="lane"),
        pytest.param(lambda puppet, other: puppet.actor_inbox.system.stop(), id="stop of the system"),
    ],
)
def test_a_handler_that_would_block_on_a_future_is_refused(driver: Driver, block: Any):
    other = driver.spawn(Hang, name="other")
    other.tell(Say("hang"))
    ref = driver.spawn()
    with pytest.raises(BlockingInHandlerError):
        ref.ask(Do(lambda puppet: block(puppet, other)))
    assert ref.ask(Say("alive")) == "alive"


def test_a_handler_may_await_an_answer(driver: Driver):
    other = driver.spawn(name="other")
    ref = driver.spawn()
    assert ref.ask(Later(lambda puppet: puppet.wait(other.ask(Say("via"), block=False)))) == "via"


def test_a_question_to_the_dead_fails_at_once(driver: Driver):
    ref = driver.spawn()
    assert ref.stop()
    assert not ref.stop()
    with pytest.raises(pykka.ActorDeadError):
        ref.ask(Say("anyone?"))


def test_questions_that_still_wait_when_the_actor_stops_are_answered_with_an_error(driver: Driver):
    ref = driver.spawn(Hang)
    ref.tell(Say("hang"))
    waiting = [ref.ask(Say(str(number)), block=False) for number in range(3)]
    driver.settle()
    ref.stop()
    for future in waiting:
        with pytest.raises(pykka.ActorDeadError, match="/it stopped before handling"):
            future.get()


def test_a_question_to_a_full_mailbox_is_refused_with_an_error(driver: Driver):
    ref = driver.spawn(Narrow)
    ref.tell(Later(lambda puppet: puppet.wait(Promise())))
    driver.settle()
    for _ in range(3):
        ref.tell(Say("waits"))
    with pytest.raises(MailboxFullError, match="/it is full"):
        ref.ask(Say("one too many"))


def test_a_question_waits_over_a_restart(driver: Driver):
    made: list[str] = []
    ref = driver.spawn(Crash, made, strategy=QUICK)
    ref.tell(Fail())
    assert ref.ask(Say("")) == 2


def test_many_edges_ask_at_once_and_each_gets_its_own_answer(pool: PoolDriver):
    refs = [pool.spawn(name=f"n{number}") for number in range(4)]
    wrong: list[str] = []

    def ask(me: int) -> None:
        for number in range(300):
            text = f"{me}-{number}"
            if refs[number % 4].ask(Say(text)) != text:
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []
