"""A whole node on a machine that goes down (spec 9.7).

Who ends when, the messages, and how long it takes.
"""

from __future__ import annotations

import json

import pytest

from actors.pod.container_stops import ContainerStopEnded
from config.kubelet import KubeletConfiguration, ShutdownGracePeriodByPodPriority
from runtime.metrics.kubelet import GRACEFUL_SHUTDOWN_END, GRACEFUL_SHUTDOWN_START
from simulation.host.facts import MAX_PODS
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container, fail_once, manifest

CRITICAL = 2_000_000_000
NODE_CRITICAL = 2_000_001_000
CLASSES = {
    0: {},
    CRITICAL: {"priorityClassName": "system-cluster-critical"},
    NODE_CRITICAL: {"priorityClassName": "system-node-critical"},
}
STATE = "/var/lib/actorlet/graceful_node_shutdown_state"
DEAF = {"simulated.actorlet.dev/ignore-stop-signal": "true"}
MESSAGE = "Pod was terminated in response to imminent node shutdown."


def cluster(seed=1, whole=30, critical=10, manifests=None, **fields):
    if "shutdown_grace_period_by_pod_priority" not in fields:
        fields |= {
            "shutdown_grace_period": whole * SECOND,
            "shutdown_grace_period_critical_pods": critical * SECOND,
        }
    configuration = KubeletConfiguration(max_pods=MAX_PODS, enforce_node_allocatable=(), **fields)
    world = Cluster(seed, manifests=manifests, configuration=configuration)
    world.run(5 * SECOND)
    return world


def by_priority(*entries):
    return {
        "shutdown_grace_period_by_pod_priority": tuple(
            ShutdownGracePeriodByPodPriority(priority=priority, shutdown_grace_period_seconds=seconds)
            for priority, seconds in entries
        )
    }


def create(world, name, priority=0, grace=30, **fields):
    world.create(name, terminationGracePeriodSeconds=grace, **CLASSES[priority], **fields)


def begin(world):
    """The machine goes down; when, ns."""
    world.node.shutdown.begin()
    return world.dispatcher.now_ns()


def ends(world, began):
    """Seconds after `began` at which the containers of each pod had ended."""
    records = world.node.cri.state.containers.values()
    offset = world.dispatcher.wall_offset_ns
    return {
        record.sandbox.config.metadata.name: round((record.finished_at - offset - began) / SECOND, 1)
        for record in records
        if record.finished_at
    }


def ready(world):
    node = world.ask("GET", "/api/v1/nodes/node")
    found = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
    return found["status"], found["reason"], found["message"]


def down_after(world, began, limit=120):
    world.until(lambda: world.node.shutdown.down_at_ns is not None, limit * SECOND)
    return (world.node.shutdown.down_at_ns - began) / SECOND


# (spec 9.7.2)
def test_pods_end_by_priority_and_critical_ones_last():
    world = cluster()
    create(world, "web", annotations=DEAF, grace=8)
    create(world, "job")
    create(world, "dns", priority=CRITICAL, annotations=DEAF, grace=30)
    world.until(lambda: world.all_are("Running", 3))
    assert ready(world)[0] == "True"
    assert world.node.shutdown.held
    began = begin(world)
    world.until(lambda: ready(world)[0] == "False", SECOND)
    assert ready(world) == ("False", "KubeletNotReady", "node is shutting down")
    assert world.phases()["dns"] == "Running"
    assert world.node.shutdown.held
    took = down_after(world, began)
    # web uses its own grace, dns all that critical pods have, from the moment that the others had ended.
    assert ends(world, began) == {
        "job": pytest.approx(0, abs=1),
        "web": pytest.approx(8, abs=1),
        "dns": pytest.approx(18, abs=1.5),
    }
    assert 17 <= took <= 20
    for name in ("web", "job", "dns"):
        status = world.pods()[name]["status"]
        assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Terminated", MESSAGE)
        condition = next(each for each in status["conditions"] if each["type"] == "DisruptionTarget")
        assert (condition["status"], condition["reason"]) == ("True", "TerminationByKubelet")
        assert condition["message"] == MESSAGE
    assert world.events("node").count("Shutdown") == 1
    meters = world.node.node.meters
    assert meters.value(GRACEFUL_SHUTDOWN_END) - meters.value(GRACEFUL_SHUTDOWN_START) == pytest.approx(took, abs=1)


