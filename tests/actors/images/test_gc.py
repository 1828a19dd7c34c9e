"""`ImageGCActor` with the simulated runtime: what goes when, what it says, and what a lease is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.images.gc import ImageGCActor, ImageTools
from actors.images.gc_rules import GcLimits
from actors.images.leases import ImageLeases
from actors.images.removal import OneRemoved
from actors.kernel import ActorSystem, Message, Promise, SimulatedDispatcher, broken
from actors.messages.events import RecordEvent
from actors.messages.images import ImagesLeased, LeaseImages, ReleaseImages
from actors.messages.node import ImagesChanged
from actors.messages.pods import KnownPods
from actors.messages.reclaim import ImagesReclaimed, ReclaimImages
from runtime.cri import CriError, StatusCode
from runtime.cri.verbs import REMOVE_IMAGE
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from runtime.stats.readings import FsReading
from simulation.cri import Settings, SimulatedCri
from simulation.cri.image_names import full_name, make_image
from tests.actors.recorders import Recorder, replace_handler

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
IMAGES = tuple(f"registry.test/image:{number}" for number in range(5))
SIZE = 100
PAUSE = "registry.k8s.io/pause:3.10"
LIMITS = GcLimits(min_age_ns=0, max_age_ns=0, high_percent=85, low_percent=80)


class World:
    """An actor, a runtime with five images of 10% each, and a file system.

    Other files take `other` percent of it.
    """

    def __init__(self, limits: GcLimits = LIMITS, other: int = 0) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.cri = SimulatedCri(self.dispatcher, Settings(images=IMAGES, image_size_bytes=SIZE))
        self.other = other
        self.capacity = 1000
        self.meters = Meters()
        self.held_up: list[tuple[Any, Promise[Any]]] = []
        self.hold_up = False
        self.refuse = False
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        status, self.changes = Recorder.spawn_in(self.system, "status", ImagesChanged)
        self.worker, self.leased = Recorder.spawn_in(self.system, "worker", ImagesLeased)
        self.asker, self.reclaimed = Recorder.spawn_in(self.system, "asker", ImagesReclaimed)
        what: Any = self
        tools = ImageTools(what, what, limits, ImageLeases(), "node", events, status, self.meters)
        self.gc = self.system.spawn(ImageGCActor, tools, name="image-gc")

    # --- its capabilities

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        if verb is REMOVE_IMAGE and self.refuse:
            return broken(CriError(StatusCode.UNKNOWN, "the disk is sick", verb.name))
        if verb is REMOVE_IMAGE and self.hold_up:
            promise: Promise[Any] = Promise()
            self.held_up.append((request, promise))
            return promise
        return self.cri.call(verb, request)

    def filesystem(self, path: str) -> FsReading:
        used = self.other * 10 + SIZE * len(self.images())
        return FsReading(0, self.capacity, max(0, self.capacity - used), used, 0, 0, 0)

    # --- what happens

    def tell(self, *messages: Message, seconds: float = 1) -> None:
        for message in messages:
            self.gc.tell(message)
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def begin(self, *uids: str) -> None:
        self.tell(KnownPods(frozenset(uids)), seconds=6)

    def lease(self, uid: str, *images: str) -> None:
        self.tell(LeaseImages(self.worker, uid, frozenset(images)))

    def removal_under_way(self) -> tuple[Any, Promise[Any]]:
        """All images are to be removed, and the runtime does not answer.

        Returns the only request, and the future that waits for its answer.
        """
        self.hold_up = True
        self.begin()
        self.tell(ReclaimImages(self.asker))
        (held_up,) = self.held_up
        return held_up

    def lost_removal(self) -> tuple[Any, Promise[Any]]:
        """As `removal_under_way`, and `let_go` does not carry it through."""
        held_up = self.removal_under_way()
        self.held_up.clear()
        return held_up

    def let_go(self) -> None:
        self.hold_up = False
        for request, promise in self.held_up:
            promise.set_result(self.cri.call(REMOVE_IMAGE, request).result(0))
        self.held_up.clear()
        self.dispatcher.run_for(SECOND_NS)

    def images(self) -> list[str]:
        """The numbers of the images that exist, without the image of sandboxes."""
        tags = [tag for image in self.cri.state.images.values() for tag in image.repo_tags]
        return sorted(tag.rpartition(":")[2] for tag in tags if tag != PAUSE)

    def said(self) -> list[str]:
        return [event.reason for event in self.events]

    def collected(self, reason: str) -> float:
        return self.meters.value(names.IMAGE_GARBAGE_COLLECTED, reason)


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        world.system.stop()
        assert PAUSE in world.cri.state.image_names, "the image of sandboxes is gone"


# (spec 6.5.1)
def test_images_go_until_the_file_system_is_at_the_low_threshold(worlds: list[World]) -> None:
    worlds.append(world := World(other=50))
    world.begin()
    assert len(world.images()) == 3
    assert world.collected("space") == 2
    assert world.said() == []
    assert len(world.changes) == 1
    world.tell(seconds=600)
    assert len(world.images()) == 3


# (spec 6.5.1)
def test_below_the_high_threshold_nothing_goes(worlds: list[World]) -> None:
    worlds.append(world := World(other=24))
    world.begin()
    world.tell(seconds=600)
    assert len(world.images()) == 5


# (spec 1.5.2)
def test_nothing_goes_before_every_source_has_spoken_and_ages_count_from_the_start(worlds: list[World]) -> None:
    worlds.append(world := World(msgspec.structs.replace(LIMITS, min_age_ns=2 * MINUTE_NS), other=50))
    world.tell(ReclaimImages(world.asker), seconds=900)
    assert len(world.images()) == 5
    world.other = 0
    world.begin()
    assert world.images() == []
    assert len(world.reclaimed) == 1


# (spec 6.5.3)
def test_nothing_goes_before_its_age(worlds: list[World]) -> None:
    worlds.append(world := World(msgspec.structs.replace(LIMITS, min_age_ns=2 * MINUTE_NS), other=50))
    world.begin()
    assert len(world.images()) == 5
    assert world.said() == ["FreeDiskSpaceFailed"]
    world.tell(seconds=300)
    assert len(world.images()) == 3
    assert world.said() == ["FreeDiskSpaceFailed"]


# (spec 6.5.4)
def test_an_image_past_its_maximum_age_is_removed_from_an_empty_disk(worlds: list[World]) -> None:
    worlds.append(world := World(GcLimits(0, 12 * MINUTE_NS, 100, 80)))
    world.lease("pod", IMAGES[0])
    world.begin("pod")
    world.tell(seconds=700)
    assert len(world.images()) == 5
    world.tell(seconds=300)
    assert world.images() == ["0"]
    assert world.collected("age") == 4
    world.tell(ReleaseImages("pod"), seconds=1500)
    assert world.images() == []


# (spec 6.5.5, 6.5.6)
def test_failing_to_free_space_is_an_event_and_twice_in_a_row_a_failure(worlds: list[World]) -> None:
    worlds.append(world := World(other=82))
    world.begin()
    assert world.images() == []
    assert world.said() == ["FreeDiskSpaceFailed"]
    assert "80%" in world.events[0].message
    world.tell(seconds=600)
    assert world.said() == ["FreeDiskSpaceFailed"]
    world.other = 90
    world.tell(seconds=300)
    world.tell(seconds=300)
    assert world.said() == ["FreeDiskSpaceFailed", "FreeDiskSpaceFailed", "FreeDiskSpaceFailed", "ImageGCFailed"]


# (spec 6.5.5)
def test_a_file_system_without_capacity_is_named(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.capacity = 0
    world.begin()
    assert world.said() == ["InvalidDiskCapacity"]
    assert len(world.images()) == 5


def test_one_image_that_cannot_be_removed_holds_up_no_other(worlds: list[World]) -> None:
    worlds.append(world := World(other=50))
    world.refuse = True
    world.begin()
    assert world.said() == ["FreeDiskSpaceFailed"]
    world.refuse = False
    world.tell(seconds=300)
    assert len(world.images()) == 3


# (spec 6.5.7)
def test_a_request_for_space_removes_all_unneeded_images(worlds: list[World]) -> None:
    worlds.append(world := World(msgspec.structs.replace(LIMITS, min_age_ns=2 * MINUTE_NS)))
    world.lease("pod", IMAGES[1])
    world.begin("pod")
    world.tell(ReclaimImages(world.asker), ReclaimImages(world.asker))
    assert world.images() == ["1"]
    assert world.reclaimed[0] == ImagesReclaimed(4 * SIZE, "")
    assert world.leased == [ImagesLeased(frozenset({IMAGES[1]}))]


def test_a_request_for_space_keeps_an_image_that_has_just_arrived(worlds: list[World]) -> None:
    worlds.append(world := World(msgspec.structs.replace(LIMITS, min_age_ns=2 * MINUTE_NS)))
    world.begin()
    new = "registry.test/image:new"
    world.cri.state.add_image(make_image(full_name(new), SIZE))
    world.tell(ReclaimImages(world.asker))
    assert world.images() == ["new"], "somebody may have brought it for a pod that is yet to come"
    assert world.reclaimed == [ImagesReclaimed(5 * SIZE, "")]
    world.tell(seconds=121)
    world.tell(ReclaimImages(world.asker))
    assert world.images() == []


def test_a_request_for_space_is_answered_when_the_runtime_is_down(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.begin()
    world.cri.go_down()
    world.tell(ReclaimImages(world.asker), seconds=10)
    assert "cannot be looked at" in world.reclaimed[0].error


def test_a_lease_that_comes_between_the_look_and_the_removal_keeps_the_image(worlds: list[World]) -> None:
    worlds.append(world := World())
    request, _ = world.removal_under_way()
    leaving = request.image.image
    others = [name for name in IMAGES if world.cri.state.image_names[name] != leaving]
    world.lease("late", *others[:2])
    assert world.leased == [ImagesLeased(frozenset(others[:2]))]
    world.let_go()
    assert world.images() == sorted(name.rpartition(":")[2] for name in others[:2])


def test_a_lease_of_an_image_under_removal_is_granted_after_the_removal(worlds: list[World]) -> None:
    worlds.append(world := World())
    request, _ = world.removal_under_way()
    leaving = request.image.image
    name = next(name for name in IMAGES if world.cri.state.image_names[name] == leaving)
    world.lease("late", name)
    assert world.leased == []
    world.let_go()
    assert world.leased == [ImagesLeased(frozenset({name}))]
    assert world.images() == []


def test_released_images_can_be_removed(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.lease("pod", *IMAGES)
    world.begin("pod")
    world.tell(ReclaimImages(world.asker))
    assert len(world.images()) == 5
    world.tell(ReleaseImages("pod"))
    world.tell(ReclaimImages(world.asker))
    assert world.images() == []


def test_leases_outlive_a_failure_of_the_actor(worlds: list[World], monkeypatch: pytest.MonkeyPatch) -> None:
    worlds.append(world := World())
    world.lease("pod", IMAGES[3])
    world.begin("pod")

    def broken_meter(*_: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(world.meters, "count", broken_meter)
        world.tell(ReclaimImages(world.asker))
    assert len(world.images()) == 4
    assert [answer.error for answer in world.reclaimed] == ["the collection failed"], "who asked is not left waiting"
    world.begin("pod")
    world.tell(ReclaimImages(world.asker))
    assert world.images() == ["3"]
    assert [answer.error for answer in world.reclaimed[1:]] == [""]


LOST = (StatusCode.DEADLINE_EXCEEDED, StatusCode.UNAVAILABLE)


@pytest.mark.parametrize("code", LOST)
def test_a_lease_waits_for_a_removal_whose_answer_was_lost_until_it_is_certain(
    worlds: list[World], code: StatusCode
) -> None:
    worlds.append(world := World())
    request, promise = world.lost_removal()
    promise.set_exception(CriError(code, "no answer", REMOVE_IMAGE.name))
    world.tell(seconds=1)
    name = next(name for name in IMAGES if world.cri.state.image_names[name] == request.image.image)
    world.lease("late", name)
    world.tell(seconds=3)
    assert world.leased == []
    world.cri.call(REMOVE_IMAGE, request)
    world.tell(seconds=20)
    assert world.leased == [], "it has gone, and nobody here knows"
    world.let_go()
    assert world.leased == [ImagesLeased(frozenset({name}))]


def test_a_hanging_removal_delays_neither_other_images_nor_the_requester(worlds: list[World]) -> None:
    worlds.append(world := World())
    _, promise = world.removal_under_way()
    promise.set_exception(CriError(StatusCode.DEADLINE_EXCEEDED, "no answer", REMOVE_IMAGE.name))
    world.held_up.clear()
    world.hold_up = False
    world.tell(seconds=2)
    assert len(world.images()) == 1
    assert len(world.reclaimed) == 1
    assert "no answer" in world.reclaimed[0].error
    world.tell(seconds=5)
    assert world.images() == []


def test_an_actor_that_begins_anew_carries_a_lost_removal_through(
    worlds: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds.append(world := World())
    request, promise = world.lost_removal()

    def fail_afterwards(collector: ImageGCActor, message: OneRemoved) -> None:
        collector.one_removed(message)
        raise RuntimeError("a mistake")

    with monkeypatch.context() as patched:
        replace_handler(patched, ImageGCActor, OneRemoved, fail_afterwards)
        promise.set_exception(CriError(StatusCode.UNAVAILABLE, "no answer", REMOVE_IMAGE.name))
        world.tell(seconds=1)
    name = next(name for name in IMAGES if world.cri.state.image_names[name] == request.image.image)
    world.lease("late", name)
    assert world.leased == []
    world.tell(seconds=6)
    world.let_go()
    assert world.leased == [ImagesLeased(frozenset({name}))]
