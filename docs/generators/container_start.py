"""Draw `docs/reference/container-start.md` from the table of `actors.pod_rules.container_start`."""

from __future__ import annotations

import sys

from actors.pod_rules.container_start import TABLE, StartStage
from docs.generators.drawn_page import main
from docs.generators.state_page import StatePage

PAGE = StatePage(
    "container_start",
    "The start of a container",
    """`actors/pod_rules/container_start.py` holds the table and the theory of operation.
    `actors/pod/steps/containers.py` walks it
and calls the runtime; `actors/pod/post_starts.py` runs the hooks. `actors/pod_rules/actions.py` decides
whether and when a container is wanted. `Wanted` begins a start in any stage; the diagram shows it once.""",
    TABLE,
    last=StartStage.STARTED,
)

if __name__ == "__main__":
    sys.exit(main(PAGE))
