"""How a worker looks at its pod on the simulated runtime.

What it sees, what it asks for, and what a failure leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import Actor, ActorSystem, Message, Pending, Promise, broken, handles
from actors.model.runtime_shown import Shown
from actors.pod.runtime import Look, PodObserver
from config.frozen_map import FrozenMap
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.messages import ContainerState
from tests.simulation.cri.pods import SECOND, Pods

STATUSES = ("PodSandboxStatus", "ContainerStatus")


class TakeALook(Message, frozen=True):
    """Ask: what there is of the pod.

    `everything`: anything may have changed; `doubt`: these may have. `nothing_begun`: nothing of it can be there yet.
    """

    everything: bool = True
    doubt: tuple[str, ...] = ()
    nothing_begun: bool = False


class Told(Message, frozen=True):
    """Ask: whether this is news."""

    shown: Shown


class Looker(Actor):
    def __init__(self, cri: Cri) -> None:
        super().__init__()
        self._observer = PodObserver(self, cri, "uid-pod")

    @handles(Told)
    def told(self, message: Told) -> bool:
        return self._observer.told(message.shown)

    @handles(TakeALook)
    async def look(self, message: TakeALook) -> Look | CriError:
        if message.nothing_begun:
            self._observer.nothing_begun()
        elif message.everything:
            self._observer.doubt_all()
        for each in message.doubt:
            self._observer.doubt(each)
        try:
            await self._observer.look()
        except CriError as failure:
            assert all(status.id for part in self._observer.seen() for status in part)
            return failure
        return self._observer.seen()


class Counted:
    """A runtime that counts what it is asked; `fails`, `hangs`: ids whose status call does."""

    def __init__(self, cri: Cri) -> None:
        self._cri = cri
        self.asked: Counter[str] = Counter()
        self.fails: set[str] = set()
        self.hangs: set[str] = set()

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Pending[Any]:
        self.asked[verb.name] += 1
        if getattr(request, "container_id", "") in self.fails:
            return broken(CriError(StatusCode.UNKNOWN, "no such shim", verb.name))
        if getattr(request, "container_id", "") in self.hangs:
            return Promise()
        return self._cri.call(verb, request, timeout_ns=timeout_ns)

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")

    def statuses(self) -> int:
        """Status calls since the last time."""
        count = sum(self.asked[name] for name in STATUSES)
        self.asked.clear()
        return count


class World(Pods):
    def __init__(self) -> None:
        super().__init__()
        self.system = ActorSystem(self.dispatcher)
        self.counted = Counted(self.cri)
        self.looker = self.system.spawn(Looker, self.counted, name="looker")

    def look(self, *doubt: str, everything: bool = True) -> tuple[list[str], list[str]]:
        """The states of sandboxes and of containers."""
        found = self.looker.ask(TakeALook(everything, doubt))
        assert isinstance(found, tuple), found
        sandboxes, containers = found
        return (
            ["READY" if each.ready else "NOTREADY" for each in sandboxes],
            [ContainerState(each.state).name.removeprefix("CONTAINER_") for each in containers],
        )

    def remove(self, container: str) -> None:
        self.ask(v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=container))


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_pod_that_is_not_there_is_nothing(world: World):
    assert world.look() == ([], [])
    assert world.counted.asked == {"ListPodSandbox": 1, "ListContainers": 1}


def test_a_pod_of_which_nothing_can_have_begun_is_not_asked_for_until_the_runtime_reports_something(world: World):
    assert world.looker.ask(TakeALook(nothing_begun=True)) == ((), ())
    assert not world.counted.asked
    container = world.run(world.sandbox())
    assert world.looker.ask(Told(FrozenMap({container: ContainerState.CONTAINER_RUNNING})))
    assert world.look(everything=False) == (["READY"], ["RUNNING"])


def test_a_report_counts_for_more_than_the_word_that_nothing_has_begun(world: World):
    container = world.run(world.sandbox())
    assert world.looker.ask(Told(FrozenMap({container: ContainerState.CONTAINER_RUNNING})))
    assert len(world.looker.ask(TakeALook(nothing_begun=True))[1]) == 1


def test_only_the_pods_own_sandboxes_and_containers_are_seen(world: World):
    world.run(world.sandbox())
    world.run(world.sandbox("other"), "other")
    assert world.look() == (["READY"], ["RUNNING"])


def test_a_look_asks_no_status_of_unchanged_containers(world: World):
    sandbox = world.sandbox()
    first = world.run(sandbox)
    world.run(sandbox, name="side")
    world.look()
    assert world.counted.statuses() == 3
    world.look()
    assert world.counted.statuses() == 0
    world.cri.kill_container(first)
    assert world.look() == (["READY"], ["EXITED", "RUNNING"])
    assert world.counted.statuses() == 1
    world.cri.lose_sandbox(sandbox)
    assert world.look() == (["NOTREADY"], ["EXITED", "RUNNING"])
    assert world.counted.statuses() == 0, "that a sandbox has ended is all there is to know of it, and the list says it"


def test_a_look_forgets_removed_containers(world: World):
    container = world.run(world.sandbox())
    world.look()
    world.cri.kill_container(container)
    world.look()
    world.remove(container)
    assert world.look() == (["READY"], [])


def test_a_container_that_vanishes_during_a_look_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch):
    world.counted.fails = set()
    container = world.run(world.sandbox())
    listed = world.ask(v.LIST_CONTAINERS, m.ListContainersRequest())
    world.cri.kill_container(container)
    world.remove(container)
    call = world.counted.call

    def stale(verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        if verb is v.LIST_CONTAINERS:
            promise: Promise[Any] = Promise()
            promise.set_result(listed)
            return promise
        return call(verb, request, timeout_ns=timeout_ns)

    monkeypatch.setattr(world.counted, "call", stale)
    assert world.look() == (["READY"], [])


def test_a_look_without_doubts_asks_the_runtime_nothing(world: World):
    container = world.run(world.sandbox())
    world.look(everything=False)
    world.counted.asked.clear()
    world.cri.kill_container(container)
    assert world.look(everything=False) == (["READY"], ["RUNNING"]), "who looks at the runtime tells of it"
    assert not world.counted.asked


# (spec 2.5.4)
def test_a_look_asks_only_for_the_containers_in_doubt(world: World):
    sandbox = world.sandbox()
    first = world.run(sandbox)
    second = world.run(sandbox, name="side")
    world.look()
    world.counted.asked.clear()
    for container in (first, second):
        world.cri.kill_container(container)
    assert world.look(first, everything=False) == (["READY"], ["EXITED", "RUNNING"])
    assert world.counted.asked == {"ContainerStatus": 1}
    world.cri.lose_sandbox(sandbox)
    assert world.look(sandbox, second, everything=False) == (["NOTREADY"], ["EXITED", "EXITED"])
    assert world.counted.asked == {"ContainerStatus": 2, "PodSandboxStatus": 1}
    world.remove(first)
    assert world.look(first, everything=False) == (["NOTREADY"], ["EXITED"])
    assert "ListContainers" not in world.counted.asked


def test_news_of_an_unknown_container_causes_a_full_list(world: World):
    sandbox = world.sandbox()
    first = world.run(sandbox)
    world.look()
    second = world.run(sandbox, name="side")
    world.counted.asked.clear()
    assert not world.looker.ask(Told(FrozenMap({first: ContainerState.CONTAINER_RUNNING})))
    assert world.look(everything=False) == (["READY"], ["RUNNING"])
    assert world.looker.ask(Told(FrozenMap({second: ContainerState.CONTAINER_RUNNING})))
    assert world.look(everything=False) == (["READY"], ["RUNNING", "RUNNING"])
    assert world.counted.asked == {"ListPodSandbox": 1, "ListContainers": 1, "ContainerStatus": 1}


# (spec 2.5.4)
def test_news_of_a_known_container_causes_a_look_at_it_alone(world: World):
    container = world.run(world.sandbox())
    world.look()
    world.cri.kill_container(container)
    world.counted.asked.clear()
    assert world.looker.ask(Told(FrozenMap({container: ContainerState.CONTAINER_EXITED})))
    assert world.look(everything=False) == (["READY"], ["EXITED"])
    assert world.counted.asked == {"ContainerStatus": 1}
    assert not world.looker.ask(Told(FrozenMap({container: ContainerState.CONTAINER_EXITED})))


# (spec 2.5.2)
def test_a_failed_look_at_one_container_leaves_everything_in_doubt(world: World):
    container = world.run(world.sandbox())
    world.look()
    world.cri.kill_container(container)
    world.counted.fails = {container}
    assert "no such shim" in str(world.looker.ask(TakeALook(False, (container,))))
    world.counted.fails = set()
    world.counted.asked.clear()
    assert world.look(everything=False) == (["READY"], ["EXITED"])
    assert world.counted.asked == {"ListPodSandbox": 1, "ListContainers": 1, "ContainerStatus": 1}


def test_after_a_failed_look_the_doubted_container_is_asked_for_even_if_unchanged(world: World):
    """Its state is the same, and the lists show no more than that; its resources may be others."""
    sandbox = world.sandbox()
    container, _ = world.run(sandbox), world.run(sandbox, name="side")
    world.look()
    world.counted.fails = {container}
    assert "no such shim" in str(world.looker.ask(TakeALook(False, (container,))))
    world.counted.fails = set()
    world.counted.asked.clear()
    assert world.look(everything=False) == (["READY"], ["RUNNING", "RUNNING"])
    assert world.counted.asked == {"ListPodSandbox": 1, "ListContainers": 1, "ContainerStatus": 1}


def test_a_look_that_fails_raises_and_keeps_what_it_has_found(world: World):
    sandbox = world.sandbox()
    containers = [world.run(sandbox, name=f"c{number}") for number in range(5)]
    world.counted.fails = {containers[3]}
    assert "no such shim" in str(world.looker.ask(TakeALook()))
    assert world.counted.statuses() == 5
    world.counted.fails = set()
    assert world.look() == (["READY"], ["RUNNING"] * 5)
    assert world.counted.statuses() == 2


def test_after_a_failed_look_the_order_is_that_of_the_list(world: World):
    sandbox = world.sandbox()
    first, second = world.run(sandbox, name="a"), world.run(sandbox, name="b")
    world.counted.fails = {first}
    world.looker.ask(TakeALook())
    world.counted.fails = set()
    found = world.looker.ask(TakeALook())
    listed = [each.id for each in world.list()]
    assert sorted(listed) == sorted([first, second])
    assert [each.id for each in found[1]] == listed


def test_a_status_that_hangs_holds_up_this_look_only(world: World):
    container = world.run(world.sandbox())
    world.counted.hangs = {container}
    answer = world.looker.ask(TakeALook(), block=False)
    world.advance(60 * SECOND)
    other = world.system.spawn(Looker, world.cri, name="other")
    found = other.ask(TakeALook())
    assert [each.id for each in found[1]] == [container]
    assert not answer.done()
