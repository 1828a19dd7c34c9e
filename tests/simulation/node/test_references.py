"""What pods take from other objects of the API server that a whole node has joined, in virtual time."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from actors.messages.references import HoldObjects
from runtime.cri.messages import ContainerState
from runtime.cri.verbs import PULL_IMAGE
from simulation.cri import Settings
from simulation.cri.simulated_cri import DoVerb
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import SECOND, World, container, manifest

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
SERVICES = "/api/v1/namespaces/default/services"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


def put(cluster: Cluster, path: str, kind: str, name: str, **fields: Any) -> None:
    version = "node.k8s.io/v1" if path == CLASSES else "v1"
    cluster.ask("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def variables(cluster: Cluster, pod: str) -> dict[str, str]:
    """What the running container of the pod was given."""
    uid = cluster.pods()[pod]["metadata"]["uid"]
    [record] = [
        each
        for each in cluster.node.containers()
        if each.sandbox.pod_uid == uid and each.state is ContainerState.CONTAINER_RUNNING
    ]
    return {each.key: each.value.decode() for each in record.config.envs}


def waiting(cluster: Cluster, pod: str) -> tuple[str, str]:
    [status] = cluster.pods()[pod]["status"]["containerStatuses"]
    return status["state"]["waiting"]["reason"], status["state"]["waiting"]["message"]


def runs(cluster: Cluster, *pods: str) -> bool:
    phases = cluster.phases()
    return all(phases.get(pod) == "Running" for pod in pods)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    return cluster


FROM_BOTH = container(
    envFrom=[{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "login"}, "prefix": "DB_"}],
    env=[{"name": "URL", "value": "http://$(DB_USER)@$(WEB_SERVICE_HOST)"}],
)


def test_variables_come_from_maps_secrets_and_services(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    put(cluster, SECRETS, "Secret", "login", data={"USER": encoded("ann")})
    put(cluster, SERVICES, "Service", "web", spec={"clusterIP": "10.0.0.7", "ports": [{"port": 80}]})
    cluster.run(SECOND)
    cluster.create("shop", containers=[FROM_BOTH])
    assert cluster.until(lambda: runs(cluster, "shop")) <= SECOND
    found = variables(cluster, "shop")
    assert (found["COLOUR"], found["DB_USER"], found["URL"]) == ("red", "ann", "http://ann@10.0.0.7")
    assert found["WEB_SERVICE_PORT"] == "80"
    assert "KUBERNETES_SERVICE_HOST" in found


def test_a_pod_that_begins_asks_nobody_for_services_and_a_container_that_starts_again_sees_those_of_then(
    cluster: Cluster,
):
    def questions() -> int:
        actors = cluster.node.node.system.report().actors
        return sum(each.handled for each in actors if each.actor_class == "ClusterCacheActor")

    before = questions()
    dies = {"simulated.actorlet.dev/run-for": "20s"}
    cluster.create("shop", annotations=dies)
    assert cluster.until(lambda: runs(cluster, "shop")) <= SECOND
    assert questions() == before
    assert "WEB_SERVICE_HOST" not in variables(cluster, "shop")
    put(cluster, SERVICES, "Service", "web", spec={"clusterIP": "10.0.0.7", "ports": [{"port": 80}]})
    cluster.run(30 * SECOND)
    assert variables(cluster, "shop")["WEB_SERVICE_HOST"] == "10.0.0.7"


def test_a_container_starts_as_soon_as_what_it_refers_to_is_there(cluster: Cluster):
    cluster.create("shop", containers=[container(envFrom=[{"configMapRef": {"name": "settings"}}])])
    cluster.run(15 * SECOND)
    reason, message = waiting(cluster, "shop")
    assert reason == "CreateContainerConfigError"
    assert 'configmap "settings" not found' in message
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    assert cluster.until(lambda: runs(cluster, "shop")) <= SECOND
    assert variables(cluster, "shop")["COLOUR"] == "red"


# (spec 13.3.3)
def test_a_missing_key_is_told_as_people_know_it(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    source = {"configMapKeyRef": {"name": "settings", "key": "SIZE"}}
    cluster.create("shop", containers=[container(env=[{"name": "SIZE", "valueFrom": source}])])
    cluster.run(5 * SECOND)
    reason, message = waiting(cluster, "shop")
    assert reason == "CreateContainerConfigError"
    assert "couldn't find key SIZE in ConfigMap default/settings" in message


def test_an_optional_config_map_may_be_missing(cluster: Cluster):
    missing = {"configMapRef": {"name": "settings", "optional": True}}
    cluster.create("shop", containers=[container(envFrom=[missing])])
    assert cluster.until(lambda: runs(cluster, "shop")) <= SECOND


def test_a_container_that_starts_again_sees_what_is_there_then(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    dies = {"simulated.actorlet.dev/run-for": "20s"}
    cluster.create("shop", annotations=dies, containers=[container(envFrom=[{"configMapRef": {"name": "settings"}}])])
    cluster.until(lambda: runs(cluster, "shop"))
    changed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"COLOUR": "blue"}}
    cluster.ask("PUT", f"{MAPS}/settings", changed)
    cluster.run(25 * SECOND)
    assert variables(cluster, "shop")["COLOUR"] == "blue"


def test_many_pods_that_refer_to_one_object_cost_one_list(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    before = cluster.calls("list configmaps")
    pods = [f"shop-{number}" for number in range(50)]
    for name in pods:
        cluster.create(name, containers=[container(envFrom=[{"configMapRef": {"name": "settings"}}])])
    cluster.until(lambda: runs(cluster, *pods))
    assert cluster.calls("list configmaps") - before == 1


# (spec 13.3.2)
def test_limits_that_are_not_set_are_those_of_the_node(cluster: Cluster):
    source = {"resourceFieldRef": {"resource": "limits.memory"}}
    cluster.create("shop", containers=[container(env=[{"name": "MEMORY", "valueFrom": source}])])
    assert cluster.until(lambda: runs(cluster, "shop")) <= SECOND
    assert int(variables(cluster, "shop")["MEMORY"]) > 2**30


# (spec 3.9.5)
def test_a_pod_is_made_by_the_handler_of_its_runtime_class(cluster: Cluster):
    put(cluster, CLASSES, "RuntimeClass", "sandboxed", handler="simulated")
    asked: list[str] = []

    def note(name: str, request: Any, do: DoVerb) -> Any:
        if name == "RunPodSandbox":
            asked.append(request.runtime_handler)
        return do(name, request)

    cluster.node.cri.intercept(note)
    cluster.create("shop", runtimeClassName="sandboxed")
    cluster.run(2 * SECOND)
    assert asked == ["simulated"]


# (spec 9.8.1)
def test_a_runtime_class_that_is_not_there_is_said_and_waited_for(cluster: Cluster):
    put(cluster, CLASSES, "RuntimeClass", "sandboxed", handler="runsc")
    cluster.create("shop", runtimeClassName="sandboxed")
    cluster.ask("DELETE", f"{CLASSES}/sandboxed")  # admission refuses a pod whose class was never there
    cluster.run(5 * SECOND)
    found = cluster.ask("GET", "/api/v1/events")["items"]
    said = [event["message"] for event in found if event["reason"] == "FailedCreatePodSandBox"]
    assert said == ['Failed to create pod sandbox: runtimeclass.node.k8s.io "sandboxed" not found']
    assert cluster.phases()["shop"] == "Pending"


# (spec 2.7.7)
def test_an_image_is_pulled_with_the_secret_of_the_pod():
    cluster = Cluster(settings=Settings())
    cluster.run(5 * SECOND)
    auths = {"auths": {"r.example.com": {"auth": encoded("ann:word")}, "other.example.com": {"username": "bob"}}}
    kind = "kubernetes.io/dockerconfigjson"
    put(cluster, SECRETS, "Secret", "pull", type=kind, data={".dockerconfigjson": encoded(json.dumps(auths))})
    shown: list[tuple[str, str]] = []

    def note(name: str, request: Any, do: DoVerb) -> Any:
        if name == PULL_IMAGE.name:
            shown.append((request.auth.username, request.auth.password))
        return do(name, request)

    cluster.node.cri.intercept(note)
    secrets = [{"name": "pull"}, {"name": "none"}]
    cluster.create("shop", containers=[container(image="r.example.com/app:1")], imagePullSecrets=secrets)
    cluster.until(lambda: runs(cluster, "shop"))
    assert shown == [("ann", "word")]
    found = cluster.ask("GET", "/api/v1/events")["items"]
    [said] = [event["message"] for event in found if event["reason"] == "FailedToRetrieveImagePullSecret"]
    assert said.startswith("Unable to retrieve some image pull secrets (none); ")


def test_a_container_takes_variables_from_a_file_that_another_has_written(cluster: Cluster):
    first = container("first", volumeMounts=[{"name": "shared", "mountPath": "/out"}])
    source = {"fileKeyRef": {"volumeName": "shared", "path": "made/env", "key": "COLOUR"}}
    second = container(env=[{"name": "COLOUR", "valueFrom": source}])
    cluster.create(
        "shop",
        annotations={"simulated.actorlet.dev/run-for.first": "5s"},
        initContainers=[first],
        containers=[second],
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    cluster.run(3 * SECOND)
    uid = cluster.pods()["shop"]["metadata"]["uid"]
    directory = f"/var/lib/actorlet/pods/{uid}/volumes/kubernetes.io~empty-dir/shared/made"
    cluster.node.host.tree.make_directories(directory)
    cluster.node.host.tree.write(f"{directory}/env", b"# made by first\nCOLOUR='dark\nred'\n")
    cluster.until(lambda: runs(cluster, "shop"))
    assert variables(cluster, "shop")["COLOUR"] == "dark\nred"


def test_an_outage_changes_nothing_for_containers_that_start_again(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    dies = {"simulated.actorlet.dev/run-for": "30s"}
    cluster.create("shop", annotations=dies, containers=[container(envFrom=[{"configMapRef": {"name": "settings"}}])])
    cluster.until(lambda: runs(cluster, "shop"))
    cluster.api.down(10 * MINUTE)
    cluster.run(35 * SECOND)
    assert variables(cluster, "shop")["COLOUR"] == "red"


def test_a_cache_that_comes_back_is_told_again_what_is_held(cluster: Cluster):
    put(cluster, MAPS, "ConfigMap", "settings", data={"COLOUR": "red"})
    dies = {"simulated.actorlet.dev/run-for": "20s"}
    cluster.create("shop", annotations=dies, containers=[container(envFrom=[{"configMapRef": {"name": "settings"}}])])
    cluster.until(lambda: runs(cluster, "shop"))
    before = cluster.calls("list configmaps")
    cache = cluster.node.node.system.find("/node/object-cache")
    assert cache is not None
    cache.tell(HoldObjects(None))  # type: ignore[arg-type]  # what no worker says: it fails
    cluster.run(5 * SECOND)
    assert cluster.calls("list configmaps") == before + 1
    cluster.run(20 * SECOND)
    assert variables(cluster, "shop")["COLOUR"] == "red"


# (spec 12.3.2)
def test_a_node_that_stands_alone_asks_nobody():
    world = World({"a.yaml": manifest("a")}).start()
    world.until(world.settled)
    report = world.node.node.report()
    handled = {actor.path.rpartition("/")[2]: actor.handled for actor in report.actors}
    assert (handled["object-cache"], handled["tokens"]) == (0, 0)
    assert handled["cluster-cache"] <= 1  # the node itself
