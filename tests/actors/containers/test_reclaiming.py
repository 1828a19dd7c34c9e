"""Requests for space: dead containers of finished pods are removed before their time."""

from __future__ import annotations

import pytest

from actors.containers.gc import ContainerGCActor
from actors.containers.gc_rules import GcPolicy
from actors.containers.removal import DeadListed
from actors.messages.pods import PodWorkerStarted
from actors.messages.reclaim import ContainersReclaimed, ReclaimContainers
from actors.messages.status import PodFinished
from tests.actors.containers.dead_containers import World, crashed, known
from tests.actors.containers.test_gc_rules import sandbox
from tests.actors.recorders import replace_handler


# (spec 3.12.6)
def test_a_request_for_space_removes_all_dead_containers_of_finished_pods(world: World):
    world.runtime.add(*crashed("lives", 2), *crashed("done", 2), sandbox("s", "done"), sandbox("t", "lives"))
    world.tell(PodWorkerStarted("lives", world.worker), PodWorkerStarted("done", world.worker))
    world.tell(PodFinished("done"), *known("lives", "done"), seconds=1)
    assert world.left() == {"lives1", "done1", "s", "t"}
    world.tell(ReclaimContainers(world.worker), ReclaimContainers(world.worker), seconds=1)
    assert world.left() == {"lives1", "t"}
    assert set(world.answers) == {ContainersReclaimed()}


def test_a_finished_pod_is_recorded_even_if_its_start_was_never_announced(world: World):
    world.runtime.add(*crashed("done", 2))
    world.tell(PodFinished("done"), *known("done"), *known("done"), seconds=1)
    world.tell(ReclaimContainers(world.worker), seconds=1)
    assert world.left() == set()


def test_a_pod_that_begins_again_has_not_finished(world: World):
    world.runtime.add(*crashed("p", 1))
    world.tell(PodFinished("p"), PodWorkerStarted("p", world.worker), *known("p"), seconds=1)
    world.tell(ReclaimContainers(world.worker), seconds=1)
    assert world.left() == {"p0"}
    assert world.answers == [ContainersReclaimed()]


def test_a_request_for_space_is_answered_with_the_removal_error(world: World):
    world.runtime.add(*crashed("gone", 2))
    world.runtime.refusing.add("gone0")
    world.tell(*known(), ReclaimContainers(world.worker), seconds=1)
    assert world.left() == {"gone0"}
    world.tell(ReclaimContainers(world.worker), seconds=1)
    assert "container c (gone0)" in world.answers[-1].error


def test_a_request_for_space_ignores_the_minimum_age():
    world = World(GcPolicy(min_age_ns=10**18 * 10))
    world.runtime.add(*crashed("p", 3))
    world.tell(PodWorkerStarted("p", world.worker), *known("p"), seconds=1)
    assert len(world.left()) == 3
    world.tell(ReclaimContainers(world.worker), seconds=1)
    assert world.left() == {"p2"}
    assert world.system.stop()


def test_a_request_for_space_is_answered_when_the_collection_fails(world: World, monkeypatch: pytest.MonkeyPatch):
    world.runtime.add(*crashed("gone", 2))
    with monkeypatch.context() as patched:
        replace_handler(patched, ContainerGCActor, DeadListed, lambda *_: 1 / 0)
        world.tell(*known(), ReclaimContainers(world.worker), seconds=1)
    assert [answer.error for answer in world.answers] == ["the collection failed"]
