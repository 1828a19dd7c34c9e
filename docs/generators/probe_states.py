"""Draw `docs/reference/probe-states.md` from the table of `actors.probes.state`."""

from __future__ import annotations

import sys

from actors.probes.state import TABLE, ProbeStage
from docs.generators.drawn_page import main
from docs.generators.state_page import StatePage

PAGE = StatePage(
    "probe_states",
    "The states of a probe",
    """`actors/probes/state.py` holds the table and the theory of operation. `actors/probes/rules.py` has thresholds,
times and texts. `actors/probes/runner.py`, a child of the pod's worker, makes the checks.""",
    TABLE,
    last=ProbeStage.OVER,
)

if __name__ == "__main__":
    sys.exit(main(PAGE))
