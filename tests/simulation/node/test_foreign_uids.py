"""Pods in the runtime whose UID no agent gives: the node leaves them alone, and goes on."""

from __future__ import annotations

import pytest

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.messages import PodSandboxState
from tests.simulation.node.worlds import SECOND, World, manifest

UIDS = ("a/b", "../../etc", "..", "", "a\0b", "x" * 10_000, "-rf", "a b")


def add(world: World, uid: str, number: int, *, ends: bool) -> str:
    """Run a sandbox with that UID, as somebody else on the machine might."""
    meta = m.PodSandboxMetadata(name=f"foreign{number}", uid=uid, namespace="default")
    labels = {
        "io.kubernetes.pod.uid": uid,
        "io.kubernetes.pod.name": meta.name,
        "io.kubernetes.pod.namespace": meta.namespace,
    }
    config = m.PodSandboxConfig(metadata=meta, labels=labels)
    made = world.cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config))
    world.run(SECOND)
    identity: str = made.result().pod_sandbox_id
    if ends:
        world.cri.call(v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=identity))
        world.run(SECOND)
    return identity


@pytest.mark.parametrize("late", [False, True], ids=["before the agent", "while it runs"])
def test_foreign_uids_fail_nobody_and_are_left_alone(late: bool) -> None:
    world = World({"a.yaml": manifest("a")})
    if not late:
        foreign = [add(world, uid, number, ends=number % 2 == 1) for number, uid in enumerate(UIDS)]
    world.start()
    world.until(world.settled)
    if late:
        foreign = [add(world, uid, number, ends=number % 2 == 1) for number, uid in enumerate(UIDS)]
    world.node.put_manifest("b.yaml", manifest("b"))
    world.run(600 * SECOND)
    assert world.phases() == {"a": "Running", "b": "Running"}
    listed = world.cri.call(v.LIST_POD_SANDBOX, m.ListPodSandboxRequest())
    world.run(SECOND)
    states = {each.id: each.state for each in listed.result().items}
    assert [states[each] for each in foreign] == [
        PodSandboxState.SANDBOX_NOTREADY if number % 2 else PodSandboxState.SANDBOX_READY
        for number in range(len(foreign))
    ]
    report = world.node.node.report()
    assert {actor.path: actor.restarts for actor in report.actors if actor.restarts} == {}
