"""A manifest becomes the pods that this node runs, or errors that a person can act on."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from config.documents.limits import BYTES_AT_MOST
from config.manifests import Origin, ReadManifest, read_manifest
from config.objects import Toleration
from config.values.fnv import fnv1a_128

FILE = Origin.file("/etc/manifests/web.yaml")
URL = Origin.url("http://config.example/pods")


def manifest(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "app", "image": "nginx:1"}], **spec},
    }


def read(document: object, origin: Origin = FILE, node: str = "node-1", **options: bool) -> ReadManifest:
    return read_manifest(json.dumps(document).encode(), origin, node, **options)


# (spec 1.2.2)
def test_a_pod_gets_its_identity_from_node_and_origin() -> None:
    (pod,) = read(manifest(), node="Node-1".lower()).pods
    assert pod.metadata.name == "web-node-1"
    assert pod.metadata.namespace == "default"
    assert len(pod.metadata.uid) == 32
    assert pod.metadata.annotations == {"kubernetes.io/config.hash": pod.metadata.uid}
    assert pod.spec.node_name == "node-1"
    assert pod.status is not None
    assert pod.status.phase == "Pending"
    assert pod.spec.restart_policy == "Always"


# (spec 1.2.3)
def test_only_pods_from_files_tolerate_everything_that_evicts() -> None:
    tolerated = Toleration(operator="Exists", effect="NoExecute")
    assert read(manifest()).pods[0].spec.tolerations == (tolerated,)
    assert read(manifest(tolerations=[{"operator": "Exists", "effect": "NoExecute"}])).pods[0].spec.tolerations == (
        tolerated,
    )
    assert read(manifest(), URL).pods[0].spec.tolerations == ()


# (spec 1.2.1)
def test_a_uid_and_namespace_in_a_manifest_are_kept() -> None:
    document = manifest()
    document["metadata"] |= {"uid": "mine", "namespace": "shop"}
    (pod,) = read(document).pods
    assert (pod.metadata.uid, pod.metadata.namespace) == ("mine", "shop")
    assert pod.metadata.annotations["kubernetes.io/config.hash"] == "mine"


# (spec 1.2.1)
def test_the_uid_changes_with_manifest_node_and_origin_and_with_nothing_else() -> None:
    def uid(document: object, origin: Origin = FILE, node: str = "node-1") -> str:
        return read(document, origin, node).pods[0].metadata.uid

    base = uid(manifest())
    assert base == uid(dict(reversed(manifest().items())))
    assert base == read_manifest(yaml.safe_dump(manifest()).encode(), FILE, "node-1").pods[0].metadata.uid
    others = [
        uid(manifest(hostNetwork=True)),
        uid(manifest(unheardOf=1)),
        uid(manifest(), node="node-2"),
        uid(manifest(), Origin.file("/etc/manifests/other.yaml")),
        uid(manifest(), URL),
    ]
    assert len({base, *others}) == 6
    assert uid(manifest(), URL, "node-1") == uid(manifest(), URL, "node-2")


def test_the_uid_of_a_manifest_is_the_same_in_every_version_of_the_program() -> None:
    assert read(manifest()).pods[0].metadata.uid == "e3814e980020acd8f0415657e9249c82"


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", "6c62272e07bb014262b821756295c58d"),
        (b"a", "d228cb696f1a8caf78912b704e4a8964"),
        (b"foobar", "343e1662793c64bf6f0d3597ba446f18"),
    ],
)
# (spec 1.2.1)
def test_the_hash_is_fnv_1a_with_128_bits(data: bytes, digest: str) -> None:
    assert fnv1a_128(data) == digest


@pytest.mark.parametrize("kind", ["PodList", "List"])
# (spec 1.1.8)
def test_lists_of_pods_give_all_their_pods(kind: str) -> None:
    got = read({"apiVersion": "v1", "kind": kind, "items": [manifest("a"), manifest("b")]})
    assert [pod.metadata.name for pod in got.pods] == ["a-node-1", "b-node-1"]
    assert got.errors == ()


def test_items_of_a_pod_list_need_not_say_what_they_are() -> None:
    bare = {key: value for key, value in manifest().items() if key not in ("kind", "apiVersion")}
    assert len(read({"apiVersion": "v1", "kind": "PodList", "items": [bare]}).pods) == 1
    assert read({"apiVersion": "v1", "kind": "List", "items": [bare]}).errors[0].path == "$.items[0].kind"


def test_an_empty_list_is_no_error() -> None:
    assert read({"apiVersion": "v1", "kind": "PodList", "items": []}) == ReadManifest()


# (spec 1.2.4)
def test_one_bad_pod_discards_its_whole_list() -> None:
    got = read({"apiVersion": "v1", "kind": "PodList", "items": [manifest("a"), manifest("B!")]})
    assert got.pods == ()
    assert [error.path for error in got.errors] == ["$.items[1].metadata.name"]


def test_two_pods_of_a_list_cannot_have_one_name() -> None:
    got = read({"apiVersion": "v1", "kind": "List", "items": [manifest("a"), manifest("a")]})
    assert [error.path for error in got.errors] == ["$.items[1].metadata.name"]


@pytest.mark.parametrize(
    ("text", "path", "reason", "line"),
    [
        ("", "$", "it is empty", None),
        ("# only words", "$", "it is empty", None),
        ("hello", "$", "not an object of the API", 1),
        ("a: [", "$", "not YAML at line", None),
        ("kind: Pod\nmetadata: {name: a}", "$.apiVersion", "is required", 1),
        ("apiVersion: v1\nmetadata: {name: a}", "$.kind", "is required", 1),
        ("apiVersion: apps/v1\nkind: Deployment", "$.kind", "apps/v1 Deployment cannot be run by a node", 2),
        ("apiVersion: v1\nkind: List\nitems: 3", "$.items", "must be a list", 3),
        ("apiVersion: v1\nkind: List\nitems:\n- kind: Service", "$.items[0].kind", "a Service cannot be run", 4),
        ("kind: Pod\n---\nkind: Service", "$", "it has 2 documents (Pod, Service)", None),
        ("apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: n}}", "$.metadata.labels.a", "must be text", 3),
        ("apiVersion: v1\nkind: Pod\nspec:\n  containers: 3", "$.spec.containers", "must be a list", 4),
        ("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: 3", "$.spec.containers[0].image", "text", 5),
    ],
)
# (spec 1.2.4)
def test_a_pod_that_cannot_run_is_refused_with_place_and_reason(
    text: str, path: str, reason: str, line: int | None
) -> None:
    got = read_manifest(text.encode(), FILE, "node-1")
    assert got.pods == ()
    assert got.errors[0].path == path
    assert reason in got.errors[0].reason
    if line is not None:
        assert got.errors[0].line == line


def test_of_a_field_that_is_given_twice_the_last_one_counts_and_a_warning_says_so() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: b}]\n"
    text += "  restartPolicy: Always\n  restartPolicy: Never\n  terminationGracePeriodSeconds: 30.0\n"
    got = read_manifest(text.encode(), FILE, "node-1")
    assert [(each.spec.restart_policy, each.spec.termination_grace_period_seconds) for each in got.pods] == [
        ("Never", 30)
    ]
    assert [(each.path, each.line) for each in got.warnings] == [("$.spec.restartPolicy", 7)]
    assert "given twice, first in line 6" in got.warnings[0].reason


def test_all_errors_come_at_once_and_say_file_line_path_reason_and_remedy() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Sometimes
  containers:
  - name: app
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data}
"""
    got = read_manifest(text.encode(), FILE, "node-1")
    assert [str(error) for error in got.errors] == [
        "/etc/manifests/web.yaml:5: $.spec.restartPolicy: 'Sometimes' is not supported;"
        " use one of Always, OnFailure, Never",
        "/etc/manifests/web.yaml:10: $.spec.containers[0].volumeMounts[0].name:"
        " there is no volume 'data' in $.spec.volumes; add it to $.spec.volumes",
    ]


