"""A machine that goes down under an agent (spec 9.7).

D-Bus is real; a stand-in for logind announces the shutdown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from config.api.resources import NODES
from runtime.api import get
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, Witness, container, pod
from tests.real.system_bus import PrivateBus, StandInLogind

CRITICAL = 2_000_000_000
NODE_CRITICAL = 2_000_001_000
GROUP_S = 10
"""For pods of no priority: a busy machine ends in it those that hear the signal."""
MESSAGE = "Pod was terminated in response to imminent node shutdown."
DEAF = "trap '' TERM; echo deaf begins >> /witness/log; while true; do sleep 0.2; done"


@pytest.fixture
def logind(agent: Agent) -> Iterator[StandInLogind]:
    """The agent of this test knows it as its machine's.

    It waits for so long that nobody has to ask for more.
    """
    with PrivateBus() as bus:
        stand_in = StandInLogind(bus.address, agent.directory, delay_s=600)
        agent.environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
        yield stand_in
        stand_in.close()
        agent.take_down()


def by_priority(*entries: tuple[int, int]) -> dict[str, object]:
    listed = [{"priority": priority, "shutdownGracePeriodSeconds": seconds} for priority, seconds in entries]
    return {"shutdownGracePeriodByPodPriority": listed}


def ready(cluster: Cluster) -> tuple[str, str]:
    node = cluster.lines.main.call(get(NODES, "", NODE)).result(120)
    assert node is not None
    assert node.status is not None
    found = next(each for each in node.status.conditions if each.type == "Ready")
    return found.status, found.message or ""


# (spec 9.7.3)
def test_9_7_pods_end_by_priority_within_their_time_and_the_machine_waits_for_the_last(
    cluster: Cluster, agent: Agent, truth: Truth, logind: StandInLogind
) -> None:
    witness = Witness(agent.directory)
    agent.configure(**by_priority((0, GROUP_S), (CRITICAL, 60), (NODE_CRITICAL, 60)))

    def run(name: str, script: dict[str, Any], priority_class: str = "") -> None:
        more: dict[str, Any] = {"priorityClassName": priority_class} if priority_class else {}
        cluster.run(pod(name, script, volumes=[witness.volume], terminationGracePeriodSeconds=6000, **more))

    run("low", witness.container("low"))
    run("deaf", container("main", DEAF, volumeMounts=[witness.mount]))
    run("high", witness.container("high", after_s=1.5), "system-cluster-critical")
    run("last", witness.container("last", after_s=1.0), "system-node-critical")
    cluster.join()
    cluster.await_phase("Running", "low", "deaf", "high", "last")
    witness.await_said("low begins", "deaf begins", "high begins", "last begins")
    agent.await_that(lambda: ready(cluster)[0] == "True", "the node is not ready")
    agent.await_that(lambda: logind.held == 1, "the machine is not held up")
    assert logind.locks == [("shutdown", "actorlet", "delay")]

    wall_ns, began = time.time_ns(), logind.begin()
    agent.await_that(lambda: ready(cluster) == ("False", "node is shutting down"), "the node is ready")
    cluster.run(pod("late", container()))
    cluster.await_phase("Failed", "late")
    assert cluster.status("late").reason == "NodeShutdown"
    took = logind.await_released(40) - began

    assert [line for line in witness.said() if line.endswith("ends")] == ["low ends", "high ends", "last ends"]
    ended = {name: (truth.life(name).status.finished_at - wall_ns) / 1e9 for name in ("low", "deaf", "high", "last")}
    assert 0.4 <= ended["low"] < ended["deaf"], "it takes what it needs"
    assert ended["deaf"] >= GROUP_S - 1, "it takes the time of its group; its own grace is longer than this test"
    # containerd may say late when the killed one ended: then the next group begins at the end of its time.
    assert min(ended["deaf"], GROUP_S) + 1.4 <= ended["high"]
    assert ended["high"] + 0.9 <= ended["last"] <= took + 0.1
    for name in ("low", "deaf", "high", "last"):
        # They are the server's already: who writes them is about to lose the network.
        status = cluster.status(name)
        assert (status.phase, status.reason, status.message) == ("Failed", "Terminated", MESSAGE)
        condition = next(each for each in status.conditions if each.type == "DisruptionTarget")
        assert (condition.status, condition.reason) == ("True", "TerminationByKubelet")
    assert [each.event.reason for each in agent.events() if each.event.kind == "Node"].count("Shutdown") == 1


def test_9_7_a_shutdown_that_is_called_off_and_an_agent_that_is_killed_in_the_middle(
    agent: Agent, logind: StandInLogind
) -> None:
    witness = Witness(agent.directory)
    agent.configure(shutdownGracePeriod="120s", shutdownGracePeriodCriticalPods="60s")

    def drop(name: str, priority: int, after_s: float) -> None:
        spec: dict[str, Any] = {"priority": priority, "volumes": [witness.volume], "terminationGracePeriodSeconds": 30}
        agent.drop(f"{name}.json", pod(name, witness.container(name, after_s=after_s), **spec))

    def await_begun(times: int) -> None:
        agent.await_that(lambda: agent.said().count("the machine goes down") == times, "nothing is said of it")

    drop("web", 0, 2.0)
    drop("dns", CRITICAL, 0.2)
    agent.start()
    agent.await_running("web", "dns")
    witness.await_said("web begins", "dns begins")
    agent.await_that(lambda: logind.held == 1, "the machine is not held up")
    logind.begin()
    await_begun(1)
    logind.call_off()
    agent.await_phase("Failed", "web")
    agent.await_that(lambda: len(logind.locks) == 2, "it may go down another time")
    drop("more", 0, 3.0)
    agent.await_running("more")
    witness.await_said("more begins")

    logind.begin()
    await_begun(2)
    agent.kill()
    agent.start()
    witness.await_said("dns ends")
    agent.await_phase("Failed", "more", "dns")
    assert agent.status("more").reason == agent.status("dns").reason == "Terminated"
    # What has ended when the next agent comes is not begun again: neither what ended while none was there, nor what the
    # shutdown ended that was called off.
    assert [line for line in witness.said() if line.endswith("ends")] == ["web ends", "more ends", "dns ends"]
