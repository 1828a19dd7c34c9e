"""Runs the actors of a world, with a limit of turns while its time stands still.

Time passes only while no actor is ready. So actors that send each other messages without end stop it, and a wait for a
later time never ends.
"""

from __future__ import annotations

from actors.kernel import SimulatedDispatcher

TURNS_AT_MOST = 1_000_000
"""Far more than a world of thousands of pods needs in one moment; they take seconds of real time."""


class EndlessMomentError(Exception):
    """The actors of a world send messages without end in one moment. The text names the busiest."""


def run_for(dispatcher: SimulatedDispatcher, ns: int, turns_at_most: int) -> bool:
    """Let `ns` ns of virtual time pass. False if actors keep time from going on.

    It checks the clock only after every `turns_at_most` turns, so that no turn costs more.
    """
    step, until_ns = dispatcher.step, dispatcher.now_ns() + ns
    before_ns = -1
    while before_ns != dispatcher.now_ns():
        before_ns = dispatcher.now_ns()
        for _ in range(turns_at_most):
            if not step(until_ns):
                dispatcher.run_for(until_ns - dispatcher.now_ns())
                return True
    return False
