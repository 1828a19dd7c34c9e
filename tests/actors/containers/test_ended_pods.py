"""Collection of an ended pod: at its worker's request, all that the runtime has of it is removed."""

from __future__ import annotations

from typing import Any

import pytest

from actors.containers.gc import IDLE_COLLECTORS, ContainerGCActor
from actors.containers.removal import PodCollector
from actors.kernel import Promise
from actors.messages.pods import CollectorStarted, CollectPod, PodCollected, Remains
from actors.messages.reclaim import ReclaimContainers
from actors.messages.status import PodFinished
from tests.actors.containers.dead_containers import World, crashed
from tests.actors.containers.test_gc_rules import CREATED, READY, RUNNING, UNKNOWN, container, sandbox
from tests.actors.recorders import replace_handler


def test_an_ended_pod_goes_at_once_and_its_worker_is_told(world: World):
    world.runtime.add(*crashed(), container("ghost", "p/d", state=CREATED), sandbox("s"), sandbox("s2", created=2))
    world.runtime.add(*crashed("q", 1))
    world.tell(CollectPod(world.worker, "p", "/var/log/pods/d_pod-p_p"), seconds=1)
    assert world.answers == [PodCollected("p")]
    assert world.left() == {"q0"}
    directory, *links = world.logs.removed[0]
    assert directory == "/var/log/pods/d_pod-p_p"
    assert len(links) == 4


def test_an_ended_pod_whose_object_is_still_there_keeps_what_the_policy_keeps(world: World):
    world.runtime.add(*crashed(), sandbox("s1", created=1), sandbox("s2", created=2))
    world.tell(CollectPod(world.worker, "p", "/var/log/pods/d_pod-p_p", keep_content=True), seconds=1)
    assert world.answers == [PodCollected("p")]
    assert world.left() == {"p2", "s2"}
    assert ("/var/log/pods/d_pod-p_p",) not in world.logs.removed


@pytest.mark.parametrize(
    ("thing", "words"),
    [(container("r", state=RUNNING), "container c still runs"), (sandbox("s", state=READY), "still up")],
)
def test_a_pod_that_is_not_ended_is_left_alone_and_said_so(world: World, thing: Any, words: str):
    world.runtime.add(thing, container("dead", "p/d"))
    world.tell(CollectPod(world.worker, "p", "/var/log/pods/d_p_p"), seconds=1)
    (answer,) = world.answers
    assert words in answer.error
    assert len(world.left()) == 2


def test_a_failed_removal_is_reported_and_the_next_try_succeeds(world: World):
    world.runtime.add(*crashed())
    world.runtime.refusing = {"p1"}
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert "RemoveContainer" in world.answers[0].error
    world.runtime.refusing.clear()
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert world.answers[1] == PodCollected("p")
    assert world.left() == set()


def test_a_sandbox_whose_network_is_left_is_stopped_and_removed(world: World):
    world.runtime.add(sandbox("s"))
    world.runtime.refusing = {"s"}
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert [operation for operation, _ in world.runtime.operations] == [
        "RemovePodSandbox",
        "StopPodSandbox",
        "RemovePodSandbox",
    ]
    assert world.answers == [PodCollected("p")]


# (spec 3.12.2)
def test_a_container_of_unknown_state_is_stopped_first(world: World):
    world.runtime.add(container("u", state=UNKNOWN))
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert [operation for operation, _ in world.runtime.operations] == ["StopContainer", "RemoveContainer"]


def test_removing_a_sandbox_removes_its_containers_after_stopping_those_that_may_run(world: World):
    world.runtime.add(sandbox("s"), container("c", sandbox="s"), container("u", "p/d", UNKNOWN, sandbox="s"))
    world.runtime.add(container("lost", "p/e", sandbox="another"))
    world.tell(CollectPod(world.worker, "p", "/var/log/pods/d_pod-p_p"), seconds=1)
    assert [id_ for _, id_ in world.runtime.operations] == ["u", "u", "lost", "s"]
    assert world.left() == set()
    assert len(world.logs.removed[0]) == 4, "the directory, and the links of all three"


def test_the_collector_uses_the_list_that_the_worker_sends_and_lists_nothing(world: World):
    world.runtime.add(sandbox("s"), container("c", sandbox="s"))
    remains = Remains(("s",), ("/c/link.log",))
    world.tell(CollectPod(world.worker, "p", "/var/log/pods/d_pod-p_p", remains=remains), seconds=1)
    assert world.answers == [PodCollected("p")]
    assert (world.runtime.lists, world.left()) == (0, set())
    assert world.logs.removed == [("/var/log/pods/d_pod-p_p", "/c/link.log")]