# (spec 1.2.4)
def test_a_manifest_without_a_name_is_refused() -> None:
    document = manifest()
    del document["metadata"]["name"]
    assert [error.path for error in read(document).errors] == ["$.metadata.name"]


def test_fields_that_are_not_known_are_kept_and_told() -> None:
    got = read(manifest(newPolicy={"a": 1}))
    assert len(got.pods) == 1
    assert [warning.path for warning in got.warnings] == ["$.spec.newPolicy"]


@pytest.mark.parametrize(
    ("spec", "path", "hint"),
    [
        ({"hostNetwrok": True}, "$.spec.hostNetwrok", "did you mean hostNetwork?"),
        ({"tolerations": [{"operater": "Exists"}]}, "$.spec.tolerations[0].operater", "did you mean operator?"),
        ({"securityContext": {"runAsUsr": 1}}, "$.spec.securityContext.runAsUsr", "did you mean runAsUser?"),
        ({"zebra": 1}, "$.spec.zebra", "check it"),
    ],
)
def test_a_misspelt_field_is_told_with_the_nearest_one_that_exists(spec: dict[str, Any], path: str, hint: str) -> None:
    (warning,) = read(manifest(**spec)).warnings
    assert (warning.path, warning.hint) == (path, hint)


@pytest.mark.parametrize(
    ("volume", "path", "told"),
    [
        ({"floppy": {}}, "$.spec.volumes[0].floppy", "'floppy' is not a kind of volume that this node knows"),
        ({"emptyDirr": {}}, "$.spec.volumes[0].emptyDirr", "did you mean emptyDir?"),
    ],
)
def test_a_volume_of_an_unknown_kind_is_refused_and_never_taken_for_an_emptydir(
    volume: dict[str, Any], path: str, told: str
) -> None:
    got = read(manifest(volumes=[{"name": "data", **volume}]))
    (error,) = got.errors
    assert (got.pods, got.warnings, error.path) == ((), (), path)
    assert told in str(error)
    (pod,) = read(manifest(volumes=[{"name": "data"}])).pods
    assert pod.spec.volumes[0].empty_dir is not None, "one without a source is an emptyDir, as the API has it"


