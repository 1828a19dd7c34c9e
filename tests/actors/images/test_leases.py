"""The book of leases: what counts as leased, and from when to when."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.images.leases import ImageLeases
from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.images import LeaseImages
from runtime.cri.messages import Image
from tests.actors.recorders import Recorder

BUSYBOX = Image(id="sha256:1", repo_tags=("docker.io/library/busybox:1",))
OTHER = Image(id="sha256:2", repo_tags=("docker.io/library/other:1",))


@pytest.fixture
def worker() -> Iterator[ActorRef]:
    system = ActorSystem(SimulatedDispatcher(1))
    yield Recorder.spawn_in(system, "worker")[0]
    system.stop()


def test_a_lease_holds_until_the_last_pod_that_has_one_has_ended(worker: ActorRef) -> None:
    leases = ImageLeases()
    assert leases.lease(LeaseImages(worker, "a", frozenset({"busybox:1", "other:1"})))
    assert leases.lease(LeaseImages(worker, "b", frozenset({"docker.io/library/busybox:1"})))
    leases.release("a")
    leases.begin_look()
    assert not leases.is_free(BUSYBOX)
    assert leases.is_free(OTHER)
    leases.release("b")
    leases.begin_look()
    assert leases.is_free(BUSYBOX)


def test_a_lease_that_ends_during_a_look_counts_until_the_next(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.lease(LeaseImages(worker, "a", frozenset({"busybox:1"})))
    leases.begin_look()
    leases.release("a")
    assert not leases.is_free(BUSYBOX)
    assert "busybox:1" in leases.needed()
    leases.begin_look()
    assert leases.is_free(BUSYBOX)
    assert not leases.needed()


def test_a_lease_that_ends_between_two_looks_leaves_nothing(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.begin_look()
    for uid in ("a", "b"):
        leases.lease(LeaseImages(worker, uid, frozenset({f"{uid}:1"})))
    leases.release("a")
    leases.end_look()
    leases.release("b")
    assert not leases.needed()


def test_the_newest_lease_of_a_pod_replaces_the_one_before(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.lease(LeaseImages(worker, "a", frozenset({"busybox:1"})))
    leases.lease(LeaseImages(worker, "a", frozenset({"other:1"})))
    leases.begin_look()
    assert leases.is_free(BUSYBOX)
    assert not leases.is_free(OTHER)


def test_a_lease_of_a_leaving_image_is_held_once_it_has_left(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.leaves(BUSYBOX)
    waits = LeaseImages(worker, "a", frozenset({"busybox:1"}))
    assert not leases.lease(waits)
    assert leases.lease(LeaseImages(worker, "b", frozenset({"other:1"})))
    assert leases.leaving() == (BUSYBOX,)
    assert leases.has_left(BUSYBOX) == [waits]
    assert leases.has_left(BUSYBOX) == []
    assert not leases.is_free(BUSYBOX)


def test_a_leaving_image_is_not_removed_twice_and_a_lease_of_several_waits_for_all(worker: ActorRef) -> None:
    leases = ImageLeases()
    for image in (BUSYBOX, OTHER):
        leases.leaves(image)
        assert not leases.is_free(image)
    both = LeaseImages(worker, "a", frozenset({"busybox:1", "other:1"}))
    assert not leases.lease(both)
    assert leases.has_left(BUSYBOX) == []
    assert leases.leaving() == (OTHER,)
    assert leases.has_left(OTHER) == [both]


def test_a_pod_that_ended_or_changed_its_images_stops_waiting(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.leaves(BUSYBOX)
    for uid in ("ended", "other"):
        leases.lease(LeaseImages(worker, uid, frozenset({"busybox:1"})))
    leases.release("ended")
    assert leases.lease(LeaseImages(worker, "other", frozenset({"other:1"})))
    assert leases.has_left(BUSYBOX) == []


def test_pods_that_nobody_knows_have_no_lease(worker: ActorRef) -> None:
    leases = ImageLeases()
    for uid in ("known", "lost"):
        leases.lease(LeaseImages(worker, uid, frozenset({f"{uid}:1"})))
    leases.keep_only({"known"})
    leases.begin_look()
    assert leases.needed() == {"known:1"}


def test_a_leased_image_cannot_be_removed(worker: ActorRef) -> None:
    leases = ImageLeases()
    leases.lease(LeaseImages(worker, "a", frozenset({"busybox:1"})))
    with pytest.raises(AssertionError, match="with a lease"):
        leases.leaves(BUSYBOX)
