"""Garbage collection in the embedded API server: owned objects go with their owners."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from simulation.apiserver.controllers.garbage_collector import AGAIN_NS, LOOKS_AFTER_NS
from simulation.apiserver.core import Options
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.config_data import DataStrategy
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, Server, pod

MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"

JOBS = "/apis/batch/v1/namespaces/default/jobs"


class Cluster(Server):
    """One that collects garbage. Its objects are ConfigMaps, unless they are something else."""

    def __init__(self) -> None:
        super().__init__(Options(garbage_collection=True))

    def make(self, name: str, *owners: Any, path: str = MAPS, finalizers: tuple[str, ...] = ()) -> Any:
        metadata = {"name": name, "ownerReferences": list(owners), "finalizers": list(finalizers)}
        answer = self.ask("POST", path, {"metadata": metadata})
        assert answer.code == 201, answer.value
        return answer.value

    def delete(self, name: str, policy: str = "", path: str = MAPS) -> None:
        answer = self.ask("DELETE", f"{path}/{name}", {"propagationPolicy": policy} if policy else None)
        assert answer.code == 200, answer.value

    def names(self, path: str = MAPS) -> list[str]:
        found = [one["metadata"]["name"] for one in self.get(path).value["items"]]
        return [name for name in found if name != "kube-root-ca.crt"]

    def metadata(self, name: str, path: str = MAPS) -> Any:
        return self.get(f"{path}/{name}").value["metadata"]

    def pass_by(self, ns: int = SECOND_NS) -> None:
        self.world.run_for(ns)

    def release(self, name: str, path: str = MAPS) -> None:
        """Its own finalizers are done."""
        answer = self.ask("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, content_type=MERGE)
        assert answer.code == 200, answer.value


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def owned_by(owner: Any, **more: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    named = {"name": metadata["name"], "uid": metadata["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named, **more}


def test_dependents_go_a_moment_after_their_owner_and_theirs_after_them(cluster: Cluster):
    owner = cluster.make("owner")
    child = cluster.make("child", owned_by(owner))
    cluster.make("grandchild", owned_by(child))
    cluster.make("stranger")
    cluster.pass_by()
    assert len(cluster.names()) == 4
    cluster.delete("owner")
    assert cluster.names() == ["child", "grandchild", "stranger"]
    cluster.pass_by(LOOKS_AFTER_NS)
    assert cluster.names() == ["grandchild", "stranger"]
    cluster.pass_by()
    assert cluster.names() == ["stranger"]


def test_a_pod_that_is_owned_gets_its_grace(cluster: Cluster):
    cluster.ask("POST", NODES, {"metadata": {"name": "n1"}})
    owner = cluster.make("owner")
    body = pod("web", nodeName="n1", terminationGracePeriodSeconds=30)
    body["metadata"]["ownerReferences"] = [owned_by(owner, controller=True)]
    assert cluster.ask("POST", PODS, body).code == 201
    cluster.delete("owner")
    cluster.pass_by()
    assert cluster.metadata("web", PODS)["deletionGracePeriodSeconds"] == 30


def test_in_the_foreground_dependents_go_first(cluster: Cluster):
    owner = cluster.make("owner")
    cluster.make("child", owned_by(owner, blockOwnerDeletion=True), finalizers=("example.com/mine",))
    cluster.make("free", owned_by(owner), finalizers=("example.com/mine",))
    cluster.delete("owner", "Foreground")
    assert cluster.metadata("owner")["finalizers"] == ["foregroundDeletion"]
    cluster.pass_by()
    assert "deletionTimestamp" in cluster.metadata("child")
    assert "deletionTimestamp" in cluster.metadata("free")
    assert "owner" in cluster.names()
    cluster.release("child")
    cluster.pass_by()
    # The other one blocks nobody.
    assert cluster.names() == ["free"]


def test_in_the_foreground_the_deepest_go_first(cluster: Cluster):
    owner = cluster.make("owner")
    child = cluster.make("child", owned_by(owner, blockOwnerDeletion=True))
    cluster.make("grandchild", owned_by(child, blockOwnerDeletion=True), finalizers=("example.com/mine",))
    told = cluster.watch(MAPS)
    cluster.delete("owner", "Foreground")
    cluster.pass_by()
    assert cluster.names() == ["child", "grandchild", "owner"]
    cluster.release("grandchild")
    cluster.pass_by()
    gone = [text for text in told.told if text.startswith("DELETED")]
    assert gone == ["DELETED grandchild", "DELETED child", "DELETED owner"]


def test_a_circle_that_is_deleted_in_the_foreground_goes(cluster: Cluster):
    one = cluster.make("one")
    other = cluster.make("other", owned_by(one, blockOwnerDeletion=True))
    circle = {"metadata": {"ownerReferences": [owned_by(other, blockOwnerDeletion=True)]}}
    assert cluster.ask("PATCH", f"{MAPS}/one", circle, content_type=MERGE).code == 200
    cluster.delete("one", "Foreground")
    cluster.pass_by(5 * SECOND_NS)
    assert cluster.names() == []


def test_orphans_stay_and_forget_their_owner(cluster: Cluster):
    owner, other = cluster.make("owner"), cluster.make("other")
    cluster.make("child", owned_by(owner), owned_by(other))
    cluster.make("only", owned_by(owner))
    cluster.delete("owner", "Orphan")
    assert cluster.metadata("owner")["finalizers"] == ["orphan"]
    cluster.pass_by()
    assert cluster.names() == ["child", "only", "other"]
    assert cluster.metadata("child")["ownerReferences"] == [owned_by(other)]
    assert "ownerReferences" not in cluster.metadata("only")


def test_the_policy_may_stand_in_the_query_and_in_the_old_word(cluster: Cluster):
    owners = [cluster.make(name) for name in ("one", "two")]
    for owner in owners:
        cluster.make(f"of-{owner['metadata']['name']}", owned_by(owner))
    assert cluster.ask("DELETE", f"{MAPS}/one", propagationPolicy="Orphan").code == 200
    assert cluster.ask("DELETE", f"{MAPS}/two", {"orphanDependents": True}).code == 200
    cluster.pass_by()
    assert cluster.names() == ["of-one", "of-two"]
    refused = cluster.ask("DELETE", f"{MAPS}/of-one", propagationPolicy="Sideways")
    assert (refused.code, refused.value["reason"]) == (422, "Invalid")


def test_a_foreground_deletion_may_be_changed_to_a_background_one(cluster: Cluster):
    owner = cluster.make("owner")
    cluster.make("child", owned_by(owner, blockOwnerDeletion=True), finalizers=("example.com/mine",))
    cluster.delete("owner", "Foreground")
    cluster.pass_by()
    cluster.delete("owner", "Background")
    assert cluster.names() == ["child"]


def test_one_owner_that_is_there_suffices_and_the_others_are_forgotten(cluster: Cluster):
    gone, stays = cluster.make("gone"), cluster.make("stays")
    cluster.make("child", owned_by(gone), owned_by(stays))
    cluster.delete("gone")
    cluster.pass_by()
    assert cluster.metadata("child")["ownerReferences"] == [owned_by(stays)]
    cluster.delete("stays")
    cluster.pass_by()
    assert cluster.names() == []


def test_an_object_with_a_nonexistent_owner_is_deleted(cluster: Cluster):
    owner = cluster.make("owner")
    cluster.make("foreign", {**owned_by(owner), "uid": "another"})
    cluster.make("late", {**owned_by(owner), "name": "nobody"})
    cluster.pass_by()
    assert cluster.names() == ["owner"]


def test_an_owner_that_is_named_later_counts_from_then_on(cluster: Cluster):
    owner = cluster.make("owner")
    cluster.make("child")
    named = {"metadata": {"ownerReferences": [owned_by(owner)]}}
    assert cluster.ask("PATCH", f"{MAPS}/child", named, content_type=MERGE).code == 200
    cluster.delete("owner")
    cluster.pass_by()
    assert cluster.names() == []


def test_an_owner_of_a_kind_that_nobody_serves_is_left_alone(cluster: Cluster):
    stranger = {"apiVersion": "example.com/v1", "kind": "Engine", "name": "e", "uid": "1"}
    cluster.make("child", stranger)
    gone = cluster.make("gone")
    cluster.make("both", stranger, owned_by(gone))
    cluster.delete("gone")
    cluster.pass_by(3 * AGAIN_NS)
    assert cluster.names() == ["both", "child"]
    assert len(cluster.metadata("both")["ownerReferences"]) == 2


def define(cluster: Cluster) -> None:
    """Engines, in two versions of which the first is stored and not served."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": name == "v2", "storage": name == "v1", "schema": schema} for name in ("v1", "v2")
    ]
    names = {"plural": "engines", "singular": "engine", "kind": "Engine"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"metadata": {"name": "engines.example.com"}, "spec": spec}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert cluster.ask("POST", path, definition).code == 201