def test_remains_that_cannot_be_taken_are_told(world: World):
    world.runtime.add(sandbox("s"))
    world.runtime.hanging = {"s"}
    world.tell(CollectPod(world.worker, "p", "", remains=Remains(("s",))), seconds=301)
    assert "RemovePodSandbox" in world.answers[0].error


def test_few_collectors_stay_when_there_is_nothing_to_collect(world: World):
    for number in range(200):
        world.gc.tell(CollectPod(world.worker, f"u{number}", ""))
    world.tell(seconds=5)
    assert len(world.answers) == 200
    paths = [info.path for info in world.system.report().actors]
    assert len([path for path in paths if "/collector " in path]) == IDLE_COLLECTORS


def test_a_pod_asked_for_again_while_it_is_collected_is_collected_once_more(world: World):
    world.runtime.add(container("slow", "p/c"))
    world.runtime.hanging = {"slow"}
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert world.answers == []
    world.runtime.hanging.clear()
    world.tell(seconds=400)
    assert [bool(answer.error) for answer in world.answers] == [True, False]
    assert world.left() == set()


def test_a_repeated_collection_lists_again_because_the_pod_may_have_restarted(world: World):
    directory = "/var/log/pods/d_pod-p_p"
    world.runtime.add(sandbox("s"))
    world.runtime.hanging = {"s"}
    for _ in range(2):
        world.tell(CollectPod(world.worker, "p", directory, remains=Remains(("s",))), seconds=1)
    world.runtime.add(sandbox("new", state=READY), container("c", state=RUNNING, sandbox="new"))
    world.runtime.hanging = set()
    world.tell(seconds=301)
    assert "still runs" in world.answers[1].error
    assert world.logs.removed == []


def test_a_failing_collector_costs_only_its_own_pod_one_try(world: World, monkeypatch: pytest.MonkeyPatch):
    async def fails(*_: object) -> str:
        raise RuntimeError("a mistake")

    with monkeypatch.context() as patch:
        replace_handler(patch, PodCollector, CollectPod, fails)
        world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    world.tell(CollectPod(world.worker, "p", ""), CollectPod(world.worker, "q", ""), seconds=1)
    failed, *others = world.answers
    assert (failed.uid, "a mistake" in failed.error) == ("p", True)
    assert sorted(others, key=lambda each: each.uid) == [PodCollected("p"), PodCollected("q")]


def test_a_restarted_collector_collects_again(world: World, monkeypatch: pytest.MonkeyPatch):
    world.runtime.add(container("slow", "p/c"))
    world.runtime.hanging = {"slow"}
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    with monkeypatch.context() as patched:
        replace_handler(patched, ContainerGCActor, ReclaimContainers, lambda *_: 1 / 0)
        world.tell(ReclaimContainers(world.worker), seconds=1)
    world.runtime.hanging.clear()
    world.tell(CollectPod(world.worker, "p", ""), seconds=1)
    assert world.answers[-1] == PodCollected("p")
    assert world.left() == set()
    assert world.told == [CollectorStarted()] * 2, "whoever has asked the one before is told"


def test_a_collector_that_fails_after_its_work_gets_no_other_pod(world: World, monkeypatch: pytest.MonkeyPatch):
    is_idle: Promise[None] = Promise()

    async def fails(collector: PodCollector, message: CollectPod) -> None:
        await collector.collect_pod(message)
        await collector.wait(is_idle)
        raise RuntimeError("a mistake")

    with monkeypatch.context() as patch:
        replace_handler(patch, PodCollector, CollectPod, fails)
        world.tell(CollectPod(world.worker, "p", ""), seconds=1)
        assert world.answers == [PodCollected("p")]
        is_idle.set_result(None)
        world.tell(seconds=1)
    world.tell(CollectPod(world.worker, "q", ""), seconds=1)
    assert world.answers == [PodCollected("p"), PodCollected("q")]


def test_a_late_answer_of_an_old_collector_is_not_taken_for_the_new_one(world: World, monkeypatch: pytest.MonkeyPatch):
    left = [2]

    def fails_twice(_: ContainerGCActor, message: object) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise RuntimeError("a mistake")

    replace_handler(monkeypatch, ContainerGCActor, PodFinished, fails_twice)
    first, then = CollectPod(world.worker, "p", ""), CollectPod(world.worker, "q", "")
    world.tell(first, PodFinished("a"), PodFinished("b"), then, seconds=2)
    assert world.answers == [PodCollected("q")]
