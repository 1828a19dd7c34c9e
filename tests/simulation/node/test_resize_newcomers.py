"""Pods that are yet to be admitted keep their room while others ask for more.

Whole nodes, in virtual time.
"""

from __future__ import annotations

from typing import Any

from runtime.cri import CriError, StatusCode
from simulation.cri.hung_calls import HungCalls
from simulation.cri.simulated_cri import DoVerb
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_resize import cluster, conditions, has_all, resize, running
from tests.simulation.node.worlds import MS, SECOND, container

SMALL = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
BIG = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}
REST = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}


def asks_for_the_room_of_the_newcomer(world: Cluster, name: str) -> None:
    """`web` asks for more than is left beside the newcomer, and gets it when that has run and is gone."""
    resize(world, BIG)
    world.until(lambda: "PodResizePending" in conditions(world), 20 * SECOND, MS)
    assert world.phases()[name] == "Pending"
    assert conditions(world)["PodResizePending"]["reason"] == "Deferred"
    world.until(lambda: world.phases()[name] == "Running")
    assert not has_all(world, BIG)
    world.delete(name)
    world.until(lambda: has_all(world, BIG), 60 * SECOND)


def create(world: Cluster, name: str, resources: dict[str, Any] | None = None) -> None:
    world.create(name, containers=[container(resources=resources or {})])


def test_a_pod_that_waits_for_its_turn_is_not_refused_for_one_that_grew() -> None:
    world = cluster(starts_at_once=1)
    running(world, resources=SMALL)
    HungCalls(world.node.cri).hang("RunPodSandbox", pod="sick")
    for name, resources in (("sick", None), ("new", REST)):
        create(world, name, resources)
    asks_for_the_room_of_the_newcomer(world, "new")


def test_a_pod_whose_first_looks_at_the_runtime_fail_is_not_refused_for_one_that_grew() -> None:
    """After an agent's restart, each pod is looked at before it is admitted."""
    world = cluster()
    running(world, resources=SMALL)
    world.node.kill()
    create(world, "new", REST)
    uid, looks = world.pods()["new"]["metadata"]["uid"], []

    def fail_first(verb: str, request: Any, do: DoVerb) -> Any:
        chosen = getattr(request, "filter", None)
        if verb == "ListPodSandbox" and chosen is not None and uid in chosen.label_selector.values():
            looks.append(verb)
            if len(looks) < 3:
                raise CriError(StatusCode.UNAVAILABLE, "the connection broke", verb)
        return do(verb, request)

    world.node.cri.intercept(fail_first)
    world.node.restart_agent()
    world.until(lambda: bool(looks))
    asks_for_the_room_of_the_newcomer(world, "new")
