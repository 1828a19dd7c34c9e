"""Draw `docs/reference/volume-states.md` from the table of `actors.volumes.state`."""

from __future__ import annotations

import sys

from actors.volumes.state import TABLE, ThingStage
from docs.generators.drawn_page import main
from docs.generators.state_page import StatePage

PAGE = StatePage(
    "volume_states",
    "The states of directories, volumes and devices",
    """`actors/volumes/state.py` holds the table and the theory of operation. Each directory of a pod, volume of a pod
and device that pods share has such a state. `actors/volumes/plan.py` decides the next step for one of them.""",
    TABLE,
    last=ThingStage.ABSENT,
)

if __name__ == "__main__":
    sys.exit(main(PAGE))
