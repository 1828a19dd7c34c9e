"""A cluster in the mode auto, as clients see it that run beside the test and know nothing of its time."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from kubernetes import client, watch

from actorlet.testing import Cluster, ClusterError, cluster
from tests.simulation.cluster.plain_client import PODS, PlainClient, trusting

PATIENCE_S = 300.0
SPEED_AT_MOST = 100.0
CONTAINER = {"name": "app", "image": "nginx"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Of two nodes; tests take pods of their own."""
    with cluster(nodes=2, time="auto") as found:
        yield found


@pytest.fixture
def core(shared: Cluster) -> Any:
    return client.CoreV1Api(shared.kubernetes())


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_orders_alone_move_no_time():
    with cluster(time="auto") as found:
        load = found.load("web", 3)
        assert load.ready == 0
        assert found.now == 0
        assert found.step("30s") >= 30
        assert load.ready == 3


def test_a_watch_sees_a_slow_start_a_crash_and_a_back_off(shared: Cluster, core: Any):
    shared.behave("slow", start_delay="2m", run_for="90s,30s,forever", exit_code=3)
    core.create_namespaced_pod("default", {"metadata": {"name": "slow"}, "spec": {"containers": [CONTAINER]}})
    mine = {"field_selector": "metadata.name=slow", "timeout_seconds": 100_000}
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", **mine):
        pod = event["object"]
        restarts = [status.restart_count for status in pod.status.container_statuses or ()]
        seen.append((pod.status.phase, restarts))
        if restarts == [2] and pod.status.container_statuses[0].state.running:
            break
    assert seen[0] == ("Pending", [])
    assert ("Running", [0]) in seen
    # Two starts, two lives, and the back-off of 10 s.
    assert shared.now > 2 * 120 + 90 + 30 + 10


def test_containers_start_and_end_when_they_do_in_a_stepped_cluster(shared: Cluster):
    def course(found: Cluster) -> tuple[float, float]:
        api = PlainClient(found)
        found.behave("job", start_delay="40s", run_for="300s", exit_code=0)
        api.create_pod("job", restartPolicy="Never")
        found.until(lambda: api.phase("job") == "Succeeded", within="1h", every="30s")
        pod = api.pod("job")
        ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        born, began, over = pod["metadata"]["creationTimestamp"], ended["startedAt"], ended["finishedAt"]
        return seconds_between(born, began), seconds_between(began, over)

    with cluster() as stepped:
        expected = course(stepped)
    # Timestamps have whole seconds.
    assert course(shared) == pytest.approx(expected, abs=2)


def test_time_never_goes_faster_than_its_limit_for_a_watch_that_hears_nothing(shared: Cluster):
    began_s, before = time.monotonic(), shared.now
    url = f"{shared.url}{PODS}?watch=true&timeoutSeconds=200&fieldSelector=metadata.name%3Dnobody"
    with urllib.request.urlopen(url, timeout=PATIENCE_S, context=trusting(shared)) as events:
        assert events.read() == b""
    passed = shared.now - before
    assert 200 <= passed <= (time.monotonic() - began_s) * SPEED_AT_MOST + 1


def test_a_client_that_asks_without_a_pause_gets_there(shared: Cluster):
    api = PlainClient(shared)
    api.create_pod("asked-for")
    while api.phase("asked-for") != "Running":
        """Ask again at once."""


def test_an_operator_in_threads_follows_along_while_the_test_waits(shared: Cluster, core: Any):
    """It makes a pod for each ConfigMap, and a new one for each pod that has failed."""
    label = "of=operator"

    def make(name: str) -> None:
        spec = {"restartPolicy": "Never", "containers": [CONTAINER]}
        core.create_namespaced_pod("default", {"metadata": {"name": name, "labels": {"of": "operator"}}, "spec": spec})

    def follow_maps() -> None:
        for event in watch.Watch().stream(core.list_namespaced_config_map, "default", label_selector=label):
            if event["type"] == "DELETED":
                return
            make(f"{event['object'].metadata.name}-0")

    def follow_pods() -> None:
        for event in watch.Watch().stream(core.list_namespaced_pod, "default", label_selector=label):
            if event["type"] == "DELETED":
                return
            if event["object"].status.phase == "Failed":
                name, _, number = event["object"].metadata.name.rpartition("-")
                make(f"{name}-{int(number) + 1}")

    threads = [threading.Thread(target=each, daemon=True) for each in (follow_maps, follow_pods)]
    for thread in threads:
        thread.start()
    shared.behave("shop-0", run_for="5m", exit_code=1)
    core.create_namespaced_config_map("default", {"metadata": {"name": "shop", "labels": {"of": "operator"}}})
    api = PlainClient(shared)
    shared.until(lambda: "shop-1" in api.pods() and api.phase("shop-1") == "Running", within="24h")
    core.delete_namespaced_config_map("shop", "default")
    api.delete_pod("shop-1")
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_pods_of_a_dead_node_go_after_their_tolerations():
    with cluster(nodes=2, time="auto") as found:
        own = client.CoreV1Api(found.kubernetes())
        web = found.load("web", 4)
        found.until(lambda: web.ready == 4)
        found.kill_node("node-1")
        left = {"field_selector": "spec.nodeName=node-1"}
        for event in watch.Watch().stream(own.list_namespaced_pod, "default", **left, timeout_seconds=100_000):
            if event["object"].metadata.deletion_timestamp:
                break
        node = PlainClient(found).ask("GET", "/api/v1/nodes/node-1")
        (tainted,) = [each["timeAdded"] for each in node["spec"]["taints"] if each["effect"] == "NoExecute"]
        tolerated = event["object"].metadata.deletion_timestamp - datetime.fromisoformat(tainted)
        # The grace of the pod is 30 s.
        assert 299 <= tolerated.total_seconds() <= 335


def test_a_followed_log_ends_with_its_container(shared: Cluster):
    shared.behave("talks", output="one", run_for="3m", exit_code=0)
    api = PlainClient(shared)
    api.create_pod("talks", restartPolicy="Never")
    shared.until(lambda: api.phase("talks") == "Running")
    before = shared.now
    url = f"{shared.url}{PODS}/talks/log?follow=true"
    with urllib.request.urlopen(url, timeout=PATIENCE_S, context=trusting(shared)) as log:
        assert log.read() == b"one\n"
    assert shared.now > before + 120


def test_a_reset_in_the_mode_auto(shared: Cluster):
    api = PlainClient(shared)
    api.create_pod("passing")
    shared.reset()
    assert api.pods() == {}


def test_a_pause_without_the_mode_auto_is_refused():
    with pytest.raises(ClusterError, match="pause '1s' means something with the time auto only"):
        cluster(pause="1s")
