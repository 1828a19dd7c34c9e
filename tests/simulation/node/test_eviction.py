"""A whole node in virtual time that runs short (spec 7).

Who is evicted, the messages, and the end of the shortage.
"""

from __future__ import annotations

import json

import pytest

from actors.pod.container_stops import ContainerStopEnded
from config.kubelet import KubeletConfiguration
from runtime.cri import CriError, StatusCode
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.faults.shortages import give_back, leave
from simulation.host.facts import MAX_PODS
from simulation.scenarios.faults import Scarce
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND, World, container, fail_once, manifest

MINUTE = 60 * SECOND
GIB = 2**30
MIB = 2**20
MEMORY = "simulated.actorlet.dev/memory"
DISK = "simulated.actorlet.dev/disk"


def cluster(seed=1, faults=None, **fields):
    fields.setdefault("eviction_hard", {"memory.available": "1Gi", "nodefs.available": "10%"})
    configuration = KubeletConfiguration(max_pods=MAX_PODS, enforce_node_allocatable=(), **fields)
    return Cluster(seed, configuration=configuration, faults=faults)


def asking(memory):
    return [container(resources={"requests": {"memory": memory}})]


def conditions(world):
    node = world.ask("GET", "/api/v1/nodes/node")
    return {each["type"]: each["status"] for each in node["status"]["conditions"]}


def evicted(world):
    return sorted(name for name, pod in world.pods().items() if pod["status"].get("reason") == "Evicted")


def squeeze(world, left):
    """So much memory is left on the node."""
    node = world.node.usage
    used = sum(
        each.behaviour.memory.at(0)
        for each in world.node.cri.state.containers.values()
        if each.state.name == "CONTAINER_RUNNING"
    )
    node.own_memory_bytes = world.node.machine.machine_facts.memory_bytes - used - left


def test_pressure_comes_one_pod_goes_by_rank_and_the_condition_stays_for_a_while():
    world = cluster()
    world.create("modest", annotations={MEMORY: "200Mi"}, containers=asking("1Gi"))
    world.create("greedy", annotations={MEMORY: "2Gi"}, containers=asking("1Gi"))
    world.create("critical", annotations={MEMORY: "3Gi"}, priorityClassName="system-node-critical")
    world.until(lambda: world.all_are("Running", 3))
    world.run(MINUTE)
    assert conditions(world)["MemoryPressure"] == "False"
    squeeze(world, 512 * MIB)
    world.until(lambda: evicted(world) == ["greedy"], 30 * SECOND)
    pod = world.pods()["greedy"]
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["message"] == (
        "The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. "
        "Container app was using 2Gi, request is 1Gi, has larger consumption of memory. "
    )
    disruption = next(each for each in pod["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (disruption["status"], disruption["reason"]) == ("True", "TerminationByKubelet")
    world.until(lambda: conditions(world)["MemoryPressure"] == "True", 15 * SECOND)
    world.until(lambda: "Evicted" in world.events("greedy"), 20 * SECOND)
    events = world.ask("GET", "/api/v1/events")["items"]
    event = next(each for each in events if each["reason"] == "Evicted")
    assert event["type"] == "Warning"
    assert event["metadata"]["annotations"]["starved_resource"] == "memory"
    assert event["metadata"]["annotations"]["offending_containers"] == "app"
    assert "EvictionThresholdMet" in world.events("node")
    world.run(4 * MINUTE)
    assert evicted(world) == ["greedy"], "what it has left is enough"
    assert conditions(world)["MemoryPressure"] == "True"
    world.run(2 * MINUTE)
    assert conditions(world)["MemoryPressure"] == "False"
    assert world.phases() == {"modest": "Running", "critical": "Running", "greedy": "Failed"}


@pytest.mark.parametrize(
    ("short_of", "silent", "gone"),
    [
        ("memory", ("ListContainerStats", "ListPodSandboxStats"), []),
        ("disk", ("ListContainerStats",), []),
        # What it says of the pods is enough.
        ("memory", ("ListContainerStats",), ["greedy"]),
    ],
)
def test_no_pod_is_evicted_while_the_runtime_reports_no_usage_in_the_world(short_of, silent, gone):
    faults = Faults(FaultPlan(), seed=1)
    world = cluster(faults=faults)
    for name in ("a", "b", "c", "greedy", "d", "e"):
        much = {MEMORY: "2Gi", DISK: "20Gi"} if name == "greedy" else {}
        world.create(name, annotations=much)
    world.until(lambda: world.all_are("Running", 6))
    world.run(MINUTE)
    faults.follow(FaultPlan(dict.fromkeys(silent, CallFaults(fail=1))))
    if short_of == "memory":
        squeeze(world, 512 * MIB)
        condition = "MemoryPressure"
    else:
        world.node.usage.used_bytes = world.node.usage.disk_bytes * 95 // 100 - 20 * GIB
        condition = "DiskPressure"
    world.run(3 * MINUTE)
    assert conditions(world)[condition] == "True", "the machine says that itself"
    assert evicted(world) == gone
    faults.heal()
    world.until(lambda: evicted(world) != [], MINUTE)
    assert evicted(world) == ["greedy"]


# (spec 7.7.1)
def test_a_node_under_pressure_takes_no_more_of_those_that_ask_for_nothing():
    world = cluster()
    world.run(30 * SECOND)
    squeeze(world, 512 * MIB)
    world.until(lambda: conditions(world)["MemoryPressure"] == "True", 30 * SECOND)
    world.create("late")
    world.create("asks", containers=asking("10Mi"), annotations={MEMORY: "1Mi"})
    world.until(lambda: evicted(world) == ["late"], 5 * SECOND)


# (spec 7.6.1)
def test_a_pod_over_the_limit_of_its_empty_dir_goes_and_is_no_disruption():
    world = cluster(eviction_hard={})
    world.create(
        "hoard",
        volumes=[{"name": "scratch", "emptyDir": {"sizeLimit": "10Mi"}}],
        containers=[container(volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}])],
    )
    world.create("other")
    world.until(lambda: world.all_are("Running", 2))
    world.run(MINUTE)
    assert evicted(world) == []
    uid = world.pods()["hoard"]["metadata"]["uid"]
    directory = f"/var/lib/actorlet/pods/{uid}/volumes/kubernetes.io~empty-dir/scratch"
    world.node.host.tree.write(f"{directory}/heap", b"x" * (11 * MIB), 0o600)
    world.until(lambda: evicted(world) == ["hoard"], 90 * SECOND)
    status = world.pods()["hoard"]["status"]
    assert status["message"] == 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". '
    assert "DisruptionTarget" not in {each["type"] for each in status["conditions"]}
    assert world.phases()["other"] == "Running"


