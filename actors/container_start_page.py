"""`docs/container-start.md`, drawn from the table of `actors.pod_rules.container_start`: a picture, and every rule and reason.

Written by `python -m actors.container_start_page > docs/container-start.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.pod_rules.container_start import TABLE, Stage
from actors.state_page import Machine
from actors.state_page import page as drawn

MACHINE = Machine(
    "The start of a container",
    """This page is drawn from the table in `actors/pod_rules/container_start.py`, which has the theory of operation:
`python -m actors.container_start_page > docs/container-start.md`. The table is walked by `actors/pod/container_starts.py`,
which asks the runtime, and by `actors/pod/post_starts.py`, which knows the hooks. Whether and when a container is wanted is
decided before (`actors/pod_rules/actions.py`, `actors/pod_rules/action_types.py`).""",
    Stage.RESTING,
    Stage.STARTED,
    """`Wanted` begins a start in any state; the picture has it once. Of several rules for one event the first whose
condition holds applies. What is not listed is an answer to a question of before, and changes nothing.""",
    ("it says nothing of this one",),
)


def page() -> str:
    """The whole page."""
    return drawn(MACHINE, TABLE)


if __name__ == "__main__":
    print(page(), end="")
