"""A simulated cluster in a test: time, pods, nodes and faults.

It is a process of its own, and speaks plain HTTP.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from urllib.error import HTTPError

import pytest

from actorlet.pytest_plugin import options_of
from actorlet.testing import Cluster, ClusterError, cluster
from simulation.cluster.orders import NODES_AT_MOST, PODS_AT_MOST
from simulation.node.addresses import NOT_FOR_PODS, pod_network_of
from tests.simulation.cluster.plain_client import PODS, PlainClient, trusting

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Stepped, of two nodes; tests take pods of their own and leave the nodes as they were."""
    with cluster(nodes=2) as found:
        yield found


# --- time -------------------------------------------------------------------------------------------------------------


def test_time_stands_still_but_for_steps(shared: Cluster, api: PlainClient):
    before = shared.now
    api.create_pod("still")
    assert api.phase("still") == "Pending"
    assert shared.now == before
    assert shared.step("90s") == before + 90
    assert api.phase("still") == "Running"


def test_a_watch_with_a_timeout_ends_though_time_stands_still(shared: Cluster, api: PlainClient):
    before = shared.now
    url = f"{shared.url}{PODS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnobody"
    with urllib.request.urlopen(url, timeout=PATIENCE_S, context=trusting(shared)) as events:
        assert events.read() == b""
    assert shared.now == before