ENGINES = "/apis/example.com/v2/namespaces/default/engines"


def test_custom_resources_own_and_are_owned(cluster: Cluster):
    define(cluster)
    owner = cluster.make("owner")
    engine = cluster.make("engine", owned_by(owner, blockOwnerDeletion=True), path=ENGINES)
    cluster.make("part", owned_by(engine, blockOwnerDeletion=True), finalizers=("example.com/mine",))
    cluster.delete("owner", "Foreground")
    cluster.pass_by()
    assert cluster.metadata("engine", ENGINES)["finalizers"] == ["foregroundDeletion"]
    cluster.release("part")
    cluster.pass_by()
    assert cluster.names() == cluster.names(ENGINES) == []


def test_an_owner_of_a_kind_that_is_defined_later_counts_from_then_on(cluster: Cluster):
    cluster.make("child", {"apiVersion": "example.com/v2", "kind": "Engine", "name": "e", "uid": "1"})
    cluster.pass_by()
    define(cluster)
    cluster.pass_by(AGAIN_NS)
    assert cluster.names() == []


def test_owners_in_another_namespace_do_not_count_and_an_event_says_so(cluster: Cluster):
    assert cluster.ask("POST", NAMESPACES, {"metadata": {"name": "other"}}).code == 201
    owner = cluster.make("owner", path=f"{NAMESPACES}/other/configmaps")
    cluster.make("child", owned_by(owner))
    cluster.make("node", owned_by(owner), path=NODES)
    cluster.pass_by()
    assert cluster.names() == []
    # What is in no namespace cannot have such an owner, and is not deleted for it.
    assert cluster.names(NODES) == ["node"]
    events = cluster.get("/api/v1/namespaces/default/events").value["items"]
    told = {event["involvedObject"]["name"]: (event["reason"], event["message"]) for event in events}
    assert told.keys() == {"child", "node"}
    uid = owner["metadata"]["uid"]
    ref = f'[v1/ConfigMap, namespace: default, name: owner, uid: {uid}] does not exist in namespace "default"'
    assert told["child"] == ("OwnerRefInvalidNamespace", f"ownerRef {ref}")


