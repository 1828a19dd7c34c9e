"""What a client can rely on, whichever way it reaches the server.

Spoken with the client of the agent itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from config.api.resources import CONFIG_MAPS, LEASES, NODES, PODS, SERVICE_ACCOUNTS, TOKEN_REVIEWS
from config.objects import (
    ConfigMap,
    Container,
    Lease,
    LeaseSpec,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    TokenRequest,
    TokenRequestSpec,
    TokenReview,
    TokenReviewSpec,
)
from runtime.api import PatchType, create, delete, get, list_objects, patch, update, watch_objects
from simulation.apiserver.core import Options
from tests.simulation.apiserver.fronts import FRONTS, Front, front_of

TOKENS = Options(seed=1, tokens={"admin": "admin"})


@pytest.fixture(params=FRONTS)
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Front]:
    with front_of(request.param, tmp_path, TOKENS) as front:
        yield front


def a_pod(name: str = "web", node: str | None = None) -> Pod:
    containers = (Container(name="main", image="nginx:1"),)
    return Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=PodSpec(containers=containers, node_name=node))


def test_a_created_object_is_read_listed_and_gone_after_deletion(front: Front) -> None:
    made = front.ask(create(PODS, "default", a_pod()))
    assert front.ask(get(PODS, "default", "web")) == made
    listed = front.ask(list_objects(PODS, "default"))
    assert listed.items == (made,)
    front.ask(delete(PODS, "default", "web", uid=made.metadata.uid))
    assert front.refusal(get(PODS, "default", "web")).not_found


def test_pages_make_one_list(front: Front) -> None:
    for name in ("a", "b", "c"):
        front.ask(create(PODS, "default", a_pod(name)))
    first = front.ask(list_objects(PODS, limit=2))
    rest = front.ask(list_objects(PODS, limit=2, continue_=first.continue_))
    assert [pod.metadata.name for pod in (*first.items, *rest.items)] == ["a", "b", "c"]
    assert (first.resource_version, rest.continue_) == (rest.resource_version, "")


def test_a_watch_from_a_list_tells_each_change_once_and_in_order(front: Front) -> None:
    front.ask(create(PODS, "default", a_pod("old", "n1")))
    listed = front.ask(list_objects(PODS, field_selector="spec.nodeName=n1"))
    followed = front.follow(
        watch_objects(PODS, resource_version=listed.resource_version, field_selector="spec.nodeName=n1")
    )
    front.ask(create(PODS, "default", a_pod("other", "n2")))
    front.ask(create(PODS, "default", a_pod("new", "n1")))
    front.ask(patch(PODS, "default", "new", {"status": {"phase": "Running"}}, subresource="status"))
    front.ask(delete(PODS, "default", "new", grace_seconds=0))
    told = [followed.next() for _ in range(4)]
    assert told == ["ADDED new", "MODIFIED new", "MODIFIED new", "DELETED new"], "marked with no grace, then gone"
    followed.subscription.close()
    assert followed.end() is None


def test_a_watch_that_begins_too_early_ends_as_expired(front: Front) -> None:
    made = front.ask(create(PODS, "default", a_pod()))
    front.server.forget()
    followed = front.follow(watch_objects(PODS, resource_version=made.metadata.resource_version))
    error = followed.end()
    assert error is not None
    assert error.expired


def test_a_watch_ends_in_order_after_its_time_with_a_bookmark(front: Front) -> None:
    followed = front.follow(watch_objects(PODS, resource_version="", timeout_seconds=1))
    assert followed.next() == "BOOKMARK"
    assert followed.end() is None


def test_a_status_is_patched_with_the_uid_as_condition(front: Front) -> None:
    made = front.ask(create(PODS, "default", a_pod()))
    wrong = patch(
        PODS, "default", "web", {"metadata": {"uid": "x"}, "status": {"phase": "Failed"}}, subresource="status"
    )
    assert (front.refusal(wrong).code, front.refusal(wrong).reason) == (422, "Invalid")
    condition = {"type": "Ready", "status": "True"}
    body = {"metadata": {"uid": made.metadata.uid}, "status": {"phase": "Running", "conditions": [condition]}}
    changed = front.ask(patch(PODS, "default", "web", body, subresource="status"))
    assert changed.status.phase == "Running"
    other = {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}
    merged = front.ask(patch(PODS, "default", "web", other, subresource="status"))
    assert sorted(one.type for one in merged.status.conditions) == ["Mine", "Ready"]


def test_patches_of_every_type(front: Front) -> None:
    front.ask(create(CONFIG_MAPS, "default", ConfigMap(metadata=ObjectMeta(name="c"), data={"a": "1"})))
    front.ask(patch(CONFIG_MAPS, "default", "c", {"data": {"b": "2"}}, patch_type=PatchType.MERGE))
    front.ask(patch(CONFIG_MAPS, "default", "c", {"data": {"c": "3"}}))
    steps = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}]
    last = front.ask(patch(CONFIG_MAPS, "default", "c", steps, patch_type=PatchType.JSON))
    assert last.data == {"b": "2", "c": "3"}
    again = front.refusal(patch(CONFIG_MAPS, "default", "c", steps, patch_type=PatchType.JSON))
    assert again.code == 422


def test_the_second_of_two_lease_writers_is_refused(front: Front) -> None:
    lease = Lease(metadata=ObjectMeta(name="n1", namespace="kube-node-lease"), spec=LeaseSpec(holder_identity="n1"))
    made = front.ask(create(LEASES, "kube-node-lease", lease))
    assert front.refusal(create(LEASES, "kube-node-lease", lease)).already_exists
    renewed = msgspec.structs.replace(
        made, spec=LeaseSpec(holder_identity="n1", renew_time="2026-01-01T00:00:00.000000Z")
    )
    front.ask(update(LEASES, "kube-node-lease", renewed))
    assert front.refusal(update(LEASES, "kube-node-lease", renewed)).conflict


def test_a_token_of_a_pod_is_good_while_the_pod_lives(front: Front) -> None:
    made = front.ask(create(PODS, "default", a_pod()))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": made.metadata.uid}
    spec = msgspec.convert({"audiences": ["mine"], "boundObjectRef": reference}, TokenRequestSpec)
    asked = create(SERVICE_ACCOUNTS, "default", TokenRequest(spec=spec), name="default", subresource="token")
    token = front.ask(asked).status.token
    review = TokenReview(spec=TokenReviewSpec(token=token, audiences=("mine",)))
    answer = front.ask(create(TOKEN_REVIEWS, "", review)).status
    assert answer.authenticated
    assert answer.user.username == "system:serviceaccount:default:default"
    assert answer.user.extra["authentication.kubernetes.io/pod-name"] == ("web",)
    front.ask(delete(PODS, "default", "web"))
    assert not front.ask(create(TOKEN_REVIEWS, "", review)).status.authenticated


def test_an_answer_of_many_megabytes(front: Front) -> None:
    for number in range(4):
        data = {"a": "x" * 1_000_000}
        front.ask(create(CONFIG_MAPS, "default", ConfigMap(metadata=ObjectMeta(name=f"c{number}"), data=data)))
    assert len(front.ask(list_objects(CONFIG_MAPS, "default")).items) == 5


@pytest.fixture(params=FRONTS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Front]:
    options = Options(seed=1, authorization="Node", tokens={"token-of-n1": "system:node:n1"})
    with front_of(request.param, tmp_path, options, user="system:node:n1") as front:
        yield front


def test_an_agent_may_do_only_what_its_node_needs(agent: Front) -> None:
    made = agent.ask(create(NODES, "", Node(metadata=ObjectMeta(name="n1"))))
    assert agent.ask(patch(NODES, "", "n1", {"status": {"conditions": []}}, subresource="status")).metadata.name == "n1"
    assert agent.ask(list_objects(PODS, field_selector="spec.nodeName=n1")).items == ()
    refused = agent.refusal(list_objects(PODS))
    assert refused.forbidden
    assert 'User "system:node:n1" cannot list resource "pods" in API group "" at the cluster scope' in refused.message
    assert agent.refusal(create(NODES, "", Node(metadata=ObjectMeta(name="n2")))).forbidden
    label = {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}}
    assert agent.refusal(patch(NODES, "", made.metadata.name, label)).forbidden
    assert agent.refusal(get(CONFIG_MAPS, "default", "kube-root-ca.crt")).forbidden
