"""Each rule sees what it is there for: a world that breaks it is told by its name."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.store import DELETED, MODIFIED, Version
from simulation.chronicle import Chronicle, ContainerSeen
from simulation.scenario_pods import PodMix

UID = "uid-a"


def told(
    *statuses: dict[str, Any], deleted: bool = False, deleted_at: int = 99, live: bool = False, **mix: Any
) -> list[str]:
    """The rules that these statuses of one pod, one after the other, break."""
    now_ns = [0]
    chronicle = Chronicle(lambda: now_ns[0])
    chronicle.mix_of = lambda _: PodMix(name="a", count=1, **mix)
    for number, status in enumerate(({}, *statuses)):
        now_ns[0] = number * 10 * 10**9
        chronicle.pod_changed(MODIFIED, version(status, deleted or number >= deleted_at))
        if live:
            chronicle.pods[UID].containers["app"] = ContainerSeen(starts=1, live={"one"})
    if deleted:
        now_ns[0] += 10**9
        chronicle.pod_changed(DELETED, version({}, deleted))
    return [each.invariant for each in chronicle.violations]


def version(status: dict[str, Any], deleted: bool) -> Version:
    metadata = {"name": "a", "uid": UID} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})
    return Version("default", "a", {"metadata": metadata, "spec": {}, "status": status}, 1)


def shown(phase: str, ready: bool = False, restarts: int = 0) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"phase": phase, "conditions": [condition], "containerStatuses": [{"restartCount": restarts}]}


@pytest.mark.parametrize(
    ("violations", "broken"),
    [
        (told(shown("Pending"), shown("Running", True), shown("Running"), shown("Succeeded")), []),
        (told(shown("Running"), shown("Pending")), ["phase-never-goes-back"]),
        (told(shown("Failed"), shown("Succeeded")), ["phase-never-goes-back"]),
        (told(shown("Running", restarts=2), shown("Running", restarts=1)), ["restart-counts-never-fall"]),
        (told(shown("Running"), shown("Failed"), live=True), ["the-ended-do-not-run"]),
        (told(shown("Running", True), shown("Running"), steady=True), ["the-steady-stay-ready"]),
        (told(shown("Running"), starts_within="10s"), []),
        (told(shown("Running"), starts_within="9s"), ["starts-in-time"]),
        (told(shown("Pending"), deleted_at=1, starts_within="5s"), ["starts-in-time"]),
        (told(deleted=True, live=True), ["nothing-runs-of-the-gone"]),
        (told(deleted=True, ends_within="500ms"), ["ends-in-time"]),
        (told(deleted=True, ends_within="2s"), []),
    ],
)
def test_what_a_pod_shows_is_judged(violations: list[str], broken: list[str]):
    assert violations == broken
