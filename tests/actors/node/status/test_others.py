"""`NodeStatusActor`: the Node object when people, controllers and the API server change it."""

from __future__ import annotations

import pytest

from actors.messages.node import (
    NodePressureObserved,
)
from actors.messages.pods import FollowNode, NodeObserved
from tests.actors.node.status.worlds import (
    MILLISECOND_NS,
    MINUTE_NS,
    PATH,
    SECOND_NS,
    WELL,
    World,
    change,
    existing,
)
from tests.actors.recorders import Recorder

# --- what others do to the object -------------------------------------------------------------------------------------


# (spec 9.3.3)
def test_a_node_that_is_cordoned_says_so_and_those_who_listen_hear_of_it(world: World) -> None:
    world.start()
    world.heard.clear()
    change(world, spec={"unschedulable": True})
    assert world.reasons()[-1] == "NodeNotSchedulable"
    assert [message.node.spec.unschedulable for message in world.heard] == [True]
    change(world, spec={})
    assert world.reasons()[-1] == "NodeSchedulable"
    assert world.writes() == ["create nodes n"]


def test_a_node_that_a_controller_took_for_dead_says_that_it_lives_at_the_next_look(world: World) -> None:
    world.start()
    conditions = [
        {**one, "status": "Unknown"} if one["type"] == "Ready" else one for one in world.shown["status"]["conditions"]
    ]
    change(world, status={**world.shown["status"], "conditions": conditions})
    assert world.ready == "Unknown"
    world.run(11 * SECOND_NS)
    assert world.ready == "True"
    assert world.reasons()[-1] == "NodeReady"


def test_conditions_labels_and_addresses_of_others_are_left_alone(world: World) -> None:
    world.start()
    foreign = {"type": "NetworkUnavailable", "status": "False"}
    status = world.shown["status"]
    metadata = world.shown["metadata"]
    change(
        world,
        metadata={**metadata, "labels": {**metadata["labels"], "mine": "x"}},
        status={**status, "conditions": [foreign, *status["conditions"]]},
    )
    world.node.tell(NodePressureObserved(disk=True))
    world.run(2 * SECOND_NS)
    assert world.condition("DiskPressure")["status"] == "True"
    assert world.condition("NetworkUnavailable") == foreign
    assert world.shown["metadata"]["labels"]["mine"] == "x"


@pytest.mark.parametrize("wrong", [{"kubernetes.io/os": "dummyOS", "kubernetes.io/arch": "dummyArch"}, {}])
def test_os_and_arch_are_set_right_at_the_next_look(world: World, wrong: dict[str, str]) -> None:
    world.start()
    metadata = world.shown["metadata"]
    right = {name: metadata["labels"][name] for name in ("kubernetes.io/os", "kubernetes.io/arch")}
    others = {name: value for name, value in metadata["labels"].items() if name not in right}
    change(world, metadata={**metadata, "labels": {**others, "mine": "x", **wrong}})
    world.run(11 * SECOND_NS)
    assert world.shown["metadata"]["labels"] == {**others, "mine": "x", **right}


def test_a_follower_is_told_the_node_at_once_and_then_its_changes_without_heartbeats(world: World) -> None:
    world.start()
    late, heard = Recorder.spawn_in(world.system, "late", NodeObserved)
    world.node.tell(FollowNode(late))
    world.run(MILLISECOND_NS)
    assert [message.node.metadata.uid for message in heard] == [world.shown["metadata"]["uid"]]
    world.run(9 * MINUTE_NS)
    assert len(world.writes()) > 1
    assert len(heard) == 1


def test_a_deleted_node_stays_away_until_somebody_makes_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.start()
    world.api.delete(PATH)
    world.run(3 * MINUTE_NS)
    assert world.writes() == ["create nodes n"]
    said = [each.message for each in caplog.records if "was deleted" in each.message]
    assert len(said) == 1
    assert "restart this agent" in said[0]
    world.api.put(PATH, existing())
    world.run(11 * SECOND_NS)
    assert world.ready == "True"
    assert world.heard[-1].node.metadata.uid == world.shown["metadata"]["uid"]


def test_a_deleted_node_is_registered_again_by_the_next_agent(world: World) -> None:
    world.start()
    world.api.delete(PATH)
    world.run(MINUTE_NS)
    world.node.stop()
    world.dispatcher.run_for(SECOND_NS)
    world.start()
    assert world.writes() == ["create nodes n", "create nodes n"]
    assert world.ready == "True"


# --- an API server in trouble -----------------------------------------------------------------------------------------


def test_a_call_that_hangs_is_given_up_and_made_again(world: World) -> None:
    world.start()
    world.api.hangs.add("patch")
    world.node.tell(NodePressureObserved(memory=True))
    world.run(30 * SECOND_NS)
    assert world.api.hung[0].cancelled()
    assert world.api.made("patch") <= 3
    world.api.hangs.clear()
    world.run(15 * SECOND_NS)
    assert world.condition("MemoryPressure")["status"] == "True"
    assert world.reasons().count("NodeHasInsufficientMemory") == 1


def test_changes_during_an_outage_are_written_once_when_the_api_server_is_back(world: World) -> None:
    world.start()
    world.api.go_down()
    for memory in (True, False, True):
        world.node.tell(NodePressureObserved(memory=memory))
        world.run(MINUTE_NS)
    world.host.root_disk_bytes *= 2
    world.run(7 * MINUTE_NS)
    world.api.come_back()
    world.run(15 * SECOND_NS)
    assert world.writes() == ["create nodes n", "patch nodes/status n"]
    assert world.condition("MemoryPressure")["status"] == "True"
    assert world.shown["status"]["capacity"]["ephemeral-storage"] == "200Gi"


def test_an_absent_api_server_is_tried_once_per_period_regardless_of_news(
    world: World,
) -> None:
    world.start()
    world.api.go_down()
    world.run(10 * SECOND_NS)
    before = world.api.made("get")
    for index in range(60):
        world.node.tell(NodePressureObserved(memory=True))
        world.list_runtime()
        world.run(SECOND_NS)
        if index % 10 == 0:
            world.node.tell(WELL)
    tries = world.api.made("get") - before
    assert tries <= 5 * 8
