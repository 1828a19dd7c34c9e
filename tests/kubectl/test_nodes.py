"""kubectl cordon, taint and drain: what people do to nodes. Each test has a cluster of its own."""

from __future__ import annotations

from tests.kubectl.cluster import NODE, POD, Kubectl


def waits(kubectl: Kubectl, name: str, why: str) -> None:
    """The pod is told that it fits nowhere, and why."""
    kubectl("wait", f"pod/{name}", "--for=condition=PodScheduled=False", "--timeout=120s")
    assert why in kubectl("events", "--for", f"pod/{name}").out


def test_a_cordoned_node_gets_no_new_pods(own_kubectl: Kubectl) -> None:
    kubectl = own_kubectl
    kubectl.running()
    assert kubectl("cordon", NODE).out == f"node/{NODE} cordoned\n"
    assert kubectl("get", "nodes").row(NODE)["STATUS"] == "Ready,SchedulingDisabled"
    kubectl.apply(POD.replace("web", "late"))
    waits(kubectl, "late", "1 node(s) were unschedulable")
    assert kubectl("get", "pods").row("web")["STATUS"] == "Running"
    assert kubectl("uncordon", NODE).out == f"node/{NODE} uncordoned\n"
    kubectl("wait", "pod/late", "--for=condition=Ready", "--timeout=120s")


def test_a_taint_keeps_away_pods_that_do_not_tolerate_it(own_kubectl: Kubectl) -> None:
    kubectl = own_kubectl
    assert kubectl("taint", "node", NODE, "gpu=yes:NoSchedule").out == f"node/{NODE} tainted\n"
    kubectl.apply(POD)
    waits(kubectl, "web", "1 node(s) had untolerated taint(s)")
    kubectl.running(
        "able",
        POD.replace("web", "able").replace("containers:", "tolerations: [{key: gpu, operator: Exists}]\n  containers:"),
    )
    assert kubectl("taint", "node", NODE, "gpu-").out == f"node/{NODE} untainted\n"
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s")


def test_a_drained_node_has_no_pods(own_kubectl: Kubectl) -> None:
    kubectl = own_kubectl
    kubectl.running()
    assert "cannot delete" in kubectl.refused("drain", NODE)
    ran = kubectl.attempt("drain", NODE, "--force", "--timeout=120s")
    assert ran.code == 0, ran.err
    assert ran.lines[-1] == f"node/{NODE} drained"
    assert kubectl("get", "pods", "-o", "name").out == ""
    assert kubectl("get", "nodes").row(NODE)["STATUS"] == "Ready,SchedulingDisabled"


def test_a_deleted_node_stays_away(own_kubectl: Kubectl) -> None:
    kubectl = own_kubectl
    kubectl("label", "node", NODE, "zone=a")
    assert kubectl("get", "nodes", "-l", "zone=a", "-o", "name").out == f"node/{NODE}\n"
    assert kubectl.attempt("delete", "node", NODE).out.startswith(f'node "{NODE}" deleted')
    assert kubectl("get", "nodes", "-o", "name").out == ""
