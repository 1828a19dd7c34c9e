"""Admission webhooks of a test's cluster: what they see, change and refuse, and in which words."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.stream import stream

from actorlet.testing import Cluster, cluster
from tests.simulation.cluster.plain_client import trusting
from tests.simulation.webhooks.hooks import Hook, patch_of

SERVICE_HOST = "hooks.shop.svc"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def core(shared: Cluster) -> Any:
    return client.CoreV1Api(shared.kubernetes())


@pytest.fixture
def hook(tmp_path: Path, shared: Cluster) -> Iterator[Hook]:
    made = Hook(tmp_path, time.time_ns(), SERVICE_HOST)
    yield made
    shared.reset()
    made.close()


def register(shared: Cluster, hook: Hook, kind: str = "validating", rule: Any = None, **more: Any) -> None:
    fields: dict[str, Any] = {
        "name": "check.example.com",
        "rules": [{**PODS, **(rule or {})}],
        "clientConfig": {"url": f"{hook.url}/check", "caBundle": hook.bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    api: Any = client.AdmissionregistrationV1Api(shared.kubernetes())
    create = getattr(api, f"create_{kind}_webhook_configuration")
    create({"metadata": {"name": more.get("name", "check")}, "webhooks": [fields]})


def pod(name: str = "web", **labels: str) -> Any:
    spec = {"containers": [{"name": "app", "image": "nginx"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def refusal(call: Any, *args: Any, **more: Any) -> tuple[int, str]:
    with pytest.raises(client.ApiException) as refused:
        call(*args, **more)
    return refused.value.status, json.loads(refused.value.body or "{}")["message"]


def test_a_webhook_sees_the_request_and_refuses_it(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook)
    hook.answer = lambda request: {"allowed": False, "status": {"message": "no such luck", "code": 403}}
    assert refusal(core.create_namespaced_pod, "default", pod()) == (
        403,
        'admission webhook "check.example.com" denied the request: no such luck',
    )
    (asked,) = hook.asked
    assert (asked["operation"], asked["namespace"], asked["name"]) == ("CREATE", "default", "web")
    assert asked["object"]["spec"]["restartPolicy"] == "Always"
    assert asked["userInfo"]["username"] == "kubernetes-admin"
    assert asked["oldObject"] is None
    assert core.list_namespaced_pod("default").items == []
    hook.answer = lambda request: {"allowed": False}
    assert refusal(core.create_namespaced_pod, "default", pod()) == (
        400,
        'admission webhook "check.example.com" denied the request without explanation',
    )
    hook.answer = lambda request: {"allowed": True, "warnings": ["be careful"]}
    _, code, headers = core.create_namespaced_pod_with_http_info("default", pod())
    assert code == 201
    assert '299 - "be careful"' in headers["Warning"]


def test_a_long_answer_is_read_to_its_end(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook, "mutating")
    note = "long " * 40_000
    value = {"op": "add", "path": "/metadata/annotations", "value": {"note": note}}
    hook.answer = lambda request: patch_of(value)
    assert core.create_namespaced_pod("default", pod()).metadata.annotations == {"note": note}


@pytest.mark.parametrize("bundle", ["/w==", "bm8gY2VydGlmaWNhdGU="])
def test_an_authority_that_cannot_be_read_fails_the_call(shared: Cluster, core: Any, hook: Hook, bundle: str) -> None:
    register(shared, hook, clientConfig={"url": hook.url, "caBundle": bundle})
    code, text = refusal(core.create_namespaced_pod, "default", pod())
    assert code == 500
    assert text.startswith('Internal error occurred: failed calling webhook "check.example.com"')


def test_mutating_webhooks_come_first_and_change_the_object(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook, "mutating", name="label.example.com")
    register(shared, hook)

    def answer(request: Any) -> Any:
        if request["object"]["metadata"].get("labels"):
            return {"allowed": True}
        return patch_of(
            {"op": "add", "path": "/metadata/labels", "value": {"team": "a"}},
            {"op": "add", "path": "/spec/containers/-", "value": {"name": "proxy", "image": "envoy"}},
        )

    hook.answer = answer
    made = core.create_namespaced_pod("default", {**pod(), "metadata": {"generateName": "web-"}})
    assert made.metadata.labels == {"team": "a"}
    assert [one.name for one in made.spec.containers] == ["app", "proxy"]
    assert made.spec.containers[1].image_pull_policy == "Always", "what it has added has its defaults"
    first, second = hook.asked
    assert {"name", "uid"}.isdisjoint(first["object"]["metadata"]), "the server makes them after mutation"
    named = second["object"]["metadata"]
    assert (named["name"], named["uid"]) == (made.metadata.name, made.metadata.uid)
    assert second["object"]["metadata"]["labels"] == {"team": "a"}
    shared.until(lambda: core.read_namespaced_pod(made.metadata.name, "default").status.phase == "Running")


@pytest.mark.parametrize(("policy", "times"), [("IfNeeded", 3), ("Never", 2)])
def test_a_webhook_is_asked_again_after_a_later_one_has_changed_the_object(
    shared: Cluster, core: Any, hook: Hook, policy: str, times: int
) -> None:
    register(shared, hook, "mutating", name="a.example.com", reinvocationPolicy=policy)
    register(shared, hook, "mutating", name="b.example.com")
    label = {"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}
    hook.answer = lambda request: patch_of(label) if len(hook.asked) == 2 else {"allowed": True}
    core.create_namespaced_pod("default", pod())
    seen = [asked["object"]["metadata"].get("labels") for asked in hook.asked]
    assert seen == [None, None, {"team": "a"}][:times]


def test_webhooks_see_and_change_an_object_in_the_version_of_the_request(shared: Cluster, hook: Hook) -> None:
    autoscalers = {"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"]}
    rule = {**autoscalers, "operations": ["CREATE", "UPDATE"]}
    register(shared, hook, "mutating", rule, name="target.example.com")
    register(shared, hook, rule=rule)
    more = {"op": "replace", "path": "/spec/targetCPUUtilizationPercentage", "value": 33}
    hook.answer = lambda request: patch_of(more) if len(hook.asked) == 1 else {"allowed": True}
    old, new = (getattr(client, f"Autoscaling{version}Api")(shared.kubernetes()) for version in ("V1", "V2"))
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
    made = old.create_namespaced_horizontal_pod_autoscaler("default", {"metadata": {"name": "web"}, "spec": spec})
    assert made.spec.target_cpu_utilization_percentage == 33
    (metric,) = new.read_namespaced_horizontal_pod_autoscaler("web", "default").spec.metrics
    assert (metric.resource.name, metric.resource.target.average_utilization) == ("cpu", 33)
    old.patch_namespaced_horizontal_pod_autoscaler("web", "default", {"spec": {"maxReplicas": 4}})
    reviewed = hook.asked[-1]
    seen = [reviewed[name]["spec"] for name in ("oldObject", "object")]
    assert [(one["maxReplicas"], one["targetCPUUtilizationPercentage"]) for one in seen] == [(3, 33), (4, 33)]


def test_changes_and_deletions_are_reviewed_with_the_old_object(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook, rule={"operations": ["UPDATE", "DELETE"], "resources": ["configmaps"]})
    core.create_namespaced_config_map("default", {"metadata": {"name": "one"}, "data": {"a": "1"}})
    assert hook.asked == []
    core.patch_namespaced_config_map("one", "default", {"data": {"a": "2"}})
    (update,) = hook.asked
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"a": "1"}, {"a": "2"})
    hook.answer = lambda request: {"allowed": False, "status": {"reason": "Keep"}}
    said = 'admission webhook "check.example.com" denied the request: Keep'
    assert refusal(core.delete_namespaced_config_map, "one", "default") == (400, said)
    assert refusal(core.delete_collection_namespaced_config_map, "default")[1] == said
    assert hook.asked[1]["object"] is None
    assert hook.asked[1]["oldObject"]["data"] == {"a": "2"}
    assert core.read_namespaced_config_map("one", "default").data == {"a": "2"}
    hook.answer = lambda request: {"allowed": True}


def test_selectors_leave_requests_out(shared: Cluster, core: Any, hook: Hook) -> None:
    core.create_namespace({"metadata": {"name": "quiet", "labels": {"hooks": "off"}}})
    wants = {"matchExpressions": [{"key": "hooks", "operator": "DoesNotExist"}]}
    register(shared, hook, namespaceSelector=wants, objectSelector={"matchLabels": {"app": "web"}})
    core.create_namespaced_pod("quiet", pod(app="web"))
    core.create_namespaced_pod("default", pod("other"))
    assert hook.asked == []
    core.create_namespaced_pod("default", pod(app="web"))
    assert len(hook.asked) == 1


def test_a_webhook_that_does_not_answer_fails_the_request_unless_it_may_be_ignored(
    shared: Cluster, core: Any, hook: Hook
) -> None:
    register(shared, hook, timeoutSeconds=1)
    hook.answer = lambda request: None
    code, message = refusal(core.create_namespaced_pod, "default", pod())
    assert code == 500
    assert message == (
        'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: '
        f'Post "{hook.url}/check?timeout=1s": context deadline exceeded'
    )
    api: Any = client.AdmissionregistrationV1Api(shared.kubernetes())
    api.patch_validating_webhook_configuration(
        "check",
        [{"op": "add", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}],
    )
    core.create_namespaced_pod("default", pod())
    assert shared.now >= 0, "time that stands still has kept nobody waiting"


def test_an_answer_to_another_question_is_none(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook)
    hook.answer = lambda request: {"allowed": True, "uid": "other"}
    code, message = refusal(core.create_namespaced_pod, "default", pod())
    assert code == 500
    assert "received invalid webhook response: expected response.uid=" in message


def test_a_dry_run_is_reviewed_as_one(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook)
    core.create_namespaced_pod("default", pod(), dry_run="All")
    assert [asked["dryRun"] for asked in hook.asked] == [True]
    assert core.list_namespaced_pod("default").items == []


def test_a_service_is_where_the_test_says_and_its_certificate_is_its_own(
    shared: Cluster, core: Any, hook: Hook
) -> None:
    service = {"namespace": "shop", "name": "hooks", "path": "/check"}
    register(shared, hook, clientConfig={"service": service, "caBundle": hook.bundle})
    assert refusal(core.create_namespaced_pod, "default", pod())[1].endswith(
        'failed calling webhook "check.example.com": failed to call webhook: service "hooks" not found'
    )
    shared.serve_webhook("shop/hooks", hook.url)
    core.create_namespaced_pod("default", pod())
    assert len(hook.asked) == 1
    shared.serve_webhook("shop/hooks", "https://127.0.0.1:1")
    assert (
        'Post "https://hooks.shop.svc:443/check?timeout=10s"'
        in refusal(core.create_namespaced_pod, "default", pod("other"))[1]
    )


def test_a_certificate_that_nobody_vouches_for_is_refused(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook, clientConfig={"url": hook.url})
    assert "CERTIFICATE_VERIFY_FAILED" in refusal(core.create_namespaced_pod, "default", pod())[1]


def test_a_webhook_may_ask_the_api_server(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook)
    seen = []

    def answer(request: Any) -> Any:
        seen.append(core.read_namespace("default").metadata.name)
        return {"allowed": True}

    hook.answer = answer
    core.create_namespaced_pod("default", pod())
    assert seen == ["default"]


def test_a_webhook_does_not_rename_an_object(shared: Cluster, core: Any, hook: Hook) -> None:
    register(shared, hook, "mutating")
    hook.answer = lambda request: patch_of({"op": "replace", "path": "/metadata/name", "value": "other"})
    made = core.create_namespaced_pod("default", pod())
    assert made.metadata.name == "web"


def test_connections_to_pods_are_reviewed_and_changed(shared: Cluster, core: Any, hook: Hook) -> None:
    core.create_namespaced_pod("default", pod())
    shared.until(lambda: core.read_namespaced_pod("web", "default").status.phase == "Running")
    rule = {"operations": ["CONNECT"], "resources": ["pods/exec", "pods/attach", "pods/portforward"]}
    register(shared, hook, "mutating", rule=rule, name="change.example.com")
    register(shared, hook, rule=rule)
    shared.behave("web", exec_commands={"allowed": "changed", "*": "as asked"})
    hook.answer = lambda request: (
        patch_of({"op": "replace", "path": "/command", "value": ["allowed"]})
        if request["object"].get("command") == ["ls"]
        else {"allowed": request["object"].get("command") == ["allowed"]}
    )
    options = {"stdout": True, "stderr": False, "stdin": False, "tty": False}
    said = stream(core.connect_get_namespaced_pod_exec, "web", "default", command=["ls"], **options)
    assert said.strip() == "changed"
    first, second = hook.asked
    assert (first["operation"], first["subResource"], first["name"]) == ("CONNECT", "exec", "web")
    assert first["kind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
    assert first["object"] == {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["ls"], "stdout": True}
    assert (first["oldObject"], first["options"], second["object"]["command"]) == (None, None, ["allowed"])
    with pytest.raises(client.ApiException, match="denied the request"):
        stream(core.connect_get_namespaced_pod_exec, "web", "default", command=["rm"], **options)


@pytest.mark.parametrize(
    ("part", "query", "kind", "sent"),
    [
        ("attach", "stdout=true", "PodAttachOptions", {"stdout": True}),
        ("portforward", "ports=80,81", "PodPortForwardOptions", {"ports": [80, 81]}),
    ],
)
def test_a_refused_connection_gets_the_words_of_the_webhook(
    shared: Cluster, core: Any, hook: Hook, part: str, query: str, kind: str, sent: Any
) -> None:
    core.create_namespaced_pod("default", pod())
    shared.until(lambda: core.read_namespaced_pod("web", "default").status.phase == "Running")
    register(shared, hook, rule={"operations": ["CONNECT"], "resources": ["pods/*"]})
    hook.answer = lambda request: {"allowed": False, "status": {"code": 403, "message": "stay out"}}
    asked = urllib.request.Request(
        f"{shared.url}/api/v1/namespaces/default/pods/web/{part}?{query}",
        headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"},
        method="POST",
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=120, context=trusting(shared))
    with refused.value as answer:
        assert (answer.code, "stay out" in json.load(answer)["message"]) == (403, True)
    (seen,) = hook.asked
    assert (seen["kind"]["kind"], seen["object"]) == (kind, {"kind": kind, "apiVersion": "v1", **sent})


def test_an_eviction_is_reviewed_and_no_deletion(shared: Cluster, core: Any, hook: Hook) -> None:
    core.create_namespaced_pod("default", pod())
    register(shared, hook, rule={"operations": ["*"], "resources": ["pods", "pods/*"]})
    eviction = {"metadata": {"name": "web"}, "deleteOptions": {"gracePeriodSeconds": 0}}
    hook.answer = lambda request: {"allowed": False}
    assert refusal(core.create_namespaced_pod_eviction, "web", "default", eviction)[0] == 400
    assert core.read_namespaced_pod("web", "default").metadata.deletion_timestamp is None
    hook.answer = lambda request: {"allowed": True}
    core.create_namespaced_pod_eviction("web", "default", eviction)
    asked = hook.asked[-1]
    assert (asked["operation"], asked["subResource"]) == ("CREATE", "eviction")
    assert asked["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert {one["operation"] for one in hook.asked} == {"CREATE"}


def test_a_binding_is_reviewed_and_changed(shared: Cluster, core: Any, hook: Hook) -> None:
    core.create_namespaced_pod("default", {**pod(), "spec": {**pod()["spec"], "schedulerName": "mine"}})
    register(shared, hook, "mutating", rule={"resources": ["pods/binding"]})
    hook.answer = lambda request: patch_of({"op": "replace", "path": "/target/name", "value": "node-0"})
    binding = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "nowhere"}}
    core.create_namespaced_pod_binding("web", "default", binding, _preload_content=False)
    (asked,) = hook.asked
    assert (asked["kind"]["kind"], asked["object"]["target"]["name"]) == ("Binding", "nowhere")
    assert core.read_namespaced_pod("web", "default").spec.node_name == "node-0"


def test_a_scale_is_reviewed_with_the_one_before(shared: Cluster, hook: Hook) -> None:
    apps: Any = client.AppsV1Api(shared.kubernetes())
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    apps.create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    rule = {"apiGroups": ["apps"], "operations": ["UPDATE"], "resources": ["*/scale"]}
    register(shared, hook, "mutating", rule=rule, name="change.example.com")
    hook.answer = lambda request: patch_of({"op": "replace", "path": "/spec/replicas", "value": 2})
    scaled = apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 9}})
    (asked,) = hook.asked
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (asked["resource"]["resource"], asked["subResource"]) == ("deployments", "scale")
    assert (asked["oldObject"]["spec"], asked["object"]["spec"]) == ({"replicas": 1}, {"replicas": 9})
    assert scaled.spec.replicas == apps.read_namespaced_deployment("web", "default").spec.replicas == 2


def test_a_review_says_who_owns_which_fields_and_a_webhook_cannot_change_that(
    shared: Cluster, core: Any, hook: Hook
) -> None:
    register(shared, hook, "mutating", {"resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]})
    hook.answer = lambda request: patch_of({"op": "remove", "path": "/metadata/managedFields"})
    made = core.create_namespaced_config_map("default", {"metadata": {"name": "owned"}, "data": {"a": "b"}})
    (entry,) = hook.asked[-1]["object"]["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}
    assert len(made.metadata.managed_fields) == 1
    core.patch_namespaced_config_map("owned", "default", {"data": {"a": "c"}})
    asked = hook.asked[-1]
    assert all(asked[part]["metadata"]["managedFields"] for part in ("object", "oldObject"))
