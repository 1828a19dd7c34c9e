"""`NodeStatusActor`: what becomes of the Node object when machine, runtime, API and people do what they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from actors.event_messages import RecordEvent
from actors.kernel import ActorSystem, Promise, SimulatedDispatcher, broken, kept
from actors.messages import FollowNode, NodeObserved, RuntimeStateObserved
from actors.node_messages import (
    ImagesChanged,
    NodePressureObserved,
    NodeTroubleObserved,
    RuntimeDescribed,
    RuntimeListed,
    VolumesInUseObserved,
)
from actors.node_object.settings import NodeSettings, Registration
from actors.node_status import NodeStatusActor
from config.kubelet import KubeletConfiguration
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Image, ListImagesResponse
from runtime.cri.verbs import LIST_IMAGES
from simulation.apiserver.core import Options
from simulation.apiserver.server import ApiServer
from simulation.host_facts import SimulatedHostFacts
from tests.actors.node_api import NodeApi
from tests.actors.probes import Recorder

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
PATH = "/api/v1/nodes/n"
WELL = RuntimeStateObserved("", "", "containerd")


class Images:
    """The part of a runtime that is asked here."""

    def __init__(self) -> None:
        self.images: tuple[Image, ...] = (Image(id="1", repo_tags=("nginx:1",), size=10),)
        self.lists = 0
        self.broken = False

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if self.broken:
            return broken(CriError(StatusCode.UNAVAILABLE, "no runtime", verb.name))
        assert verb is LIST_IMAGES
        self.lists += 1
        return kept(ListImagesResponse(images=self.images))

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class World:
    def __init__(self, *, alone: bool = False, registration: Registration | None = None, **fields: Any) -> None:
        self.dispatcher = SimulatedDispatcher(7)
        self.system = ActorSystem(self.dispatcher)
        # Nobody renews a lease here, and nobody looks for one.
        self.server = ApiServer(self.dispatcher, Options(node_grace_ns=0))
        self.api = NodeApi(self.dispatcher, self.server)
        self.images = Images()
        self.host = SimulatedHostFacts("n")
        self._lists = False
        self.fails = False
        self.events_ref, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.listener, self.heard = Recorder.spawn_in(self.system, "listener", NodeObserved)
        self._settings = NodeSettings(
            "n", "/var/lib/kubelet", KubeletConfiguration(**fields), registration or Registration()
        )
        self._alone = alone

    def start(self, *, well: bool = True) -> World:
        self.node = self.system.spawn(
            NodeStatusActor,
            None if self._alone else self.api,
            self.images,
            self.host,
            self._settings,
            self.events_ref,
            (self.listener,),
            name="node-status",
        )
        if well:
            self.node.tell(RuntimeDescribed("containerd", "2.0.0"))
            self.node.tell(WELL)
            self.list_runtime()
        self.run(SECOND_NS)
        return self

    def list_runtime(self) -> None:
        self._lists = True
        self.node.tell(RuntimeListed(self.dispatcher.now_ns()))

    def run(self, ns: int) -> None:
        """With a list of the runtime each minute, once there was one."""
        while ns > 0:
            if self._lists:
                self.list_runtime()
            step = min(ns, MINUTE_NS)
            self.dispatcher.run_for(step)
            ns -= step

    @property
    def shown(self) -> dict[str, Any]:
        return self.api.shown(PATH)

    def condition(self, kind: str) -> dict[str, str]:
        (found,) = (one for one in self.shown["status"]["conditions"] if one["type"] == kind)
        return found

    @property
    def ready(self) -> str:
        return self.condition("Ready")["status"]

    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]

    def writes(self) -> list[str]:
        return [call.verb for call in self.api.writes]


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.fails or world.system.report().dead_letters == 0
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[-1]


def made(worlds: list[World], **fields: Any) -> World:
    worlds.append(World(**fields))
    return worlds[-1]


# --- registering ----------------------------------------------------------------------------------------------------


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


def existing(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "labels": {"mine": "x", "kubernetes.io/arch": "s390x"},
            "annotations": {"note": "keep"},
        },
        "spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]},
        "status": status,
    }


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


def test_a_node_that_is_not_to_register_waits_for_its_object(worlds: list[World]) -> None:
    world = made(worlds, register_node=False)
    world.start()
    world.run(30 * SECOND_NS)
    assert world.api.writes == []
    world.api.put(PATH, existing())
    world.run(11 * SECOND_NS)
    assert world.ready == "True"
    assert "kubernetes.io/os" not in world.shown["metadata"]["labels"]


# --- what is worth a write ------------------------------------------------------------------------------------------


def test_nothing_is_written_while_nothing_changes_until_it_is_time_to_report(world: World) -> None:
    world.start()
    transition = world.condition("Ready")["lastTransitionTime"]
    minutes = []
    for minute in range(1, 31):
        written = len(world.api.writes)
        world.run(MINUTE_NS)
        minutes += [minute] * (len(world.api.writes) - written)
    # The first report after a change comes up to half of the five minutes sooner or later, the others do not.
    assert 3 <= minutes[0] <= 8
    assert {after - before for before, after in pairwise(minutes)} <= {5, 6}
    ready = world.condition("Ready")
    assert ready["lastTransitionTime"] == transition < ready["lastHeartbeatTime"]


def test_a_change_is_one_write_at_the_next_look(world: World) -> None:
    world.start()
    world.host.root_disk_bytes *= 2
    world.run(25 * SECOND_NS)
    assert world.writes() == ["create nodes n", "patch nodes/status n"]
    assert world.shown["status"]["capacity"]["ephemeral-storage"] == "200Gi"


def test_pressure_and_trouble_are_written_at_once_and_taken_back(world: World) -> None:
    world.start()
    world.node.tell(NodePressureObserved(memory=True))
    world.node.tell(NodeTroubleObserved("shutdown", "node is shutting down"))
    world.run(2 * SECOND_NS)
    assert world.condition("MemoryPressure")["status"] == "True"
    assert world.condition("Ready")["message"] == "node is shutting down"
    assert world.reasons()[-2:] == ["NodeHasInsufficientMemory", "NodeNotReady"]
    world.node.tell(NodePressureObserved())
    world.node.tell(NodeTroubleObserved("shutdown", ""))
    world.run(2 * SECOND_NS)
    assert world.ready == "True"
    assert world.reasons()[-2:] == ["NodeHasSufficientMemory", "NodeReady"]


def test_a_runtime_that_is_down_makes_the_node_unready_after_thirty_seconds(world: World) -> None:
    world.start()
    world.node.tell(RuntimeStateObserved("connection refused", "not known", "", world.dispatcher.now_ns()))
    world.run(29 * SECOND_NS)
    assert world.ready == "True"
    world.run(2 * SECOND_NS)
    assert world.ready == "False"
    assert world.condition("Ready")["message"] == "container runtime is down: connection refused"
    assert world.reasons()[-1] == "NodeNotReady"
    world.node.tell(WELL)
    world.run(SECOND_NS)
    assert world.ready == "True"


def test_a_runtime_that_cannot_be_listed_makes_the_node_unready_after_three_minutes(world: World) -> None:
    world.start()
    world.dispatcher.run_for(178 * SECOND_NS)
    assert world.ready == "True"
    world.dispatcher.run_for(3 * SECOND_NS)
    assert world.ready == "False"
    written = len(world.api.writes)
    world.dispatcher.run_for(MINUTE_NS)
    assert len(world.api.writes) == written
    world.list_runtime()
    world.run(SECOND_NS)
    assert world.ready == "True"


def test_images_are_listed_once_a_minute_and_after_a_pull(world: World) -> None:
    world.start()
    world.run(50 * SECOND_NS)
    assert world.images.lists == 1
    world.images.images = (*world.images.images, Image(id="2", repo_tags=("big:1",), size=99))
    world.node.tell(ImagesChanged())
    world.run(21 * SECOND_NS)
    assert world.images.lists == 2
    assert [image["names"] for image in world.shown["status"]["images"]] == [["big:1"], ["nginx:1"]]


def test_images_that_cannot_be_listed_stay_as_they_were(world: World) -> None:
    world.start()
    world.images.broken = True
    world.run(3 * MINUTE_NS)
    assert world.shown["status"]["images"] == [{"names": ["nginx:1"], "sizeBytes": 10}]


def test_a_reboot_is_an_event(world: World) -> None:
    world.api.put(PATH, existing(nodeInfo={"bootID": "an older one"}))
    world.start()
    rebooted = [event for event in world.events if event.reason == "Rebooted"]
    boot_id = world.host.machine_facts.boot_id
    assert [(event.type, event.message) for event in rebooted] == [
        ("Warning", f"Node n has been rebooted, boot id: {boot_id}")
    ]


def test_attached_volumes_in_use_are_named(world: World) -> None:
    world.start()
    world.node.tell(VolumesInUseObserved(("b", "a")))
    world.run(11 * SECOND_NS)
    assert world.shown["status"]["volumesInUse"] == ["a", "b"]


def test_what_an_earlier_agent_had_in_use_stays_named_until_it_is_known_that_it_is_not(world: World) -> None:
    world.start()
    change(world, status={**world.shown["status"], "volumesInUse": ["old"]})
    world.node.tell(VolumesInUseObserved(("new",), complete=False))
    world.run(11 * SECOND_NS)
    assert world.shown["status"]["volumesInUse"] == ["new", "old"]
    world.node.tell(VolumesInUseObserved(("new",)))
    world.run(11 * SECOND_NS)
    assert world.shown["status"]["volumesInUse"] == ["new"]


# --- what others do to the object -----------------------------------------------------------------------------------


def change(world: World, **parts: Any) -> None:
    world.api.put(PATH, {**world.shown, **parts})
    world.run(MILLISECOND_NS)


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


def test_a_follower_is_told_the_node_at_once_and_then_its_changes_without_heartbeats(world: World) -> None:
    world.start()
    late, heard = Recorder.spawn_in(world.system, "late", NodeObserved)
    world.node.tell(FollowNode(late))
    world.run(MILLISECOND_NS)
    assert [message.node.metadata.uid for message in heard] == [world.shown["metadata"]["uid"]]
    world.run(9 * MINUTE_NS)
    assert len(world.writes()) > 1
    assert len(heard) == 1


def test_a_deleted_node_comes_back_after_one_period_as_cordoned_as_it_was(world: World) -> None:
    world.start()
    change(world, spec={"unschedulable": True})
    first = world.shown["metadata"]["uid"]
    world.api.delete(PATH)
    world.run(9 * SECOND_NS)
    assert world.writes() == ["create nodes n"]
    world.run(5 * SECOND_NS)
    assert world.writes() == ["create nodes n", "create nodes n"]
    assert world.shown["spec"] == {"unschedulable": True}
    assert world.shown["metadata"]["uid"] != first
    assert world.heard[-1].node.metadata.uid == world.shown["metadata"]["uid"]
    assert world.ready == "True"


# --- an API server in trouble ---------------------------------------------------------------------------------------


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


def test_what_changed_while_the_api_server_was_away_is_one_write_when_it_is_back(world: World) -> None:
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


def test_an_api_server_that_is_away_is_tried_once_a_period_and_not_each_time_somebody_says_something(
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


# --- the machine ----------------------------------------------------------------------------------------------------


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


def test_a_disk_that_cannot_be_measured_keeps_a_node_from_being_ready(world: World) -> None:
    def fail(_: str) -> int:
        raise OSError("input/output error")

    world.host.disk_bytes = fail  # type: ignore[method-assign]
    world.start()
    assert world.condition("Ready")["message"] == "missing node capacity for resources: ephemeral-storage"
    del world.host.disk_bytes  # type: ignore[attr-defined]
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


# --- standing alone -------------------------------------------------------------------------------------------------


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
