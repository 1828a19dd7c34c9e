"""A world in which time stands still fails, and says who keeps it busy."""

from __future__ import annotations

import pytest

from actors.kernel import Actor, ActorRef, Message, handles
from simulation.world.turns import EndlessMomentError
from simulation.world.world import World

SECOND_NS = 10**9


class Ball(Message, frozen=True):
    """To the other one."""

    thrower: ActorRef


class Player(Actor):
    """Throws back what comes, `times` often."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._left = times

    @handles(Ball)
    def caught(self, message: Ball) -> None:
        if self._left > 0:
            self._left -= 1
            message.thrower.tell(Ball(self.ref))


def playing(times: int) -> World:
    """A world in which two actors of its agent play from now on."""
    world = World(1)
    world.turns_at_most = 5_000
    world.start()
    world.run_for(30 * SECOND_NS)
    system = world.nodes["node-0"].node.system
    here, there = (system.spawn(Player, times, name=name) for name in ("here", "there"))
    here.tell(Ball(there))
    return world


def test_actors_that_send_each_other_messages_without_end_fail_their_world_by_name() -> None:
    world = playing(10**9)
    with pytest.raises(EndlessMomentError, match=r"time stands still at 30 s") as caught:
        world.run_for(SECOND_NS)
    assert "/here Ball" in str(caught.value)
    assert "/there Ball" in str(caught.value)


def test_actors_that_are_busy_for_a_while_fail_nothing() -> None:
    world = playing(1_000)
    before_ns = world.now_ns()
    world.run_for(3600 * SECOND_NS)
    assert world.now_ns() == before_ns + 3600 * SECOND_NS
