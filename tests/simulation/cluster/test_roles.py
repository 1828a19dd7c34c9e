"""A cluster whose roles are enforced.

The test's clients are users and service accounts, and nodes are nodes.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import lightkube
import pytest
from kubernetes import client, config
from lightkube.resources.core_v1 import Pod

from actorlet.testing import Cluster, ClusterError, cluster
from simulation.apiserver.requests.calls import ADMIN
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.orders import Begin
from simulation.controllers.store_follower import ask

OPERATOR = "system:serviceaccount:default:operator"


def api(group: str, found: Cluster, *who: Any) -> Any:
    """An API of the client `kubernetes`, as that user."""
    return getattr(client, f"{group}Api")(found.kubernetes(*who))


@pytest.fixture(scope="module")
def strict() -> Iterator[Cluster]:
    with cluster(rbac=True) as found:
        api("CoreV1", found).create_namespaced_service_account("default", {"metadata": {"name": "operator"}})
        api("RbacAuthorizationV1", found).create_namespaced_role_binding(
            "default",
            {
                "metadata": {"name": "operator"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
                "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "default"}],
            },
        )
        yield found


def test_a_service_account_may_what_its_roles_say(strict: Cluster) -> None:
    core = api("CoreV1", strict, OPERATOR)
    web = strict.load("web", 1)
    strict.until(lambda: web.ready == 1)
    assert [pod.metadata.name for pod in core.list_namespaced_pod("default").items] == ["web-0"]
    with pytest.raises(client.ApiException, match="cannot delete resource") as refusal:
        core.delete_namespaced_pod("web-0", "default")
    assert refusal.value.status == 403


def test_a_user_is_whom_the_test_names_with_lightkube_too(strict: Cluster) -> None:
    someone = strict.lightkube("alice", ["devs"])
    with pytest.raises(lightkube.ApiError, match='User "alice" cannot list resource "pods"'):
        list(someone.list(Pod, namespace="default"))
    who = api("AuthenticationV1", strict, "alice", ["devs"]).create_self_subject_review({})
    assert (who.status.user_info.username, who.status.user_info.groups) == ("alice", ["devs", "system:authenticated"])


def test_a_test_in_another_language_gets_users_over_http() -> None:
    command = [sys.executable, "-m", "actorlet", "simulate-cluster", "--rbac", "--json", "--until-input-ends"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert facts["url"].startswith("https://")
        body = json.dumps({"user": "alice", "groups": ["devs"]}).encode()
        request = urllib.request.Request(f"{facts['control']}/v1/act-as", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            kubeconfig = json.load(answer)["kubeconfig"]
        made: Any = config.new_client_from_config(kubeconfig)
        core: Any = client.CoreV1Api(made)
        with pytest.raises(client.ApiException, match="cannot list resource"):
            core.list_namespaced_pod("default")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(120) == 0


def test_who_shows_no_token_is_anonymous(strict: Cluster) -> None:
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(f"{strict.url}/api/v1/pods", context=anybody)
    with refusal.value as answer:
        assert answer.code == 403
        assert b"system:anonymous" in answer.read()


@pytest.mark.parametrize(
    ("user", "groups", "why"),
    [
        ("system:serviceaccount:default:nobody", (), 'serviceaccounts "nobody" not found; create the account first'),
        ("system:serviceaccount:default", (), "write system:serviceaccount:NAMESPACE:NAME"),
        (OPERATOR, ("devs",), "the groups of a service account are fixed"),
    ],
)
def test_a_user_that_cannot_be_is_refused(strict: Cluster, user: str, groups: tuple[str, ...], why: str) -> None:
    with pytest.raises(ClusterError, match=why):
        strict.kubeconfig_of(user, groups)


def test_the_token_of_a_service_account_ends_with_the_account(strict: Cluster) -> None:
    core = api("CoreV1", strict)
    core.create_namespaced_service_account("default", {"metadata": {"name": "brief"}})
    brief = api("AuthenticationV1", strict, "system:serviceaccount:default:brief")
    strict.step("2h")
    assert brief.create_self_subject_review({}).status.user_info.username.endswith(":brief")
    core.delete_namespaced_service_account("brief", "default")
    with pytest.raises(client.ApiException) as refusal:
        brief.create_self_subject_review({})
    assert refusal.value.status == 401


def test_nodes_need_nothing_that_a_node_may_not_have() -> None:
    world = ClusterWorld(
        Begin(
            nodes=2,
            time="stepped",
            start="",
            seed=1,
            scheduler=True,
            cpus=4,
            memory="16Gi",
            pods_per_node=110,
            rbac=True,
        )
    )
    for node in world.nodes.values():
        node.start()
    world.scheduler.start()
    second = 10**9
    world.dispatcher.run_until(lambda: world.ready_nodes() == 2, 120 * second)
    volume = {"name": "v", "configMap": {"name": "kube-root-ca.crt"}}
    spec = {"containers": [{"name": "app", "image": "nginx"}], "volumes": [volume]}
    path = "/api/v1/namespaces/default/pods"
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
    assert not ask(world.server, ADMIN, "POST", path, body)
    world.dispatcher.run_for(60 * second)
    pod = world.server.store.get("pods", "default", "web")
    assert pod is not None
    assert pod.object["status"]["phase"] == "Running"
    assert not ask(world.server, ADMIN, "DELETE", f"{path}/web")
    world.dispatcher.run_for(60 * second)
    assert world.server.store.get("pods", "default", "web") is None
    assert list(world.server.denied) == []


def test_without_tls_there_are_no_roles_since_clients_show_tokens_over_tls_alone() -> None:
    with pytest.raises(ClusterError, match="leave TLS on"):
        cluster(rbac=True, tls=False)
