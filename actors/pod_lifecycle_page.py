"""`docs/pod-lifecycle.md`, drawn from the table of `actors.pod_rules.lifecycle`: a picture, and every rule with its
reason.

Written by `python -m actors.pod_lifecycle_page > docs/pod-lifecycle.md`; a test says when that is due.
"""

from __future__ import annotations

from actors.pod_rules.lifecycle import TABLE, Stage
from actors.state_page import Machine
from actors.state_page import page as drawn

MACHINE = Machine(
    "The life of a pod",
    """This page is drawn from the table in `actors/pod_rules/lifecycle.py`, which has the theory of operation:
`python -m actors.pod_lifecycle_page > docs/pod-lifecycle.md`.""",
    Stage.WAITING,
    Stage.FINISHED,
    "Of several rules for one event the first whose condition holds applies. What is not listed cannot happen.",
)


def page() -> str:
    """The whole page."""
    return drawn(MACHINE, TABLE)


if __name__ == "__main__":
    print(page(), end="")
