"""Mirror pods: made for every static pod, replaced when they show something else, gone with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.mirrors import (
    MirrorActorStarted,
    MirrorPodChanged,
    MirrorPodSeen,
    StaticPodDesired,
    StaticPodGone,
    StaticSourcesReady,
)
from actors.messages.pods import FollowNode, NodeObserved, Operation
from actors.sources.mirror_pods import MirrorPodActor, mirror_of
from config.objects import Container, Node, ObjectMeta, Pod, PodSpec
from config.pods.identity import CONFIG_HASH, CONFIG_SOURCE
from runtime.api import ApiError
from tests.actors.manual_api import ManualApi, unreachable
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
NODE = Node(metadata=ObjectMeta(name="n1", uid="node-uid"))


def static(config_hash: str = "h1", name: str = "web-n1") -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=config_hash,
            annotations={CONFIG_HASH: config_hash, CONFIG_SOURCE: "file"},
        ),
        spec=PodSpec(node_name="n1", containers=(Container(name="web", image="i"),)),
    )


def mirror(config_hash: str = "h1", uid: str = "m1", **meta: Any) -> Pod:
    made = mirror_of(static(config_hash), "n1", "node-uid")
    return msgspec.structs.replace(
        made, metadata=msgspec.structs.replace(made.metadata, uid=uid, resource_version="1", **meta)
    )


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, self.asked = Recorder.spawn_in(self.system, "sync-loop", MirrorActorStarted)
        status, self.seen = Recorder.spawn_in(self.system, "status", MirrorPodSeen)
        node, self.followed = Recorder.spawn_in(self.system, "node-status", FollowNode)
        self.mirrors = self.system.spawn(MirrorPodActor, self.api, "n1", sync_loop, status, node, name="mirrors")
        self.run()

    def run(self, ns: int = SECOND_NS // 10) -> None:
        self.dispatcher.run_for(ns)

    def tell(self, *messages: Any) -> None:
        for message in messages:
            self.mirrors.tell(message)
        self.run()

    def asked_for(self) -> list[tuple[str, str]]:
        return [(call.method, call.path) for call, _ in self.api.open_calls]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()


PODS_PATH = "/api/v1/namespaces/default/pods"
POD_PATH = f"{PODS_PATH}/web-n1"


# (spec 1.7.1)
def test_a_mirror_is_made_as_soon_as_the_node_is_known(world: World):
    world.tell(StaticPodDesired(static()))
    assert world.asked_for() == []
    world.tell(NodeObserved(NODE))
    assert world.asked_for() == [("POST", PODS_PATH)]
    body = json.loads(world.api.calls[0].body or b"")
    assert body["metadata"]["ownerReferences"][0]["uid"] == "node-uid"
    world.api.answer(mirror())
    world.run()
    assert world.seen[-1] == MirrorPodSeen("h1", mirror())
    world.tell(MirrorPodChanged(Operation.ADD, mirror()))
    assert world.asked_for() == []


# (spec 1.7.2)
def test_an_existing_mirror_is_adopted(world: World):
    world.tell(NodeObserved(NODE), MirrorPodChanged(Operation.ADD, mirror()), StaticPodDesired(static()))
    assert world.asked_for() == []
    assert world.seen[-1] == MirrorPodSeen("h1", mirror())


# (spec 1.7.4)
def test_a_mirror_of_an_older_manifest_is_replaced(world: World):
    world.tell(NodeObserved(NODE), MirrorPodChanged(Operation.ADD, mirror("h0")), StaticPodDesired(static()))
    assert world.asked_for() == [("DELETE", POD_PATH)]
    assert json.loads(world.api.calls[0].body or b"")["preconditions"] == {"uid": "m1"}
    assert world.seen[-1] == MirrorPodSeen("h1", None)
    world.api.answer(None)
    world.run()
    assert world.asked_for() == [("POST", PODS_PATH)]


# (spec 1.7.4)
def test_a_deleted_mirror_is_created_again(world: World):
    world.tell(NodeObserved(NODE), MirrorPodChanged(Operation.ADD, mirror()), StaticPodDesired(static()))
    world.tell(MirrorPodChanged(Operation.DELETE, mirror(deletion_timestamp="2026-11-21T00:00:00Z")))
    assert world.asked_for() == [("DELETE", POD_PATH)]
    world.api.answer(None)
    world.run()
    assert world.asked_for() == [("POST", PODS_PATH)]


# (spec 1.6.2, 2.10.3)
def test_a_mirror_without_a_static_pod_is_deleted_once_every_source_has_reported(world: World):
    world.tell(NodeObserved(NODE), MirrorPodChanged(Operation.ADD, mirror()))
    assert world.asked_for() == []
    world.tell(StaticSourcesReady())
    assert world.asked_for() == [("DELETE", POD_PATH)]


# (spec 1.7.5)
def test_a_mirror_is_deleted_with_its_static_pod(world: World):
    world.tell(
        NodeObserved(NODE),
        StaticSourcesReady(),
        MirrorPodChanged(Operation.ADD, mirror()),
        StaticPodDesired(static()),
        StaticPodGone("h1"),
    )
    assert world.asked_for() == [("DELETE", POD_PATH)]
    world.api.answer(None)
    world.tell(MirrorPodChanged(Operation.REMOVE, mirror()))
    assert world.asked_for() == []


# (spec 1.7.5)
def test_the_end_of_an_older_static_pod_takes_nothing_from_the_newer_of_its_name(world: World):
    world.tell(NodeObserved(NODE), StaticSourcesReady(), StaticPodDesired(static("h1")), StaticPodDesired(static("h2")))
    world.api.answer(mirror("h1"))
    world.run()
    assert world.asked_for() == [("DELETE", POD_PATH)]  # it shows the older
    world.api.answer(None)
    world.tell(StaticPodGone("h1"))
    assert world.asked_for() == [("POST", PODS_PATH)]


def test_a_mirror_is_tried_ever_more_slowly_until_the_api_server_answers(world: World):
    world.tell(NodeObserved(NODE), StaticPodDesired(static()))
    for _ in range(20):
        world.api.fail(unreachable())
        world.run(90 * SECOND_NS)
    assert len(world.api.calls) == 21
    world.api.answer(mirror())
    world.run()
    assert world.seen[-1] == MirrorPodSeen("h1", mirror())


def test_a_mirror_does_not_replace_another_pod_of_its_name(world: World):
    taken = ApiError(409, "AlreadyExists", 'pods "web-n1" already exists', "create pods")
    world.tell(NodeObserved(NODE), StaticPodDesired(static()))
    world.api.fail(taken)
    world.run()
    assert world.asked_for() == [("GET", POD_PATH)]
    world.api.answer(Pod(metadata=ObjectMeta(name="web-n1", namespace="default", uid="x")))
    world.run()
    assert world.asked_for() == []
    world.run(5 * SECOND_NS)
    assert world.asked_for() == [("POST", PODS_PATH)]


def test_a_mirror_made_by_a_call_whose_answer_was_lost_is_found(world: World):
    world.tell(NodeObserved(NODE), StaticPodDesired(static()))
    world.api.fail(ApiError(409, "AlreadyExists", "exists", "create pods"))
    world.run()
    world.api.answer(mirror())
    world.run()
    assert world.seen[-1] == MirrorPodSeen("h1", mirror())
    assert world.asked_for() == []


# (spec 1.7.3)
def test_a_node_under_deletion_gets_no_mirrors(world: World):
    going = Node(metadata=ObjectMeta(name="n1", uid="node-uid", deletion_timestamp="2026-11-21T00:00:00Z"))
    world.tell(NodeObserved(going), StaticPodDesired(static()))
    assert world.asked_for() == []


def test_after_a_failure_the_mirror_actor_asks_for_everything_again(world: World):
    world.mirrors.tell(StaticPodDesired(None))  # type: ignore[arg-type]
    world.run(2 * SECOND_NS)
    assert len(world.asked) == 2
    assert len(world.followed) == 2
