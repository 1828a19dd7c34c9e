"""A recorded agent lives again, to its last message, whatever happened to it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.kernel import PoolDispatcher, SimulatedDispatcher
from actors.node.node import NodeAgent
from actors.node.recording import About, NodeRecorder
from actors.pod_rules import actions, back_off
from actors.pod_rules.action_types import BackOffWait
from actors.records.folder import runs_in
from actors.replays.rehearsal import DecisionKind, Rehearsal
from actors.replays.rehearse import rehearse
from cli.silence import silence
from config.examples import TROUBLED
from runtime.records.drawn import draw
from runtime.records.ring import SegmentRing
from simulation.node import simulated_node
from simulation.node.simulated_node import SimulatedNode
from simulation.play.parts import parts_of
from simulation.play.play import Play
from tests.real.waiting import until
from tests.simulation.recorded import MemoryRun, differences_of, record_agents
from tests.simulation.sizes import tiny

SECOND_NS = 10**9
LIMIT_S = 30.0
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  containers:
  - {name: a, image: nginx, livenessProbe: {httpGet: {port: 80}, periodSeconds: 1}}
  - {name: b, image: busybox, command: [sh]}
  volumes: [{name: e, emptyDir: {}}]
"""
SCENARIOS = (
    "agent-restarts",
    "bad-network",
    "dead-containers",
    "dead-mounts",
    "everything-fails",
    "evictions",
    "image-collections",
    "island",
    "one-hung-pod",
    "probes",
    "resizes",
    "static-pods",
    "stuck-terminating",
    "torn-down",
    "unhonoured-fields",
)
"""Those of the library whose faults are outside of the agent.

A fault in a mailbox is no part of a record.
"""


def played(name: str, monkeypatch: pytest.MonkeyPatch, seed: int = 3) -> list[MemoryRun]:
    """The recorded agents of a scenario."""
    runs = record_agents(monkeypatch)
    with silence():
        for part in parts_of(tiny(name), seed):
            play = Play(part.scenario, part.seed)
            while not play.done:
                play.advance(10 * SECOND_NS)
    return runs


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_agent_of_a_scenario_lives_again(name: str, monkeypatch: pytest.MonkeyPatch):
    runs = played(name, monkeypatch)
    assert runs
    with silence():
        for run in runs:
            steps, differences = differences_of(run)
            assert not differences
            assert steps > 10


CRASHES = (TROUBLED / "crash-loop.yaml").read_text()


def a_night_of_crashes(monkeypatch: pytest.MonkeyPatch) -> list[MemoryRun]:
    """The record of a node with a pod that crashes again and again."""
    runs = record_agents(monkeypatch)
    world = SimulatedDispatcher(1)
    with silence():
        node = SimulatedNode(world, manifests={"a.yaml": CRASHES})
        node.start()
        world.run_for(300 * SECOND_NS)
        node.stop()
    return runs


def rehearsed(runs: list[MemoryRun]) -> Rehearsal:
    rehearsal = Rehearsal()
    with silence():
        rehearse(runs, rehearsal)
    return rehearsal


def test_the_code_that_was_recorded_decides_nothing_otherwise(monkeypatch: pytest.MonkeyPatch):
    rehearsal = rehearsed(a_night_of_crashes(monkeypatch))
    assert not rehearsal.decisions


def test_a_changed_rule_is_the_first_thing_that_differs_and_the_only_one(monkeypatch: pytest.MonkeyPatch):
    runs = a_night_of_crashes(monkeypatch)
    rule = back_off.back_off

    def thrice(*arguments: Any, **named: Any) -> BackOffWait:
        wait = rule(*arguments, **named)
        return msgspec.structs.replace(wait, next_delay_ns=3 * wait.next_delay_ns)

    monkeypatch.setattr(actions, "back_off", thrice)
    rehearsal = rehearsed(runs)
    (decision,) = rehearsal.sorted()
    assert decision.kind is DecisionKind.RUNTIME
    assert decision.what == "/node/sync-loop/*: call: cri.call CreateContainer"
    assert "actorlet.dev/back-off" in decision.first.expected or "10000000000" in decision.first.expected
    assert "30000000000" in decision.first.got


# --- on threads -------------------------------------------------------------------------------------------------------


def recorded_node(
    folder: Path, pool: PoolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> tuple[SimulatedNode, NodeRecorder]:
    """A node on threads that is recorded in the folder."""
    made: list[NodeRecorder] = []

    def agent(dispatcher: object, plan: object, capabilities: object) -> NodeAgent:
        ring = SegmentRing(str(folder), 1 << 24)
        ring.open()
        recorder = NodeRecorder(ring, dispatcher, plan, About("0", "3"), draw())  # type: ignore[arg-type]
        made.append(recorder)
        return NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)  # type: ignore[arg-type]

    monkeypatch.setattr(simulated_node, "NodeAgent", agent)
    node = SimulatedNode(pool, manifests={"a.yaml": POD.replace("NAME", "a")})
    return node, made[0]


def test_an_agent_on_threads_lives_again_to_its_last_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with closing(PoolDispatcher(1)) as pool, silence():
        node, recorder = recorded_node(tmp_path, pool, monkeypatch)
        node.start()
        until(lambda: "Running" in phases(node), LIMIT_S, "no pod runs")
        node.put_manifest("b.yaml", POD.replace("NAME", "b"))
        until(lambda: phases(node) == ["Running", "Running"], LIMIT_S, "two pods do not run")
        node.remove_manifest("a.yaml")
        until(lambda: phases(node) == ["Running"], LIMIT_S, "the pod stays")
        assert node.stop()
        recorder.close()
        assert not recorder.dispatcher.lost
        (run,) = runs_in(str(tmp_path))
        steps, differences = differences_of(run)
    assert not differences
    assert steps > 200
    assert not run.torn


def phases(node: SimulatedNode) -> list[str | None]:
    return [None if pod.status is None else pod.status.phase for pod in node.node.pods()]
