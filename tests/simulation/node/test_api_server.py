"""A whole node and the API server it has joined, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

from actors.kernel import SimulatedDispatcher
from config.pods.identity import CONFIG_MIRROR
from runtime.api import ApiLines
from runtime.api.calls import ApiCall
from runtime.api.limited import LimitedApi
from runtime.api.token_bucket import TokenBucket
from simulation.apiserver.core import Options
from simulation.apiserver.requests.answers import JsonAnswer, ListAnswer, ObjectAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.node.simulated_node import SimulatedNode
from tests.simulation.node.grants import GrantedApi
from tests.simulation.node.worlds import MS, READY_IMAGES, SECOND, container, manifest

MINUTE = 60 * SECOND


class Cluster:
    """An API server and one node of it.

    The test is the rest of the cluster: it creates pods that are bound.
    """

    api_class: ClassVar[type[GrantedApi]] = GrantedApi

    def __init__(
        self,
        seed: int = 1,
        *,
        manifests: Mapping[str, str] | None = None,
        qps: int = 0,
        burst: int = 100,
        **options: Any,
    ) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        # Nobody else looks at the node: an API server that is away has no controllers that do.
        self.server = ApiServer(self.dispatcher, Options(node_grace_ns=0))
        self.api = self.api_class(self.dispatcher, self.server, latency_ns=2 * MS)
        main: Any = self.api
        if qps:
            main = LimitedApi(self.api, TokenBucket(qps, burst), self.dispatcher.now_ns, self.dispatcher.schedule)
        options.setdefault("settings", READY_IMAGES)
        lines = ApiLines(main, self.api, self.api)
        self.node = SimulatedNode(self.dispatcher, manifests=manifests, api=lines, **options)
        self.node.start()

    # --- time -------------------------------------------------------------------------------------------------------

    def run(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    def until(self, holds: Callable[[], bool], limit_ns: int = MINUTE, step_ns: int = 50 * MS) -> int:
        """Run until it holds; how long that took."""
        began = self.dispatcher.now_ns()
        while not holds():
            assert self.dispatcher.now_ns() - began < limit_ns, "it does not come to hold"
            self.dispatcher.run_for(step_ns)
        return self.dispatcher.now_ns() - began

    # --- what a person does -----------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.server.handle(ApiRequest(method, path, (), data))
        assert isinstance(answer, ObjectAnswer | ListAnswer | JsonAnswer)
        assert answer.code < 300, answer.body()
        return json.loads(answer.body())

    def create(self, name: str, **spec: Any) -> dict[str, Any]:
        annotations = spec.pop("annotations", {})
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "nodeName": "node",
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 1,
                "containers": [container()],
                **spec,
            },
        }
        return dict(self.ask("POST", "/api/v1/namespaces/default/pods", body))

    def delete(self, name: str, grace_seconds: int | None = None) -> None:
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        self.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", options)

    # --- looking ----------------------------------------------------------------------------------------------------

    def pods(self) -> dict[str, dict[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.ask("GET", "/api/v1/pods")["items"]}

    def phases(self) -> dict[str, str]:
        return {name: pod["status"]["phase"] for name, pod in self.pods().items()}

    def all_are(self, phase: str, count: int) -> bool:
        phases = self.phases()
        return len(phases) == count and set(phases.values()) == {phase}

    def calls(self, what: str) -> int:
        return self.api.calls.get(what, 0)

    def written(self) -> list[str]:
        """The names of the pods whose status is written from now on, in order, as they come."""
        names: list[str] = []

        def note(asked: ApiCall[Any]) -> ApiCall[Any]:
            if asked.verb.startswith("patch pods/status"):
                names.append(asked.verb.rsplit("/", 1)[1])
            return asked

        self.api.rewrite = note
        return names

    def events(self, name: str) -> list[str]:
        found = self.ask("GET", "/api/v1/events")["items"]
        return [event["reason"] for event in found if event["involvedObject"]["name"] == name]


def conditions(pod: Mapping[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in pod["status"]["conditions"]}


def test_a_pod_that_is_bound_runs_and_shows_it_with_one_write():
    cluster = Cluster()
    cluster.run(5 * SECOND)
    cluster.create("web")
    took = cluster.until(lambda: cluster.phases() == {"web": "Running"})
    assert took <= SECOND
    cluster.run(10 * SECOND)
    pod = cluster.pods()["web"]
    assert conditions(pod) == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    assert pod["status"]["containerStatuses"][0]["ready"] is True
    assert pod["status"]["podIP"]
    assert pod["status"]["hostIP"]
    assert cluster.calls("patch pods/status") == 1
    assert {"Pulled", "Created", "Started"} <= set(cluster.events("web"))


def test_a_deleted_pod_ends_and_its_object_goes():
    cluster = Cluster()
    cluster.create("web")
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.delete("web", 5)
    assert cluster.pods()["web"]["metadata"]["deletionTimestamp"]
    cluster.until(lambda: cluster.pods() == {}, 20 * SECOND)
    cluster.run(10 * SECOND)
    assert cluster.node.containers() == ()
    assert cluster.node.pods() == ()


def test_a_pod_that_has_run_to_its_end_stays_until_somebody_deletes_it():
    cluster = Cluster()
    behaviour = {"simulated.actorlet.dev/run-for": "2s"}
    cluster.create("job", restartPolicy="Never", annotations=behaviour)
    cluster.until(lambda: cluster.phases() == {"job": "Succeeded"})
    cluster.run(MINUTE)
    assert conditions(cluster.pods()["job"])["Ready"] == "False"
    assert conditions(cluster.pods()["job"])["PodReadyToStartContainers"] == "False", "its sandbox is gone (spec 4.3)"
    assert cluster.pods()["job"]["status"]["podIP"], "it keeps its address all the same"
    cluster.delete("job")
    cluster.until(lambda: cluster.pods() == {}, 10 * SECOND)


def test_a_pod_removed_by_force_is_ended_all_the_same():
    cluster = Cluster()
    cluster.create("web")
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.delete("web", 0)
    assert cluster.pods() == {}
    cluster.until(lambda: cluster.node.containers() == (), 20 * SECOND)


def test_a_thousand_pods_at_fifty_requests_a_second():
    cluster = Cluster(qps=50)
    cluster.run(5 * SECOND)
    for number in range(1000):
        cluster.create(f"pod-{number}")
    before = cluster.calls("patch pods/status")
    took = cluster.until(lambda: cluster.all_are("Running", 1000), 40 * SECOND, SECOND)
    assert took <= 25 * SECOND
    cluster.run(10 * SECOND)
    assert cluster.calls("patch pods/status") - before <= 1200


def test_an_outage_of_ten_minutes_loses_nothing_and_costs_one_write_for_each_changed_pod():
    cluster = Cluster()
    for number in range(20):
        cluster.create(f"steady-{number}")
    fails_later = {"simulated.actorlet.dev/run-for": "2m", "simulated.actorlet.dev/exit-code": "3"}
    for number in range(5):
        cluster.create(f"failing-{number}", restartPolicy="Never", annotations=fails_later)
    for number in range(5):
        cluster.create(f"crashing-{number}", annotations=fails_later)
    cluster.until(lambda: cluster.all_are("Running", 30))
    cluster.run(5 * SECOND)
    cluster.api.down(10 * MINUTE)
    cluster.delete("steady-0", 5)
    cluster.create("late")
    cluster.run(10 * MINUTE - SECOND)
    running = sum(record.state.name == "CONTAINER_RUNNING" for record in cluster.node.containers())
    assert running >= 20  # what ran runs on
    asked = cluster.api.calls.copy()
    order = cluster.written()
    cluster.until(lambda: cluster.phases().get("late") == "Running" and "steady-0" not in cluster.pods(), 2 * MINUTE)
    cluster.run(30 * SECOND)
    phases = cluster.phases()
    assert {phases[f"failing-{number}"] for number in range(5)} == {"Failed"}
    assert all(
        cluster.pods()[f"crashing-{number}"]["status"]["containerStatuses"][0]["restartCount"] >= 1
        for number in range(5)
    )
    first = order[:10]
    assert {name for name in first if name.startswith("failing")} == {f"failing-{number}" for number in range(5)}
    failing_last = max(first.index(f"failing-{number}") for number in range(5))
    assert all(first.index(name) > failing_last - 1 for name in first if name.startswith("crashing"))
    writes = cluster.calls("patch pods/status") - asked.get("patch pods/status", 0)
    assert writes <= 5 + 2 * 5 + 2 + 2, "one for each pod that changed, and the news since"
    assert all(order.count(f"failing-{number}") == 1 for number in range(5))
    assert all(order.count(f"steady-{number}") == 0 for number in range(1, 20))


@pytest.mark.parametrize("seed", range(3))
def test_a_watch_whose_history_is_lost_loses_no_pod(seed: int):
    cluster = Cluster(seed)
    cluster.create("stays")
    cluster.create("goes")
    cluster.until(lambda: cluster.all_are("Running", 2))
    cluster.run(5 * SECOND)
    cluster.api.go_down()
    cluster.run(SECOND)
    cluster.delete("goes", 0)
    cluster.create("comes")
    cluster.server.forget()
    cluster.api.come_back()
    cluster.until(lambda: cluster.phases() == {"stays": "Running", "comes": "Running"}, 3 * MINUTE)
    cluster.run(20 * SECOND)
    assert sorted(pod.metadata.name for pod in cluster.node.pods()) == ["comes", "stays"]


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_is_killed_disturbs_no_pod_and_writes_nothing_new(seed: int):
    cluster = Cluster(seed)
    for number in range(10):
        cluster.create(f"pod-{number}")
    cluster.until(lambda: cluster.all_are("Running", 10))
    cluster.run(5 * SECOND)
    before = {record.id for record in cluster.node.containers()}
    versions = {name: pod["metadata"]["resourceVersion"] for name, pod in cluster.pods().items()}
    cluster.node.restart_agent()
    cluster.run(30 * SECOND)
    assert {record.id for record in cluster.node.containers()} == before
    assert {name: pod["metadata"]["resourceVersion"] for name, pod in cluster.pods().items()} == versions


@pytest.mark.parametrize("after_ms", [0, 50, 150, 400, 900, 1500, 2500])
# (spec 2.10.5)
def test_an_agent_killed_while_a_pod_is_deleted_leaves_nothing(after_ms: int):
    cluster = Cluster()
    cluster.create("web")
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.delete("web", 1)
    cluster.run(after_ms * MS)
    cluster.node.restart_agent()
    cluster.until(lambda: cluster.pods() == {} and cluster.node.containers() == (), MINUTE)


def test_a_static_pod_is_shown_by_its_mirror_and_does_not_wait_for_it():
    cluster = Cluster(manifests={"web.yaml": manifest("web")})
    cluster.api.go_down()
    cluster.until(lambda: len(cluster.node.containers()) == 1, 5 * SECOND)
    cluster.api.come_back()
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    mirror = cluster.pods()["web-node"]
    assert mirror["metadata"]["annotations"][CONFIG_MIRROR]
    (owner,) = mirror["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Node", "node", True)
    assert len(cluster.node.containers()) == 1


def test_a_mirror_that_is_deleted_comes_back_and_its_pod_runs_on():
    cluster = Cluster(manifests={"web.yaml": manifest("web")})
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    uid = cluster.pods()["web-node"]["metadata"]["uid"]
    containers = {record.id for record in cluster.node.containers()}
    cluster.delete("web-node")
    cluster.until(lambda: "web-node" in cluster.pods() and cluster.pods()["web-node"]["metadata"]["uid"] != uid)
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    assert {record.id for record in cluster.node.containers()} == containers


def test_a_changed_manifest_changes_the_mirror_and_a_removed_one_takes_it_away():
    cluster = Cluster(manifests={"web.yaml": manifest("web")})
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    before = cluster.pods()["web-node"]["metadata"]["annotations"][CONFIG_MIRROR]
    cluster.node.put_manifest("web.yaml", manifest("web", [container(args=["other"])]))
    cluster.until(lambda: _mirror_hash(cluster) not in ("", before), 2 * MINUTE)
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"}, 2 * MINUTE)
    cluster.node.remove_manifest("web.yaml")
    cluster.until(lambda: cluster.pods() == {}, 2 * MINUTE)
    cluster.until(lambda: cluster.node.containers() == (), 2 * MINUTE)


def _mirror_hash(cluster: Cluster) -> str:
    pod = cluster.pods().get("web-node")
    return "" if pod is None else pod["metadata"]["annotations"][CONFIG_MIRROR]


def test_the_lease_is_renewed_while_a_thousand_pods_start():
    cluster = Cluster(qps=50)
    cluster.run(5 * SECOND)
    for number in range(500):
        cluster.create(f"pod-{number}")
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node"
    seen = set()
    for _ in range(20):
        cluster.run(2 * SECOND)
        seen.add(cluster.ask("GET", path)["spec"]["renewTime"])
    assert len(seen) >= 4


def test_a_volume_of_a_kind_from_a_newer_api_server_keeps_its_pod_from_starting_and_is_told():
    cluster = Cluster()
    cluster.run(5 * SECOND)
    mounts = [{"name": "data", "mountPath": "/data"}]
    made = cluster.create("web", containers=[{**container(), "volumeMounts": mounts}], volumes=[{"name": "data"}])
    # As a server stores it that knows the kind: without the default.
    made["metadata"].update(name="new", uid="uid-of-new")
    made["spec"]["volumes"] = [{"name": "data", "floppy": {"drive": "a"}}]
    cluster.server.store.put("pods", made)
    cluster.run(30 * SECOND)
    assert cluster.phases() == {"web": "Running", "new": "Pending"}
    (told,) = {
        event["message"]
        for event in cluster.ask("GET", "/api/v1/events")["items"]
        if event["involvedObject"]["name"] == "new" and event["reason"] == "FailedMount"
    }
    assert "'floppy' is not a kind of volume that this node knows" in told
