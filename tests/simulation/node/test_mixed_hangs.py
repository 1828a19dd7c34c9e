"""Calls hang for some pods, and lists are slow: what other pods wait for, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel.promise import Promise
from simulation.cri.hung_calls import HungCalls
from simulation.cri.simulated_cri import DoVerb
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, OTHER_IMAGE, SECOND, container

VERBS = ("RunPodSandbox", "PodSandboxStatus", "CreateContainer", "StartContainer", "ContainerStatus")
"""Each of them hangs for one pod. ImageStatus hangs for another, by its image."""
SLOW_NS = 3 * SECOND


def others_run_after(starts_at_once: int, *, sick: bool, slow: bool) -> int:
    """When five pods run that came with six others.

    `sick`: calls about those others hang; `slow`: lists are slow.
    """
    cluster = Cluster(starts_at_once=starts_at_once)
    cluster.run(5 * SECOND)
    hung = HungCalls(cluster.node.cri)
    if slow:
        _slow_lists(cluster)
    for number, verb in enumerate(VERBS if sick else ()):
        hung.hang(verb, pod=f"sick-{number}")
    if sick:
        hung.hang("ImageStatus", image=OTHER_IMAGE)
    for number in range(len(VERBS)):
        cluster.create(f"sick-{number}")
    cluster.create("sick-image", containers=[container(image=OTHER_IMAGE)])
    for number in range(5):
        cluster.create(f"web-{number}")

    def run() -> bool:
        phases = cluster.phases()
        return all(phases[f"web-{number}"] == "Running" for number in range(5))

    took_ns = cluster.until(run, step_ns=10 * MS)
    if sick:
        cluster.run(SLOW_NS)
        assert set(hung.hung) == {*VERBS, "ImageStatus"}
    return took_ns


def _slow_lists(cluster: Cluster) -> None:
    """The lists of sandboxes and containers are answered late."""
    cri, dispatcher = cluster.node.cri, cluster.dispatcher

    def meet(verb: str, request: Any, do: DoVerb) -> Any:
        if verb not in ("ListPodSandbox", "ListContainers"):
            return do(verb, request)
        answer: Promise[Any] = Promise()
        dispatcher.schedule(SLOW_NS, lambda: answer.set_result(do(verb, request)))
        return answer

    cri.intercept(meet)


@pytest.mark.parametrize("starts_at_once", [0, 64])
def test_calls_that_hang_for_some_pods_cost_others_nothing(starts_at_once: int):
    without = others_run_after(starts_at_once, sick=False, slow=False)
    assert others_run_after(starts_at_once, sick=True, slow=False) <= 1.5 * without


@pytest.mark.parametrize("starts_at_once", [0, 64])
def test_beside_slow_lists_calls_that_hang_for_some_pods_cost_others_nothing(starts_at_once: int):
    """A new pod does not wait for lists: nothing of it can be in them."""
    without = others_run_after(starts_at_once, sick=False, slow=False)
    assert others_run_after(starts_at_once, sick=True, slow=True) <= 1.5 * without


def test_a_new_pod_starts_while_all_lists_hang():
    cluster = Cluster()
    cluster.run(5 * SECOND)
    cluster.create("before")
    without = cluster.until(lambda: cluster.phases()["before"] == "Running", step_ns=10 * MS)
    hung = HungCalls(cluster.node.cri)
    for verb in ("ListPodSandbox", "ListContainers"):
        hung.hang(verb)
    cluster.create("web")
    assert cluster.until(lambda: cluster.phases()["web"] == "Running", step_ns=10 * MS) <= without + 10 * MS


def test_after_a_restart_of_the_agent_a_pod_is_looked_for_before_it_is_begun_again():
    """It may run already. A look that hangs holds it up, and nothing of it is started twice."""
    cluster = Cluster()
    cluster.create("web-0")
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.kill()
    cluster.create("web-1")
    hung = HungCalls(cluster.node.cri)
    hung.hang("ListContainers", times=10)
    cluster.node.restart_agent()
    cluster.run(30 * SECOND)
    assert cluster.phases()["web-1"] == "Pending"
    hung.heal()
    cluster.until(lambda: cluster.all_are("Running", 2), 300 * SECOND)
    assert len(cluster.node.containers()) == 2
