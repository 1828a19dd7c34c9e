"""Deeds of a worker on the simulated runtime: done, failed, and left behind by an order that interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from actors.kernel import Actor, ActorSystem, Interrupted, Message, SimulatedDispatcher, handles
from actors.pod.deeds import DeedEnded, Deeds, container_deed, sandbox_deed
from actors.pod.observer import PodObserver
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri import messages as m
from runtime.cri import verbs as v
from tests.simulation.cri.pods import SECOND, Pods


class Do(Message, frozen=True):
    """Do one deed of that name."""

    deed: str
    target: str = ""


class Stop(Message, frozen=True):
    """Leave what you are at."""

    interrupts: ClassVar[bool] = True


class UnderWay(Message, frozen=True):
    """Ask: the deeds whose outcome is not known."""


class Worker(Actor):
    """Does deeds of the pod `pod` and keeps what came of them."""

    def __init__(self, cri: Cri, pods: Pods, told: list[Any]) -> None:
        super().__init__()
        self._deeds = Deeds(self, cri, PodObserver(self, cri, "uid-pod"))
        self._pods = pods
        self._told = told

    @handles(Do)
    async def do(self, message: Do) -> None:
        deeds, pods = self._deeds, self._pods
        try:
            if message.deed == "sandbox":
                config = pods.sandbox_config(annotations={"late": "RunPodSandbox=10s*1"} if message.target else None)
                self._told.append(await deeds.run_sandbox(0, config, ""))
            elif message.deed == "create":
                container = pods.container_config(name="app", attempt=2)
                self._told.append(await deeds.create_container(message.target, container, pods.sandbox_config()))
            elif message.deed == "start":
                await deeds.start_container("app", 2, message.target)
                self._told.append("started")
            else:
                await deeds.stop_sandbox(message.target)
                self._told.append("stopped")
        except CriError as failure:
            self._told.append(failure.code)
        except Interrupted:
            self._told.append("interrupted")
            raise

    @handles(Stop)
    def stop_it(self, _: Stop) -> None:
        self._told.append(self._deeds.under_way())

    @handles(UnderWay)
    def under_way(self, _: UnderWay) -> frozenset[str]:
        return self._deeds.under_way()

    @handles(DeedEnded)
    def ended(self, message: DeedEnded) -> None:
        self._deeds.ended(message.name)
        self._told.append(message)


class World(Pods):
    def __init__(self) -> None:
        super().__init__()
        assert isinstance(self.dispatcher, SimulatedDispatcher)
        self.system = ActorSystem(self.dispatcher)
        self.told: list[Any] = []
        self.worker = self.system.spawn(Worker, self.cri, self, self.told, name="worker")

    def tell(self, message: Message, then_ns: int = 0) -> list[Any]:
        self.worker.tell(message)
        self.advance(then_ns)
        return self.told

    def under_way(self) -> frozenset[str]:
        found: frozenset[str] = self.worker.ask(UnderWay())
        return found


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_deeds_that_end_leave_nothing_under_way(world: World):
    (sandbox,) = world.tell(Do("sandbox"))
    container = world.tell(Do("create", sandbox))[-1]
    assert world.tell(Do("start", container))[-1] == "started"
    assert world.state(container) == "RUNNING"
    assert world.under_way() == frozenset()


def test_a_deed_that_fails_is_over(world: World):
    assert world.tell(Do("create", "no such sandbox")) == [StatusCode.NOT_FOUND]
    assert world.tell(Do("start", "no such container"))[-1] == StatusCode.NOT_FOUND
    assert world.under_way() == frozenset()


def test_a_deed_left_behind_goes_on_and_is_told_when_it_ends(world: World):
    world.tell(Do("sandbox", "late"), then_ns=SECOND)
    name = sandbox_deed(0)
    assert world.tell(Stop()) == ["interrupted", frozenset({name})]
    assert world.under_way() == {name}
    world.advance(9 * SECOND)
    assert world.told[-1] == DeedEnded(name)
    assert world.under_way() == frozenset()
    assert len(world.cri.state.sandboxes) == 1


def test_a_start_left_behind_carries_the_name_and_the_attempt(world: World):
    sandbox = world.sandbox(start_delay="5s")
    container = world.create(sandbox, attempt=2)
    world.tell(Do("start", container), then_ns=SECOND)
    assert world.tell(Stop())[-1] == {container_deed("app", 2)}
    world.advance(5 * SECOND)
    assert world.told[-1] == DeedEnded("container app 2")


def test_a_deed_that_fails_after_it_was_left_behind_is_told_as_well(world: World):
    world.tell(Do("sandbox", "late"), then_ns=SECOND)
    world.tell(Stop())
    world.cri.go_down()
    world.advance(0)
    assert world.told[-1] == DeedEnded(sandbox_deed(0))
    assert world.under_way() == frozenset()


def test_a_deed_that_never_answers_is_told_at_its_deadline(world: World):
    sandbox = world.sandbox(hang="StartContainer")
    container = world.create(sandbox, attempt=2)
    world.tell(Do("start", container), then_ns=SECOND)
    world.tell(Stop())
    world.advance(118 * SECOND)
    assert world.under_way() == {container_deed("app", 2)}
    world.advance(SECOND)
    assert world.told[-1] == DeedEnded(container_deed("app", 2))


def test_spec_3_10_a_sandbox_that_is_gone_is_stopped(world: World):
    sandbox = world.sandbox()
    assert world.tell(Do("stop", sandbox)) == ["stopped"]
    world.ask(v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=sandbox))
    assert world.tell(Do("stop", sandbox)) == ["stopped"] * 2


def test_spec_3_10_a_sandbox_that_cannot_be_stopped_is_a_failure(world: World):
    sandbox = world.sandbox(fail="StopPodSandbox")
    (code,) = world.tell(Do("stop", sandbox))
    assert isinstance(code, StatusCode)
