"""Each rule finds the worlds that break it, and reports them under its name."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.cri.messages import (
    ContainerConfig,
    ContainerMetadata,
    CreateContainerRequest,
    ImageSpec,
    PodSandboxConfig,
    PodSandboxMetadata,
    RunPodSandboxRequest,
    StartContainerRequest,
)
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER
from simulation.apiserver.store.store import DELETED, MODIFIED, Version
from simulation.cri import Settings, SimulatedCri
from simulation.cri.state import ContainerRecord
from simulation.faults.shortages import leave
from simulation.node.simulated_node import SimulatedNode
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.world.chronicle import VIOLATIONS_KEPT, Chronicle
from simulation.world.seen import ContainerSeen

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
    return Version(("default", "a"), {"metadata": metadata, "spec": {}, "status": status}, 1)


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
def test_invariants_judge_the_status_of_a_pod(violations: list[str], broken: list[str]):
    assert violations == broken


class Watched:
    """One pod of the API, and containers of it that begin and end."""

    def __init__(self, **mix: Any) -> None:
        self.now_ns = 0
        self.chronicle = Chronicle(lambda: self.now_ns)
        app = ContainerMix(readiness_every=5)
        self.chronicle.mix_of = lambda _: PodMix(name="a", count=1, containers=(app,), **mix)
        self.dispatcher = SimulatedDispatcher(1)
        self.cri = SimulatedCri(self.dispatcher, Settings(images=("app",)))
        self.cri.state.on_change = self.chronicle.container_changed
        self.chronicle.pod_changed(MODIFIED, version({}, False))

    def start(self, uid: str = UID) -> ContainerRecord:
        metadata = PodSandboxMetadata(name="a", uid=uid, namespace="default")
        sandbox = self.cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest(config=PodSandboxConfig(metadata=metadata)))
        config = ContainerConfig(metadata=ContainerMetadata(name="app"), image=ImageSpec(image="app"))
        made = self.cri.call(
            CREATE_CONTAINER, CreateContainerRequest(pod_sandbox_id=sandbox.result().pod_sandbox_id, config=config)
        )
        self.cri.call(START_CONTAINER, StartContainerRequest(container_id=made.result().container_id)).result()
        return self.cri.state.containers[made.result().container_id]

    def broken(self) -> list[str]:
        return [each.invariant for each in self.chronicle.violations]


def test_success_is_earned_by_the_last_end_of_each_container():
    watched = Watched()
    watched.cri.kill_container(watched.start().id, 1)
    watched.chronicle.pod_changed(MODIFIED, version(shown("Succeeded"), False))
    assert watched.broken() == ["success-is-earned"]


def test_a_job_that_was_soon_over_has_started_in_time_though_nobody_saw_it_run():
    watched = Watched(starts_within="9s")
    watched.cri.kill_container(watched.start().id, 0)
    watched.chronicle.pod_changed(MODIFIED, version(shown("Succeeded"), False))
    watched.now_ns = 100 * 10**9
    watched.chronicle.pod_changed(MODIFIED, version(shown("Succeeded"), True))
    assert watched.broken() == []
    assert watched.chronicle.sometimes.counts["pod-deleted-before-it-ran"] == 0


def test_a_container_started_after_its_pod_is_gone_is_a_violation():
    watched = Watched()
    watched.chronicle.pod_changed(DELETED, version({}, True))
    watched.start()
    assert watched.broken() == ["nothing-runs-of-the-gone"]


def test_a_probe_that_never_comes_is_late():
    watched = Watched(probed_within="1s")
    record = watched.start()
    watched.now_ns = 6 * 10**9
    assert list(watched.chronicle.unprobed()) == []
    watched.now_ns = 7 * 10**9
    assert len(list(watched.chronicle.unprobed())) == 1
    watched.cri.kill_container(record.id)
    assert watched.broken() == ["probes-come-in-time"]


def test_an_agent_that_is_back_has_no_excuse_for_probes_that_never_come():
    watched = Watched(probed_within="1s")
    record = watched.start()
    watched.chronicle.agent_stands_still("")
    watched.now_ns = 60 * 10**9
    watched.chronicle.agent_goes_on("")
    watched.chronicle.probed(record, "readiness")
    assert watched.broken() == list(watched.chronicle.unprobed()) == []
    watched.now_ns = 67 * 10**9
    assert len(list(watched.chronicle.unprobed())) == 1


def test_the_first_violation_of_each_rule_is_kept_however_many_there_were_of_others():
    chronicle = Chronicle(lambda: 0)
    for _ in range(2 * VIOLATIONS_KEPT):
        chronicle.violated("one", "so")
    chronicle.violated("another", "so")
    chronicle.violated("another", "so")
    assert [each.invariant for each in chronicle.violations] == ["one"] * VIOLATIONS_KEPT + ["another"]


def test_readings_by_the_world_do_not_count_as_readings_of_the_agent():
    node = SimulatedNode(SimulatedDispatcher(1))
    leave(node.usage, "memory", 10**9)
    leave(node.usage, "pids", 10)
    assert node.usage.readings == 0
