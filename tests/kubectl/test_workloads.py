"""kubectl and the kinds that are stored without a controller.

Create, apply, list, describe, scale, explain, delete.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kubectl.cluster import Kubectl

MANIFESTS = sorted((Path(__file__).parent / "manifests").glob("*.yaml"))
SENT_AGAIN = ("poddisruptionbudget", "statefulset", "validatingadmissionpolicy.")
"""What kubectl calls configured each time, on a kube-apiserver 1.36.2 too.

It replaces the selector of a budget, and lists without a key whose items the server has completed: claims, rules.
"""


def test_a_deployment_made_of_words(kubectl: Kubectl) -> None:
    made = kubectl("create", "deployment", "web", "--image=nginx:1.27", "--replicas=2", "--port=80")
    assert made.out == "deployment.apps/web created\n"
    row = kubectl("get", "deployments", "-o", "wide").row("web")
    assert (row["READY"], row["UP-TO-DATE"], row["IMAGES"]) == ("0/2", "0", "nginx:1.27")
    said = kubectl("describe", "deployment", "web").out
    assert "2 desired" in said
    assert "25% max unavailable, 25% max surge" in said
    kubectl("scale", "deployment", "web", "--replicas=5")
    kubectl("set", "image", "deployment/web", "nginx=nginx:1.28")
    found = kubectl("get", "deployment", "web", "-o", "json").json()
    assert found["spec"]["replicas"] == 5
    assert [one["image"] for one in found["spec"]["template"]["spec"]["containers"]] == ["nginx:1.28"]
    assert found["metadata"]["generation"] == 3


@pytest.mark.parametrize("made", ["job", "cronjob", "role", "ingress", "poddisruptionbudget", "quota"])
def test_other_kinds_made_of_words(kubectl: Kubectl, made: str) -> None:
    options = {
        "job": ["--image=busybox:1.36"],
        "cronjob": ["--image=busybox:1.36", "--schedule=*/5 * * * *"],
        "role": ["--verb=get,list", "--resource=pods"],
        "ingress": ["--rule=shop.example.com/=front:80"],
        "poddisruptionbudget": ["--selector=app=web", "--min-available=1"],
        "quota": ["--hard=pods=5"],
    }
    assert " created\n" in kubectl("create", made, "one", *options[made]).out
    assert "one" in kubectl("describe", made, "one").out


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_is_stored_listed_described_and_deleted(own_kubectl: Kubectl, manifest: Path) -> None:
    kubectl, file = own_kubectl, str(manifest)
    applied = kubectl("apply", "-f", file, "--validate=strict").lines
    assert applied
    assert all(line.endswith(" created") for line in applied)
    changed = [line for line in kubectl("apply", "-f", file).lines if not line.endswith(" unchanged")]
    assert [line for line in changed if not line.startswith(SENT_AGAIN)] == []
    names = [line.split()[0] for line in applied]
    for name in names:
        kind, _, alone = name.partition("/")
        assert kubectl("get", kind).row(alone)
        described = kubectl("describe", name).out
        assert alone in described
        assert "error" not in described.lower()
    assert kubectl("diff", "-f", file).out == ""
    assert len(kubectl.attempt("delete", "-f", file).lines) == len(names)


def test_a_mistake_is_refused_with_its_place(kubectl: Kubectl) -> None:
    web = (Path(__file__).parent / "manifests" / "shop-front.yaml").read_text()
    said = kubectl.refused("apply", "-f", "-", stdin=web.replace("replicas: 3", "replica: 3"))
    assert 'unknown field "spec.replica"' in said
    said = kubectl.refused(
        "apply", "-f", "-", stdin=web.replace("tier: front}}\n  strategy", "tier: back}}\n  strategy")
    )
    assert "`selector` does not match template `labels`" in said
    said = kubectl.refused("apply", "--validate=false", "-f", "-", stdin=web.replace("image: nginx", "picture: nginx"))
    assert "spec.template.spec.containers[0].image: Required value" in said


def test_apply_changes_only_what_the_manifest_says(kubectl: Kubectl) -> None:
    web = (Path(__file__).parent / "manifests" / "shop-front.yaml").read_text()
    kubectl.apply(web)
    kubectl(
        "patch",
        "deployment",
        "shop-front",
        "-p",
        '{"spec": {"template": {"spec": {"containers": [{"name": "extra", "image": "busybox:1.36"}]}}}}',
    )
    kubectl.apply(web.replace("nginx:1.27", "nginx:1.28"))
    found = kubectl("get", "deployment", "shop-front", "-o", "json").json()
    images = {one["name"]: one["image"] for one in found["spec"]["template"]["spec"]["containers"]}
    assert images == {"web": "nginx:1.28", "extra": "busybox:1.36"}
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=web)


def test_explain_shows_the_fields_of_a_kind(kubectl: Kubectl) -> None:
    said = kubectl("explain", "deployment.spec").out
    assert "<DeploymentStrategy>" in said
    assert "-required-" in said
    assert "<[]Container>" in kubectl("explain", "cronjob.spec.jobTemplate.spec.template.spec.containers").out


def test_pods_go_with_the_deployment_that_owns_them(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx:1.27")
    uid = kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}").out
    owner = f"{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {uid}}}"
    kubectl.apply(
        f"""
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web-1, ownerReferences: [{owner}]}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: nginx, image: "nginx:1.27"}}]}}
"""
    )
    kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=120s")
    kubectl("wait", "replicaset/web-1", "--for=delete", "--timeout=120s")
