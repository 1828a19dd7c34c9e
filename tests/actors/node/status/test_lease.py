"""`NodeLeaseActor`: the lease is renewed whatever happens around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.pods import NodeObserved
from actors.node.status.lease import NodeLeaseActor
from config.objects import Node, ObjectMeta
from simulation.apiserver.server import ApiServer
from tests.actors.node_api import NodeApi

SECOND_NS = 1_000_000_000
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(3)
        self.system = ActorSystem(self.dispatcher)
        self.api = NodeApi(self.dispatcher, ApiServer(self.dispatcher))

    def start(self) -> None:
        self.lease = self.system.spawn(NodeLeaseActor, self.api, "n", 40, name="lease")
        self.run(1)

    def run(self, seconds: int) -> None:
        self.dispatcher.run_for(seconds * SECOND_NS)

    @property
    def shown(self) -> dict[str, Any]:
        return self.api.shown(PATH)

    def writes(self) -> list[str]:
        return [call.verb.split()[0] for call in self.api.writes]

    def calls(self) -> list[str]:
        return [call.verb.split()[0] for call in self.api.calls]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.report().dead_letters == 0
    assert world.system.stop()


# (spec 9.6.1)
def test_a_lease_is_made_and_renewed_every_ten_seconds_with_one_call(world: World) -> None:
    world.start()
    assert world.calls() == ["get", "create"]
    assert world.shown["spec"]["holderIdentity"] == "n"
    assert world.shown["spec"]["leaseDurationSeconds"] == 40
    first = world.shown["spec"]["renewTime"]
    world.run(104)
    assert world.calls() == ["get", "create"] + ["update"] * 10
    assert world.shown["spec"]["renewTime"] > first


def test_a_lease_of_an_earlier_life_is_renewed_at_once(world: World) -> None:
    spec = {"holderIdentity": "n", "leaseDurationSeconds": 20, "renewTime": "2020-01-01T00:00:00.000000Z"}
    world.api.put(PATH, {"metadata": {"name": "n", "namespace": "kube-node-lease"}, "spec": spec})
    world.start()
    assert world.writes() == ["update"]
    assert world.shown["spec"]["leaseDurationSeconds"] == 40


# (spec 9.6.2)
def test_the_node_becomes_the_owner_when_it_is_known(world: World) -> None:
    world.start()
    assert "ownerReferences" not in world.shown["metadata"]
    world.lease.tell(NodeObserved(Node(metadata=ObjectMeta(name="n", uid="u1"))))
    world.run(11)
    assert world.shown["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u1"}
    ]


def test_a_call_that_hangs_does_not_stop_the_next(world: World) -> None:
    world.start()
    world.api.hangs.add("update")
    world.run(25)
    assert len(world.api.hung) == 2
    assert world.api.hung[0].cancelled()
    world.api.hangs.clear()
    before = world.shown["spec"]["renewTime"]
    world.run(11)
    assert world.shown["spec"]["renewTime"] > before


# (spec 9.6.3)
def test_a_conflicting_lease_write_is_read_and_overwritten_in_the_same_renewal(world: World) -> None:
    world.start()
    world.api.put(PATH, {**world.shown, "spec": {**world.shown["spec"], "holderIdentity": "x"}})
    world.run(11)
    assert world.calls() == ["get", "create", "update", "get", "update"]
    assert world.shown["spec"]["holderIdentity"] == "n"


def test_a_lease_that_is_deleted_is_made_again_in_the_same_renewal(world: World) -> None:
    world.start()
    world.api.delete(PATH)
    world.run(11)
    assert world.shown["spec"]["holderIdentity"] == "n"
    before = world.shown["spec"]["renewTime"]
    world.run(11)
    assert world.shown["spec"]["renewTime"] > before


def test_an_api_server_that_is_away_at_the_start_is_asked_more_and_more_slowly(world: World) -> None:
    world.api.go_down()
    world.start()
    world.run(60)
    # Two tries each time, after 0.2, 0.4, ... 6.4 s, then every 7 s.
    assert 20 <= len(world.api.calls) <= 36
    world.api.come_back()
    world.run(8)
    assert world.writes() == ["create"]


def test_an_api_server_that_goes_and_comes_finds_the_lease_renewed_within_a_renewal(world: World) -> None:
    world.start()
    world.api.go_down()
    world.run(120)
    world.api.come_back()
    before = world.shown["spec"]["renewTime"]
    world.run(11)
    assert world.shown["spec"]["renewTime"] > before
