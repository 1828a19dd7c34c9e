"""Conditions of a pod on containerd, as the API server has them (spec 4.3, 4.5).

Each has the generation that it is about. Also readiness gates.
"""

from __future__ import annotations

import msgspec

from config.objects import PodCondition
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import STAY, Truth, container, pod

GATE = "example.test/in-service"


def condition(cluster: Cluster, name: str, kind: str) -> PodCondition:
    (found,) = (each for each in cluster.status(name).conditions if each.type == kind)
    return found


def test_4_3_every_condition_says_what_it_is_about(cluster: Cluster, agent: Agent, truth: Truth) -> None:
    ready_later = {"exec": {"command": ["test", "-e", "/tmp/ready"]}}
    main = container(readinessProbe={"periodSeconds": 1, **ready_later})
    cluster.run(
        pod("web", main, initContainers=[container("setup", "sleep 0.3")], readinessGates=[{"conditionType": GATE}])
    )
    job = pod(
        "job", container(script=f"sleep 0.3; {STAY.replace('sleep 1000000', 'sleep 0.3')}"), restartPolicy="Never"
    )
    cluster.run(job)
    cluster.join()
    cluster.await_phase("Running", "web")
    cluster.await_phase("Succeeded", "job")
    kinds = {"PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"}
    assert kinds <= cluster.conditions("web").keys()
    assert {condition(cluster, "job", kind).reason for kind in ("Ready", "ContainersReady")} == {"PodCompleted"}
    ended = ("job", "PodReadyToStartContainers")
    agent.await_that(lambda: condition(cluster, *ended).status == "False", "it has no sandbox any more")
    shown = cluster.conditions("web")
    assert {kind: shown[kind] for kind in kinds} == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "ContainersReady": "False",
        "Ready": "False",
    }
    assert condition(cluster, "web", "ContainersReady").reason == "ContainersNotReady"
    assert "main" in (condition(cluster, "web", "ContainersReady").message or "")

    truth.run(truth.running("web"), "touch", "/tmp/ready")
    agent.await_that(lambda: cluster.conditions("web")["ContainersReady"] == "True", "its containers are not ready")
    assert condition(cluster, "web", "Ready").reason == "ReadinessGatesNotReady"
    assert GATE in (condition(cluster, "web", "Ready").message or "")
    cluster.set_condition("web", GATE, "True")
    agent.await_that(lambda: cluster.conditions("web")["Ready"] == "True", "the gate is open, and it is not ready")
    before = condition(cluster, "web", "Ready").last_transition_time
    cluster.set_condition("web", GATE, "False")
    agent.await_that(lambda: cluster.conditions("web")["Ready"] == "False", "the gate is shut, and it is ready")
    assert cluster.conditions("web")["ContainersReady"] == "True"
    assert cluster.conditions("web")[GATE] == "False", "what belongs to others stays"
    assert (condition(cluster, "web", "Ready").last_transition_time or "") >= (before or "")

    (container_,) = agent.pod("web").spec.containers
    other = msgspec.structs.replace(container_, image="actorlet.test/busybox:2")
    first = cluster.pod("web")
    assert first is not None
    cluster.change_spec("web", containers=(other,))
    changed = cluster.pod("web")
    assert changed is not None
    assert (changed.metadata.generation or 0) == (first.metadata.generation or 0) + 1

    def about_the_newest() -> bool:
        status = cluster.status("web")
        own = [each for each in status.conditions if each.type in kinds]
        return {status.observed_generation, *(each.observed_generation for each in own)} == {
            changed.metadata.generation
        }

    agent.await_that(about_the_newest, "not all is about the newest generation")
    agent.await_that(lambda: cluster.restarts("web") == 1, "the new image is not run")
