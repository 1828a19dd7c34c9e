"""Conformance behaviours of volumes of configuration.

Config maps, secrets, and what a pod knows of itself.

On a whole simulated node and the API server that it has joined. Bytes and modes are those of the files; that a user of
the container can read them is shown on a real runtime (`tests/runtime/volumes`, `tests/real`).
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from runtime.cri.messages import ContainerState
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import SECOND, container

CORE = "/api/v1/namespaces/default"
OF = {"configMap": "configmaps", "secret": "secrets"}


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    return cluster


def body(kind: str, name: str, data: dict[str, str]) -> dict[str, Any]:
    if kind == "secret":
        data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name}, "data": data}


def put(cluster: Cluster, kind: str, name: str, **data: str) -> None:
    cluster.ask("POST", f"{CORE}/{OF[kind]}", body(kind, name, data))


def replace(cluster: Cluster, kind: str, name: str, **data: str) -> None:
    cluster.ask("PUT", f"{CORE}/{OF[kind]}/{name}", body(kind, name, data))


def volume(kind: str, projected: bool, name: str = "settings", mode: int | None = None, **source: Any) -> Any:
    """A volume of that kind, or the same as a projected one."""
    of_volume = {} if mode is None else {"defaultMode": mode}
    if projected:
        return {"name": "v", "projected": {**of_volume, "sources": [{kind: {"name": name, **source}}]}}
    key = "secretName" if kind == "secret" else "name"
    return {"name": "v", kind: {key: name, **of_volume, **source}}


def start(cluster: Cluster, *volumes: dict[str, Any], name: str = "web", **fields: Any) -> None:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    annotations = fields.pop("annotations", {})
    spec = {"containers": [container(volumeMounts=mounts, **fields)], "volumes": list(volumes)}
    cluster.create(name, annotations=annotations, **spec)
    cluster.until(lambda: cluster.phases()[name] == "Running", MINUTE)


def files(cluster: Cluster, inside: str = "/v") -> dict[str, tuple[str, int]]:
    """Path -> text and mode of all that the running container finds there."""
    tree = cluster.node.host.tree
    [record] = [each for each in cluster.node.containers() if each.state is ContainerState.CONTAINER_RUNNING]
    [place] = [each.host_path for each in record.config.mounts if each.container_path == inside]
    found: dict[str, tuple[str, int]] = {}

    def walk(path: str, shown: str) -> None:
        for name in tree.names_in(path):
            if tree.is_directory(f"{path}/{name}"):
                walk(f"{path}/{name}", f"{shown}{name}/")
            else:
                found[shown + name] = (tree.read(f"{path}/{name}").decode(), tree.mode(f"{path}/{name}"))

    walk(place, "")
    return found


KINDS = pytest.mark.parametrize(
    ("kind", "projected"),
    [
        pytest.param("configMap", False, id="ConfigMap Volume"),
        pytest.param("secret", False, id="Secrets Volume"),
        pytest.param("configMap", True, id="Projected Volume, ConfigMap"),
        pytest.param("secret", True, id="Projected Volume, Secrets"),
    ],
)


@KINDS
def test_without_mapping_every_key_is_a_file_of_mode_0644(cluster: Cluster, kind: str, projected: bool):
    put(cluster, kind, "settings", **{"data-1": "value-1", "data-2": "value-2"})
    start(cluster, volume(kind, projected))
    assert files(cluster) == {"data-1": ("value-1", 0o644), "data-2": ("value-2", 0o644)}


@KINDS
def test_without_mapping_volume_mode_set(cluster: Cluster, kind: str, projected: bool):
    put(cluster, kind, "settings", **{"data-1": "value-1"})
    start(cluster, volume(kind, projected, mode=0o400))
    assert files(cluster) == {"data-1": ("value-1", 0o400)}


@KINDS
@pytest.mark.parametrize("mode", [None, 0o400])
def test_with_mapping_only_what_is_named_is_there_under_its_path(
    cluster: Cluster, kind: str, projected: bool, mode: int | None
):
    put(cluster, kind, "settings", **{"data-1": "value-1", "data-2": "value-2"})
    item = {"key": "data-2", "path": "path/to/data-2", **({} if mode is None else {"mode": mode})}
    start(cluster, volume(kind, projected, items=[item]))
    assert files(cluster) == {"path/to/data-2": ("value-2", 0o644 if mode is None else mode)}


@KINDS
def test_multiple_volume_paths_of_one_object(cluster: Cluster, kind: str, projected: bool):
    put(cluster, kind, "settings", **{"data-1": "value-1"})
    start(cluster, volume(kind, projected), {**volume(kind, projected), "name": "w"})
    assert files(cluster, "/v") == files(cluster, "/w") == {"data-1": ("value-1", 0o644)}


@KINDS
def test_update_is_seen_inside(cluster: Cluster, kind: str, projected: bool):
    put(cluster, kind, "settings", **{"data-1": "value-1"})
    start(cluster, volume(kind, projected))
    replace(cluster, kind, "settings", **{"data-1": "value-2"})
    cluster.until(lambda: files(cluster)["data-1"][0] == "value-2", 2 * MINUTE)


@KINDS
def test_optional_objects_create_update_and_delete(cluster: Cluster, kind: str, projected: bool):
    """What is not there yet is an empty volume; what is removed takes its files along."""
    start(cluster, volume(kind, projected, optional=True))
    assert files(cluster) == {}
    put(cluster, kind, "settings", **{"data-1": "value-1"})
    cluster.until(lambda: files(cluster) == {"data-1": ("value-1", 0o644)}, 3 * MINUTE)
    replace(cluster, kind, "settings", **{"data-3": "value-3"})
    cluster.until(lambda: files(cluster) == {"data-3": ("value-3", 0o644)}, 3 * MINUTE)
    cluster.ask("DELETE", f"{CORE}/{OF[kind]}/settings")
    cluster.until(lambda: files(cluster) == {}, 3 * MINUTE)


def test_config_map_volume_text_data_and_binary_data(cluster: Cluster):
    binary = base64.b64encode(b"\x00\x7f").decode()
    document = {**body("configMap", "settings", {"text": "value"}), "binaryData": {"dump.bin": binary}}
    cluster.ask("POST", f"{CORE}/configmaps", document)
    start(cluster, volume("configMap", False))
    assert {name: text for name, (text, _) in files(cluster).items()} == {"text": "value", "dump.bin": "\x00\x7f"}


def test_secrets_volume_secret_with_same_name_in_different_namespace(cluster: Cluster):
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    cluster.ask("POST", "/api/v1/namespaces/other/secrets", body("secret", "settings", {"data-1": "of another"}))
    put(cluster, "secret", "settings", **{"data-1": "value-1"})
    start(cluster, volume("secret", False))
    assert files(cluster) == {"data-1": ("value-1", 0o644)}


# --- what a pod knows of itself -------------------------------------------------------------------------------------


def down(projected: bool, items: list[dict[str, Any]], mode: int | None = None) -> dict[str, Any]:
    of_volume = {} if mode is None else {"defaultMode": mode}
    if projected:
        return {"name": "v", "projected": {**of_volume, "sources": [{"downwardAPI": {"items": items}}]}}
    return {"name": "v", "downwardAPI": {**of_volume, "items": items}}


BOTH = pytest.mark.parametrize(
    "projected",
    [pytest.param(False, id="DownwardAPI volume"), pytest.param(True, id="Projected Volume, DownwardAPI")],
)
RESOURCES = ["limits.cpu", "requests.cpu", "limits.memory", "requests.memory"]
OF_RESOURCES = [{"path": each, "resourceFieldRef": {"containerName": "app", "resource": each}} for each in RESOURCES]
NAME = {"path": "podname", "fieldRef": {"fieldPath": "metadata.name"}}


@BOTH
def test_downward_api_cpu_and_memory_limits_and_requests(cluster: Cluster, projected: bool):
    amounts = {"limits": {"cpu": "1250m", "memory": "64Mi"}, "requests": {"cpu": "250m", "memory": "32Mi"}}
    start(cluster, down(projected, OF_RESOURCES), resources=amounts)
    found = files(cluster)
    assert [found[each][0] for each in RESOURCES] == ["2", "1", str(64 * 2**20), str(32 * 2**20)]


@BOTH
def test_downward_api_limits_default_to_node_allocatable(cluster: Cluster, projected: bool):
    start(cluster, down(projected, OF_RESOURCES))
    cpu = cluster.ask("GET", "/api/v1/nodes/node")["status"]["allocatable"]["cpu"]
    found = files(cluster)
    assert found["limits.cpu"][0] == cpu
    assert int(found["limits.memory"][0]) > 0
    assert found["requests.cpu"][0] == found["requests.memory"][0] == "0"


@BOTH
@pytest.mark.parametrize(
    ("of_volume", "of_file", "mode"), [(None, None, 0o644), (0o400, None, 0o400), (None, 0o400, 0o400)]
)
def test_downward_api_pod_name_and_modes(
    cluster: Cluster, projected: bool, of_volume: int | None, of_file: int | None, mode: int
):
    item = NAME if of_file is None else {**NAME, "mode": of_file}
    start(cluster, down(projected, [item], of_volume))
    assert files(cluster) == {"podname": ("web", mode)}


@BOTH
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_downward_api_update_labels_and_annotations(cluster: Cluster, projected: bool, field: str):
    start(cluster, down(projected, [{"path": field, "fieldRef": {"fieldPath": f"metadata.{field}"}}]))
    pod = cluster.ask("GET", f"{CORE}/pods/web")
    pod["metadata"][field] = {**pod["metadata"].get(field, {}), "key3": "value3"}
    cluster.ask("PUT", f"{CORE}/pods/web", pod)
    cluster.until(lambda: 'key3="value3"' in files(cluster)[field][0], 2 * MINUTE)


def test_projected_volume_multiple_projections(cluster: Cluster):
    put(cluster, "secret", "login", user="ann")
    put(cluster, "configMap", "settings", colour="red")
    sources = [{"secret": {"name": "login"}}, {"configMap": {"name": "settings"}}, {"downwardAPI": {"items": [NAME]}}]
    start(cluster, {"name": "v", "projected": {"sources": sources}})
    assert {name: text for name, (text, _) in files(cluster).items()} == {
        "user": "ann",
        "colour": "red",
        "podname": "web",
    }
