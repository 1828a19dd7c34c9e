"""kubectl get: what a person sees of the objects, in every form."""

from __future__ import annotations

import re

import pytest

from tests.kubectl.cluster import NODE, POD, Kubectl

FAILING = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {simulated.actorlet.dev/exit-code.first: "1", simulated.actorlet.dev/run-for.first: "0s"}
spec:
  restartPolicy: Never
  initContainers:
  - {name: first, image: "busybox:1.36", command: ["false"]}
  containers:
  - {name: main, image: "nginx:1.27"}
"""


def test_pods_in_a_table(kubectl: Kubectl) -> None:
    kubectl.running()
    row = kubectl("get", "pods").row("web")
    assert row.pop("AGE")
    assert row == {"NAME": "web", "READY": "1/1", "STATUS": "Running", "RESTARTS": "0"}


def test_pods_in_a_wide_table(kubectl: Kubectl) -> None:
    kubectl.running()
    row = kubectl("get", "pods", "-o", "wide").row("web")
    assert row["NODE"] == NODE
    assert re.fullmatch(r"[0-9]+(\.[0-9]+){3}", row["IP"])
    assert (row["NOMINATED NODE"], row["READINESS GATES"]) == ("<none>", "<none>")


def test_nothing_is_said_in_words(kubectl: Kubectl) -> None:
    ran = kubectl.attempt("get", "pods")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.strip() == f"No resources found in {kubectl.namespace} namespace."


def test_getting_a_missing_object_is_an_error(kubectl: Kubectl) -> None:
    assert kubectl.refused("get", "pod", "nobody") == 'Error from server (NotFound): pods "nobody" not found'


def test_pods_of_all_namespaces(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    rows = [line.split()[:2] for line in kubectl("get", "pods", "-A").lines]
    assert rows[0] == ["NAMESPACE", "NAME"]
    assert [kubectl.namespace, "web"] in rows


def test_everything(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    kubectl("expose", "pod", "web", "--port=80")
    assert [line.split()[0] for line in kubectl("get", "all").lines if line] == [
        "NAME",
        "pod/web",
        "NAME",
        "service/web",
    ]


def test_several_kinds_at_once(kubectl: Kubectl) -> None:
    out = kubectl("get", "configmaps,serviceaccounts").out
    assert "configmap/kube-root-ca.crt" in out
    assert "serviceaccount/default" in out


def test_nodes(kubectl: Kubectl) -> None:
    row = kubectl("get", "nodes").row(NODE)
    assert (row["STATUS"], row["ROLES"]) == ("Ready", "<none>")
    assert row["VERSION"].startswith("v1.36.")
    wide = kubectl("get", "nodes", "-o", "wide").row(NODE)
    assert wide["INTERNAL-IP"] == "192.0.2.1"
    assert wide["CONTAINER-RUNTIME"].startswith("simulated://")


def test_leases_and_namespaces(kubectl: Kubectl) -> None:
    leases = kubectl("get", "leases", "--namespace", "kube-node-lease")
    assert leases.row(NODE)["HOLDER"] == NODE
    assert kubectl("get", "namespaces").row("default")["STATUS"] == "Active"


def test_an_object_in_yaml_and_json(kubectl: Kubectl) -> None:
    kubectl.running()
    document = kubectl("get", "pod", "web", "-o", "json").json()
    assert (document["kind"], document["spec"]["nodeName"], document["status"]["phase"]) == ("Pod", NODE, "Running")
    lines = kubectl("get", "pod", "web", "-o", "yaml").lines
    assert lines[:2] == ["apiVersion: v1", "kind: Pod"]
    assert f"  nodeName: {NODE}" in lines
    listed = kubectl("get", "pods", "-o", "json").json()
    assert [item["metadata"]["name"] for item in listed["items"]] == ["web"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("name", "pod/web\n"),
        ("jsonpath={.items[*].metadata.name}", "web"),
        ("go-template={{range .items}}{{.spec.restartPolicy}}{{end}}", "Always"),
        ("custom-columns=POD:.metadata.name,IMAGE:.spec.containers[0].image", "POD   IMAGE\nweb   nginx:1.27\n"),
    ],
)
def test_in_other_forms(kubectl: Kubectl, form: str, expected: str) -> None:
    kubectl.apply(POD)
    assert kubectl("get", "pods", "-o", form).out == expected


def test_selected_by_label_and_by_field(kubectl: Kubectl) -> None:
    kubectl.running()
    kubectl.apply(POD.replace("web", "other"))
    assert kubectl("get", "pods", "-l", "app=web", "-o", "name").out == "pod/web\n"
    assert kubectl("get", "pods", "-l", "app notin (web)", "-o", "name").out == "pod/other\n"
    assert kubectl("get", "pods", "--field-selector", "metadata.name!=web", "-o", "name").out == "pod/other\n"
    on_node = f"spec.nodeName={NODE},status.phase=Running"
    assert "pod/web\n" in kubectl("get", "pods", "--field-selector", on_node, "-o", "name").out
    assert kubectl("get", "pods", "-L", "app").row("web")["APP"] == "web"
    assert kubectl("get", "pods", "--show-labels").row("web")["LABELS"] == "app=web"


def test_sorted_and_in_pages(kubectl: Kubectl) -> None:
    for name in ("b", "c", "a"):
        kubectl("create", "configmap", name)
    names = kubectl("get", "configmaps", "--sort-by=.metadata.creationTimestamp", "--chunk-size=2", "-o", "name").lines
    assert sorted(names) == ["configmap/a", "configmap/b", "configmap/c", "configmap/kube-root-ca.crt"]


def test_watched(kubectl: Kubectl) -> None:
    kubectl.running("other", POD.replace("web", "other"))
    with kubectl.following("get", "pods", "--watch") as lines:
        assert next(lines).split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert next(lines).split()[0] == "other"
        # The row of a pod that is there shows that kubectl watches: it misses nothing of the next.
        kubectl.running()
        rows = (row[1:3] for row in map(str.split, lines) if row[0] == "web")
        assert next(rows) == ["0/1", "Pending"]
        assert ["1/1", "Running"] in rows
        kubectl("delete", "pod", "web")
        assert any(status in ("Terminating", "Completed") for _, status in rows)


def test_watched_with_the_kind_of_change(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "first")
    with kubectl.following("get", "configmaps", "first", "--watch", "--output-watch-events") as lines:
        assert next(lines).split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert next(lines).split()[:3] == ["ADDED", "first", "0"]
        kubectl("patch", "configmap", "first", "-p", '{"data":{"a":"1"}}')
        assert next(lines).split()[:3] == ["MODIFIED", "first", "1"]
        kubectl("delete", "configmap", "first")
        assert next(lines).split()[:3] == ["DELETED", "first", "1"]


def test_a_pod_that_fails_while_it_initializes_says_so(kubectl: Kubectl) -> None:
    kubectl.apply(FAILING)
    kubectl("wait", "pod/web", "--for=jsonpath={.status.phase}=Failed", "--timeout=120s")
    assert kubectl("get", "pods").row("web")["STATUS"].startswith("Init:")


def test_a_pod_without_its_image_says_so(kubectl: Kubectl) -> None:
    kubectl.apply(POD.replace("nginx:1.27", 'nginx:9.99", imagePullPolicy: "Never'))
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull"
    kubectl("wait", "pod/web", f"--for={reason}", "--timeout=120s")
    assert kubectl("get", "pods").row("web")["STATUS"] == "ErrImageNeverPull"
