"""kubectl delete and wait: objects are deleted as they should be, and waiting clients are told."""

from __future__ import annotations

import json

import pytest

from tests.kubectl.cluster import POD, Kubectl

HELD = POD.replace("labels: {app: web}", 'finalizers: ["example.com/hold"]')
SLOW = POD.replace("GracePeriodSeconds: 1", "GracePeriodSeconds: 600").replace(
    "labels: {app: web}", 'annotations: {simulated.actorlet.dev/ignore-stop-signal: "true"}'
)


def test_a_pod_is_gone_when_the_command_ends(kubectl: Kubectl) -> None:
    kubectl.running()
    assert kubectl("delete", "pod", "web").out.startswith('pod "web" deleted')
    assert kubectl("get", "pods", "-o", "name", "--ignore-not-found").out == ""
    killed = kubectl("get", "events", "--field-selector", "reason=Killing", "-o", "jsonpath={.items[*].message}")
    assert killed.out == "Stopping container main"


def test_deleting_a_missing_object_fails(kubectl: Kubectl) -> None:
    assert kubectl.refused("delete", "pod", "web") == 'Error from server (NotFound): pods "web" not found'
    assert kubectl("delete", "pod", "web", "--ignore-not-found").out == ""


def test_many_at_once(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    kubectl.apply(POD.replace("web", "other"))
    assert len(kubectl("delete", "pods", "--all", "--now").lines) == 2
    assert kubectl("get", "pods", "-o", "name").out == ""


def test_by_the_document(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("delete", "-f", "-", stdin=POD).out.startswith('pod "web" deleted')


def test_a_finalizer_holds_what_is_deleted(kubectl: Kubectl) -> None:
    kubectl.running(document=HELD)
    kubectl("delete", "pod", "web", "--wait=false")
    kubectl("wait", "pod/web", "--for=jsonpath={.metadata.deletionTimestamp}", "--timeout=120s")
    assert "web" in kubectl("get", "pods").out
    kubectl("patch", "pod", "web", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    kubectl("wait", "pod/web", "--for=delete", "--timeout=120s")


def test_by_force_without_waiting_for_the_node(kubectl: Kubectl) -> None:
    kubectl.running(document=SLOW)
    kubectl("delete", "pod", "web", "--wait=false")
    assert kubectl("get", "pods").row("web")["STATUS"] == "Terminating"
    ran = kubectl.attempt("delete", "pod", "web", "--force", "--grace-period=0")
    assert ran.code == 0
    assert "Warning: Immediate deletion does not wait" in ran.err
    assert kubectl("get", "pods", "-o", "name").out == ""


def test_a_grace_period_may_be_shortened(kubectl: Kubectl) -> None:
    kubectl.running(document=SLOW)
    kubectl("delete", "pod", "web", "--wait=false")
    kubectl("delete", "pod", "web", "--grace-period=1")
    assert kubectl("get", "pods", "-o", "name").out == ""


def test_a_namespace_goes_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    other = f"{kubectl.namespace}-more"
    kubectl("create", "namespace", other)
    kubectl("create", "configmap", "kept", "--namespace", other)
    kubectl("apply", "--namespace", other, "-f", "-", stdin=POD)
    ran = kubectl.attempt("delete", "namespace", other, "--timeout=120s")
    assert (ran.code, ran.out) == (0, f'namespace "{other}" deleted\n')
    assert "not found" in kubectl.refused("get", "namespace", other)
    assert kubectl("get", "configmaps,pods", "--namespace", other, "-o", "name").out == ""


def test_waiting_for_a_condition(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s").out == "pod/web condition met\n"
    phase = "--for=jsonpath={.status.phase}=Running"
    assert kubectl("wait", "pods", "-l", "app=web", phase, "--timeout=120s").out == "pod/web condition met\n"


def test_waiting_for_what_is_created_later(kubectl: Kubectl) -> None:
    with kubectl.following("wait", "--for=create", "pod/web", "--timeout=120s", "-v=6") as lines:
        assert any("404 Not Found" in line for line in lines), "it has asked and goes on"
        kubectl.apply(POD)
        assert list(lines)[-1] == "pod/web condition met\n"


def test_waiting_for_the_end(kubectl: Kubectl) -> None:
    kubectl.running()
    kubectl("delete", "pod", "web", "--wait=false")
    kubectl("wait", "pod/web", "--for=delete", "--timeout=120s")
    assert kubectl("get", "pods", "-o", "name").out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("pod/web", "--for=condition=Nothing", "--timeout=1s"),
            "error: timed out waiting for the condition on pods/web",
        ),
        (("pod/other", "--for=condition=Ready"), 'Error from server (NotFound): pods "other" not found'),
        (("pods", "-l", "app=other", "--for=condition=Ready"), "error: no matching resources found"),
    ],
)
def test_waiting_in_vain(kubectl: Kubectl, arguments: tuple[str, ...], said: str) -> None:
    kubectl.apply(POD)
    assert kubectl.refused("wait", *arguments) == said


def owned(kubectl: Kubectl, owner: str) -> None:
    """A ConfigMap `child` that the ConfigMap of that name owns, which is made as well."""
    kubectl("create", "configmap", owner)
    uid = kubectl("get", "configmap", owner, "-o", "jsonpath={.metadata.uid}").out
    named = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True}
    metadata = {"name": "child", "ownerReferences": [named]}
    kubectl.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))


def test_the_cascade_option_decides_what_happens_to_dependents(kubectl: Kubectl) -> None:
    owned(kubectl, "first")
    kubectl("delete", "configmap", "first", "--cascade=orphan")
    assert kubectl("get", "configmap", "child", "-o", "jsonpath={.metadata.ownerReferences}").out == ""
    kubectl("delete", "configmap", "child")
    owned(kubectl, "second")
    kubectl("delete", "configmap", "second", "--cascade=foreground")
    kubectl("wait", "--for=delete", "configmap/child", "--timeout=0")
    owned(kubectl, "third")
    kubectl("delete", "configmap", "third")
    kubectl("wait", "--for=delete", "configmap/child", "--timeout=120s")
