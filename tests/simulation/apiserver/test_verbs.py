"""The verbs of the server, asked without a network."""

from __future__ import annotations

import pytest

from simulation.apiserver.requests.bodies import APPLY, JSON
from simulation.apiserver.store.selection import EVERYTHING
from simulation.apiserver.store.store import Watcher
from tests.simulation.apiserver.worlds import MERGE, PODS, STRATEGIC, Server, pod, typed


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_new_pod_is_defaulted_admitted_and_pending(server: Server) -> None:
    made = server.make_pod()
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"]
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    spec = made["spec"]
    assert spec["serviceAccountName"] == "default"
    assert spec["priority"] == 0
    assert [toleration["tolerationSeconds"] for toleration in spec["tolerations"]] == [300, 300]
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert server.get(f"{PODS}/web").value == made


def test_a_missing_object_is_named_in_the_404(server: Server) -> None:
    answer = server.get(f"{PODS}/web")
    assert answer.code == 404
    assert answer.value == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "kind": "pods"},
        "code": 404,
    }


@pytest.mark.parametrize("path", ["/apis/apps/v9/deployments", "/api/v1/nonsense", "/api/v1/namespaces/a/nodes", "/x"])
def test_a_path_that_is_not_served_is_404(server: Server, path: str) -> None:
    answer = server.get(path)
    assert (answer.code, answer.message) == (404, "the server could not find the requested resource")


def test_a_name_is_taken_once(server: Server) -> None:
    server.make_pod()
    answer = server.ask("POST", PODS, pod())
    assert (answer.code, answer.value["reason"]) == (409, "AlreadyExists")
    assert answer.message == 'pods "web" already exists'


def test_status_is_changed_by_its_part_alone_and_the_spec_is_not(server: Server) -> None:
    made = server.make_pod()
    changed = server.ask(
        "PATCH",
        f"{PODS}/web/status",
        {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}},
        content_type=STRATEGIC,
    ).value
    assert changed["status"]["phase"] == "Running"
    assert changed["spec"] == made["spec"]
    again = server.ask("PATCH", f"{PODS}/web", {"status": {"phase": "Failed"}}, content_type=MERGE).value
    assert again == changed


def test_a_change_that_changes_nothing_makes_no_version(server: Server) -> None:
    made = server.make_pod()
    watched = server.watch(PODS, resourceVersion=made["metadata"]["resourceVersion"])
    answer = server.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {}}}, content_type=MERGE)
    assert answer.value["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"] or watched.told


def test_an_old_version_is_a_conflict(server: Server) -> None:
    made = server.make_pod()
    server.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    answer = server.ask("PUT", f"{PODS}/web", made)
    assert answer.code == 409
    assert "the object has been modified; please apply your changes to the latest version" in answer.message


def test_a_patch_for_another_uid_is_refused(server: Server) -> None:
    server.make_pod()
    answer = server.ask("PATCH", f"{PODS}/web/status", {"metadata": {"uid": "other"}}, content_type=STRATEGIC)
    assert (answer.code, answer.value["reason"]) == (422, "Invalid")
    assert 'metadata.uid: Invalid value: "other": field is immutable' in answer.message


@pytest.mark.parametrize("part", ["", "/status"])
@pytest.mark.parametrize("media", [MERGE, STRATEGIC, APPLY])
@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("namespace", "the namespace of the provided object does not match the namespace sent on the request"),
        ("name", "the name of the object (other) does not match the name on the URL (web)"),
    ],
)
def test_a_patch_moves_no_object(server: Server, part: str, media: str, field: str, told: str) -> None:
    made = server.make_pod()
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    patch = {"apiVersion": "v1", "kind": "Pod", "metadata": {field: "other"}}
    answer = server.ask("PATCH", f"{PODS}/web{part}", patch, content_type=media, fieldManager="m")
    assert (answer.code, answer.message) == (400, told)
    assert [typed(one, "Pod") for one in server.get("/api/v1/pods").value["items"]] == [made]


@pytest.mark.parametrize("said", ["", None])
def test_a_patch_that_takes_the_namespace_away_leaves_it(server: Server, said: str | None) -> None:
    made = server.make_pod()
    assert server.ask("PATCH", f"{PODS}/web", {"metadata": {"namespace": said}}, content_type=MERGE).code == 200
    assert [one["metadata"] for one in server.get("/api/v1/pods").value["items"]] == [made["metadata"]]


