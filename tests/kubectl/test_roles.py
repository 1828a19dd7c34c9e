"""kubectl where roles are enforced.

Refusals, `auth can-i`, and roles that are made, bound and reconciled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from actorlet.testing import Cluster, cluster
from tests.kubectl.cluster import POD
from tests.kubectl.test_simulated_cluster import kubectl

Ask = Callable[..., str]
GROUP = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def strict() -> Iterator[Cluster]:
    with cluster(rbac=True) as found:
        yield found


@pytest.fixture
def admin(strict: Cluster, tmp_path: Path) -> Ask:
    return partial(kubectl, strict, tmp_path)


@pytest.fixture
def alice(strict: Cluster, tmp_path: Path) -> Ask:
    return partial(kubectl, strict, tmp_path, KUBECONFIG=strict.kubeconfig_of("alice", ["devs"]))


def test_a_user_sees_what_a_role_of_kubectl_gives(admin: Ask, alice: Ask) -> None:
    assert alice("get", "pods", code=1) == (
        'Error from server (Forbidden): pods is forbidden: User "alice" cannot list resource "pods" in API group "" '
        'in the namespace "default"\n'
    )
    assert alice("auth", "can-i", "list", "pods", code=1) == "no\n"
    admin("create", "role", "reader", "--verb=get,list,watch", "--resource=pods,pods/log")
    admin("create", "rolebinding", "readers", "--role=reader", "--group=devs")
    assert alice("auth", "can-i", "list", "pods") == "yes\n"
    assert alice("auth", "can-i", "get", "pods", "--subresource=log") == "yes\n"
    assert alice("auth", "can-i", "delete", "pods", code=1) == "no\n"
    assert alice("auth", "can-i", "list", "pods", "-A", code=1) == "no\n"
    assert alice("get", "pods") == "No resources found in default namespace.\n"
    listed = alice("auth", "can-i", "--list")
    assert "[get list watch]" in next(line for line in listed.splitlines() if line.startswith("pods/log"))
    assert "[/api/*]" in listed
    assert "Group  devs" in admin("describe", "rolebinding", "readers")


def test_an_admin_asks_for_others(admin: Ask) -> None:
    agent = ("--as=system:node:node-0", "--as-group=system:nodes")
    assert admin("auth", "can-i", "*", "*") == "yes\n"
    assert admin("auth", "can-i", "list", "pods", "--as=bob", code=1) == "no\n"
    assert admin("auth", "can-i", "get", "secrets/x", *agent, code=1).startswith("no - no relationship found")
    assert admin("auth", "can-i", "update", "nodes/node-0", *agent).startswith("yes\n")
    assert admin("get", "pods", "--as=system:serviceaccount:a:b", code=1).startswith(
        'Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:a:b" cannot list'
    )
    assert "system:authenticated" in admin("auth", "whoami", "--as=bob")


def test_nobody_acts_for_others_or_gives_himself_roles(admin: Ask, alice: Ask) -> None:
    told = alice("get", "--raw", "/api/v1/namespaces/default/pods", "--as=admin", code=1)
    assert 'cannot impersonate resource "users" in API group "" at the cluster scope' in told
    admin("create", "role", "roles", "--verb=create,get", "--resource=roles,rolebindings")
    admin("create", "rolebinding", "roles", "--role=roles", "--user=alice")
    told = alice("create", "role", "all", "--verb=delete", "--resource=secrets", code=1)
    assert told.splitlines()[1:] == ['{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}']
    assert "not currently held" in alice("create", "rolebinding", "all", "--clusterrole=admin", "--user=alice", code=1)


def test_a_pod_is_looked_into_by_whom_a_role_lets(strict: Cluster, admin: Ask, alice: Ask) -> None:
    strict.behave("web", output="one", exec_output="hello\n")
    admin("apply", "-f", "-", stdin=POD)
    strict.step("5s")
    bob = partial(admin, KUBECONFIG=strict.kubeconfig_of("bob"))
    assert 'User "bob" cannot get resource "pods"' in bob("logs", "web", code=1)
    admin("create", "rolebinding", "edit", "--clusterrole=edit", "--user=alice")
    assert alice("logs", "web") == "one\n"
    assert alice("exec", "web", "--", "ls") == "hello\n"
    assert admin("exec", "web", "--as=alice", "--", "ls") == "hello\n"
    assert "cannot" in admin("exec", "web", "--as=bob", "--", "ls", code=1)
    alice("delete", "pod", "web", "--now", "--wait=false")


def test_roles_are_reconciled(admin: Ask) -> None:
    document = f"""
apiVersion: {GROUP}/v1
kind: ClusterRole
metadata: {{name: sites, labels: {{{GROUP}/aggregate-to-edit: "true"}}}}
rules:
- {{apiGroups: [example.com], resources: [sites], verbs: [get]}}
"""
    assert f"clusterrole.{GROUP}/sites reconciled" in admin("auth", "reconcile", "-f", "-", stdin=document)
    assert "sites.example.com" in admin("describe", "clusterrole", "admin")
