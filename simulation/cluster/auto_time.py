"""The mode `auto`: when the time of a cluster moves by itself, and how fast. Pure.

Time stands while a client is at work, and moves while somebody waits for it. A client is at work while a request of it
is served. After an answer or an event it may think of its next request, so it is at work for a short pause more.

An order that lets time pass has no limit of speed. Otherwise there is one, because nobody sees that a client thinks
for longer than the pause. A client that asks again and again waits as well, though it has no watch, and perhaps leaves
no pause. So time moves slowly after a second of work, and for some seconds after the last request. Then it stands, and
an idle cluster costs nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

AUTO = "auto"
SPEED = 100.0
"""Seconds of the cluster in a real second while clients wait."""
SPEED_AFTER_REQUESTS = 10.0
SPEED_AT_WORK = 1.0
PAUSE_S = 0.02
PAUSES_S = (0.001, 10.0)
"""The shortest and the longest pause."""
WORK_S = 1.0
"""How long clients may work until time moves nevertheless, besides the pause."""
LINGER_S = 10.0
"""How long the client of an answered request counts as one that waits, besides the pause."""
LOOK_EVERY_S = 0.005
"""The real time between two looks while time moves."""


class Doings(NamedTuple):
    """What clients do at a moment. Seconds of real time."""

    served: int
    """Requests without an answer, except those that wait for events."""
    waiting: int
    """Open watches and sessions, and orders that wait."""
    quiet_s: float
    """Since the last request, answer, event or order."""
    request_s: float
    """Since the last of these that was no order."""
    work_s: float
    """Since the work began that is going on, if any is."""
    ordered: bool = False
    """Whether an order lets time pass as fast as it can."""
    held: bool = False
    """Whether time must stand, whatever clients do."""


class Move(NamedTuple):
    """How time moves until the next decision.

    `speed`: 0: it stands. `look_s`: when to decide again; None: after the next request.
    """

    speed: float
    look_s: float | None


def decide(doings: Doings, pause_s: float) -> Move:
    """How time moves."""
    if doings.held:
        return Move(0.0, None)
    rest_s = pause_s if doings.served else pause_s - doings.quiet_s
    if rest_s > 0:
        if doings.work_s > pause_s + WORK_S:
            return Move(SPEED_AT_WORK, LOOK_EVERY_S)
        return Move(0.0, min(rest_s, PAUSE_S))
    if doings.ordered:
        return Move(math.inf, LOOK_EVERY_S)
    if doings.waiting:
        return Move(SPEED, LOOK_EVERY_S)
    if doings.request_s < pause_s + LINGER_S:
        return Move(SPEED_AFTER_REQUESTS, LOOK_EVERY_S)
    return Move(0.0, None)