def test_until_stops_when_the_condition_holds(shared: Cluster, api: PlainClient):
    before = shared.now
    api.create_pod("soon", container={"readinessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 7}})
    assert 7 <= shared.until(lambda: api.is_ready("soon")) - before <= 16, "an image may have to be pulled first"


def test_until_gives_up_at_its_time_limit(shared: Cluster):
    before = shared.now

    def never() -> bool:
        return False

    with pytest.raises(TimeoutError, match="never does not hold after 5s"):
        shared.until(never, within="5s")
    assert shared.now == before + 5


def test_until_tells_what_it_saw_last_what_there_is_what_is_missing_and_who_asked_what(
    shared: Cluster, api: PlainClient
):
    shared.reset()
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "nginx"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    api.ask("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "web"}, "spec": spec})
    api.create_pod("alone")
    with pytest.raises(TimeoutError) as gave_up:
        shared.until(list, within="5s")
    said = str(gave_up.value)
    assert "it returned [] last" in said
    assert "Deployment default/web makes no ReplicaSet and no pods here; start the cluster with controller_m" in said
    assert "1 deployments.apps: default/web, 1 pods: default/alone" in said
    assert "the last POST /api/v1/namespaces/default/pods (201) 5.0 s ago; it watches nothing" in said


def test_time_that_goes_by_itself_goes_faster_than_real_and_can_leap():
    with cluster(time="x60") as fast:
        api = PlainClient(fast)
        api.create_pod("web")
        assert fast.until(lambda: api.phase("web") == "Running", within="20m") > 0
        seen = fast.now
        assert fast.until(lambda: fast.now > seen + 30, within="20m") > seen
        assert fast.step("5m") > seen + 330
        # Whoever talks to it beside it reads the time of day of its own clock in what it writes.
        assert not api.pod("web")["metadata"]["creationTimestamp"].startswith("2026-01-01")


def test_the_same_seed_gives_the_same_course_of_events():
    def course() -> tuple[list[str], list[str]]:
        with cluster(seed=3) as found:
            api = PlainClient(found)
            found.fault("runtime-calls", fail=0.2)
            found.load("web", 8)
            found.step("20s")
            pods = api.pods().values()
            events = api.ask("GET", "/api/v1/namespaces/default/events")["items"]
            return [pod["metadata"]["uid"] for pod in pods], sorted(event["message"] for event in events)

    assert course() == course()


# --- pods -------------------------------------------------------------------------------------------------------------


def test_pods_end_as_they_were_told_before_they_were_made(shared: Cluster, api: PlainClient):
    shared.behave("job-*", run_for="30s", exit_code=3)
    made = api.create_pod("job-1", restartPolicy="Never")
    api.create_pod("other")
    shared.step("1m")
    status = api.pod("job-1")["status"]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert api.phase("other") == "Running"
    assert "annotations" not in made["metadata"]
    assert "annotations" not in api.pod("job-1")["metadata"]


def test_a_running_container_follows_a_new_behaviour(shared: Cluster, api: PlainClient):
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 2, "failureThreshold": 1}
    api.create_pod("flips", container={"readinessProbe": probe})
    shared.until(lambda: api.is_ready("flips"))
    shared.behave("flips", readiness_probe="fail")
    shared.until(lambda: not api.is_ready("flips"), within="10s")
    shared.behave("flips", readiness_probe="ok")
    shared.until(lambda: api.is_ready("flips"), within="10s")


def test_runtime_calls_of_a_running_pod_fail_as_often_as_ordered(shared: Cluster, api: PlainClient):
    api.create_pod("stuck")
    shared.until(lambda: api.phase("stuck") == "Running")
    shared.behave("stuck", fail="StopContainer")
    api.ask("DELETE", f"{PODS}/stuck", {"gracePeriodSeconds": 1})
    shared.step("30s")
    assert "deletionTimestamp" in api.pod("stuck")["metadata"]
    shared.behave("stuck", fail="StopContainer*1")
    shared.step("2m")
    assert "stuck" not in [pod["metadata"]["name"] for pod in api.ask("GET", PODS)["items"]]


def test_the_last_order_for_a_pod_counts_unless_its_annotations_differ(shared: Cluster, api: PlainClient):
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 2, "failureThreshold": 1}
    shared.behave("turns*", readiness_probe="fail")
    api.create_pod("turns", container={"readinessProbe": probe})
    own = {"simulated.actorlet.dev/readiness-probe": "fail"}
    container = {"name": "app", "image": "registry.example/app:1", "readinessProbe": probe}
    stays = {"metadata": {"name": "turns-not", "annotations": own}, "spec": {"containers": [container]}}
    api.ask("POST", PODS, stays)
    shared.step("10s")
    assert not api.is_ready("turns")
    shared.behave("turns*", readiness_probe="ok")
    shared.step("10s")
    assert api.is_ready("turns")
    assert not api.is_ready("turns-not")


def test_a_container_ends_when_the_test_says_so(shared: Cluster, api: PlainClient):
    api.create_pod("ends")
    shared.step("5s")
    shared.exit("ends", oom=True)
    shared.until(lambda: api.restarts("ends") == 1, within="30s")
    last = api.pod("ends")["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "OOMKilled")


def test_a_pod_that_hangs_is_restarted_by_its_liveness_probe_and_ends_after_its_grace(
    shared: Cluster, api: PlainClient
):
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 2, "failureThreshold": 2, "timeoutSeconds": 1}
    api.create_pod("hangs", terminationGracePeriodSeconds=20, container={"livenessProbe": probe})
    api.create_pod("hangs-too", terminationGracePeriodSeconds=20)
    shared.step("5s")
    for name in ("hangs", "hangs-too"):
        shared.hang(name)
    api.delete_pod("hangs-too")
    shared.step("15s")
    assert "hangs-too" in api.pods()
    shared.step("15s")
    assert "hangs-too" not in api.pods()
    shared.until(lambda: api.restarts("hangs") == 1, within="1m")


def test_a_load_keeps_its_number(shared: Cluster, api: PlainClient):
    load = shared.load("crowd", 20, labels={"tier": "front"})
    shared.until(lambda: load.ready == 20)
    api.delete_pod("crowd-3")
    shared.until(lambda: "crowd-3" not in api.pods() and load.ready == 20)
    assert "crowd-20" in api.pods()
    load.scale(5)
    shared.until(lambda: len([name for name in api.pods() if name.startswith("crowd-")]) == 5)
    assert "crowd-0" in api.pods()
    assert api.pod("crowd-0")["metadata"]["labels"]["tier"] == "front"
    load.scale(0)


# --- nodes and faults -------------------------------------------------------------------------------------------------


def test_a_node_without_power_is_unknown_and_its_containers_start_anew_after_its_boot():
    with cluster(nodes=2) as found:
        api = PlainClient(found)
        load = found.load("web", 6)
        found.until(lambda: load.ready == 6)
        victim = api.pods()["web-0"]["spec"]["nodeName"]
        found.kill_node(victim)
        found.step("2m")
        assert api.node_is_ready(victim) == "Unknown"
        assert load.ready < 6
        found.start_node(victim)
        found.until(lambda: load.ready == 6)
        assert api.restarts("web-0") == 1


def test_more_nodes_come(shared: Cluster, api: PlainClient):
    assert list(shared.nodes) == ["node-0", "node-1"]
    (name,) = shared.add_nodes()
    assert list(shared.nodes) == ["node-0", "node-1", name]
    shared.step("3s")
    assert api.node_is_ready(name) == "True"


def test_an_agent_may_be_away_for_a_while_and_containers_run_on(shared: Cluster, api: PlainClient):
    api.create_pod("steady", nodeName="node-0")
    shared.until(lambda: api.is_ready("steady"))
    shared.kill_agent("node-0", away="20s")
    api.create_pod("waits", nodeName="node-0")
    shared.step("10s")
    assert api.phase("waits") == "Pending"
    shared.until(lambda: api.is_ready("waits"), within="1m")
    assert api.restarts("steady") == 0


@pytest.mark.parametrize(
    "trouble",
    [
        lambda c: c.cut_network("node-1", "30s"),
        lambda c: c.pause_agent("node-1", "30s"),
        lambda c: c.fault("api-outage", lasts="30s"),
        lambda c: c.fault("runtime-outage", lasts="30s"),
        lambda c: c.fault("runtime-calls", verb="RunPodSandbox", fail=1.0),
        lambda c: c.fault("api-calls", fail=1.0),
        lambda c: c.fault("network", node="node-1", delay=["25s", "25s"]),
    ],
)
def test_while_something_is_wrong_nothing_starts_and_healed_it_does(
    shared: Cluster, api: PlainClient, trouble: Callable[[Cluster], None]
):
    trouble(shared)
    name = f"troubled-{int(shared.now * 1000)}"
    api.create_pod(name, nodeName="node-1")
    shared.step("20s")
    assert api.phase(name) != "Running"
    shared.step("15s")
    shared.heal()
    shared.until(lambda: api.is_ready(name), within="3m")


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (lambda c: c.step("soon"), "'soon' is not a duration"),
        (lambda c: c.behave(run_fro="3s"), "there is no knob 'run-fro'"),
        (lambda c: c.behave(exit_code=300), "'300' is not an exit code"),
        (lambda c: c.exit("nobody"), "there is no pod default/nobody"),
        (lambda c: c.exit("lonely"), "pod default/lonely is on no simulated node yet"),
        (lambda c: c.hang("nobody"), "there is no pod default/nobody"),
        (lambda c: c.say("nobody", "boo"), "there is no pod default/nobody"),
        (lambda c: c.kill_node("node-9"), "there is no node 'node-9'; there are node-0"),
        (lambda c: c.start_node("node-0"), "node node-0 is not off"),
        (lambda c: c.fault("sabotage"), "sabotage"),
        (lambda c: c.fault("runtime-outages", lasts="1m"), "did you mean runtime-outage?"),
        (lambda c: c.fault("runtime-calls", fial=0.1), "did you mean fail?"),
        (lambda c: c.fault("frozen-actor", lasts="1m"), "a cluster knows no frozen-actor"),
        (lambda c: c.fault("runtime-calls", fail=0.8, hang=0.8), "exceed 1 together"),
        (lambda c: c.fault("runtime-calls", verb="StartContianer"), "did you mean StartContainer?"),
        (lambda c: c.fault("network", delay=["2s", "1s"]), "$.fault.delay: write the shorter"),
        (lambda c: c.fault("network", node="node-9"), "there is no node 'node-9'"),
        (lambda c: c.load("no name", 1), "no name"),
        (lambda c: c.load("empty", 1, spec={"containers": []}), "spec.containers"),
        (lambda c: c.add_nodes(0), "$.count"),
    ],
)
def test_an_impossible_order_is_refused_and_the_cluster_goes_on(
    shared: Cluster, api: PlainClient, order: Callable[[Cluster], object], told: str
):
    if "lonely" in told:
        api.create_pod("lonely", schedulerName="mine")
    with pytest.raises(ClusterError) as refused:
        order(shared)
    assert told in str(refused.value)
    assert shared.now >= 0


