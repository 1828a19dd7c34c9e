"""A whole node as the API shows it.

It is ready when its runtime is, and through crashes of agent, runtime and API server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.api import ApiLines
from simulation.apiserver.core import Options
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.node.simulated_node import SimulatedNode
from tests.actors.node_api import NodeApi

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
NODE = "/api/v1/nodes/n"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"


class World:
    def __init__(self, seed: int = 1, faults: Faults | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.server = ApiServer(self.dispatcher, Options(authorization="Node"))
        # As the node, with its permissions and no more.
        self.api = NodeApi(
            self.dispatcher, self.server, ApiUser("system:node:n", ("system:nodes", "system:authenticated")), faults
        )
        self.faults = faults or Faults(FaultPlan(), seed)
        self.node = SimulatedNode(self.dispatcher, name="n", api=ApiLines(self.api, self.api, self.api))

    def start(self) -> World:
        self.node.start()
        return self

    def run(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    @property
    def ready(self) -> str:
        (ready,) = (one for one in self.api.shown(NODE)["status"]["conditions"] if one["type"] == "Ready")
        return str(ready["status"])

    def readies(self, ns: int, step_ns: int = SECOND_NS) -> set[str]:
        """Every status of Ready that was seen within `ns`."""
        seen = set()
        for _ in range(ns // step_ns):
            self.run(step_ns)
            seen.add(self.ready)
        return seen

    def writes(self, what: str) -> list[Any]:
        return [call for call in self.api.writes if what in call.path]


@pytest.fixture
def world() -> Iterator[World]:
    world = World().start()
    yield world
    assert world.node.stop()


@pytest.mark.parametrize("seed", range(5))
def test_a_node_is_ready_within_a_moment_of_its_start_and_costs_two_writes(seed: int) -> None:
    world = World(seed).start()
    world.run(150 * MILLISECOND_NS)
    assert world.ready == "False", "its CSINode is not there yet"
    world.run(150 * MILLISECOND_NS)
    assert world.ready == "True"
    assert len(world.writes("/nodes")) == 2
    info = world.api.shown(NODE)["status"]["nodeInfo"]
    assert info["containerRuntimeVersion"].startswith("simulated://")
    assert world.api.shown(LEASE)["spec"]["holderIdentity"] == "n"
    world.run(11 * SECOND_NS)
    owner = world.api.shown(LEASE)["metadata"]["ownerReferences"][0]
    assert owner["uid"] == world.api.shown(NODE)["metadata"]["uid"]
    assert world.node.stop()


# (spec 2.12.1)
def test_a_runtime_that_goes_makes_the_node_unready_half_a_minute_after_its_last_answer(world: World) -> None:
    world.run(SECOND_NS)
    world.node.cri.go_down()
    assert world.readies(25 * SECOND_NS) == {"True"}
    world.run(7 * SECOND_NS)
    assert world.ready == "False"
    world.node.cri.come_back()
    world.run(3 * SECOND_NS)
    assert world.ready == "True"


# (spec 2.12.2)
def test_a_network_that_is_not_ready_is_said_at_the_next_question(world: World) -> None:
    world.run(SECOND_NS)
    world.node.cri.set_ready(network=False)
    world.run(7 * SECOND_NS)
    assert world.ready == "False"
    world.node.cri.set_ready()
    world.run(7 * SECOND_NS)
    assert world.ready == "True"


def test_an_agent_that_is_killed_and_started_again_never_makes_its_node_unready(world: World) -> None:
    world.run(SECOND_NS)
    for _ in range(5):
        world.node.restart_agent()
        assert world.readies(SECOND_NS, 20 * MILLISECOND_NS) == {"True"}
    assert len(world.writes("/nodes")) == 2


def test_the_lease_is_renewed_while_the_status_cannot_be_written(world: World) -> None:
    world.run(SECOND_NS)
    world.api.hangs.add("patch")
    world.node.machine.root_disk_bytes *= 2
    before = world.api.shown(LEASE)["spec"]["renewTime"]
    renewals = len(world.writes("/leases"))
    world.run(65 * SECOND_NS)
    assert len(world.writes("/leases")) - renewals == 6
    assert world.api.shown(LEASE)["spec"]["renewTime"] > before


def test_ten_minutes_without_an_api_server_end_with_a_lease_and_one_write_of_what_changed(world: World) -> None:
    world.run(SECOND_NS)
    world.api.go_down()
    world.run(300 * SECOND_NS)
    world.node.machine.root_disk_bytes *= 2
    world.run(300 * SECOND_NS)
    world.api.come_back()
    leases = len(world.writes("/leases"))
    writes = len(world.writes("/nodes"))
    world.run(12 * SECOND_NS)
    assert len(world.writes("/nodes")) == writes + 1
    assert len(world.writes("/leases")) > leases
    assert world.api.shown(NODE)["status"]["capacity"]["ephemeral-storage"] == "200Gi"
    assert world.ready == "True"


def test_a_node_that_was_taken_for_dead_is_ready_soon_after_the_network_is_back(world: World) -> None:
    world.run(SECOND_NS)
    world.api.go_down()
    world.run(120 * SECOND_NS)
    node = world.api.shown(NODE)
    ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    world.api.put(NODE, {**node, "status": {**node["status"], "conditions": [ready]}})
    assert world.ready == "Unknown"
    world.api.come_back()
    world.run(12 * SECOND_NS)
    assert world.ready == "True"
    assert world.readies(60 * SECOND_NS) == {"True"}


@pytest.mark.parametrize("seed", range(4))
def test_calls_that_fail_hang_or_lose_their_answer_never_let_a_node_seem_dead_for_long(seed: int) -> None:
    troubles = CallFaults(fail=0.2, lose=0.1, hang=0.1, slow=0.2, late=0.2)
    world = World(seed, Faults(FaultPlan(calls={"*": troubles}), seed)).start()
    for minute in range(10):
        world.run(60 * SECOND_NS)
        world.node.machine.root_disk_bytes = (200 + minute) * 2**30
    world.faults.heal()
    world.run(25 * SECOND_NS)
    status = world.api.shown(NODE)["status"]
    assert status["capacity"]["ephemeral-storage"] == "209Gi"
    assert world.ready == "True"
    assert world.readies(60 * SECOND_NS) == {"True"}
    writes = len(world.writes("/nodes"))
    world.run(60 * SECOND_NS)
    assert len(world.writes("/nodes")) - writes <= 1
    assert world.node.stop()
