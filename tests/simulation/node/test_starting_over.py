"""Actors start over in their process: containers run on, and each run of the record can be played."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.kernel import PoolDispatcher
from actors.kernel.dispatcher import LaneReport
from actors.kernel.inspection import ActorInfo, SystemReport
from actors.node.node import NodeAgent
from actors.node.recording import About, NodeRecorder
from actors.node.rest import under_way
from actors.records.folder import runs_in
from cli.run import recording
from cli.run.recording import LANES, StartingOver
from cli.silence import silence
from runtime.records.drawn import draw
from runtime.records.ring import SegmentRing
from simulation.node import simulated_node
from simulation.node.simulated_node import SimulatedNode
from tests.real.waiting import until
from tests.simulation.recorded import differences_of

LIMIT_S = 30.0
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  containers:
  - {name: a, image: nginx, readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}
  volumes: [{name: e, emptyDir: {}}]
"""


def test_actors_start_over_with_their_containers_running_and_each_run_lives_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made: list[NodeRecorder] = []

    def agent(dispatcher: object, plan: object, capabilities: object) -> NodeAgent:
        ring = SegmentRing(str(tmp_path), 1 << 24)
        ring.open()
        recorder = NodeRecorder(ring, dispatcher, plan, About("0", "3"), draw())  # type: ignore[arg-type]
        made.append(recorder)
        return NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)  # type: ignore[arg-type]

    monkeypatch.setattr(simulated_node, "NodeAgent", agent)
    monkeypatch.setattr(recording, "APART_NS", 0)
    with closing(PoolDispatcher(1)) as pool, silence():
        node = SimulatedNode(pool, manifests={"a.yaml": POD.replace("NAME", "a")})
        (recorder,) = made
        monkeypatch.setattr(recorder, "wants_to_begin_anew", lambda: True)
        starting_over = StartingOver(node.node, recorder, pool)
        node.start()
        names = ["a"]
        for name in ("b", "c", "d"):
            until(lambda: running(node) == len(names), LIMIT_S, "a pod does not run")
            before = containers(node)
            wanted = starting_over.times + 1
            until(partial(looks, starting_over, wanted), LIMIT_S, "the node is never at rest")
            until(lambda: running(node) == len(names), LIMIT_S, "a pod is not found")
            assert containers(node) == before
            node.put_manifest(f"{name}.yaml", POD.replace("NAME", name))
            names.append(name)
        until(lambda: running(node) == len(names), LIMIT_S, "a pod does not run")
        node.remove_manifest("a.yaml")
        until(lambda: running(node) == len(names) - 1, LIMIT_S, "the pod stays")
        starting_over.close()
        assert node.stop()
        recorder.close()
        runs = runs_in(str(tmp_path))
        assert len(runs) == 4
        for run in runs:
            assert run.has_begin
            steps, differences = differences_of(run)
            assert not differences
            assert steps > 50


def looks(starting_over: StartingOver, wanted: int) -> bool:
    starting_over.look()
    return starting_over.times >= wanted


def running(node: SimulatedNode) -> int:
    return sum(pod.status is not None and pod.status.phase == "Running" for pod in node.node.pods())


def containers(node: SimulatedNode) -> list[tuple[str, int]]:
    """Each container that runs, and how many there were before it."""
    return sorted(
        (status.container_id or "", status.restart_count)
        for pod in node.node.pods()
        if pod.status is not None
        for status in pod.status.container_statuses or ()
    )


AT_REST = ActorInfo("/node/x", "X", "running", 0, 0, 0, 5, 0, "", 0, "", "", 0, "", 0, 0)
LANE = LaneReport("disk", 3, 2, 0, 0, 1, ())


@pytest.mark.parametrize(
    ("actor", "lane", "busy"),
    [
        ({}, {}, False),
        ({"mailbox_depth": 1}, {}, True),
        ({"handling": "SyncPod"}, {}, True),
        ({"effects": 1}, {}, True),
        ({"effects": 1, "actor_class": "PlegActor"}, {}, False),
        ({"handling": "CheckEnded", "actor_class": "ProbeRunner"}, {}, False),
        ({}, {"running": 1}, True),
        ({}, {"waiting": 1}, True),
        ({}, {"written_off": (("uid", "mount", 7),)}, True),
        ({}, {"running": 1, "name": "heap"}, False),
    ],
)
def test_a_node_is_at_rest_when_nothing_would_begin_again(actor: dict[str, Any], lane: dict[str, Any], busy: bool):
    replace = msgspec.structs.replace
    report = SystemReport((replace(AT_REST, **actor),), (replace(LANE, **lane),), (), 0)
    assert bool(under_way(report, LANES)) is busy