def test_objects_owned_by_a_node_are_deleted_with_it(cluster: Cluster):
    node = cluster.make("n1", path=NODES)
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    cluster.make("n1", owned_by(node), path=leases)
    cluster.pass_by()
    cluster.delete("n1", path=NODES)
    cluster.pass_by()
    assert cluster.names(leases) == []


def test_thousands_of_dependents_go_within_seconds(cluster: Cluster):
    owner = cluster.make("owner")
    for number in range(1000):
        cluster.make(f"child-{number}", owned_by(owner, blockOwnerDeletion=True))
    cluster.delete("owner", "Foreground")
    cluster.pass_by(2 * SECOND_NS)
    assert cluster.names() == []


def test_one_that_cannot_be_deleted_holds_up_no_other(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    def grace(_: DataStrategy, old: Version, options: Any) -> int:
        if old.name == "broken":
            raise RuntimeError("a fault of the server")
        return 0

    monkeypatch.setattr(DataStrategy, "grace", grace)
    owner = cluster.make("owner")
    for name in ("broken", "child"):
        cluster.make(name, owned_by(owner))
    cluster.delete("owner")
    cluster.pass_by()
    assert cluster.names() == ["broken"]


def test_watches_that_are_cut_are_begun_again(cluster: Cluster):
    owner = cluster.make("owner")
    cluster.make("child", owned_by(owner))
    cluster.server.cut_watches()
    cluster.delete("owner")
    cluster.pass_by()
    assert cluster.names() == []


def test_a_namespace_ends_with_what_waits_in_it(cluster: Cluster):
    assert cluster.ask("POST", NAMESPACES, {"metadata": {"name": "other"}}).code == 201
    path = f"{NAMESPACES}/other/configmaps"
    owner = cluster.make("owner", path=path, finalizers=("orphan",))
    cluster.make("child", owned_by(owner, blockOwnerDeletion=True), path=path)
    cluster.delete("other", path=NAMESPACES)
    cluster.pass_by(10 * SECOND_NS)
    assert cluster.get(f"{NAMESPACES}/other").code == 404


def test_without_garbage_collection_deletion_policies_have_no_effect():
    plain = Server()
    owner = plain.ask("POST", MAPS, {"metadata": {"name": "owner"}}).value
    child = {"metadata": {"name": "child", "ownerReferences": [owned_by(owner, blockOwnerDeletion=True)]}}
    assert plain.ask("POST", MAPS, child).code == 201
    assert plain.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"}).code == 200
    assert plain.get(f"{MAPS}/owner").code == 404
    plain.world.run_for(60 * SECOND_NS)
    assert plain.get(f"{MAPS}/child").code == 200


def left_of(owners: dict[str, set[str]], name: str, policy: str) -> None:
    """As a table of names: which objects are left after that one was deleted."""
    del owners[name]
    for other in [other for other, named in owners.items() if name in named]:
        if other not in owners:
            continue
        owners[other].discard(name)
        if not owners[other] and policy != "Orphan":
            left_of(owners, other, policy)


@pytest.mark.parametrize("seed", range(8))
def test_only_objects_with_a_remaining_owner_stay(seed: int):
    chance, cluster = Random(seed), Cluster()
    made: dict[str, Any] = {}
    model: dict[str, set[str]] = {}
    for number in range(15):
        name = f"o{number}"
        named = chance.sample(sorted(made), min(len(made), chance.randrange(4)))
        blocks = [chance.random() < 0.5 for _ in named]
        owners = [owned_by(made[one], blockOwnerDeletion=block) for one, block in zip(named, blocks, strict=True)]
        made[name], model[name] = cluster.make(name, *owners), set(named)
    while model:
        name = chance.choice(sorted(model))
        policy = chance.choice(["Background", "Foreground", "Orphan"])
        cluster.delete(name, policy)
        left_of(model, name, policy)
        cluster.pass_by(5 * SECOND_NS)
        assert cluster.names() == sorted(model), (name, policy)


def test_a_job_is_deleted_without_its_dependents_unless_the_request_says_so(cluster: Cluster):
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    for name, options, left in (("old", None, ["of-old"]), ("new", {"propagationPolicy": "Background"}, ["of-old"])):
        job = cluster.ask("POST", JOBS, {"metadata": {"name": name}, "spec": {"template": template}}).value
        cluster.make(f"of-{name}", owned_by(job))
        answer = cluster.ask("DELETE", f"{JOBS}/{name}", options)
        warned = [text for text in answer.warnings if "child pods are preserved" in text]
        assert len(warned) == (options is None)
        cluster.pass_by()
        assert cluster.names() == left
    assert "ownerReferences" not in cluster.get(f"{MAPS}/of-old").value["metadata"]
