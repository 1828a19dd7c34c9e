"""kubectl create, run, expose: objects made of words."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.kubectl.cluster import Kubectl


def test_a_config_map(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "app.conf").write_text("colour=blue\n")
    (tmp_path / "raw").write_bytes(b"\xff\x00")
    made = kubectl("create", "configmap", "app", f"--from-file={tmp_path}", "--from-literal=size=3")
    assert made.out == "configmap/app created\n"
    document = kubectl("get", "configmap", "app", "-o", "json").json()
    assert document["data"] == {"app.conf": "colour=blue\n", "size": "3"}
    assert document["binaryData"] == {"raw": base64.b64encode(b"\xff\x00").decode()}
    assert kubectl("get", "configmaps").row("app")["DATA"] == "3"
    said = kubectl.refused("create", "configmap", "app")
    assert said == 'error: failed to create configmap: configmaps "app" already exists'


def test_secrets(kubectl: Kubectl) -> None:
    assert kubectl("create", "secret", "generic", "door", "--from-literal=code=1234").out == "secret/door created\n"
    row = kubectl("get", "secrets").row("door")
    assert (row["TYPE"], row["DATA"]) == ("Opaque", "1")
    code = kubectl("get", "secret", "door", "-o", "jsonpath={.data.code}").out
    assert base64.b64decode(code) == b"1234"
    kubectl(
        *("create", "secret", "docker-registry", "registry", "--docker-server=registry.example.com"),
        *("--docker-username=me", "--docker-password=secret"),
    )
    assert kubectl("get", "secrets").row("registry")["TYPE"] == "kubernetes.io/dockerconfigjson"


def test_a_namespace_comes_with_what_pods_need(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-new"
    assert kubectl("create", "namespace", name).out == f"namespace/{name} created\n"
    assert kubectl("get", "serviceaccounts", "--namespace", name, "-o", "name").out == "serviceaccount/default\n"
    found = kubectl("get", "configmaps", "--namespace", name, "-o", "name")
    assert found.out == "configmap/kube-root-ca.crt\n"
    assert "not found" in kubectl.refused("create", "configmap", "x", "--namespace", "nowhere")


def test_an_account_and_a_token_that_opens_the_door(kubectl: Kubectl) -> None:
    assert kubectl("create", "serviceaccount", "robot").out == "serviceaccount/robot created\n"
    token = kubectl("create", "token", "robot", "--duration=1h").out.strip()
    assert token.count(".") == 2
    who = kubectl(
        "auth", "whoami", "--kubeconfig", other_user(kubectl, token), "-o", "jsonpath={.status.userInfo.username}"
    )
    assert who.out == f"system:serviceaccount:{kubectl.namespace}:robot"
    assert "not found" in kubectl.refused("create", "token", "nobody")
    kubectl("delete", "serviceaccount", "robot")
    said = kubectl.refused("auth", "whoami", "--kubeconfig", other_user(kubectl, token))
    assert "Unauthorized" in said


def other_user(kubectl: Kubectl, token: str) -> str:
    """A kubeconfig for the same cluster with that token."""
    config = kubectl("config", "view", "--raw", "-o", "json").json()
    config["users"][0]["user"] = {"token": token}
    path = kubectl.home / "other.kubeconfig"
    path.write_text(json.dumps(config))
    return str(path)


def test_a_pod_from_an_image(kubectl: Kubectl) -> None:
    assert kubectl("run", "web", "--image=nginx:1.27", "--labels=app=web", "--port=80").out == "pod/web created\n"
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s")
    assert kubectl("get", "pods").row("web")["STATUS"] == "Running"
    assert 'pods "web" already exists' in kubectl.refused("run", "web", "--image=nginx:1.27")


def test_a_pod_that_does_its_work_and_ends(kubectl: Kubectl) -> None:
    annotation = "--annotations=simulated.actorlet.dev/run-for=10ms"
    kubectl("run", "job", "--image=busybox:1.36", "--restart=Never", annotation, "--command", "--", "true")
    kubectl("wait", "pod/job", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s")
    row = kubectl("get", "pods").row("job")
    assert (row["READY"], row["STATUS"]) == ("0/1", "Completed")


def test_a_pod_that_crashes_says_so(kubectl: Kubectl) -> None:
    knobs = [f"--annotations=simulated.actorlet.dev/{knob}" for knob in ("run-for=10ms", "exit-code=1")]
    kubectl("run", "web", "--image=busybox:1.36", *knobs)
    waiting = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff"
    kubectl("wait", "pod/web", waiting, "--timeout=120s")
    row = kubectl("get", "pods").row("web")
    assert row["STATUS"] == "CrashLoopBackOff"
    assert row["RESTARTS"].endswith(" ago)")


def test_services(kubectl: Kubectl) -> None:
    kubectl("run", "web", "--image=nginx:1.27", "--labels=app=web")
    assert kubectl("expose", "pod", "web", "--port=80").out == "service/web exposed\n"
    row = kubectl("get", "services", "-o", "wide").row("web")
    assert (row["TYPE"], row["PORT(S)"], row["SELECTOR"]) == ("ClusterIP", "80/TCP", "app=web")
    assert row["CLUSTER-IP"].startswith("10.")
    kubectl("create", "service", "externalname", "far", "--external-name=example.org")
    assert kubectl("get", "services").row("far")["EXTERNAL-IP"] == "example.org"
    kubectl("create", "service", "clusterip", "head", "--clusterip=None", "--tcp=80:8080")
    assert kubectl("get", "services").row("head")["CLUSTER-IP"] == "None"
