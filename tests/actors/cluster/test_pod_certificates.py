"""`PodCertificatesActor`: pods take turns to ask.

What becomes of a certificate is in `tests/simulation/node/test_pod_certificates.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.cluster.pod_certificates import PodCertificatesActor
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.events import RecordEvent
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    CertificatePlace,
    ObjectsChanged,
    PodCertificatesRead,
    PodCertificatesStarted,
    ReadPodCertificates,
    ReleaseObjects,
)
from config.documents.codec import from_builtins
from config.objects import Node, ObjectMeta, Pod, PodCertificateRequest, ServiceAccount
from runtime.api import ObjectList
from runtime.metrics.kubelet import POD_CERTIFICATES
from runtime.state.pod_keys import PodKey
from tests.actors.manual_api import ManualApi
from tests.actors.recorders import Recorder
from tests.work import lines_of


def pod(uid: str, projections: int = 1) -> Pod:
    source = {"podCertificate": {"signerName": "example.com/mesh", "keyType": "ED25519", "keyPath": "k"}}
    volume = {"name": "own", "projected": {"sources": [source] * projections}}
    spec = {"containers": [{"name": "a", "image": "b"}], "volumes": [volume], "serviceAccountName": f"of-{uid}"}
    return from_builtins({"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}, Pod)


class Counted:
    """Meters that remember the rows of the states."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], float] = {}

    def put(self, family: Any, value: float, *labels: str) -> None:
        assert family is POD_CERTIFICATES
        self.rows[labels] = value

    def drop(self, family: Any, *labels: str) -> None:
        del self.rows[labels]


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        node, _ = Recorder.spawn_in(self.system, "node-status", FollowNode)
        volumes, _ = Recorder.spawn_in(self.system, "volumes", PodCertificatesStarted, ObjectsChanged)
        events, _ = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.reader, self.heard = Recorder.spawn_in(self.system, "reader", PodCertificatesRead)
        self.meters = Counted()
        self.actor = self.system.spawn(
            *(PodCertificatesActor, self.api, "node", node, volumes, events, lambda *_: PodKey(b"k", b"p", b"s")),
            self.meters,
            name="pod-certificates",
        )
        self.actor.tell(NodeObserved(Node(metadata=ObjectMeta(name="node", uid="n"))))
        self.run()

    def run(self) -> None:
        self.dispatcher.run_for(0)

    def read(self, one: Pod) -> None:
        places = tuple(CertificatePlace("own", at) for at in range(len(one.spec.volumes[0].projected.sources)))  # type: ignore[union-attr]
        self.actor.tell(ReadPodCertificates(self.reader, one.metadata.uid, one, places))
        self.run()

    def release(self, uid: str) -> None:
        self.actor.tell(ReleaseObjects(uid))
        self.run()

    def asked(self) -> list[str]:
        """The pods of the calls that were made since the last look, without the list of requests."""
        calls, self.api.calls = self.api.calls, []
        return [call.turn_of for call in calls if not call.what.startswith("list")]

    def answer(self) -> None:
        """Answer the oldest open call, whichever step it is."""
        call = self.api.open_calls[0][0]
        if call.what.startswith("list"):
            self.api.answer(ObjectList((), "1"))
        elif call.what.startswith("get"):
            self.api.answer(ServiceAccount(metadata=ObjectMeta(name=call.name, uid="account")))
        else:
            self.api.answer(PodCertificateRequest(metadata=ObjectMeta(name="made", namespace="shop")))
        self.run()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_pod_with_many_certificates_does_not_hold_up_another(world: World) -> None:
    world.read(pod("large", 1_000))
    assert 0 < len(world.asked()) <= 4, "few of one pod are asked for at the same time"
    world.read(pod("small"))
    assert world.asked() == ["small"]
    assert [each.tag for each in world.heard] == ["large", "small"], "who reads is told at once that there is none yet"
    assert world.meters.rows == {("example.com/mesh", "not_yet_issued"): 1_001}


def test_when_all_places_are_taken_the_pods_take_turns(world: World) -> None:
    for uid in "abcdefgh":
        world.read(pod(uid, 10))
    assert len(world.asked()) == 16
    world.read(pod("small"))
    assert "small" not in world.asked()
    asked: list[str] = []
    while "small" not in asked and len(asked) < 100:
        world.answer()
        asked += world.asked()
    assert "small" in asked


def test_the_end_of_a_pod_makes_room_and_leaves_nothing(world: World) -> None:
    world.read(pod("large", 1_000))
    world.release("large")
    assert world.meters.rows == {}
    asked = len(world.asked())
    while world.api.open_calls:
        world.answer()
    assert world.asked() == [], f"nothing is asked after the {asked} calls in flight"
    world.read(pod("large", 5))
    assert len(world.asked()) == 4


def test_a_step_of_one_pod_costs_the_same_however_many_certificates_others_have() -> None:
    def cost(others: int) -> int:
        world = World()
        world.read(pod("large", others))

        def start_and_end() -> None:
            world.read(pod("small"))
            world.release("small")

        lines = lines_of(start_and_end)
        assert world.system.stop()
        return lines

    assert cost(1_000) <= 1.1 * cost(20)