def test_a_manifest_with_errors_tells_the_names_of_its_pods() -> None:
    named = manifest("web", containers=[])
    named["metadata"]["namespace"] = "shop"
    assert read(named).names == ("shop/web",)
    assert read({"apiVersion": "v1", "kind": "List", "items": [named, manifest("db"), 3]}).names == (
        "shop/web",
        "default/db",
    )
    assert read({"kind": "Pod", "metadata": 3}).names == ()
    assert read(manifest()).names == ()


# (spec 1.1.4)
def test_a_manifest_beyond_ten_mebibytes_is_refused_unread() -> None:
    got = read_manifest(b"#" * (BYTES_AT_MOST + 1), FILE, "node-1")
    assert "more than 10 MiB" in got.errors[0].reason


CONTAINER = {"name": "app", "image": "nginx:1"}


def secret_variable(kind: str) -> dict[str, Any]:
    return {**CONTAINER, "env": [{"name": "A", "valueFrom": {kind: {"name": "n", "key": "k"}}}]}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"serviceAccountName": "robot"}, "$.spec.serviceAccountName"),
        ({"serviceAccount": "robot"}, "$.spec.serviceAccount"),
        ({"imagePullSecrets": [{"name": "s"}]}, "$.spec.imagePullSecrets[0]"),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}, "$.spec.resourceClaims[0]"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "$.spec.volumes[0]"),
        ({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, "$.spec.volumes[0]"),
        ({"volumes": [{"name": "v", "csi": {"driver": "d.example"}}]}, "$.spec.volumes[0]"),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, "$.spec.volumes[0]"),
        ({"volumes": [{"name": "v", "azureFile": {"secretName": "s", "shareName": "h"}}]}, "$.spec.volumes[0]"),
        ({"volumes": [{"name": "v", "glusterfs": {"endpoints": "e", "path": "p"}}]}, "$.spec.volumes[0]"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "$.spec.volumes[0].projected.sources[0]",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}]},
            "$.spec.volumes[0].projected.sources[0]",
        ),
        ({"containers": [secret_variable("secretKeyRef")]}, "$.spec.containers[0].env[0].valueFrom.secretKeyRef"),
        ({"containers": [secret_variable("configMapKeyRef")]}, "$.spec.containers[0].env[0].valueFrom.configMapKeyRef"),
        (
            {"containers": [{**CONTAINER, "envFrom": [{"secretRef": {"name": "s"}}]}]},
            "$.spec.containers[0].envFrom[0].secretRef",
        ),
    ],
)
# (spec 1.2.5)
def test_a_static_pod_cannot_lean_on_the_api_server(spec: dict[str, Any], path: str) -> None:
    assert [error.path for error in read(manifest(**spec)).errors] == [path]
    with_gate_off = read(manifest(**spec), prevent_api_references=False).errors
    assert [error.path for error in with_gate_off] == ([path] if "resourceClaims" in spec else [])


