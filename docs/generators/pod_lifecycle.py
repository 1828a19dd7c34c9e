"""Draw `docs/reference/pod-lifecycle.md` from the table of `actors.pod_rules.lifecycle`."""

from __future__ import annotations

import sys

from actors.pod_rules.lifecycle import TABLE, PodStage
from docs.generators.drawn_page import main
from docs.generators.state_page import StatePage

PAGE = StatePage(
    "pod_lifecycle",
    "The life of a pod",
    "`actors/pod_rules/lifecycle.py` holds the table and the theory of operation. The pod's worker walks it.",
    TABLE,
    last=PodStage.FINISHED,
)

if __name__ == "__main__":
    sys.exit(main(PAGE))
