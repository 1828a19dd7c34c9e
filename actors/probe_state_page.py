"""`docs/probe-states.md`, drawn from the table of `actors.probes.state`: a picture, and every rule with its reason.

Written by `python -m actors.probe_state_page > docs/probe-states.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.probes.state import TABLE, Stage
from actors.state_page import Machine
from actors.state_page import page as drawn

MACHINE = Machine(
    "The states of a probe",
    """This page is drawn from the table in `actors/probes/state.py`, which has the theory of operation:
`python -m actors.probe_state_page > docs/probe-states.md`. Thresholds, times and texts are in `actors/probes/rules.py`;
who asks is `actors/probes/runner.py`, a child of the pod's worker.""",
    Stage.ABSENT,
    Stage.OVER,
    """Of several rules for one event the first whose condition holds applies. What only stays, because nothing has
changed, is left out.""",
    ("as before", "it is over", "a timer of before", "an answer of before"),
)


def page() -> str:
    """The whole page."""
    return drawn(MACHINE, TABLE)


if __name__ == "__main__":
    print(page(), end="")
