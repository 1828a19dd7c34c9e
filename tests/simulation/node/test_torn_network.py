"""A power cut has torn what CNI kept of a sandbox: the runtime can never take its network down.

containerd does that last, so nothing of the sandbox runs. A kubelet waits until somebody removes the files.
"""

from __future__ import annotations

from tests.simulation.node.worlds import SECOND, World, container, manifest

TORN = (
    'failed to destroy network for sandbox "e2": failed to get network "pods" cached result: decoding version from '
    "network config: unexpected end of JSON input"
)
NEVER_STOPPED = {"fail": "StopPodSandbox", "fail-text": TORN}
WAY_OUT = "remove the files of this sandbox in /var/lib/cni/results"


def test_a_pod_gets_a_new_sandbox_beside_one_whose_network_cannot_be_taken_down() -> None:
    world = World({"web": manifest("web", behaviour=NEVER_STOPPED)}).start()
    world.until(world.settled)
    (sandbox_id,) = world.cri.state.sandboxes
    world.cri.lose_sandbox(sandbox_id)
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    assert world.running_records()[0].sandbox.id != sandbox_id
    told = [text for text in world.said("web") if text.startswith("FailedKillPod")]
    assert len(told) == 1
    assert WAY_OUT in told[0]


def test_a_sandbox_that_still_runs_is_not_replaced_whatever_the_runtime_says() -> None:
    world = World({"web": manifest("web", behaviour={**NEVER_STOPPED, "lie": "StopContainer"})}).start()
    world.until(world.settled)
    world.cri.lose_sandbox(next(iter(world.cri.state.sandboxes)))
    world.run(60 * SECOND)
    assert len(world.running()) == 1, "its first container still runs"
    assert len(world.cri.state.sandboxes) == 1


def test_a_changed_manifest_begins_while_the_network_of_the_pod_before_stays() -> None:
    behaviour = {"fail": "StopPodSandbox, RemovePodSandbox", "fail-text": TORN}
    world = World({"web": manifest("web", behaviour=behaviour)}).start()
    world.until(world.settled)
    before = world.running_records()[0].id
    world.cri.lose_sandbox(next(iter(world.cri.state.sandboxes)))
    world.node.put_manifest("web", manifest("web", [container(env=[{"name": "A", "value": "2"}])]))
    world.run(90 * SECOND)
    assert world.running() == ["web/app"]
    assert world.running_records()[0].id != before
    assert [text for text in world.said("web") if "remains cannot be removed" in text] == []
    steps = world.dispatcher.steps
    world.run(600 * SECOND)
    assert world.dispatcher.steps - steps < 3_000, "nobody tries it without a pause"
    assert world.running() == ["web/app"]
