"""A worker's calls to the simulated runtime: done, failed, and abandoned for an urgent order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from actors.kernel import Actor, ActorSystem, Interrupted, Message, SimulatedDispatcher, handles, part
from actors.messages.pods import LookAgain
from actors.pod.runtime import PodCalls, PodObserver, container_call, sandbox_call
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri import messages as m
from runtime.cri import verbs as v
from tests.simulation.cri.pods import SECOND, Pods


class Do(Message, frozen=True):
    """Make one call of that name."""

    call: str
    target: str = ""


class Stop(Message, frozen=True):
    """Leave what you are at."""

    interrupts: ClassVar[bool] = True


class UnderWay(Message, frozen=True):
    """Ask: the calls whose outcome is not known."""


class Worker(Actor):
    """Makes calls for the pod `pod` and keeps what came of them."""

    calls = part(PodCalls)

    def __init__(self, cri: Cri, pods: Pods, told: list[Any]) -> None:
        super().__init__()
        self.calls = PodCalls(self, cri, PodObserver(self, cri, "uid-pod"))
        self._pods = pods
        self._told = told

    @handles(Do)
    async def do(self, message: Do) -> None:
        calls, pods = self.calls, self._pods
        try:
            if message.call == "sandbox":
                config = pods.sandbox_config(annotations={"late": "RunPodSandbox=10s*1"} if message.target else None)
                self._told.append(await calls.sandbox_made(0, calls.ask_for_sandbox(0, config, "")))
            elif message.call == "create":
                container = pods.container_config(name="app", attempt=2)
                self._told.append(await calls.create_container(message.target, container, pods.sandbox_config()))
            elif message.call == "start":
                await calls.start_container("app", 2, message.target)
                self._told.append("started")
            else:
                await calls.stop_sandbox(message.target)
                self._told.append("stopped")
        except CriError as failure:
            self._told.append(failure.code)
        except Interrupted:
            self._told.append("interrupted")
            raise

    @handles(Stop)
    def stop_it(self, _: Stop) -> None:
        self._told.append(self.calls.under_way())

    @handles(UnderWay)
    def under_way(self, _: UnderWay) -> frozenset[str]:
        return self.calls.under_way()

    @handles(LookAgain)
    def look(self, message: LookAgain) -> None:
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


def test_calls_that_end_leave_nothing_under_way(world: World):
    (sandbox,) = world.tell(Do("sandbox"))
    container = world.tell(Do("create", sandbox))[-1]
    assert world.tell(Do("start", container))[-1] == "started"
    assert world.state(container) == "RUNNING"
    assert world.under_way() == frozenset()


def test_a_call_that_fails_is_over(world: World):
    assert world.tell(Do("create", "no such sandbox")) == [StatusCode.NOT_FOUND]
    assert world.tell(Do("start", "no such container"))[-1] == StatusCode.NOT_FOUND
    assert world.under_way() == frozenset()


def test_a_call_left_behind_goes_on_and_is_told_when_it_ends(world: World):
    world.tell(Do("sandbox", "late"), then_ns=SECOND)
    name = sandbox_call(0)
    assert world.tell(Stop()) == ["interrupted", frozenset({name})]
    assert world.under_way() == {name}
    world.advance(9 * SECOND)
    assert world.told[-1] == LookAgain()
    assert world.under_way() == frozenset()
    assert len(world.cri.state.sandboxes) == 1


def test_a_start_left_behind_carries_the_name_and_the_attempt(world: World):
    sandbox = world.sandbox(start_delay="5s")
    container = world.create(sandbox, attempt=2)
    world.tell(Do("start", container), then_ns=SECOND)
    assert world.tell(Stop())[-1] == {container_call("app", 2)}
    world.advance(5 * SECOND)
    assert world.told[-1] == LookAgain()


def test_a_call_that_fails_after_it_was_left_behind_is_told_as_well(world: World):
    world.tell(Do("sandbox", "late"), then_ns=SECOND)
    world.tell(Stop())
    world.cri.go_down()
    world.advance(0)
    assert world.told[-1] == LookAgain()
    assert world.under_way() == frozenset()


def test_a_call_that_never_answers_is_told_at_its_deadline(world: World):
    sandbox = world.sandbox(hang="StartContainer")
    container = world.create(sandbox, attempt=2)
    world.tell(Do("start", container), then_ns=SECOND)
    world.tell(Stop())
    world.advance(118 * SECOND)
    assert world.under_way() == {container_call("app", 2)}
    world.advance(SECOND)
    assert world.told[-1] == LookAgain()


# (spec 2.8.2, 3.10.16)
def test_spec_3_10_a_sandbox_that_is_gone_is_stopped(world: World):
    sandbox = world.sandbox()
    assert world.tell(Do("stop", sandbox)) == ["stopped"]
    world.ask(v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=sandbox))
    assert world.tell(Do("stop", sandbox)) == ["stopped"] * 2


def test_spec_3_10_a_sandbox_that_cannot_be_stopped_is_a_failure(world: World):
    sandbox = world.sandbox(fail="StopPodSandbox")
    (code,) = world.tell(Do("stop", sandbox))
    assert isinstance(code, StatusCode)
