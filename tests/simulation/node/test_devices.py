"""Pods get devices of plugins, wait for plugins that are late, and keep what they have (spec 10.11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.devices.registrar import DevicePluginsActor
from actors.kernel import Actor
from actors.node.numbers import NodeNumbers
from actors.node.pod_resources import NodePodResources
from actors.resources.manager import ResourceManagerActor
from cli.inspect.what_if import lines_of, pod_in, what_if
from config.kubelet.feature_gates import FeatureGates
from config.objects import Pod
from runtime.device_plugins.capability import Device, PluginOptions
from runtime.pod_resources.capability import DevicesOnNodes, Holdings
from simulation.cri.state import ContainerRecord
from simulation.host.device_plugins import SimulatedDevicePlugin, some_devices
from simulation.node.simulated_node import ROOT
from tests.simulation.node.worlds import SECOND, Fail, World, container, let_fail, manifest

GPU = "vendor.example/gpu"
CHECKPOINT = f"{ROOT}/device-plugins/kubelet_internal_checkpoint"


def node(**options: Any) -> World:
    world = World(**options).start()
    world.run(2 * SECOND)
    return world


def plugin(world: World, count: int = 2, **options: Any) -> SimulatedDevicePlugin:
    found = world.node.device_plugins.add(GPU, some_devices(count), PluginOptions(**options))
    world.run(2 * SECOND)
    return found


def wants(count: int = 1, name: str = "app", **fields: Any) -> dict[str, Any]:
    return container(name, resources={"limits": {GPU: str(count)}}, **fields)


def put(world: World, name: str, *containers: dict[str, Any], **fields: Any) -> None:
    world.node.put_manifest(f"{name}.yaml", manifest(name, containers or [wants()], **fields))


def phase(world: World, name: str) -> str:
    return world.phases().get(name, "")


def reaches(world: World, name: str, wanted: str = "Running") -> int:
    return world.until(lambda: phase(world, name) == wanted)


def record(world: World, pod: str, name: str = "app") -> ContainerRecord:
    """The newest container of that name."""
    return [
        each
        for each in world.node.containers()
        if each.config.labels["io.kubernetes.pod.name"] == f"{pod}-node"
        and each.config.labels["io.kubernetes.container.name"] == name
    ][-1]


def devices(world: World, pod: str, name: str = "app") -> str:
    """The devices that a container was made with, as its plugin told it."""
    return next((each.value.decode() for each in record(world, pod, name).config.envs if each.key == "DEVICES"), "")


def waits(world: World, pod: str) -> list[str]:
    """What the pod waits for, as `explain` says it."""
    (uid,) = (each.uid for each in world.node.node.known_pods() if each.name == f"{pod}-node" and not each.gone)
    story = world.node.node.story(uid)
    assert story is not None
    return [each.text for each in story.waits]


def checkpoint(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(world.node.host.tree.read(CHECKPOINT))["Data"]
    return found


def amounts(world: World) -> tuple[str | None, str | None]:
    """Capacity and allocatable of the node."""
    known = world.node.node.known_node()
    assert known is not None
    status = known.node.status
    assert status is not None
    return status.capacity.get(GPU), status.allocatable.get(GPU)


# (spec 10.11.2)
def test_a_container_is_made_with_its_devices_and_the_checkpoint_has_them():
    world = node()
    plugin(world)
    put(world, "a")
    reaches(world, "a")
    assert devices(world, "a") == "device-0"
    assert [each.name for each in record(world, "a").config.CDI_devices] == [f"{GPU}=device-0"]
    (entry,) = checkpoint(world)["PodDeviceEntries"]
    assert (entry["ContainerName"], entry["ResourceName"]) == ("app", GPU)
    assert entry["DeviceIDs"] == {"-1": ["device-0"]}
    assert checkpoint(world)["RegisteredDevices"] == {GPU: ["device-0", "device-1"]}


def test_no_device_is_in_two_pods_and_what_an_ended_pod_had_is_given_again():
    world = node()
    plugin(world)
    for name in "ab":
        put(world, name)
        reaches(world, name)
    put(world, "c")
    reaches(world, "c", "Failed")
    status = world.pod("c").status
    assert status is not None
    assert status.reason == "UnexpectedAdmissionError"
    why = f"requested number of devices unavailable for {GPU}. Requested: 1, Available: 0"
    assert status.message == f"Pod was rejected: Allocate failed due to {why}, which is unexpected"
    world.node.remove_manifest("a.yaml")
    world.run(60 * SECOND)
    put(world, "d")
    reaches(world, "d")
    assert (devices(world, "b"), devices(world, "d")) == ("device-1", "device-0")


def test_what_a_plugin_prefers_counts_and_it_is_told_of_each_start():
    world = node()
    found = plugin(world, 4, pre_start=True, prefers=True)
    found.preferred = ("device-2", "device-3")
    put(world, "a", wants(2), behaviour={"run-for.app": "20s"})
    reaches(world, "a")
    assert devices(world, "a") == "device-2,device-3"
    assert [method for method, _ in found.calls] == ["GetPreferredAllocation", "Allocate", "PreStartContainer"]
    world.run(120 * SECOND)
    starts = [ids for method, ids in found.calls if method == "PreStartContainer"]
    assert len(starts) >= 2, "the container has restarted"
    assert set(starts) == {("device-2", "device-3")}
    assert [method for method, _ in found.calls].count("Allocate") == 1


def test_a_container_whose_plugin_objects_to_its_start_waits_and_says_why():
    world = node()
    plugin(world, pre_start=True).fails["PreStartContainer"] = "no power"
    put(world, "a")
    world.run(20 * SECOND)
    waiting = world.status("a").state
    assert waiting is not None
    assert waiting.waiting is not None
    assert waiting.waiting.reason == "CreateContainerConfigError"
    assert "no power" in (waiting.waiting.message or "")
    plugin(world, pre_start=True)
    reaches(world, "a")


# (spec 10.11.3)
def test_devices_of_init_containers_are_used_again_also_where_the_plugin_prefers_others():
    world = node()
    found = plugin(world, 3, prefers=True)
    found.preferred = ("device-2",)
    put(world, "a", wants(), initContainers=[wants(name="init")], behaviour={"run-for.init": "2s"})
    reaches(world, "a")
    assert (devices(world, "a", "init"), devices(world, "a")) == ("device-2", "device-2")
    put(world, "b", wants(2))
    reaches(world, "b")


def test_an_allocation_that_fails_gives_all_back_and_fails_the_pod():
    world = node()
    found = plugin(world)
    found.fails["Allocate"] = "no power"
    put(world, "a", wants(2))
    reaches(world, "a", "Failed")
    status = world.pod("a").status
    assert status is not None
    assert status.reason == "UnexpectedAdmissionError"
    assert "no power, which is unexpected" in (status.message or "")
    found.fails.clear()
    put(world, "b", wants(2))
    reaches(world, "b")
    assert [each["PodUID"] for each in checkpoint(world)["PodDeviceEntries"]] == [world.pod("b").metadata.uid]


def test_a_plugin_that_hangs_in_allocate_costs_its_own_pods_only():
    world = node()
    plugin(world, 8).hangs.add("Allocate")
    world.node.device_plugins.add("vendor.example/nic", some_devices(8))
    for number in range(6):
        put(world, f"gpu{number}")
    for number in range(6):
        put(world, f"plain{number}", container())
        put(world, f"nic{number}", container(resources={"limits": {"vendor.example/nic": "1"}}))
    took_ns = world.until(lambda: [*world.phases().values()].count("Running") == 12)
    assert took_ns < 30 * SECOND
    assert {phase(world, f"gpu{number}") for number in range(6)} <= {"Pending", ""}
    assert waits(world, "gpu0") == [f"the device plugin of {GPU} is asked what its containers need"]


def test_after_a_restart_of_the_agent_pods_run_on_and_new_ones_wait_for_the_plugin():
    world = node()
    found = plugin(world, 2)
    put(world, "a")
    reaches(world, "a")
    before = {each.id for each in world.node.containers()}
    world.node.kill()
    found.stop()
    world.node.restart_agent()
    world.run(10 * SECOND)
    put(world, "b")
    world.run(60 * SECOND)
    assert world.running() == ["a/app"]
    assert {each.id for each in world.node.containers()} == before
    assert waits(world, "b") == [f"the device plugin of {GPU} has not registered yet"]
    plugin(world, 2)
    reaches(world, "b")
    assert (devices(world, "a"), devices(world, "b")) == ("device-0", "device-1")


@pytest.mark.parametrize(("patience_s", "seconds"), [(0, 30), (120, 150)])
def test_a_pod_whose_plugin_stays_away_fails_after_the_wait_that_is_set(patience_s: int, seconds: int):
    world = node(device_patience_ns=patience_s * SECOND)
    plugin(world).stop()
    world.node.restart_agent()
    world.run(10 * SECOND)
    put(world, "a")
    took_ns = reaches(world, "a", "Failed")
    assert patience_s * SECOND <= took_ns <= seconds * SECOND
    status = world.pod("a").status
    assert status is not None
    why = f"no healthy devices present; cannot allocate unhealthy devices {GPU}"
    assert status.message == f"Pod was rejected: Allocate failed due to {why}, which is unexpected"


@pytest.mark.parametrize(("patience_s", "phase"), [(60, "Running"), (0, "Failed")])
def test_a_static_pod_waits_for_a_plugin_that_the_node_never_had(patience_s: int, phase: str):
    world = node(device_patience_ns=patience_s * SECOND)
    put(world, "a")
    world.run(20 * SECOND)
    plugin(world, 1)
    world.run(20 * SECOND)
    assert world.phases()["a"] == phase


def test_a_plugin_that_dies_while_it_is_asked_fails_no_pod():
    world = node()
    found = plugin(world)
    found.hangs.add("Allocate")
    put(world, "a")
    world.run(5 * SECOND)
    found.stop()
    world.run(120 * SECOND)
    assert phase(world, "a") in ("Pending", "")
    plugin(world)
    reaches(world, "a")
    assert devices(world, "a") == "device-0"


def test_a_container_that_starts_before_its_plugin_is_back_waits_for_it():
    """As after a reboot: the pod is known, nothing of it runs, and its plugin comes a minute late."""
    world = node()
    found = plugin(world, 1)
    put(world, "a")
    reaches(world, "a")
    world.node.kill()
    found.stop()
    for each in world.running_records():
        world.cri.kill_container(each.id)
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert world.running() == []
    plugin(world, 1)
    world.until(lambda: world.running() == ["a/app"])
    assert devices(world, "a") == "device-0"


@pytest.mark.parametrize(("patience_s", "phase_then"), [(0, "Failed"), (600, "Running")])
def test_a_pod_that_lost_its_sandbox_and_its_plugin_fails_only_where_nobody_waits(patience_s: int, phase_then: str):
    """A kubelet admits it anew, and refuses it. Containers that run stay as they are either way."""
    world = node(device_patience_ns=patience_s * SECOND)
    found = plugin(world)
    put(world, "a")
    put(world, "b")
    reaches(world, "a")
    reaches(world, "b")
    world.node.kill()
    found.stop()
    lost = record(world, "a")
    world.cri.kill_container(lost.id)
    world.cri.state.drop_container(lost)
    world.cri.state.drop_sandbox(lost.sandbox)
    world.node.restart_agent()
    world.run(60 * SECOND)
    plugin(world)
    world.run(30 * SECOND)
    assert (phase(world, "a"), phase(world, "b")) == (phase_then, "Running")
    assert record(world, "b").attempt == 0
    if phase_then == "Failed":
        status = world.pod("a").status
        assert status is not None
        assert status.reason == "UnexpectedAdmissionError"


# (spec 10.11.4)
def test_amounts_follow_the_plugin_and_stay_for_five_minutes_after_it():
    world = node()
    found = plugin(world, 3)
    assert amounts(world) == ("3", "3")
    found.offer([Device("device-0"), Device("device-1", healthy=False)])
    world.run(5 * SECOND)
    assert amounts(world) == ("2", "1")
    found.stop()
    world.run(200 * SECOND)
    assert amounts(world) == ("2", "0")
    world.run(200 * SECOND)
    assert amounts(world) == ("0", "0")


def test_a_checkpoint_that_cannot_be_used_holds_up_pods_with_devices_only_and_stays():
    world = node()
    plugin(world)
    world.node.kill()
    world.node.host.tree.write(CHECKPOINT, b"{}")
    world.node.restart_agent()
    put(world, "a")
    put(world, "b", container())
    reaches(world, "b")
    assert phase(world, "a") in ("Pending", "")
    (wait,) = waits(world, "a")
    assert CHECKPOINT in wait
    assert world.node.host.tree.read(CHECKPOINT) == b"{}"


def health(world: World) -> list[tuple[str, str | None, str | None]]:
    """The devices in the status of pod a: ID, health, message."""
    shown = world.status("a").allocated_resources_status
    assert {each.name for each in shown} <= {GPU}
    return [(each.resource_id, each.health, each.message) for one in shown for each in one.resources]


# (spec 10.11.4)
def test_the_status_of_a_pod_says_which_devices_are_not_healthy_and_why():
    world = node()
    found = plugin(world)
    put(world, "a", wants(2))
    reaches(world, "a")
    assert health(world) == [("device-0", "Healthy", None), ("device-1", "Healthy", None)]
    found.offer([Device("device-1", healthy=False)])
    world.run(5 * SECOND)
    unlisted = "its plugin does not list it"
    assert health(world) == [("device-0", "Unhealthy", unlisted), ("device-1", "Unhealthy", None)]
    found.stop()
    world.run(5 * SECOND)
    stopped = "its plugin has stopped: it was killed"
    assert health(world) == [("device-0", "Unhealthy", stopped), ("device-1", "Unhealthy", stopped)]
    plugin(world)
    assert [each[1] for each in health(world)] == ["Healthy", "Healthy"]
    assert world.running() == ["a/app"], "a pod with a sick device runs on"
    assert world.status("a").restart_count == 0


@pytest.mark.parametrize(
    ("gates", "shown"),
    [
        ({"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False}, []),
        ({"ResourceHealthStatusMessage": False}, [("device-0", "Unhealthy", None)]),
    ],
)
def test_health_is_shown_as_its_gates_say(gates: dict[str, bool], shown: list[Any]):
    world = node(gates=FeatureGates(gates))
    found = plugin(world)
    put(world, "a")
    reaches(world, "a")
    found.stop()
    world.run(5 * SECOND)
    assert health(world) == shown


# (spec 10.13.1)
def test_the_pod_resources_api_tells_of_each_device_with_its_numa_node():
    world = node()
    world.node.device_plugins.add(GPU, (*some_devices(2, 2), Device("device-9", healthy=False)))
    world.run(2 * SECOND)
    put(world, "a", wants(2))
    reaches(world, "a")
    told = (DevicesOnNodes(GPU, ("device-0",), (0,)), DevicesOnNodes(GPU, ("device-1",), (1,)))
    source = NodePodResources(world.node.node)
    (pod,) = source.pods(active=True) or ()
    assert pod.containers == (("app", Holdings(devices=told)),)
    assert source.allocatable() == Holdings(devices=told)


def test_registrations_and_allocations_are_counted_as_a_kubelet_does():
    world = node()
    plugin(world)
    plugin(world)
    put(world, "a")
    reaches(world, "a")
    page = NodeNumbers(world.node.node, "1").metrics().decode().splitlines()
    assert f'kubelet_device_plugin_registration_total{{resource_name="{GPU}"}} 2' in page
    assert f'kubelet_device_plugin_alloc_duration_seconds_count{{resource_name="{GPU}"}} 1' in page


def foreseen(world: World, count: int) -> list[str]:
    """What `explain --what-if` says of a pod that asks for so many devices."""
    known = world.node.node.known_node()
    assert known is not None
    pod = pod_in(manifest("asked", [wants(count)]).encode(), "node")
    assert isinstance(pod, Pod)
    return list(lines_of(what_if(pod, known)))


def test_what_if_knows_which_devices_a_pod_would_get_and_for_which_plugin_it_would_wait():
    world = node()
    found = plugin(world, 2)
    put(world, "a")
    reaches(world, "a")
    takes = ["default/asked: the node would take it", f"  container app: device-1 of {GPU}"]
    assert foreseen(world, 1) == takes
    refused, gone = foreseen(world, 2)
    assert f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1" in refused
    assert gone == "  it would fit without default/a-node"
    found.stop()
    world.run(5 * SECOND)
    assert foreseen(world, 1) == [f"default/asked: it would wait for the device plugin of {GPU}"]


@pytest.mark.parametrize("kind", [ResourceManagerActor, DevicePluginsActor])
def test_an_actor_that_fails_forgets_no_device(monkeypatch: pytest.MonkeyPatch, kind: type[Actor]):
    let_fail(monkeypatch, kind)
    world = node()
    plugin(world, 2)
    put(world, "a")
    reaches(world, "a")
    name = "resources" if kind is ResourceManagerActor else "device-plugins"
    ref = world.node.node.system.find(f"/node/{name}")
    assert ref is not None
    ref.tell(Fail())
    world.run(10 * SECOND)
    put(world, "b")
    reaches(world, "b")
    assert (devices(world, "a"), devices(world, "b")) == ("device-0", "device-1")
    assert amounts(world) == ("2", "2")
    assert world.status("a").restart_count == 0


def test_a_pod_whose_plugin_goes_away_at_each_question_fails_after_the_wait():
    world = node(device_patience_ns=60 * SECOND)
    plugin(world).away.add("Allocate")
    put(world, "a")
    took_ns = reaches(world, "a", "Failed")
    assert 60 * SECOND <= took_ns <= 90 * SECOND
    status = world.pod("a").status
    assert status is not None
    assert f"endpoint {GPU} has been stopped, which is unexpected" in (status.message or "")
