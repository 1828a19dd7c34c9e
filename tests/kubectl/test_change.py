"""kubectl label, annotate, patch, edit, set: small changes to what is there."""

from __future__ import annotations

import pytest

from tests.kubectl.cluster import POD, Kubectl


def labels(kubectl: Kubectl) -> dict[str, str]:
    found: dict[str, str] = kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.labels}").json()
    return found


def test_labels(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("label", "pod", "web", "tier=front").out == "pod/web labeled\n"
    assert "'app' already has a value (web), and --overwrite is false" in kubectl.refused(
        "label", "pod", "web", "app=x"
    )
    kubectl("label", "pod", "web", "app=x", "--overwrite")
    assert labels(kubectl) == {"app": "x", "tier": "front"}
    assert kubectl("label", "pod", "web", "tier-").out == "pod/web unlabeled\n"
    assert labels(kubectl) == {"app": "x"}
    assert kubectl("label", "pods", "--all", "all=yes").out == "pod/web labeled\n"


def test_a_label_that_cannot_be_is_refused(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    said = kubectl.refused("label", "pod", "web", "-key=x")
    assert "label" in said or "flag" in said
    said = kubectl.refused("patch", "pod", "web", "-p", '{"metadata":{"labels":{"a":"b c"}}}')
    assert said.startswith('The Pod "web" is invalid: metadata.labels: Invalid value:')


def test_annotations(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    assert kubectl("annotate", "pod", "web", "example.com/note=read me").out == "pod/web annotated\n"
    shown = kubectl("get", "pod", "web", "-o", r"jsonpath={.metadata.annotations.example\.com/note}").out
    assert shown == "read me"
    assert kubectl("annotate", "pod", "web", "example.com/note-").out == "pod/web annotated\n"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"metadata":{"labels":{"tier":"front","app":null}}}'),
        ("merge", '{"metadata":{"labels":{"tier":"front","app":null}}}'),
        (
            "json",
            '[{"op":"test","path":"/metadata/labels/app","value":"web"},'
            '{"op":"move","from":"/metadata/labels/app","path":"/metadata/labels/tier"},'
            '{"op":"replace","path":"/metadata/labels/tier","value":"front"}]',
        ),
    ],
)
def test_patches_of_three_kinds(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl.apply(POD)
    assert kubectl("patch", "pod", "web", f"--type={kind}", "-p", patch).out == "pod/web patched\n"
    assert labels(kubectl) == {"tier": "front"}
    again = '{"metadata":{"labels":{"tier":"front"}}}'
    assert kubectl("patch", "pod", "web", "-p", again).out == "pod/web patched (no change)\n"


def test_a_strategic_patch_names_the_items_it_changes(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    patch = '{"spec":{"containers":[{"name":"main","image":"nginx:1.28"}]}}'
    kubectl("patch", "pod", "web", "-p", patch)
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.spec.containers[*].image}").out == "nginx:1.28"


def test_a_patch_that_cannot_be_is_refused(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    wrong = '[{"op":"test","path":"/metadata/labels/app","value":"other"}]'
    assert kubectl.refused("patch", "pod", "web", "--type=json", "-p", wrong)
    assert "Forbidden: pod updates may not change fields other than" in kubectl.refused(
        "patch", "pod", "web", "-p", '{"spec":{"nodeName":"elsewhere"}}'
    )


def test_the_status_alone(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", f"{kubectl.namespace}-status")
    patch = '{"status":{"conditions":[{"type":"Tested","status":"True"}]},"spec":{"finalizers":["ignored"]}}'
    name = f"{kubectl.namespace}-status"
    kubectl("patch", "namespace", name, "--subresource=status", "--type=merge", "-p", patch)
    shown = kubectl("get", "namespace", name, "-o", "json").json()
    assert shown["status"]["conditions"][0]["type"] == "Tested"
    assert shown["spec"]["finalizers"] == ["kubernetes"]


def test_an_image(kubectl: Kubectl) -> None:
    kubectl.running()
    assert kubectl("set", "image", "pod/web", "main=busybox:1.36").out == "pod/web image updated\n"
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    kubectl("wait", "pod/web", restarted, "--timeout=120s")
    assert "definition" in kubectl("get", "events", "--field-selector", "reason=Killing").out


def test_in_an_editor(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    edited = kubectl("edit", "pod", "web", KUBE_EDITOR="sed -i s/app:.web/app:\\ edited/")
    assert edited.out == "pod/web edited\n"
    assert labels(kubectl) == {"app": "edited"}
    unchanged = kubectl.attempt("edit", "pod", "web", KUBE_EDITOR="true")
    assert (unchanged.code, unchanged.err) == (0, "Edit cancelled, no changes made.\n")


def test_two_writers_of_one_version_do_not_overwrite_each_other(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "shared")
    seen = kubectl("get", "configmap", "shared", "-o", "yaml").out
    kubectl("label", "configmap", "shared", "first=yes")
    said = kubectl.refused("replace", "-f", "-", stdin=seen)
    assert "the object has been modified; please apply your changes to the latest version and try again" in said
