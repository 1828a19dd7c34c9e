"""`NodeSurveyActor`: what it examines, how often, and that a look that hangs stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import ActorSystem, Promise, SimulatedDispatcher
from actors.messages.node import (
    DiskObserved,
    ImagesChanged,
    ImagesObserved,
    MachineObserved,
    NetworkObserved,
    SurveyAgain,
)
from actors.node.status.survey import NodeSurveyActor
from simulation.cri import SimulatedCri
from simulation.host.facts import SimulatedHostFacts
from tests.actors.recorders import Recorder, only

SECOND_NS = 1_000_000_000


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.host = SimulatedHostFacts("n")
        self.cri = SimulatedCri(self.dispatcher)
        self.owner, self.told = Recorder.spawn_in(
            self.system, "owner", MachineObserved, NetworkObserved, DiskObserved, ImagesObserved
        )

    def start(self) -> World:
        self.survey = self.system.spawn(
            NodeSurveyActor, self.cri, self.host, "n", "/pods", 10 * SECOND_NS, self.owner, name="survey"
        )
        self.run(0)
        return self

    def run(self, seconds: int) -> None:
        self.dispatcher.run_for(seconds * SECOND_NS)

    def counts(self) -> dict[str, int]:
        kinds: tuple[type[Any], ...] = (MachineObserved, NetworkObserved, DiskObserved, ImagesObserved)
        return {kind.__name__.removesuffix("Observed").lower(): len(only(self.told, kind)) for kind in kinds}


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_everything_is_told_at_the_start_then_each_at_its_pace(world: World) -> None:
    world.start()
    assert world.counts() == {"machine": 1, "network": 1, "disk": 1, "images": 1}
    world.run(61)
    assert world.counts() == {"machine": 1, "network": 7, "disk": 7, "images": 2}


def test_after_a_pull_images_are_listed_at_the_next_look(world: World) -> None:
    world.start()
    world.survey.tell(ImagesChanged())
    world.run(11)
    assert world.counts()["images"] == 2


def test_a_disk_that_hangs_costs_one_thread_and_holds_up_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_mount: Promise[int] = Promise()
    with monkeypatch.context() as patched:
        patched.setattr(world.host, "disk_bytes", lambda _: dead_mount)
        world.start()
        world.run(25)
    assert world.counts() == {"machine": 1, "network": 3, "disk": 0, "images": 1}
    world.run(20)
    assert world.counts()["disk"] == 0  # no second thread is lost on a mount that holds one
    dead_mount.set_result(1)
    world.run(20)
    assert world.counts()["disk"] >= 1


def test_a_runtime_that_is_away_is_asked_for_its_images_at_each_look(world: World) -> None:
    world.cri.go_down()
    world.start()
    world.run(15)
    assert world.counts()["images"] == 0
    world.cri.come_back()
    world.run(10)
    assert world.counts()["images"] == 1


def test_an_owner_that_has_forgotten_everything_is_told_everything(world: World) -> None:
    world.start()
    world.survey.tell(SurveyAgain())
    world.run(0)
    assert world.counts() == {"machine": 2, "network": 2, "disk": 2, "images": 2}
