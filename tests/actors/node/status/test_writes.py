"""`NodeStatusActor`: what is worth a write, and when."""

from __future__ import annotations

from itertools import pairwise

from actors.messages.devices import DeviceAmountsObserved
from actors.messages.node import (
    ImagesChanged,
    NodePressureObserved,
    NodeProblemObserved,
    VolumesInUseObserved,
)
from actors.messages.pods import RuntimeStateObserved
from config.frozen_map import FrozenMap
from runtime.cri.messages import Image
from tests.actors.node.status.worlds import (
    MINUTE_NS,
    PATH,
    SECOND_NS,
    WELL,
    World,
    change,
    existing,
)


# (spec 9.2.1)
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


# (spec 9.2.1)
def test_a_change_is_one_write_at_the_next_look(world: World) -> None:
    world.start()
    world.host.root_disk_bytes *= 2
    world.run(25 * SECOND_NS)
    assert world.writes() == ["create nodes n", "patch nodes/status n"]
    assert world.shown["status"]["capacity"]["ephemeral-storage"] == "200Gi"


def test_pressure_and_trouble_are_written_at_once_and_taken_back(world: World) -> None:
    world.start()
    world.node.tell(NodePressureObserved(memory=True))
    world.node.tell(NodeProblemObserved("shutdown", "node is shutting down"))
    world.run(2 * SECOND_NS)
    assert world.condition("MemoryPressure")["status"] == "True"
    assert world.condition("Ready")["message"] == "node is shutting down"
    assert world.reasons()[-2:] == ["NodeHasInsufficientMemory", "NodeNotReady"]
    world.node.tell(NodePressureObserved())
    world.node.tell(NodeProblemObserved("shutdown", ""))
    world.run(2 * SECOND_NS)
    assert world.ready == "True"
    assert world.reasons()[-2:] == ["NodeHasSufficientMemory", "NodeReady"]


# (spec 2.1.1, 2.12.1)
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


# (spec 2.1.2, 2.5.5)
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


# (spec 9.3.3)
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


# (spec 9.5)
def test_devices_of_plugins_are_published_soon_and_those_of_others_are_kept(world: World) -> None:
    world.start()
    status = world.shown["status"]
    others = {"other.example/thing": "3"}
    change(world, status={**status, "capacity": {**status["capacity"], **others}})
    gpu, nic = "vendor.example/gpu", "vendor.example/nic"
    world.node.tell(DeviceAmountsObserved(FrozenMap({gpu: 4, nic: 0}), FrozenMap({gpu: 3, nic: 0})))
    world.run(5 * SECOND_NS)
    shown = world.shown["status"]
    assert [shown["capacity"][name] for name in (gpu, nic, "other.example/thing")] == ["4", "0", "3"]
    assert [shown["allocatable"][name] for name in (gpu, nic, "other.example/thing")] == ["3", "0", "3"]


def test_volumes_in_use_of_an_earlier_agent_stay_listed_until_the_list_is_complete(world: World) -> None:
    world.start()
    change(world, status={**world.shown["status"], "volumesInUse": ["old"]})
    world.node.tell(VolumesInUseObserved(("new",), complete=False))
    world.run(11 * SECOND_NS)
    assert world.shown["status"]["volumesInUse"] == ["new", "old"]
    world.node.tell(VolumesInUseObserved(("new",)))
    world.run(11 * SECOND_NS)
    assert world.shown["status"]["volumesInUse"] == ["new"]
