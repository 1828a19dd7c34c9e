"""kubectl apply, diff, create and replace: documents become objects, and objects what documents say."""

from __future__ import annotations

from tests.kubectl.cluster import NODE, POD, Kubectl

CHANGED = POD.replace("labels: {app: web}", "labels: {app: web, tier: front}")


def test_created_unchanged_and_changed(kubectl: Kubectl) -> None:
    assert kubectl.apply(POD).out == "pod/web created\n"
    assert kubectl.apply(POD).out == "pod/web unchanged\n"
    assert kubectl.apply(CHANGED).out == "pod/web configured\n"
    labels = kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels}").json()
    assert labels == {"app": "web", "tier": "front"}


def test_apply_removes_dropped_fields_and_keeps_fields_of_others(kubectl: Kubectl) -> None:
    kubectl.apply(CHANGED)
    kubectl("label", "pod", "web", "mine=yes")
    kubectl.apply(POD)
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels}").json() == {"app": "web", "mine": "yes"}


def test_lists_are_merged_by_their_keys(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    kubectl.apply(POD.replace("nginx:1.27", "nginx:1.28"))
    spec = kubectl("get", "pod", "web", "-o", "json").json()["spec"]
    assert [container["image"] for container in spec["containers"]] == ["nginx:1.28"]
    # The volume mount that admission has added is still there.
    assert len(spec["containers"][0]["volumeMounts"]) == 1


def test_several_objects_in_one_document(kubectl: Kubectl) -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n"
    lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: lock}\nspec: {holderIdentity: me}\n"
    ran = kubectl.apply(f"{account}---\n{lease}---\n{POD}")
    assert ran.lines == ["serviceaccount/runner created", "lease.coordination.k8s.io/lock created", "pod/web created"]


def test_server_side(kubectl: Kubectl) -> None:
    assert kubectl.apply(POD, "--server-side").out == "pod/web serverside-applied\n"
    assert kubectl.apply(CHANGED, "--server-side").out == "pod/web serverside-applied\n"
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels.tier}").out == "front"


def test_a_trial_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(POD, "--dry-run=server").out == "pod/web created (server dry run)\n"
    assert "not found" in kubectl.refused("get", "pod", "web")
    kubectl.apply(POD)
    assert kubectl.apply(CHANGED, "--dry-run=server").out == "pod/web configured (server dry run)\n"
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels.tier}").out == ""
    made = kubectl("create", "configmap", "trial", "--dry-run=server", "-o", "name")
    assert made.out == "configmap/trial\n"
    assert "not found" in kubectl.refused("get", "configmap", "trial")


def test_a_field_that_does_not_exist_is_refused_by_its_name(kubectl: Kubectl) -> None:
    said = kubectl.refused("apply", "-f", "-", stdin=POD.replace("image:", "imag:"))
    assert 'strict decoding error: unknown field "spec.containers[0].imag"' in said
    ignored = kubectl.attempt("apply", "--validate=ignore", "-f", "-", stdin=POD.replace("labels:", "lables:"))
    assert ignored.out == "pod/web created\n"


def test_a_field_of_the_wrong_type_and_a_value_that_cannot_be_are_refused(kubectl: Kubectl) -> None:
    said = kubectl.refused("apply", "-f", "-", stdin=POD.replace("Seconds: 1", "Seconds: soon"))
    assert "terminationGracePeriodSeconds" in said
    said = kubectl.refused("apply", "-f", "-", stdin=POD.replace("name: main", "name: Main"))
    assert said.startswith('The Pod "web" is invalid: spec.containers[0].name: Invalid value:')
    said = kubectl.refused("apply", "-f", "-", stdin="apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
    assert "spec" in said


def test_changing_an_immutable_pod_field_is_refused_with_the_mutable_ones(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    said = kubectl.refused("apply", "-f", "-", stdin=POD.replace("containers:", "hostNetwork: true\n  containers:"))
    assert said.startswith('The Pod "web" is invalid: spec: Forbidden: pod updates may not change fields other than')


def test_a_kind_that_is_not_served_is_refused_as_everywhere(kubectl: Kubectl) -> None:
    document = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: web}\n"
    said = kubectl.refused("apply", "-f", "-", stdin=document)
    assert 'no matches for kind "Widget" in version "example.com/v1"' in said
    assert "ensure CRDs are installed first" in said


def test_differences_are_shown(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("diff", "-f", "-", stdin=POD).out == ""
    ran = kubectl.attempt("diff", "-f", "-", stdin=CHANGED)
    assert (ran.code, ran.err) == (1, "")
    assert [line for line in ran.lines if line.startswith("+ ")] == ["+    tier: front"]


def test_created_only_once(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=POD).out == "pod/web created\n"
    said = kubectl.refused("create", "-f", "-", stdin=POD)
    assert said == 'Error from server (AlreadyExists): error when creating "STDIN": pods "web" already exists'


def test_replaced(kubectl: Kubectl) -> None:
    assert 'pods "web" not found' in kubectl.refused("replace", "-f", "-", stdin=POD)
    kubectl.running()
    before = kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.uid}").out
    assert "pod/web replaced" in kubectl("replace", "--force", "-f", "-", stdin=POD).out
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.uid}").out != before


def test_pruned_by_label(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("delete", "pods", "-l", "app=web", "--grace-period=1").out.startswith('pod "web" deleted')


def test_a_document_with_a_node_is_bound_to_it(kubectl: Kubectl) -> None:
    kubectl.running(document=POD.replace("containers:", f"nodeName: {NODE}\n  containers:"))
    assert "Scheduled" not in kubectl("events").out
