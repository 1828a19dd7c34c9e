"""Turns of a world's actors, with a limit for those that time stands still in.

Time passes only while no actor is ready. So actors that send each other messages without end stop it, and whoever waits
for a later time waits for ever.
"""

from __future__ import annotations

from actors.kernel import SimulatedDispatcher

TURNS_AT_MOST = 1_000_000
"""Far more than a world of thousands of pods needs in one moment: seconds of real time."""


class EndlessMomentError(Exception):
    """The actors of a world go on and on in one moment. The text names the busiest."""


def run_for(dispatcher: SimulatedDispatcher, ns: int, turns_at_most: int) -> bool:
    """Let `ns` ns of virtual time pass. False if actors keep time from going on.

    The clock is looked at after each `turns_at_most` turns only, so that no turn costs more.
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
