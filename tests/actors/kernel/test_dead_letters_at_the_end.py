"""While a system ends, actors stop in some order.

Messages that they still send each other are counted as dead letters, without a warning.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher


class Farewell(Message, frozen=True):
    """Said by one that stops to one that has stopped."""


class Quiet(Actor):
    """Stops at once."""


class Polite(Actor):
    """Says good-bye."""

    def __init__(self, other: ActorRef) -> None:
        super().__init__()
        self.other = other

    def on_stop(self) -> Any:
        return self.say_farewell()

    async def say_farewell(self) -> None:
        await self.sleep(10**9)
        self.other.tell(Farewell())


def test_a_message_to_a_stopped_actor_during_shutdown_logs_no_warning(caplog: pytest.LogCaptureFixture):
    system = ActorSystem(SimulatedDispatcher(1))
    quiet = system.spawn(Quiet, name="quiet")
    system.spawn(Polite, quiet, name="polite")
    system.dispatcher.run_until_idle()  # type: ignore[attr-defined]
    assert system.stop()
    assert system.report().dead_letters == 1
    assert "dead letter" not in caplog.text


def test_a_message_to_a_stopped_actor_in_a_running_system_logs_a_warning(caplog: pytest.LogCaptureFixture):
    system = ActorSystem(SimulatedDispatcher(1))
    quiet = system.spawn(Quiet, name="quiet")
    quiet.stop(block=False)
    system.dispatcher.run_until_idle()  # type: ignore[attr-defined]
    quiet.tell(Farewell())
    assert "dead letter" in caplog.text
    system.stop()
