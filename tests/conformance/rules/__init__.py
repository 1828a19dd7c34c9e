"""The rules of a pod's life, by section of the agent's specification.

Each has the tests that show it.

A rule is a line in our own words; its number is its place. A test is `file::name`, or `file::name[id of one row]`.
`NOT_HERE` has what these sections say that belongs to another part of the agent, and where that is.
`test_rules.py` looks whether the tests exist, whether their names say the section, and that no section is left out.
"""

from __future__ import annotations

from tests.conformance.rules.actions import ACTIONS, INIT_CONTAINERS, RESTARTS, SANDBOX
from tests.conformance.rules.ends import ENDS
from tests.conformance.rules.probes import PROBES
from tests.conformance.rules.shape import Rules
from tests.conformance.rules.status import ADDRESSES, CONDITIONS, CONTAINER_STATUSES, PHASE
from tests.conformance.rules.worker import WORKER

RULES: dict[str, Rules] = {
    "2.6": WORKER,
    "3.1": SANDBOX,
    "3.2": ACTIONS,
    "3.3": INIT_CONTAINERS,
    "3.4": RESTARTS,
    "3.10": ENDS,
    "4.1": PHASE,
    "4.2": CONTAINER_STATUSES,
    "4.3": CONDITIONS,
    "4.4": ADDRESSES,
    "5": PROBES,
}

NOT_HERE: dict[str, tuple[str, ...]] = {
    "2.6": ("A blocked static pod is not asked again every 10 s: it is told when its name is free",),
    "3.2": ("What the resource managers do before and after a container is theirs (10.18)",),
    "3.3": ("A running init container is resized in place by the resize of pods (10.16)",),
    "4.2": ("The health of devices comes with the device manager (10.11)",),
    "4.3": (
        "PodResizePending and PodResizeInProgress are those of the resize of pods (4.6, 10.16)",
        "DisruptionTarget is written by who disrupts; it is kept like every condition of others",
    ),
    "5": ("Ticks of readiness by hand: others begin once a startup probe has succeeded (docs/reference/probes.md)",),
}