# (spec 9.7.2)
def test_a_group_has_its_time_and_no_more():
    world = cluster(**by_priority((0, 6), (100, 20), (CRITICAL, 4), (CRITICAL + 500, 5)))
    for name, priority in (("low", 0), ("middle", CRITICAL), ("top", NODE_CRITICAL)):
        create(world, name, priority, annotations=DEAF, grace=600)
    world.until(lambda: world.all_are("Running", 3))
    began = begin(world)
    took = down_after(world, began)
    # Nobody is in the group of 100, so that nobody waits for it.
    assert ends(world, began) == {
        "low": pytest.approx(6, abs=1),
        "middle": pytest.approx(10, abs=1.5),
        "top": pytest.approx(15, abs=2),
    }
    assert took < 18


def test_a_pod_that_does_not_end_holds_up_its_group_only_for_its_time():
    world = cluster(whole=20, critical=8)
    create(world, "stuck", annotations={"simulated.actorlet.dev/hang": "StopContainer"}, grace=600)
    create(world, "dns", priority=CRITICAL)
    world.until(lambda: world.all_are("Running", 2))
    began = begin(world)
    assert down_after(world, began) <= 20


def test_a_pod_whose_worker_fails_in_the_middle_ends_in_order_all_the_same(monkeypatch):
    failures = fail_once(monkeypatch, ContainerStopEnded)
    world = cluster()
    create(world, "web")
    create(world, "dns", priority=CRITICAL)
    world.until(lambda: world.all_are("Running", 2))
    began = begin(world)
    took = down_after(world, began)
    assert failures
    assert took < 10, "nobody has waited for the time of its group"
    assert {name: pod["status"]["reason"] for name, pod in world.pods().items()} == {
        "web": "Terminated",
        "dns": "Terminated",
    }


# (spec 9.7.4)
def test_a_node_that_goes_down_takes_no_pod():
    world = cluster()
    create(world, "web", annotations=DEAF)
    world.until(lambda: world.all_are("Running", 1))
    begin(world)
    world.run(2 * SECOND)
    create(world, "late")
    create(world, "dns", priority=CRITICAL)
    world.until(lambda: world.phases()["late"] == world.phases()["dns"] == "Failed", 5 * SECOND)
    for name in ("late", "dns"):
        status = world.pods()[name]["status"]
        assert status["reason"] == "NodeShutdown"
        assert status["message"] == "Pod was rejected: Pod was rejected as the node is shutting down."


# (spec 9.7.3)
def test_a_succeeded_pod_keeps_its_status_in_a_node_shutdown():
    world = cluster()
    create(world, "done", restartPolicy="Never", annotations={"simulated.actorlet.dev/run-for": "1s"})
    create(world, "web")
    world.until(lambda: world.phases() == {"done": "Succeeded", "web": "Running"})
    down_after(world, begin(world))
    assert world.phases() == {"done": "Succeeded", "web": "Failed"}
    assert "reason" not in world.pods()["done"]["status"]


# (spec 9.7.6)
def test_a_shutdown_that_is_called_off_opens_the_node_again():
    world = cluster()
    create(world, "web", annotations=DEAF, grace=5)
    create(world, "dns", priority=CRITICAL)
    world.until(lambda: world.all_are("Running", 2))
    begin(world)
    world.run(2 * SECOND)
    world.node.shutdown.call_off()
    world.until(lambda: ready(world)[0] == "True", 2 * SECOND)
    create(world, "late")
    world.until(lambda: world.phases()["late"] == "Running", 5 * SECOND)
    world.run(20 * SECOND)
    assert world.phases() == {"web": "Failed", "dns": "Running", "late": "Running"}
    assert world.node.shutdown.held, "it may go down another time"
    began = begin(world)
    assert down_after(world, began) <= 30
    assert set(world.phases().values()) == {"Failed"}


@pytest.mark.parametrize("after_ms", [0, 100, 700, 3000, 9000])
def test_an_agent_that_comes_in_the_middle_goes_on(after_ms):
    world = cluster()
    create(world, "web", annotations=DEAF, grace=8)
    create(world, "dns", priority=CRITICAL, annotations=DEAF, grace=5)
    world.until(lambda: world.all_are("Running", 2))
    began = begin(world)
    world.until(lambda: world.node.host.tree.exists(STATE), SECOND, MS)
    world.run(after_ms * MS)
    world.node.restart_agent()
    create(world, "late")
    took = down_after(world, began)
    assert took <= 30
    found = ends(world, began)
    assert found["web"] < found["dns"]
    reasons = {name: pod["status"].get("reason") for name, pod in world.pods().items()}
    assert reasons == {"web": "Terminated", "dns": "Terminated", "late": "NodeShutdown"}
    assert world.events("node").count("Shutdown") == 1
    saved = json.loads(world.node.host.tree.read(STATE))
    assert saved["startTime"] < saved["endTime"]