def test_a_patch_gives_no_namespace_to_a_cluster_object(server: Server) -> None:
    server.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    patch = {"metadata": {"namespace": "default", "labels": {"a": "b"}}}
    assert server.ask("PATCH", "/api/v1/nodes/n", patch, content_type=STRATEGIC).code == 200
    [node] = server.get("/api/v1/nodes").value["items"]
    assert node["metadata"]["labels"] == {"a": "b"}
    assert "namespace" not in node["metadata"]


@pytest.mark.parametrize(("method", "media"), [("PATCH", APPLY), ("PUT", JSON)])
def test_an_object_created_at_a_path_must_have_its_name(server: Server, method: str, media: str) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "other"}}
    answer = server.ask(method, f"{leases}/web", lease, content_type=media, fieldManager="m")
    assert (answer.code, answer.message) == (
        400,
        "the name of the object (other) does not match the name on the URL (web)",
    )
    assert server.get(leases).value["items"] == []


@pytest.mark.parametrize("part", ["", "/status"])
@pytest.mark.parametrize("media", [MERGE, STRATEGIC])
def test_an_owner_that_is_equal_and_of_another_type_is_refused(server: Server, part: str, media: str) -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
    server.ask("POST", PODS, {**pod(), "metadata": {"name": "web", "ownerReferences": [owner]}})
    owners = {"metadata": {"ownerReferences": [{**owner, "controller": 1}]}}
    answer = server.ask("PATCH", f"{PODS}/web{part}", owners, content_type=media)
    assert answer.code == 400
    assert "metadata.ownerReferences.controller" in answer.message


def test_a_watch_tells_what_comes_goes_and_changes_its_selection(server: Server) -> None:
    watched = server.watch(PODS, labelSelector="app=a")
    server.make_pod("one", labels={"app": "a"})
    server.make_pod("two", labels={"app": "b"})
    server.ask("PATCH", f"{PODS}/two", {"metadata": {"labels": {"app": "a"}}}, content_type=MERGE)
    server.ask("PATCH", f"{PODS}/one", {"metadata": {"labels": {"app": "b"}}}, content_type=MERGE)
    server.ask("DELETE", f"{PODS}/two")
    assert watched.told == ["ADDED one", "ADDED two", "DELETED one", "DELETED two"]


def test_a_watch_of_a_node_sees_a_pod_when_it_is_bound(server: Server) -> None:
    watched = server.watch("/api/v1/pods", fieldSelector="spec.nodeName=n1")
    server.make_pod("a")
    server.make_pod("b", nodeName="n1")
    server.make_pod("c", nodeName="n2")
    assert watched.told == ["ADDED b"]
    assert [
        item["metadata"]["name"] for item in server.get("/api/v1/pods", fieldSelector="spec.nodeName=n2").value["items"]
    ] == ["c"]


def test_a_watch_of_a_node_in_one_namespace_is_told_of_no_other(server: Server) -> None:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    watched = server.watch(PODS, fieldSelector="spec.nodeName=n1")
    server.ask("POST", "/api/v1/namespaces/other/pods", pod("theirs", nodeName="n1"))
    server.make_pod("ours", nodeName="n1")
    assert watched.told == ["ADDED ours"]


def test_ending_another_watch_during_an_event_disturbs_no_third_watch(server: Server) -> None:
    def watch() -> Watcher:
        return server.server.store.watch("pods", "", EVERYTHING, None)

    told: list[str] = []
    first, second, third = watch(), watch(), watch()
    first.start(lambda kind, version: second.end(), lambda _: None)
    second.start(lambda kind, version: None, lambda _: told.append("the second has ended"))
    third.start(lambda kind, version: told.append(f"{kind} {version.name}"), lambda _: None)
    server.make_pod("a")
    server.make_pod("b")
    assert told == ["the second has ended", "ADDED a", "ADDED b"]


def test_a_watch_from_what_is_forgotten_has_expired(server: Server) -> None:
    made = server.make_pod()
    server.server.forget()
    answer = server.get(PODS, watch="true", resourceVersion=made["metadata"]["resourceVersion"])
    assert (answer.code, answer.value["reason"]) == (410, "Expired")
    assert answer.message.startswith("too old resource version")


