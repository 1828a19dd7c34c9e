"""Pods of a burst start a few at a time on a whole node, in virtual time."""

from __future__ import annotations

from simulation.cri.hung_calls import HungCalls
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND


def bursting(count: int) -> Cluster:
    """Two start at a time; the burst has just come."""
    cluster = Cluster(starts_at_once=2)
    cluster.run(5 * SECOND)
    for number in range(count):
        cluster.create(f"web-{number}")
    return cluster


def test_pods_of_a_burst_become_running_in_order_with_one_write_each():
    cluster = bursting(0)
    written = cluster.written()
    for number in range(12):
        cluster.create(f"web-{number}")
    cluster.until(lambda: cluster.all_are("Running", 12))
    assert sorted(written) == sorted(f"web-{number}" for number in range(12))
    places = [int(name.rpartition("-")[2]) for name in written]
    assert all(abs(place - number) <= 3 for place, number in enumerate(places)), written


def test_pods_that_hang_in_the_runtime_hold_up_the_others_for_a_second_each_turn():
    cluster = bursting(0)
    hung = HungCalls(cluster.node.cri)
    for number in range(4):
        hung.hang("RunPodSandbox", pod=f"sick-{number}")
        cluster.create(f"sick-{number}")
    for number in range(8):
        cluster.create(f"web-{number}")

    def well() -> bool:
        phases = cluster.phases()
        return all(phases[f"web-{number}"] == "Running" for number in range(8))

    assert cluster.until(well) <= 6 * SECOND
    assert hung.hung["RunPodSandbox"] >= 4
    assert {phase for name, phase in cluster.phases().items() if name.startswith("sick")} == {"Pending"}


def test_a_pod_that_waits_for_its_turn_and_is_deleted_goes_without_a_container():
    cluster = bursting(0)
    hung = HungCalls(cluster.node.cri)
    for name in ("sick-0", "sick-1"):
        hung.hang("RunPodSandbox", pod=name)
        cluster.create(name)
    cluster.create("web")
    cluster.run(100 * MS)
    cluster.delete("web")
    cluster.until(lambda: "web" not in cluster.pods(), 10 * SECOND)
    assert "Created" not in cluster.events("web")


def test_an_agent_that_was_killed_in_a_burst_goes_on_and_starts_no_pod_twice():
    cluster = bursting(12)
    cluster.until(lambda: cluster.node.containers() != (), step_ns=MS)
    assert not cluster.all_are("Running", 12)
    cluster.node.restart_agent()
    cluster.until(lambda: cluster.all_are("Running", 12))
    assert len(cluster.node.containers()) == 12