def test_a_dead_volume_of_a_pod_does_not_hide_what_its_others_take():
    """The author of a pod chooses the server of an nfs volume."""
    world = cluster(eviction_hard={})
    volumes = [
        {"name": "scratch", "emptyDir": {"sizeLimit": "10Mi"}},
        {"name": "dead", "nfs": {"server": "192.0.2.9", "path": "/"}},
    ]
    mounts = [{"name": "scratch", "mountPath": "/scratch"}, {"name": "dead", "mountPath": "/dead"}]
    world.create("hoard", volumes=volumes, containers=[container(volumeMounts=mounts)])
    world.until(lambda: world.all_are("Running", 1))
    uid = world.pods()["hoard"]["metadata"]["uid"]
    directory = f"/var/lib/actorlet/pods/{uid}/volumes"
    world.node.host.tree.hang(f"{directory}/kubernetes.io~nfs/dead")
    world.run(10 * MINUTE)
    world.node.host.tree.write(f"{directory}/kubernetes.io~empty-dir/scratch/heap", b"x" * (11 * MIB), 0o600)
    world.until(lambda: evicted(world) == ["hoard"], 3 * MINUTE)


# (spec 7.2.6)
def test_nothing_is_measured_without_eviction_thresholds():
    world = cluster(eviction_hard={})
    world.create("web")
    world.until(lambda: world.all_are("Running", 1))
    world.run(30 * SECOND)
    before = handled(world)
    world.run(5 * MINUTE)
    assert handled(world) == before


def handled(world):
    """How many messages the eviction manager and those it would ask have had."""
    report = world.node.node.report()
    return {each.path: each.handled for each in report.actors if each.path in ("/node/eviction", "/node/stats")}


# (spec 7.3.1)
def test_a_full_disk_is_freed_of_images_before_a_pod_goes():
    world = cluster()
    world.create("web")
    world.until(lambda: world.all_are("Running", 1))
    images = set(world.node.cri.state.images)
    assert len(images) > 1
    world.node.usage.used_bytes = world.node.usage.disk_bytes * 95 // 100
    world.until(lambda: len(world.node.cri.state.images) < len(images), 3 * MINUTE)
    world.until(lambda: conditions(world)["DiskPressure"] == "True", 30 * SECOND)
    world.until(lambda: evicted(world) == ["web"], MINUTE)


def test_a_static_pod_that_is_done_is_not_begun_again_though_the_disk_was_full():
    configuration = KubeletConfiguration(
        max_pods=MAX_PODS, enforce_node_allocatable=(), eviction_hard={"nodefs.available": "10%"}
    )
    job = manifest("job", [container()], behaviour={"run-for": "1s"}, restartPolicy="Never")
    world = World({"job.json": job}, configuration=configuration).start()
    world.until(lambda: world.phases() == {"job": "Succeeded"})
    world.node.usage.used_bytes = world.node.usage.disk_bytes * 95 // 100
    world.run(2 * MINUTE)
    world.node.restart_agent()
    world.run(MINUTE)
    assert len(world.starts_of("job")) == 1
    assert world.phases() == {"job": "Succeeded"}


