"""How threads take turns at Python's interpreter, which runs one of them at a time."""

from __future__ import annotations

import sys

TURN_S = 0.0005
"""How long a thread computes while another one waits; Python's own choice is 5 ms.

A pod passes between threads some hundred times until it runs. Beside one thread that computes, each time costs a turn.
"""


def take_short_turns() -> None:
    """For the start of a process in which one pod must not wait for what another one computes."""
    sys.setswitchinterval(TURN_S)
