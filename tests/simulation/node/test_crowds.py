"""Many pods on one node, on both dispatchers: all get where they should, whatever one of them does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import Pending
from actors.kernel.dispatcher import Dispatcher
from runtime.cri import Cri
from runtime.cri.messages import ContainerState, ListPodSandboxRequest
from runtime.io.pending import Subscription
from simulation.cri.state import POD_UID_LABEL
from simulation.node.simulated_node import SimulatedNode
from tests.actors.kernel.drivers import PoolDriver, SimulatedDriver
from tests.simulation.node.worlds import READY_IMAGES, manifest

CROWD = 1_000
THREADS_MAX = 16
BAD = "uid-of-the-bad-one"


class BrokenForOne:
    """A runtime client with a bug: it raises when it is asked for the sandboxes of one pod."""

    def __init__(self, cri: Cri) -> None:
        self._cri = cri

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Pending[Any]:
        if isinstance(request, ListPodSandboxRequest) and request.filter is not None:
            labels = request.filter.label_selector
            if labels.get(POD_UID_LABEL) == BAD:
                raise ZeroDivisionError("a fault of the program")
        return self._cri.call(verb, request, timeout_ns=timeout_ns)

    def stream(self, *args: Any) -> Subscription:
        return self._cri.stream(*args)


NodeDriver = SimulatedDriver | PoolDriver


class BrokenNode(SimulatedNode):
    def reach(self, cri: Cri) -> Cri:
        return BrokenForOne(cri)


@pytest.fixture(params=["simulated", "pool"])
def driver(request: pytest.FixtureRequest) -> Iterator[NodeDriver]:
    made = SimulatedDriver() if request.param == "simulated" else PoolDriver(4)
    yield made
    made.dispatcher.close()


def node_on(dispatcher: Dispatcher, count: int, kind: type[SimulatedNode] = SimulatedNode) -> SimulatedNode:
    pods = {f"p{number:04}": manifest(f"p{number:04}", behaviour={"start-delay": "5ms"}) for number in range(count)}
    return kind(dispatcher, manifests=pods, settings=READY_IMAGES)


def running(node: SimulatedNode) -> int:
    return sum(record.state is ContainerState.CONTAINER_RUNNING for record in node.containers())


def threads_beside_lanes() -> int:
    """Each lane in use adds one thread to what a node may have (design.md).

    A lane may have a few more. It is in use until its last thread has ended.
    """
    names = [each.name for each in threading.enumerate()]
    return len(names) - len({name for name in names if name.startswith("lane-")})


def test_a_thousand_pods_reach_running_on_at_most_sixteen_threads(driver: NodeDriver):
    before = threading.active_count()
    node = node_on(driver.dispatcher, CROWD)
    node.start()
    most = 0

    def all_run() -> bool:
        nonlocal most
        most = max(most, threads_beside_lanes() - before)
        return running(node) == CROWD and {_phase(pod) for pod in node.pods()} == {"Running"}

    if isinstance(driver, SimulatedDriver):
        driver.pass_time(30 * 10**9)
        assert all_run()
    else:
        driver.until(all_run)
    assert len(node.pods()) == CROWD
    # The pool's own workers and timers were there before; they count.
    assert most + (6 if isinstance(driver, PoolDriver) else 0) <= THREADS_MAX
    assert node.node.late_actors() == ()
    assert node.stop()


def _phase(pod: Any) -> str:
    return pod.status.phase or "" if pod.status else ""


def test_a_pod_whose_worker_fails_at_every_look_is_restarted_with_back_off_while_a_hundred_others_run(
    driver: NodeDriver,
):
    node = node_on(driver.dispatcher, 100, BrokenNode)
    node.put_manifest("bad", manifest("bad", uid=BAD))
    node.start()
    failing = f"/node/sync-loop/{BAD}"

    def restarts() -> int:
        found = [actor.restarts for actor in node.node.report().actors if actor.path == failing]
        return found[0] if found else 0

    driver.until(lambda: running(node) == 100)
    began_ns = driver.dispatcher.now_ns()
    ids = {record.id for record in node.containers()}
    driver.until(lambda: restarts() >= 3)
    # Back-off of 1 s and 2 s with their jitter lie between the first and the third restart.
    assert driver.dispatcher.now_ns() - began_ns > 10**9
    assert restarts() < 8
    assert {record.id for record in node.containers()} == ids
    assert running(node) == 100
    others = [actor for actor in node.node.report().actors if actor.path.startswith("/node/") and actor.restarts]
    assert [actor.path for actor in others] == [failing]
    assert any("ZeroDivisionError" in each.event.message for each in node.node.events() if each.event.uid == BAD)
    assert node.stop()