@over_seeds(3)
def test_a_new_agent_during_a_shutdown_restarts_no_ended_pod(seed):
    world = cluster(seed, manifests={"web.json": manifest("web", terminationGracePeriodSeconds=1)})
    create(world, "dns", priority=CRITICAL, annotations=DEAF, grace=5)
    world.until(lambda: world.all_are("Running", 2))
    begin(world)
    world.until(lambda: world.phases()["web-node"] == "Failed", 5 * SECOND)
    world.node.shutdown.call_off()
    world.run(SECOND)
    begin(world)
    world.run(200 * MS)
    made = len(world.node.cri.state.containers)
    world.node.restart_agent()
    world.run(5 * SECOND)
    assert len(world.node.cri.state.containers) == made


def test_the_next_boot_knows_that_it_is_another():
    world = cluster()
    create(world, "web")
    world.until(lambda: world.all_are("Running", 1))
    begin(world)
    world.until(lambda: world.node.host.tree.exists(STATE), SECOND, MS)
    world.node.kill()
    world.node.shutdown.going_down = False
    world.node.restart_agent()
    world.run(2 * SECOND)
    create(world, "new")
    world.until(lambda: world.phases()["new"] == "Running", 10 * SECOND)
    assert ready(world)[0] == "True"


def test_an_api_server_that_is_away_holds_nothing_up():
    world = cluster()
    create(world, "web")
    world.until(lambda: world.all_are("Running", 1))
    world.api.down(300 * SECOND)
    assert down_after(world, begin(world)) < 5
    assert world.node.cri.state.containers
    assert not [each for each in world.node.containers() if each.state.name == "CONTAINER_RUNNING"]


def test_a_machine_that_waits_less_leaves_critical_pods_their_time():
    world = cluster(whole=30, critical=10)
    world.node.shutdown.longest_ns = 14 * SECOND
    world.node.restart_agent()
    create(world, "web", annotations=DEAF)
    create(world, "dns", priority=CRITICAL, annotations=DEAF, grace=7)
    world.until(lambda: world.all_are("Running", 2))
    began = begin(world)
    assert down_after(world, began) < 14
    assert ends(world, began) == {"web": pytest.approx(4, abs=1), "dns": pytest.approx(11, abs=1.5)}


def test_after_the_boot_static_pods_run_again_and_no_others():
    world = cluster(manifests={"static.json": manifest("static", terminationGracePeriodSeconds=1)})
    create(world, "web")
    world.until(lambda: world.all_are("Running", 2))
    down_after(world, begin(world))
    assert world.phases() == {"static-node": "Failed", "web": "Failed"}
    world.node.kill()
    world.node.shutdown.going_down = False
    world.node.restart_agent()
    world.until(lambda: world.phases() == {"static-node": "Running", "web": "Failed"}, 30 * SECOND)
    assert "reason" not in world.pods()["static-node"]["status"]


# (spec 9.7.6)
def test_a_bus_that_goes_away_is_waited_for(caplog):
    world = cluster()
    create(world, "web")
    world.until(lambda: world.all_are("Running", 1))
    machine = world.node.shutdown
    machine.lose_bus()
    world.run(60 * SECOND)
    assert ready(world)[0] == "True"
    asked = machine.asked
    world.run(300 * SECOND)
    assert machine.asked - asked <= 6, "it is tried again, but not all the time"
    assert len([each for each in caplog.messages if "told when the machine goes down" in each]) == 1
    machine.bus_is_there = True
    world.run(61 * SECOND)
    assert down_after(world, begin(world)) <= 30
    assert world.phases() == {"web": "Failed"}


def test_a_node_that_gives_no_time_asks_for_none():
    world = cluster(whole=0, critical=0)
    create(world, "web")
    world.until(lambda: world.all_are("Running", 1))
    assert world.node.shutdown.asked == 0
    assert world.node.node.system.find("/node/shutdown") is None


@over_seeds(5)
def test_whatever_happens_the_machine_waits_no_longer_than_it_was_asked_to(seed):
    world = cluster(seed, whole=20, critical=5)
    chance = world.dispatcher.chance
    for number in range(8):
        priority = chance.choice((0, 0, CRITICAL, NODE_CRITICAL))
        annotations = chance.choice((DEAF, {}))
        create(
            world, f"pod-{number}", priority, chance.randint(1, 60), annotations=annotations, containers=[container()]
        )
    world.until(lambda: world.all_are("Running", 8))
    began = begin(world)
    for _ in range(chance.randint(0, 2)):
        world.run(chance.randint(0, 6) * SECOND)
        world.node.restart_agent()
    assert down_after(world, began) <= 20 + 1
    world.run(10 * SECOND)
    assert set(world.phases().values()) == {"Failed"}
