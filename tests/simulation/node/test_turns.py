"""Pods of a burst start a few at a time on a whole node, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.cri.hung_calls import HungCalls
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container


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


def others_run_after(count: int, starts_at_once: int, **spec: Any) -> int:
    """When ten pods run that came after so many pods with this `spec`, which never start."""
    cluster = Cluster(starts_at_once=starts_at_once)
    cluster.run(5 * SECOND)
    HungCalls(cluster.node.cri).hang("PullImage", image=IMAGE_OF_NOBODY)
    cluster.ask("POST", CLASSES, {"metadata": {"name": "none"}, "handler": "runsc"})
    for number in range(count):
        uid = cluster.create(f"sick-{number}", **spec)["metadata"]["uid"]
        cluster.node.host.tree.hang(f"/var/lib/actorlet/pods/{uid}/volumes/kubernetes.io~nfs")
    cluster.ask("DELETE", f"{CLASSES}/none")  # admission takes a pod only while its class is there
    for number in range(10):
        cluster.create(f"web-{number}")

    def well() -> bool:
        phases = cluster.phases()
        return all(phases[f"web-{number}"] == "Running" for number in range(10))

    return cluster.until(well, step_ns=10 * MS)


MOUNTED = [container(volumeMounts=[{"name": "data", "mountPath": "/data"}])]
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
IMAGE_OF_NOBODY = "registry.example/none:1"


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "data", "configMap": {"name": "none"}}], "containers": MOUNTED},
        {"volumes": [{"name": "data", "secret": {"secretName": "none"}}], "containers": MOUNTED},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}], "containers": MOUNTED},
        {"volumes": [{"name": "data", "image": {"reference": IMAGE_OF_NOBODY}}], "containers": MOUNTED},
        {"containers": [container(envFrom=[{"configMapRef": {"name": "none"}}])]},
        {"runtimeClassName": "none"},
    ],
    ids=["ConfigMap", "Secret", "claim", "image volume", "ConfigMap of variables", "RuntimeClass"],
)
def test_fifty_pods_that_wait_for_something_of_their_own_do_not_hold_up_ten_others(spec: dict[str, Any]):
    assert others_run_after(50, 64, **spec) <= SECOND // 2


def test_pods_whose_mount_hangs_hold_up_others_for_a_moment():
    share = {"name": "data", "nfs": {"server": "s", "path": "/"}}
    assert others_run_after(2, 2, volumes=[share], containers=MOUNTED) <= SECOND // 2


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