# (spec 1.2.5)
def test_a_static_pod_may_use_its_own_fields_in_a_volume() -> None:
    source = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}
    assert read(manifest(volumes=[{"name": "v", "projected": {"sources": [source]}}])).errors == ()


@given(st.binary(max_size=200))
def test_any_bytes_give_pods_or_errors_and_never_both(data: bytes) -> None:
    got = read_manifest(data, FILE, "node-1")
    assert bool(got.pods) != bool(got.errors)


def break_one_thing(document: Any, at: list[int], value: object) -> None:
    """Replace what is at a place of the document that `at` chooses."""
    while isinstance(document, (dict, list)) and document:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = keys[at.pop() % len(keys)] if at else keys[0]
        if not at or not isinstance(document[key], (dict, list)):
            document[key] = value
            return
        document = document[key]


values: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just([]) | st.just({})
)


@given(st.lists(st.integers(0, 50), max_size=8), values)
def test_a_pod_broken_anywhere_is_still_read_or_refused_with_a_path(at: list[int], value: object) -> None:
    document = manifest(
        volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        securityContext={"runAsUser": 1, "sysctls": [{"name": "net.a", "value": "1"}]},
        tolerations=[{"key": "a", "operator": "Exists"}],
        resources={"limits": {"cpu": "1"}},
    )
    document["spec"]["containers"][0] |= {
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "ports": [{"containerPort": 80, "hostPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    break_one_thing(document, at, value)
    got = read(document)
    assert bool(got.pods) != bool(got.errors)
    assert all(error.path.startswith("$") for error in got.errors)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"terminationGracePeriodSeconds": int("7" * 70)}, "$.spec.terminationGracePeriodSeconds"),
        ({"terminationGracePeriodSeconds": 2**63}, "$.spec.terminationGracePeriodSeconds"),
        ({"activeDeadlineSeconds": -(2**63) - 1}, "$.spec.activeDeadlineSeconds"),
        ({"priority": 2**31}, "$.spec.priority"),
        ({"securityContext": {"supplementalGroups": [1, 2**63]}}, "$.spec.securityContext.supplementalGroups[1]"),
        (
            {"containers": [{"name": "a", "image": "b", "livenessProbe": {"tcpSocket": {"port": 2**31}}}]},
            "$.spec.containers[0].livenessProbe.tcpSocket.port",
        ),
    ],
)
@pytest.mark.parametrize("form", ["JSON", "YAML"])
def test_a_whole_number_that_the_api_cannot_hold_is_refused_with_its_place(
    form: str, spec: dict[str, Any], path: str
) -> None:
    write = json.dumps if form == "JSON" else yaml.safe_dump
    got = read_manifest(write(manifest(**spec)).encode(), FILE, "node-1")
    assert got.pods == ()
    assert [error.path for error in got.errors] == [path]
    assert "must lie between" in got.errors[0].reason


@pytest.mark.parametrize(
    "uid", ["../../../etc", "a/b", "..", ".", ".hidden", "a\0b", "a\nb", "x" * 129, "a b", "é", "-option"]
)
def test_a_uid_that_is_no_step_of_a_path_is_refused(uid: str) -> None:
    document = manifest()
    document["metadata"]["uid"] = uid
    got = read(document)
    assert got.pods == ()
    assert [error.path for error in got.errors] == ["$.metadata.uid"]


@pytest.mark.parametrize("uid", ["0f9a1c1e-6c2f-4d8e-9a53-0a3d9f4d2a11", "0123456789abcdef0123456789abcdef", "web_1.a"])
def test_a_uid_of_ones_own_is_kept(uid: str) -> None:
    document = manifest()
    document["metadata"]["uid"] = uid
    assert read(document).pods[0].metadata.uid == uid


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "a\0b", "x" * 254, "a b", "-a", ""])
def test_a_name_that_is_no_step_of_a_path_is_refused(name: str) -> None:
    assert "$.metadata.name" in [error.path for error in read(manifest(name)).errors]
    for field, path in (("containers", "name"), ("initContainers", "name"), ("volumes", "name")):
        item = {"name": name} if field == "volumes" else {"name": name, "image": "b"}
        spec: dict[str, Any] = {field: [item]}
        assert f"$.spec.{field}[0].{path}" in [error.path for error in read(manifest(**spec)).errors]