def test_a_full_disk_removes_dead_containers_of_pods_ended_in_the_api():
    world = cluster()
    world.create("job", annotations={"simulated.actorlet.dev/run-for": "1s"}, restartPolicy="Never")
    world.until(lambda: world.all_are("Succeeded", 1))
    world.run(MINUTE)
    assert len(world.node.cri.state.containers) == 1
    world.node.usage.used_bytes = world.node.usage.disk_bytes * 95 // 100
    world.until(lambda: not world.node.cri.state.containers, MINUTE)
    world.node.restart_agent()
    world.run(MINUTE)
    assert not world.node.cri.state.containers
    assert world.phases() == {"job": "Succeeded"}


def test_a_condition_stays_for_its_time_over_a_restart_of_the_agent_and_no_longer():
    world = cluster()
    world.run(30 * SECOND)
    squeeze(world, 512 * MIB)
    world.until(lambda: conditions(world)["MemoryPressure"] == "True", 30 * SECOND)
    world.run(MINUTE)
    squeeze(world, 12 * GIB)
    world.run(MINUTE)
    world.node.restart_agent()
    world.run(5 * SECOND)
    world.create("late")
    world.until(lambda: evicted(world) == ["late"], 5 * SECOND)
    for _ in range(2 * 60):
        world.run(SECOND)
        assert conditions(world)["MemoryPressure"] == "True"
    world.run(2 * MINUTE + 30 * SECOND)
    assert conditions(world)["MemoryPressure"] == "False"


def evicts_while_the_volume_stays(world):
    """The fuller of two pods is evicted, and its volume cannot be taken down.

    Nothing of what it took is free.
    """
    scratch = {"name": "scratch", "emptyDir": {"medium": "Memory"}}
    mounts = [{"name": "scratch", "mountPath": "/scratch"}]
    world.create("full", annotations={MEMORY: "2Gi"}, volumes=[scratch], containers=[container(volumeMounts=mounts)])
    world.create("next", annotations={MEMORY: "1Gi"})
    world.until(lambda: world.all_are("Running", 2))
    volume = f"/var/lib/actorlet/pods/{world.pods()['full']['metadata']['uid']}/volumes"
    tree = world.node.host.tree
    tree.watch("/var/lib/actorlet/evictions", lambda: tree.hang(volume))
    squeeze(world, 512 * MIB)
    world.until(lambda: evicted(world) == ["full"], 30 * SECOND)
    squeeze(world, 512 * MIB)
    return volume


def test_no_second_pod_goes_while_the_volumes_of_the_first_still_hold_memory():
    world = cluster()
    volume = evicts_while_the_volume_stays(world)
    world.run(25 * SECOND)
    assert evicted(world) == ["full"]
    squeeze(world, 4 * GIB)
    world.node.host.tree.heal(volume)
    world.until(lambda: not world.node.host.tree.exists(volume), 5 * SECOND)
    world.run(2 * MINUTE)
    assert evicted(world) == ["full"]


def test_volumes_that_cannot_be_taken_down_hold_the_next_eviction_up_for_half_a_minute():
    world = cluster()
    evicts_while_the_volume_stays(world)
    assert world.until(lambda: evicted(world) == ["full", "next"], 10 * MINUTE) > 25 * SECOND


@pytest.mark.parametrize("after_ms", [0, 5, 20, 100, 300, 900])
def test_after_a_crash_in_the_middle_the_same_pod_ends(after_ms):
    world = cluster()
    for number in range(3):
        world.create(f"pod-{number}", annotations={MEMORY: f"{number + 1}Gi"})
    world.until(lambda: world.all_are("Running", 3))
    squeeze(world, 512 * MIB)
    world.until(lambda: bool(_decided(world)), 30 * SECOND, 10**6)
    chosen = _decided(world)
    world.run(after_ms * 10**6)
    world.node.restart_agent()
    world.node.usage.own_memory_bytes = 0
    world.until(lambda: len(evicted(world)) == 1, MINUTE)
    world.run(MINUTE)
    ended = evicted(world)
    assert [world.pods()[name]["metadata"]["uid"] for name in ended] == chosen
    assert ended == ["pod-2"]


