"""`PodJobs`: long work about one pod lets others have their turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.cluster.pod_jobs import STEPS, PodJobs
from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles, part


class Work(Message, frozen=True):
    uid: str
    steps: int


class Worker(Actor):
    mailbox_capacity = 4
    jobs = part(PodJobs)

    def __init__(self, done: list[str]) -> None:
        super().__init__()
        self.jobs = PodJobs(self)
        self.done = done

    @handles(Work)
    def work(self, message: Work) -> None:
        self.jobs.do(message.uid, self.steps(message))

    def steps(self, message: Work) -> Iterator[None]:
        for _ in range(message.steps):
            yield
        self.done.append(f"{message.uid}{message.steps}")


class World:
    def __init__(self) -> None:
        self.done: list[str] = []
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.worker = self.system.spawn(Worker, self.done, name="worker")
        self.dispatcher.run_for(0)

    def tell(self, *messages: Work) -> None:
        for each in messages:
            self.worker.tell(each)
        self.dispatcher.run_for(0)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_small_job_is_done_before_a_long_one_of_another_pod(world: World) -> None:
    world.tell(Work("a", 30 * STEPS), Work("b", 3), Work("c", STEPS))
    assert world.done == ["b3", f"c{STEPS}", f"a{30 * STEPS}"]


def test_jobs_of_one_pod_run_in_order(world: World) -> None:
    world.tell(Work("a", 3 * STEPS), Work("a", 1), Work("a", 2 * STEPS), Work("b", 1))
    assert world.done == ["b1", f"a{3 * STEPS}", "a1", f"a{2 * STEPS}"]


def test_a_long_job_goes_on_while_the_mailbox_is_full(world: World) -> None:
    world.tell(Work("a", 5 * STEPS), *(Work(uid, 1) for uid in "bcdefghi"))
    assert f"a{5 * STEPS}" in world.done
    world.tell(Work("z", 1))
    assert world.done[-1] == "z1"
