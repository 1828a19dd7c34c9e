"""`NodeStatusActor`: how the Node object comes to be, and what its machine has to do with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.messages.node import (
    NodePressureObserved,
    NodeProblemObserved,
    RuntimeDescribed,
)
from actors.node_object.addresses import NodeIps
from actors.node_object.settings import Registration
from runtime.host.network import InterfaceAddress, NetworkFacts
from tests.actors.node.status.worlds import (
    MILLISECOND_NS,
    MINUTE_NS,
    PATH,
    SECOND_NS,
    WELL,
    World,
    existing,
    made,
)

# --- registering ------------------------------------------------------------------------------------------------------


# (spec 9.1.1)
def test_a_node_whose_runtime_is_well_is_registered_ready_in_one_write(world: World) -> None:
    world.start()
    assert [call.verb for call in world.api.calls] == ["list nodes", "create nodes n"]
    assert world.ready == "True"
    status = world.shown["status"]
    assert status["capacity"] == {
        "cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi", "hugepages-2Mi": "0",
        "hugepages-1Gi": "0",
    }  # fmt: skip
    assert status["addresses"] == [
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "n"},
    ]
    assert status["nodeInfo"]["containerRuntimeVersion"] == "containerd://2.0.0"
    assert status["nodeInfo"]["bootID"] == world.host.machine_facts.boot_id
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert status["images"] == [{"names": ["nginx:1"], "sizeBytes": 10}]
    assert world.reasons() == [
        "Starting", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID",
    ]  # fmt: skip
    event = world.events[1]
    assert (event.kind, event.uid, event.namespace, event.name, event.type) == ("Node", "n", "", "n", "Normal")
    assert event.message == "Node n status is now: NodeHasSufficientMemory"


# (spec 2.2.3, 9.2.4)
def test_a_node_is_ready_as_soon_as_its_runtime_is(world: World) -> None:
    world.start(well=False)
    assert world.ready == "False"
    assert world.condition("Ready")["message"] == "container runtime status check may not have completed yet"
    world.node.tell(RuntimeDescribed("containerd", "2.0.0"))
    world.node.tell(WELL)
    world.list_runtime()
    world.run(100 * MILLISECOND_NS)
    assert world.ready == "True"
    assert world.writes() == ["create nodes n", "patch nodes/status n"]
    assert world.reasons()[-1] == "NodeReady"


STARTING = NodeProblemObserved("disks", "the disks are being counted", starting=True)


def test_a_new_node_is_not_ready_while_one_of_its_parts_has_only_begun(world: World) -> None:
    world.start(first=STARTING)
    assert world.ready == "False"
    assert world.condition("Ready")["message"] == STARTING.reason
    world.node.tell(NodeProblemObserved("disks", ""))
    world.run(100 * MILLISECOND_NS)
    assert world.ready == "True"
    assert world.reasons()[-1] == "NodeReady"


def test_a_part_that_begins_anew_takes_ready_from_no_node(world: World) -> None:
    boot = {"bootID": world.host.machine_facts.boot_id}
    world.api.put(PATH, existing(conditions=[READY], nodeInfo=boot))
    world.start(first=STARTING)
    assert world.ready == "True"
    world.node.tell(STARTING)
    world.run(MINUTE_NS)
    assert world.ready == "True"


# (spec 9.1.1)
def test_a_dead_api_server_is_tried_again_more_and_more_slowly_until_it_is_back(world: World) -> None:
    world.api.go_down()
    world.start()
    world.run(MINUTE_NS)
    # 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, then every 7 s
    assert 12 <= world.api.made("create nodes") <= 15
    world.api.come_back()
    world.run(8 * SECOND_NS)
    assert world.writes() == ["create nodes n"]
    assert world.ready == "True"


# (spec 9.1.2)
def test_a_node_that_exists_is_set_right_in_one_write_and_keeps_what_others_gave_it(world: World) -> None:
    world.api.put(PATH, existing(capacity={"example.com/gpu": "2", "cpu": "1"}))
    world.start()
    assert world.writes() == ["patch nodes/status n"]
    assert world.shown["metadata"]["labels"] == {
        "mine": "x",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "n",
    }
    assert world.shown["metadata"]["annotations"] == {
        "note": "keep",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    assert world.shown["spec"]["taints"] == [{"key": "mine", "effect": "NoSchedule"}]
    assert world.shown["status"]["capacity"]["example.com/gpu"] == "0"
    assert world.shown["status"]["capacity"]["cpu"] == "4"
    assert world.ready == "True"


READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}


def test_a_node_that_was_ready_stays_so_while_a_new_agent_gets_to_know_its_runtime(world: World) -> None:
    boot = {"bootID": world.host.machine_facts.boot_id}
    world.api.put(PATH, existing(conditions=[READY], nodeInfo=boot))
    world.start(well=False)
    world.run(5 * SECOND_NS)
    assert world.ready == "True"
    world.node.tell(WELL)
    world.run(15 * SECOND_NS)
    assert world.ready == "True"
    world.run(10 * SECOND_NS)
    assert world.condition("Ready")["message"] == "PLEG is not healthy: the pods of the runtime have yet to be listed"


def test_a_node_that_was_ready_before_a_reboot_is_not_until_its_runtime_is(world: World) -> None:
    world.api.put(PATH, existing(conditions=[READY], nodeInfo={"bootID": "another"}))
    world.start(well=False)
    assert world.ready == "False"


def test_a_node_that_may_not_be_created_uses_the_one_somebody_made(world: World) -> None:
    world.api.put(PATH, existing())
    world.api.refuses.add("create")
    world.start()
    assert world.ready == "True"


# (spec 9.1.5)
def test_a_node_that_is_not_to_register_waits_for_its_object(worlds: list[World]) -> None:
    world = made(worlds, register_node=False)
    world.start()
    world.run(30 * SECOND_NS)
    assert world.api.writes == []
    world.api.put(PATH, existing())
    world.run(11 * SECOND_NS)
    assert world.ready == "True"
    assert "kubernetes.io/hostname" not in world.shown["metadata"]["labels"], "it is not registered"


# --- the machine ------------------------------------------------------------------------------------------------------


def test_an_address_asked_for_that_the_machine_has_not_keeps_the_node_without_one_until_it_comes(
    worlds: list[World],
) -> None:
    world = made(worlds, registration=Registration(node_ips=("203.0.113.5",)))
    world.start()
    assert "addresses" not in world.shown["status"]
    network = world.host.network_facts
    world.host.network_facts = replace(
        network, interfaces=tuple(replace(one, address="203.0.113.5") for one in network.interfaces[1:])
    )
    world.run(21 * SECOND_NS)
    assert world.shown["status"]["addresses"][0] == {"type": "InternalIP", "address": "203.0.113.5"}


def test_a_resolver_that_does_not_answer_for_a_while_does_not_move_the_node_to_another_address(world: World) -> None:
    more = (InterfaceAddress("eth9", "203.0.113.9"), *world.host.network_facts.interfaces)
    named = replace(world.host.network_facts, interfaces=more, looked_up=("203.0.113.9",))
    published = [{"type": "InternalIP", "address": "203.0.113.9"}, {"type": "Hostname", "address": "n"}]
    world.host.network_facts = named
    world.start()
    assert world.shown["status"]["addresses"] == published
    world.host.network_facts = replace(named, looked_up=None)
    world.run(30 * SECOND_NS)
    assert world.shown["status"]["addresses"] == published
    world.host.network_facts = replace(named, looked_up=())
    world.run(30 * SECOND_NS)
    assert world.shown["status"]["addresses"][0]["address"] != "203.0.113.9", "there is no such name any more"


def test_a_node_whose_network_is_still_being_read_registers_with_the_addresses_found_at_the_start(
    worlds: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> NetworkFacts:
        raise OSError("the resolver does not answer")

    found = NodeIps(("192.0.2.1",), instead=frozenset({"192.0.2.1"}))
    world = made(worlds, registration=Registration(found=found))
    monkeypatch.setattr(world.host, "network", fail)
    world.start()
    assert world.shown["status"]["addresses"][0] == {"type": "InternalIP", "address": "192.0.2.1"}
    monkeypatch.undo()
    facts = world.host.network_facts
    world.host.network_facts = replace(
        facts, interfaces=(InterfaceAddress("eth9", "203.0.113.9"),), looked_up=("203.0.113.9",)
    )
    world.run(30 * SECOND_NS)
    assert world.shown["status"]["addresses"][0] == {"type": "InternalIP", "address": "203.0.113.9"}


def test_a_disk_that_cannot_be_measured_keeps_a_node_from_being_ready(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> int:
        raise OSError("input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(world.host, "disk_bytes", fail)
        world.start()
    assert world.condition("Ready")["message"] == "missing node capacity for resources: ephemeral-storage"
    world.run(21 * SECOND_NS)
    assert world.ready == "True"


def test_an_actor_that_failed_takes_its_node_over_again_and_goes_on(world: World) -> None:
    world.start()
    world.fails = True
    network = world.host.network_facts
    world.host.network_facts = 7  # type: ignore[assignment]
    world.run(11 * SECOND_NS)
    world.host.network_facts = network
    world.run(5 * SECOND_NS)
    assert world.writes() == ["create nodes n"]
    world.node.tell(RuntimeDescribed("containerd", "2.0.0"))
    world.node.tell(WELL)
    world.node.tell(NodePressureObserved(pid=True))
    world.run(15 * SECOND_NS)
    assert world.ready == "True"
    assert world.condition("PIDPressure")["status"] == "True"
    assert "NodeNotReady" not in world.reasons()
    gets = world.api.made("get")
    world.run(MINUTE_NS)
    assert world.api.made("get") == gets


# --- standing alone ---------------------------------------------------------------------------------------------------


def test_a_node_without_an_api_server_is_known_to_those_who_follow_it(worlds: list[World]) -> None:
    world = made(worlds, alone=True)
    world.start()
    assert world.heard[-1].node.status.capacity["cpu"] == "4"
    world.node.tell(NodePressureObserved(pid=True))
    world.run(2 * SECOND_NS)
    conditions = {one.type: one.status for one in world.heard[-1].node.status.conditions}
    assert conditions["PIDPressure"] == "True"
    assert world.reasons()[-1] == "NodeHasInsufficientPID"
    assert world.api.calls == []