def test_a_cluster_that_cannot_be_does_not_begin():
    with pytest.raises(ClusterError, match="none of stepped, real, auto, and x60"):
        cluster(time="x0")


def test_until_refuses_a_period_of_zero(shared: Cluster):
    with pytest.raises(ValueError, match="every='0s' lets no time pass"):
        shared.until(lambda: False, every="0s")


def test_a_marker_with_an_option_without_a_name_is_refused():
    assert options_of(None) == {}
    assert options_of(pytest.mark.simulated_cluster(nodes=3).mark) == {"nodes": 3}
    with pytest.raises(pytest.UsageError, match=r"takes options by name, as nodes=3, and got \(3,\)"):
        options_of(pytest.mark.simulated_cluster(3).mark)


def test_nodes_are_of_the_size_that_is_asked_for():
    with cluster(cpus=2, memory="3Gi", pods_per_node=5) as small:
        has = PlainClient(small).ask("GET", "/api/v1/nodes/node-0")["status"]["capacity"]
        assert (has["cpu"], has["memory"], has["pods"]) == ("2", "3Gi", "5")


def test_no_two_pods_and_no_two_nodes_share_an_address():
    with cluster(nodes=3) as found:
        api = PlainClient(found)
        web = found.load("web", 9)
        found.until(lambda: web.ready == 9)
        pods = [pod["status"] for pod in api.pods().values()]
        assert len({pod["podIP"] for pod in pods}) == 9
        nodes = api.ask("GET", "/api/v1/nodes")["items"]
        addresses = [node["status"]["addresses"][0]["address"] for node in nodes]
        assert len(set(addresses)) == 3
        networks = [{pod["podIP"].rpartition(".")[0] for pod in pods if pod["hostIP"] == host} for host in addresses]
        assert networks == [{"10.1.0"}, {"10.1.1"}, {"10.1.2"}]


