"""`docs/volume-states.md`, drawn from the table of `actors.volumes.state`: a picture, and every rule with its reason.

Written by `python -m actors.volume_state_page > docs/volume-states.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.state_page import Machine
from actors.state_page import page as drawn
from actors.volumes.state import AS_BEFORE, TABLE, Stage

MACHINE = Machine(
    "The states of what volumes are made of",
    """This page is drawn from the table in `actors/volumes/state.py`, which has the theory of operation:
`python -m actors.volume_state_page > docs/volume-states.md`. Every directory of a pod, every volume of a pod and every
device that pods share is such a thing. What is to be done next is said by `actors/volumes/plan.py`.""",
    Stage.ABSENT,
    Stage.ABSENT,
    """What only stays, because nothing has changed, is left out.""",
    (AS_BEFORE,),
)


def page() -> str:
    """The whole page."""
    return drawn(MACHINE, TABLE)


if __name__ == "__main__":
    print(page(), end="")