def test_a_watch_from_a_list_misses_nothing(server: Server) -> None:
    server.make_pod("a")
    revision = server.get(PODS).value["metadata"]["resourceVersion"]
    server.make_pod("b")
    server.ask("DELETE", f"{PODS}/a")
    watched = server.watch(PODS, resourceVersion=revision)
    server.make_pod("c")
    assert watched.told == ["ADDED b", "DELETED a", "ADDED c"]


def test_a_bound_pod_stays_for_its_grace_and_goes_when_its_agent_says_so(server: Server) -> None:
    made = server.make_pod(nodeName="n1")
    marked = server.ask("DELETE", f"{PODS}/web").value
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    nearer = server.ask("DELETE", f"{PODS}/web", gracePeriodSeconds="5").value
    assert nearer["metadata"]["deletionGracePeriodSeconds"] == 5
    later = server.ask("DELETE", f"{PODS}/web", gracePeriodSeconds="50").value
    assert later == nearer
    wrong = server.ask("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0, "preconditions": {"uid": "other"}})
    assert wrong.code == 409
    gone = server.ask(
        "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0, "preconditions": {"uid": made["metadata"]["uid"]}}
    )
    assert gone.code == 200
    assert server.get(f"{PODS}/web").code == 404


def test_an_object_with_a_finalizer_goes_with_it(server: Server) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    server.ask("POST", path, {"metadata": {"name": "a", "finalizers": ["x.io/y"]}})
    assert "deletionTimestamp" in server.ask("DELETE", f"{path}/a").value["metadata"]
    server.ask("PATCH", f"{path}/a", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert server.get(f"{path}/a").code == 404


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"resourceVersionMatch": "NotOlderThan"}, "forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 'is forbidden for resourceVersion "0"'),
        ({"resourceVersionMatch": "Newest", "resourceVersion": "1"}, 'Unsupported value: "Newest"'),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "1", "continue": "x"}, "when continue is provided"),
        ({"sendInitialEvents": "true"}, "sendInitialEvents is forbidden for list"),
    ],
)
def test_options_of_a_list_that_contradict_each_other_are_refused(
    server: Server, query: dict[str, str], told: str
) -> None:
    answer = server.get(PODS, **query)
    assert answer.code == 422
    assert told in answer.value["message"]


def test_pages_of_a_list(server: Server) -> None:
    for name in "abcde":
        server.make_pod(name)
    seen, token = [], ""
    while True:
        page = server.get(PODS, limit="2", continue_=token).value
        seen += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert seen == list("abcde")


def test_a_namespace_goes_with_all_that_is_in_it(server: Server) -> None:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    server.ask("POST", "/api/v1/namespaces/n/pods", pod())
    server.ask("DELETE", "/api/v1/namespaces/n")
    refused = server.ask("POST", "/api/v1/namespaces/n/pods", pod("other"))
    assert refused.code == 403
    server.world.run_for(2 * 10**9)
    assert server.get("/api/v1/namespaces/n").code == 404
    assert server.get("/api/v1/namespaces/n/pods").value["items"] == []


def test_the_spec_of_a_pod_does_not_change_but_for_its_image(server: Server) -> None:
    server.make_pod()
    image = {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}
    assert server.ask("PATCH", f"{PODS}/web", image, content_type=STRATEGIC).value["metadata"]["generation"] == 2
    node = server.ask("PATCH", f"{PODS}/web", {"spec": {"hostNetwork": True}}, content_type=STRATEGIC)
    assert node.code == 422
    assert "pod updates may not change fields other than" in node.message


@pytest.mark.parametrize(
    ("operations", "made"),
    [
        ([{"op": "test", "path": "/metadata/labels", "value": None}, {"op": "add", "path": "/data", "value": {}}], {}),
        (
            [{"op": "add", "path": "/data", "value": {"k": "v"}}, {"op": "replace", "path": "/data/b", "value": "x"}],
            {"k": "v", "b": "x"},
        ),
    ],
)
def test_a_json_patch_takes_what_is_absent_for_null(server: Server, operations: list[object], made: object) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    server.ask("POST", maps, {"metadata": {"name": "t"}})
    patched = server.ask("PATCH", f"{maps}/t", operations, content_type="application/json-patch+json")
    assert (patched.code, patched.value.get("data", {})) == (200, made)
