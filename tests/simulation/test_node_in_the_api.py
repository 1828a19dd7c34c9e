"""A whole node as the API shows it: ready when its runtime is, and through crashes of agent, runtime and API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.api import ApiLines
from simulation.simulated_node import SimulatedNode
from tests.actors.node_api import SmallApi

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
NODE = "/api/v1/nodes/n"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"


class World:
    def __init__(self, seed: int = 1) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.api = SmallApi()
        self.node = SimulatedNode(self.dispatcher, name="n", api=ApiLines(self.api, self.api, self.api))

    def start(self) -> World:
        self.node.start()
        return self

    def run(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    @property
    def ready(self) -> str:
        (ready,) = (one for one in self.api.objects[NODE]["status"]["conditions"] if one["type"] == "Ready")
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
def test_a_node_is_ready_within_a_moment_of_its_start_and_costs_one_write(seed: int) -> None:
    world = World(seed).start()
    world.run(150 * MILLISECOND_NS)
    assert world.ready == "True"
    assert len(world.writes("/nodes")) == 1
    info = world.api.objects[NODE]["status"]["nodeInfo"]
    assert info["containerRuntimeVersion"].startswith("simulated://")
    assert world.api.objects[LEASE]["spec"]["holderIdentity"] == "n"
    world.run(11 * SECOND_NS)
    owner = world.api.objects[LEASE]["metadata"]["ownerReferences"][0]
    assert owner["uid"] == world.api.objects[NODE]["metadata"]["uid"]
    assert world.node.stop()


def test_a_runtime_that_goes_makes_the_node_unready_half_a_minute_after_its_last_answer(world: World) -> None:
    world.run(SECOND_NS)
    world.node.cri.go_down()
    assert world.readies(25 * SECOND_NS) == {"True"}
    world.run(7 * SECOND_NS)
    assert world.ready == "False"
    world.node.cri.come_back()
    world.run(3 * SECOND_NS)
    assert world.ready == "True"


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
    assert len(world.writes("/nodes")) == 1


def test_the_lease_is_renewed_while_the_status_cannot_be_written(world: World) -> None:
    world.run(SECOND_NS)
    world.api.hangs.add("patch")
    world.node.machine.root_disk_bytes *= 2
    before = world.api.objects[LEASE]["spec"]["renewTime"]
    renewals = len(world.writes("/leases"))
    world.run(65 * SECOND_NS)
    assert len(world.writes("/leases")) - renewals == 6
    assert world.api.objects[LEASE]["spec"]["renewTime"] > before


def test_ten_minutes_without_an_api_server_end_with_a_lease_and_one_write_of_what_changed(world: World) -> None:
    world.run(SECOND_NS)
    world.api.cut()
    world.run(300 * SECOND_NS)
    world.node.machine.root_disk_bytes *= 2
    world.run(300 * SECOND_NS)
    world.api.down = False
    leases = len(world.writes("/leases"))
    world.run(12 * SECOND_NS)
    assert len(world.writes("/nodes")) == 2
    assert len(world.writes("/leases")) > leases
    assert world.api.objects[NODE]["status"]["capacity"]["ephemeral-storage"] == "200Gi"
    assert world.ready == "True"