SHORTAGES: tuple[tuple[Scarce, int], ...] = (
    ("memory", GIB // 2),
    ("disk", 5 * GIB),
    ("image-disk", 3 * GIB),
    ("inodes", 10_000),
    ("pids", 500),
)
THRESHOLDS = {
    "memory.available": "1Gi",
    "nodefs.available": "10%",
    "imagefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "pid.available": "1000",
}


@over_seeds(8)
def test_after_a_crash_at_any_step_those_who_were_chosen_end_and_nobody_else(seed):
    world = cluster(seed, eviction_hard=THRESHOLDS)
    usage, tree = world.node.usage, world.node.host.tree
    usage.image_disk_bytes = 40 * GIB
    for number in range(3):
        uses = {"memory": f"{number + 1}Gi", "disk": f"{number + 1}Gi", "processes": f"{number + 1}0"}
        world.create(
            f"pod-{number}", annotations={f"simulated.actorlet.dev/{knob}": each for knob, each in uses.items()}
        )
    world.create("critical", annotations={MEMORY: "4Gi"}, priorityClassName="system-cluster-critical")
    world.until(lambda: world.all_are("Running", 4))
    chosen: list[str] = []
    tree.watch("/var/lib/actorlet/evictions", lambda: chosen.extend(set(_decided(world)) - set(chosen)))
    what, left = SHORTAGES[seed % len(SHORTAGES)]
    readings = usage.readings
    leave(usage, what, left)
    world.until(lambda: usage.readings > readings + 1, MINUTE)
    for _ in range(world.dispatcher.chance.randint(1, 400)):
        world.dispatcher.step(world.dispatcher.now_ns() + 20 * SECOND)
    world.node.restart_agent()
    give_back(usage, what)
    world.run(2 * MINUTE)
    ended = {world.pods()[name]["metadata"]["uid"] for name in evicted(world)}
    assert ended == set(chosen)
    assert "critical" not in evicted(world)


@over_seeds(6)
def test_under_pressure_that_comes_and_goes_one_goes_per_reading_and_never_a_critical_pod(seed):
    world = cluster(seed)
    chance = world.dispatcher.chance
    for number in range(6):
        world.create(f"pod-{number}", annotations={MEMORY: f"{chance.randint(1, 900)}Mi"})
    world.create("critical", annotations={MEMORY: "900Mi"}, priorityClassName="system-cluster-critical")
    world.until(lambda: world.all_are("Running", 7))
    known: list[str] = []
    for _ in range(6):
        squeeze(world, chance.choice((100 * MIB, 900 * MIB, 4 * GIB)))
        for _ in range(chance.randint(1, 25)):
            world.run(SECOND)
            now = evicted(world)
            assert len(now) - len(known) <= 1, "two kills between two passes"
            assert "critical" not in now
            known = now
        if chance.random() < 0.3:
            world.node.restart_agent()
    squeeze(world, 12 * GIB)
    world.run(7 * MINUTE)
    assert conditions(world)["MemoryPressure"] == "False"
    assert {name for name, phase in world.phases().items() if phase == "Failed"} == set(evicted(world))
    assert world.phases()["critical"] == "Running"


def _decided(world):
    tree, path = world.node.host.tree, "/var/lib/actorlet/evictions"
    document = json.loads(tree.read(path)) if tree.exists(path) else {}
    return [each["uid"] for each in document.get("victims", [])]


def test_a_runtime_that_does_not_say_what_there_is_costs_no_pod_its_life_by_chance():
    world = cluster()
    world.create("greedy", annotations={MEMORY: "2Gi"}, containers=asking("1Gi"))
    world.create("modest", annotations={MEMORY: "200Mi"}, containers=asking("100Mi"))
    world.until(lambda: world.all_are("Running", 2))
    away = True

    def do(name, request, inner):
        if away and name == "ListPodSandbox":
            raise CriError(StatusCode.UNAVAILABLE, "as the test wants it", name)
        return inner(name, request)

    world.node.cri.intercept(do)
    squeeze(world, 512 * MIB)
    world.run(MINUTE)
    assert conditions(world)["MemoryPressure"] == "True"
    assert not {"Evicted", "Killing"} & {*world.events("greedy"), *world.events("modest")}
    away = False
    world.until(lambda: evicted(world) == ["greedy"], 30 * SECOND)
    assert "Evicted" not in world.events("modest")


def test_an_evicted_pod_whose_worker_fails_is_evicted_all_the_same(monkeypatch):
    failures = fail_once(monkeypatch, ContainerStopEnded)
    world = cluster()
    world.create("greedy", annotations={MEMORY: "2Gi"}, containers=asking("1Gi"))
    world.create("modest", annotations={MEMORY: "200Mi"}, containers=asking("1Gi"))
    world.until(lambda: world.all_are("Running", 2))
    squeeze(world, 512 * MIB)
    world.until(lambda: failures, 30 * SECOND)
    world.until(lambda: evicted(world) == ["greedy"], MINUTE)
    assert world.phases()["modest"] == "Running"
