"""Roles and bindings, where they are enforced: who may do what, and in which words others are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from simulation.apiserver.access.authentication import user_named
from simulation.apiserver.core import Options
from simulation.apiserver.front.usage import PREFIX, usage
from simulation.apiserver.requests.calls import ApiRequest, ApiUser
from simulation.apiserver.status import StatusError
from tests.simulation.apiserver.worlds import MERGE, PODS, Server

GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
HERE = f"{RBAC}/namespaces/default"
AUTHENTICATED = "system:authenticated"
ALICE = ApiUser("alice", ("devs", AUTHENTICATED))
ACCOUNT = ApiUser(
    "system:serviceaccount:default:op", ("system:serviceaccounts", "system:serviceaccounts:default", AUTHENTICATED)
)
READS_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
GRANTING = {
    "verbs": ["create", "patch"],
    "apiGroups": [GROUP],
    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
}


@pytest.fixture
def server() -> Server:
    return Server(Options(authorization="RBAC"))


def role(name: str, *rules: Any, **more: Any) -> Any:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, kind: str, role_name: str, *subjects: Any) -> Any:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role_name}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": list(subjects)}


def user(name: str, kind: str = "User") -> Any:
    return {"apiGroup": GROUP, "kind": kind, "name": name}


OP = {"kind": "ServiceAccount", "name": "op", "namespace": "default"}


def made(server: Server, path: str, value: Any) -> None:
    answer = server.ask("POST", path, value)
    assert answer.code == 201, answer.message


def test_who_has_no_role_is_refused_in_the_words_of_kubernetes(server: Server) -> None:
    server.make_pod("web")
    listed = server.ask("GET", PODS, user=ALICE)
    assert listed.value == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods is forbidden: User "alice" cannot list resource "pods" in API group "" '
        'in the namespace "default"',
        "reason": "Forbidden",
        "details": {"kind": "pods"},
        "code": 403,
    }
    one = server.ask("PATCH", f"{PODS}/web/status", {}, content_type=MERGE, user=ALICE)
    assert one.message == (
        'pods "web" is forbidden: User "alice" cannot patch resource "pods/status" in API group "" '
        'in the namespace "default"'
    )
    assert server.ask("GET", "/apis/apps/v1/deployments", user=ALICE).message == (
        'deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" '
        "at the cluster scope"
    )
    assert server.ask("GET", "/api/v1/namespaces/default", user=ALICE).message == (
        'namespaces "default" is forbidden: User "alice" cannot get resource "namespaces" in API group "" '
        'in the namespace "default"'
    )
    assert server.ask("GET", PODS).code == 200, "an admin"


@pytest.mark.parametrize(
    ("subject", "who"),
    [
        (user("alice"), ALICE),
        (user("devs", "Group"), ALICE),
        (OP, ACCOUNT),
        ({"kind": "ServiceAccount", "name": "op"}, ACCOUNT),
        (user("system:serviceaccounts:default", "Group"), ACCOUNT),
    ],
)
def test_a_binding_gives_a_role_to_its_subjects_in_its_namespace(server: Server, subject: Any, who: ApiUser) -> None:
    made(server, f"{HERE}/roles", role("reader", READS_PODS))
    made(server, f"{HERE}/rolebindings", binding("readers", "Role", "reader", subject))
    assert server.ask("GET", PODS, user=who).code == 200
    assert server.ask("GET", "/api/v1/namespaces/kube-system/pods", user=who).code == 403
    assert server.ask("GET", "/api/v1/pods", user=who).code == 403
    assert server.ask("DELETE", f"{PODS}/web", user=who).code == 403
    assert server.ask("DELETE", f"{HERE}/rolebindings/readers").code == 200
    assert server.ask("GET", PODS, user=who).code == 403


def test_a_cluster_role_is_bound_in_one_namespace_or_in_all(server: Server) -> None:
    made(server, f"{HERE}/rolebindings", binding("view", "ClusterRole", "view", user("alice")))
    assert server.ask("GET", PODS, user=ALICE).code == 200
    assert server.ask("GET", "/api/v1/namespaces/default", user=ALICE).code == 200
    assert server.ask("GET", "/api/v1/pods", user=ALICE).code == 403
    assert server.ask("GET", f"{PODS.replace('pods', 'secrets')}", user=ALICE).code == 403
    made(server, f"{RBAC}/clusterrolebindings", binding("view", "ClusterRole", "view", user("alice")))
    assert server.ask("GET", "/api/v1/pods", user=ALICE).code == 200


def test_a_role_of_names_allows_lists_of_that_name_alone(server: Server) -> None:
    made(server, f"{HERE}/roles", role("one", {**READS_PODS, "resourceNames": ["web"]}))
    made(server, f"{HERE}/rolebindings", binding("one", "Role", "one", user("alice")))
    server.make_pod("web")
    assert server.ask("GET", f"{PODS}/web", user=ALICE).code == 200
    assert server.ask("GET", f"{PODS}/other", user=ALICE).code == 403
    assert server.ask("GET", PODS, user=ALICE).code == 403
    assert server.ask("GET", PODS, user=ALICE, fieldSelector="metadata.name=web").code == 200


def test_a_role_that_is_missing_is_named_in_the_refusal(server: Server) -> None:
    made(server, f"{HERE}/rolebindings", binding("bad", "Role", "nowhere", user("alice")))
    assert server.ask("GET", PODS, user=ALICE).message.endswith(
        f'in the namespace "default": RBAC: role.{GROUP} "nowhere" not found'
    )


def test_who_may_only_read_does_not_run_commands(server: Server) -> None:
    """A WebSocket asks by GET."""
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods/exec"]}
    made(server, f"{HERE}/roles", role("looks", rule))
    made(server, f"{HERE}/rolebindings", binding("looks", "Role", "looks", user("alice")))
    server.make_pod("web")
    assert 'cannot create resource "pods/exec"' in server.ask("GET", f"{PODS}/web/exec", user=ALICE).message


def test_a_cluster_role_follows_the_roles_that_it_is_made_of(server: Server) -> None:
    def rules(name: str) -> Any:
        return server.get(f"{RBAC}/clusterroles/{name}").value["rules"]

    rule = {"apiGroups": ["example.com"], "resources": ["sites"], "verbs": ["get"]}
    label = {f"{GROUP}/aggregate-to-view": "true"}
    value = role("sites", rule)
    value["metadata"]["labels"] = label
    made(server, f"{RBAC}/clusterroles", value)
    assert all(rule in rules(name) for name in ("view", "edit", "admin")), "each is made of the one before"
    assert len(rules("admin")) > len(rules("edit")) > len(rules("view")) > 10
    server.ask("PATCH", f"{RBAC}/clusterroles/sites", {"rules": []}, content_type=MERGE)
    assert not any(rule in rules(name) for name in ("view", "edit", "admin"))


def test_nobody_grants_what_he_does_not_have(server: Server) -> None:
    made(server, f"{RBAC}/clusterroles", role("granting", GRANTING))
    made(server, f"{RBAC}/clusterrolebindings", binding("granting", "ClusterRole", "granting", user("alice")))
    refused = server.ask("POST", f"{HERE}/roles", role("big", READS_PODS), user=ALICE)
    assert (refused.code, refused.message) == (
        403,
        f'roles.{GROUP} "big" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) is attempting to '
        'grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    )
    bound = binding("big", "ClusterRole", "view", user("alice"))
    assert "permissions not currently held" in server.ask("POST", f"{HERE}/rolebindings", bound, user=ALICE).message
    lost = binding("big", "Role", "nowhere", user("alice"))
    assert server.ask("POST", f"{HERE}/rolebindings", lost, user=ALICE).code == 404
    made_of = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    assert server.ask("POST", f"{RBAC}/clusterroles", role("of", **made_of), user=ALICE).message == (
        f'clusterroles.{GROUP} "of" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    )
    made(server, f"{HERE}/roles", role("reader", READS_PODS))
    made(server, f"{HERE}/rolebindings", binding("readers", "Role", "reader", user("alice")))
    assert server.ask("POST", f"{HERE}/roles", role("big", READS_PODS), user=ALICE).code == 201
    more = {"rules": [{**READS_PODS, "verbs": ["delete"]}]}
    assert server.ask("PATCH", f"{HERE}/roles/big", more, content_type=MERGE, user=ALICE).code == 403
    label = {"metadata": {"labels": {"a": "b"}}}
    assert server.ask("PATCH", f"{HERE}/roles/big", label, content_type=MERGE, user=ALICE).code == 200


@pytest.mark.parametrize(("verb", "path"), [("escalate", "roles"), ("bind", "rolebindings")])
def test_who_may_escalate_or_bind_grants_what_he_does_not_have(server: Server, verb: str, path: str) -> None:
    extra = {"verbs": [verb], "apiGroups": [GROUP], "resources": ["roles", "clusterroles"]}
    made(server, f"{RBAC}/clusterroles", role("granting", GRANTING, extra))
    made(server, f"{RBAC}/clusterrolebindings", binding("granting", "ClusterRole", "granting", user("alice")))
    value = role("big", READS_PODS) if path == "roles" else binding("big", "ClusterRole", "view", user("alice"))
    assert server.ask("POST", f"{HERE}/{path}", value, user=ALICE).code == 201


def test_a_binding_does_not_change_its_role(server: Server) -> None:
    made(server, f"{HERE}/rolebindings", binding("view", "ClusterRole", "view", user("alice")))
    change = {"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"}}
    refused = server.ask("PATCH", f"{HERE}/rolebindings/view", change, content_type=MERGE)
    assert refused.code == 422
    assert "cannot change roleRef" in refused.message


def review(server: Server, kind: str, who: ApiUser, within: str = "", **spec: Any) -> Any:
    place = f"/namespaces/{within}" if within else ""
    path = f"/apis/authorization.k8s.io/v1{place}/{kind.lower()}s"
    return server.ask("POST", path, {"kind": kind, "spec": spec}, user=who).value.get("status")


def test_reviews_tell_the_truth(server: Server) -> None:
    lists = {"verb": "list", "resource": "pods", "namespace": "default"}
    assert review(server, "SelfSubjectAccessReview", ALICE, resourceAttributes=lists) == {"allowed": False}
    made(server, f"{HERE}/rolebindings", binding("view", "ClusterRole", "view", user("devs", "Group")))
    by = 'RBAC: allowed by RoleBinding "view/default" of ClusterRole "view" to Group "devs"'
    assert review(server, "SelfSubjectAccessReview", ALICE, resourceAttributes=lists) == {"allowed": True, "reason": by}
    admin = server.user
    asked: Any = {"user": "bob", "groups": ["devs"], "resourceAttributes": lists}
    assert review(server, "SubjectAccessReview", admin, **asked)["allowed"] is True
    assert review(server, "LocalSubjectAccessReview", admin, "default", **asked)["allowed"] is True
    assert review(server, "LocalSubjectAccessReview", admin, "kube-system", **asked) == "Failure"
    path = {"path": "/api/v1", "verb": "get"}
    assert review(server, "SelfSubjectAccessReview", ALICE, nonResourceAttributes=path)["allowed"] is True
    path["path"] = "/metrics"
    assert review(server, "SelfSubjectAccessReview", ALICE, nonResourceAttributes=path)["allowed"] is False
    assert review(server, "SubjectAccessReview", ALICE, **asked) == "Failure", "that needs a role"


def test_the_rules_of_a_user_are_all_that_he_has(server: Server) -> None:
    made(server, f"{HERE}/roles", role("reader", READS_PODS))
    made(server, f"{HERE}/rolebindings", binding("readers", "Role", "reader", user("alice")))
    told = review(server, "SelfSubjectRulesReview", ALICE, namespace="default")
    assert READS_PODS in told["resourceRules"]
    assert any("/api/*" in rule["nonResourceURLs"] for rule in told["nonResourceRules"])
    assert told["incomplete"] is False
    assert READS_PODS not in review(server, "SelfSubjectRulesReview", ALICE, namespace="other")["resourceRules"]
    agent = user_named("system:node:n1")
    told = review(server, "SelfSubjectRulesReview", agent, namespace="default")
    assert (told["incomplete"], told["evaluationError"]) == (
        True,
        "node authorizer does not support user rule resolution",
    )


def test_without_roles_reviews_tell_the_truth_as_well() -> None:
    server = Server()
    asked = {"verb": "delete", "resource": "nodes"}
    assert review(server, "SelfSubjectAccessReview", ALICE, resourceAttributes=asked) == {"allowed": True}
    assert review(server, "SelfSubjectRulesReview", ALICE, namespace="default")["resourceRules"] == [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    ]


def test_an_agent_may_what_a_node_may_and_no_more(server: Server) -> None:
    agent = user_named("system:node:n1")
    assert server.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}}, user=agent).code == 201
    assert server.ask("GET", "/api/v1/pods", user=agent, fieldSelector="spec.nodeName=n1").code == 200
    assert server.ask("GET", "/api/v1/pods", user=agent).message.endswith(
        "at the cluster scope: can only list/watch pods with spec.nodeName field selector"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            ApiUser("bob"),
            'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" '
            "at the cluster scope",
        ),
        (
            ApiUser("system:serviceaccount:a:b"),
            'serviceaccounts "b" is forbidden: User "alice" cannot impersonate resource "serviceaccounts" '
            'in API group "" in the namespace "a"',
        ),
    ],
)
def test_who_acts_for_another_needs_a_role(server: Server, other: ApiUser, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        server.server.impersonated(ALICE, other)
    assert refusal.value.message == message


def test_a_role_to_impersonate_is_for_users_and_their_groups_apart(server: Server) -> None:
    rule = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]}
    made(server, f"{RBAC}/clusterroles", role("acts", rule))
    made(server, f"{RBAC}/clusterrolebindings", binding("acts", "ClusterRole", "acts", user("alice")))
    assert server.server.impersonated(ALICE, ApiUser("bob")).name == "bob"
    with pytest.raises(StatusError, match='groups "system:masters" is forbidden'):
        server.server.impersonated(ALICE, ApiUser("bob", ("system:masters",)))


def test_documents_are_for_whoever_is_known(server: Server) -> None:
    server.server.check_path(ALICE, "GET", "/openapi/v3")
    nobody = ApiUser("system:anonymous", ("system:unauthenticated",))
    server.server.check_path(nobody, "GET", "/version")
    with pytest.raises(StatusError, match=r'forbidden: User "system:anonymous" cannot get path "/api"'):
        server.server.check_path(nobody, "GET", "/api")


def test_usage_is_for_who_may_read_it(server: Server) -> None:
    async def fetch(node: object) -> bytes | None:
        return None

    request = ApiRequest("GET", f"{PREFIX}/v1beta1/pods", user=ALICE)
    with pytest.raises(StatusError, match=r'resource "pods" in API group "metrics\.k8s\.io" at the cluster scope'):
        asyncio.run(usage(request, server.server, fetch))
    rule = {"verbs": ["list"], "apiGroups": ["metrics.k8s.io"], "resources": ["pods"]}
    made(server, f"{RBAC}/clusterroles", role("top", rule))
    made(server, f"{RBAC}/clusterrolebindings", binding("top", "ClusterRole", "top", user("alice")))
    assert asyncio.run(usage(request, server.server, fetch)).value["items"] == []