@pytest.mark.parametrize(
    ("pods", "first", "second"),
    [
        (1, "10.1.0.0/24", "10.1.1.0/24"),
        (110, "10.1.0.0/24", "10.1.1.0/24"),
        (5000, "10.1.0.0/18", "10.1.64.0/18"),
        (PODS_AT_MOST, "10.4.0.0/14", "10.8.0.0/14"),
    ],
)
def test_the_pod_network_of_a_node_has_room_for_its_pods(pods: int, first: str, second: str):
    assert [pod_network_of(number, pods) for number in range(2)] == [first, second]
    assert IPv4Network(first).num_addresses - NOT_FOR_PODS >= 2 * pods


def test_the_most_nodes_of_a_new_cluster_have_pod_networks_of_their_own():
    assert len({pod_network_of(number, 5000) for number in range(NODES_AT_MOST)}) == NODES_AT_MOST


def test_names_of_more_than_ten_nodes_match_those_of_added_nodes():
    with cluster(nodes=11) as found:
        assert found.nodes[0] == "node-0"
        assert found.add_nodes() == ("node-11",)


def test_a_healed_cluster_drops_announced_outages(shared: Cluster, api: PlainClient):
    shared.fault("api-outage", at="10s", lasts="1h")
    shared.fault("disk-full", lasts="1h")
    shared.heal()
    shared.step("20s")
    api.create_pod("healed")
    shared.until(lambda: api.is_ready("healed"), within="30s")


def test_the_server_refuses_as_a_real_one_does(api: PlainClient):
    with pytest.raises(HTTPError) as refused:
        api.pod("nobody")
    assert refused.value.code == 404
