"""`ContainerGCActor` with a runtime in memory: what goes when, and what it never does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.containers.gc import IDLE_COLLECTORS, ContainerGCActor
from actors.containers.gc_rules import GcPolicy, Places
from actors.containers.removal import DeadListed, GcTools, PodCollector
from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, broken, kept
from actors.messages.events import RecordEvent
from actors.messages.pods import (
    CollectorStarted,
    CollectPod,
    ContainersDied,
    KnownPods,
    PodCollected,
    PodWorkerStarted,
    Remains,
)
from actors.messages.reclaim import ContainersReclaimed, ReclaimContainers
from actors.messages.status import PodFinished
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import (
    Container,
    ListContainersResponse,
    ListPodSandboxResponse,
    PodSandbox,
    RemoveContainerResponse,
    RemovePodSandboxResponse,
    StopContainerResponse,
    StopPodSandboxResponse,
)
from runtime.cri.verbs import (
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    REMOVE_CONTAINER,
    REMOVE_POD_SANDBOX,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
)
from runtime.logs.pod_logs import DeadLink
from tests.actors.containers.test_gc_rules import CREATED, READY, RUNNING, UNKNOWN, container, sandbox
from tests.actors.recorders import Recorder, replace_handler

SECOND_NS = 1_000_000_000
UID = "io.kubernetes.pod.uid"


class Runtime:
    """Containers and sandboxes in memory. `hanging` ids never answer, `refusing` ones fail."""

    def __init__(self) -> None:
        self.containers: dict[str, Container] = {}
        self.sandboxes: dict[str, PodSandbox] = {}
        self.hanging: set[str] = set()
        self.refusing: set[str] = set()
        self.operations: list[tuple[str, str]] = []
        self.lists = 0
        self.at_once = self.most_at_once = 0
        self.listing: Promise[Any] | None = None

    def add(self, *things: Container | PodSandbox) -> None:
        for thing in things:
            if isinstance(thing, Container):
                self.containers[thing.id] = thing
            else:
                self.sandboxes[thing.id] = thing

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if verb in (LIST_CONTAINERS, LIST_POD_SANDBOX):
            wanted = request.filter.label_selector.get(UID) if request.filter is not None else None
            if verb is LIST_CONTAINERS:
                self.lists += 1
                found = [c for c in self.containers.values() if wanted in (None, c.labels.get(UID))]
                answer: Promise[Any] = kept(ListContainersResponse(containers=tuple(found)))
                return answer if self.listing is None else self.listing
            items = [s for s in self.sandboxes.values() if wanted in (None, s.metadata and s.metadata.uid)]
            return kept(ListPodSandboxResponse(items=tuple(items)))
        return self._change(verb, request)

    def _change(self, verb: Any, request: Any) -> Promise[Any]:
        of_container = verb in (STOP_CONTAINER, REMOVE_CONTAINER)
        things: dict[str, Any] = self.containers if of_container else self.sandboxes
        id_ = request.container_id if of_container else request.pod_sandbox_id
        self.operations.append((verb.name, id_))
        if id_ in self.hanging:
            return Promise()
        if id_ not in things:
            return broken(CriError(StatusCode.NOT_FOUND, id_, verb.name))
        if verb is STOP_POD_SANDBOX:
            self.refusing.discard(id_)
        if id_ in self.refusing:
            return broken(CriError(StatusCode.UNKNOWN, "no", verb.name))
        if verb is REMOVE_CONTAINER:
            assert things[id_].state != RUNNING
            del things[id_]
            return kept(RemoveContainerResponse())
        if verb is REMOVE_POD_SANDBOX:
            del things[id_]
            self.containers = {key: each for key, each in self.containers.items() if each.pod_sandbox_id != id_}
            return kept(RemovePodSandboxResponse())
        return kept(StopContainerResponse() if verb is STOP_CONTAINER else StopPodSandboxResponse())

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class Logs:
    def __init__(self) -> None:
        self.pods: tuple[str, ...] = ()
        self.links: tuple[DeadLink, ...] = ()
        self.removed: list[Any] = []

    def list_pods(self) -> tuple[str, ...]:
        return self.pods

    def dead_links(self) -> tuple[DeadLink, ...]:
        return self.links

    def remove_pod(self, directory: str, links: tuple[str, ...] = ()) -> None:
        self.removed.append((directory, *links))

    def remove_container(self, directory: str, attempt: int, link: str) -> None:
        self.removed.append(f"{directory}/{attempt}.log")

    def remove_link(self, path: str) -> None:
        self.removed.append(path)


class World:
    def __init__(self, policy: GcPolicy | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.runtime = Runtime()
        self.logs = Logs()
        tools = GcTools(self.runtime, self.logs, policy or GcPolicy(), Places())
        sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", CollectorStarted)
        self.gc: ActorRef = self.system.spawn(ContainerGCActor, sync_loop, tools, name="gc")
        self.worker, self.answers = Recorder.spawn_in(self.system, "worker", PodCollected, ContainersReclaimed)

    def tell(self, *messages: Any, seconds: int = 0) -> None:
        for message in messages:
            self.gc.tell(message)
        self.dispatcher.run_for(seconds * SECOND_NS)

    def left(self) -> set[str]:
        return {*self.runtime.containers, *self.runtime.sandboxes}


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def crashed(uid: str = "p", times: int = 3) -> list[Container]:
    return [container(f"{uid}{n}", f"{uid}/c", created=n) for n in range(times)]


def test_after_a_death_only_the_newest_of_that_name_stays_with_its_log(world: World):
    world.runtime.add(*crashed(), container("other", "p/other"))
    world.tell(ContainersDied((("p", "c"),)), seconds=2)
    assert world.left() == {"p2", "other"}
    assert world.logs.removed == ["/var/log/pods/default_pod-p_p/c/0.log", "/var/log/pods/default_pod-p_p/c/1.log"]


def test_many_deaths_share_one_list(world: World):
    for number in range(100):
        world.runtime.add(*crashed(f"p{number}_", 2))
        world.tell(ContainersDied(((f"p{number}_", "c"),)))
    world.tell(seconds=3)
    assert len(world.left()) == 100
    assert world.runtime.lists == 1


def test_a_pass_each_minute_keeps_the_limits(world: World):
    world.runtime.add(*crashed())
    world.tell(seconds=59)
    assert len(world.left()) == 3
    world.tell(seconds=3)
    assert world.left() == {"p2"}


def test_remains_of_unknown_pods_are_kept_until_every_source_has_reported(world: World):
    world.runtime.add(*crashed("gone", 1), *crashed("known", 1), *crashed("new", 1))
    world.runtime.add(
        container("ghost", "gone/g", state=CREATED), sandbox("old", "gone2"), sandbox("up", "gone3", READY)
    )
    world.logs.pods = tuple(f"/var/log/pods/ns_x_{uid}" for uid in ("gone", "gone4", "known", "new"))
    world.tell(seconds=121)
    assert len(world.left()) == 6
    world.tell(PodWorkerStarted("new", world.worker), KnownPods(frozenset({"known"})), seconds=2)
    assert world.left() == {"known0", "new0", "up"}
    assert ("/var/log/pods/ns_x_gone4",) in world.logs.removed
    world.tell(seconds=61)
    assert ("/var/log/pods/ns_x_gone",) in world.logs.removed
    assert ("/var/log/pods/ns_x_new",) not in world.logs.removed


def test_a_pod_that_came_and_ended_since_the_last_report_is_still_known(world: World):
    world.tell(KnownPods(frozenset()), PodWorkerStarted("p", world.worker), seconds=2)
    world.runtime.add(*crashed(times=1))
    world.tell(seconds=61)
    assert world.left() == {"p0"}
    world.tell(KnownPods(frozenset()), seconds=61)
    assert world.left() == {"p0"}, "that word may be from before its beginning"
    world.tell(KnownPods(frozenset()), seconds=61)
    assert world.left() == set()


def test_a_worker_announced_during_a_list_keeps_its_containers(world: World):
    world.tell(KnownPods(frozenset()), seconds=2)
    world.runtime.listing = Promise()
    world.tell(seconds=61)
    listing, world.runtime.listing = world.runtime.listing, None
    world.runtime.add(container("just made", "p/c", state=CREATED))
    world.gc.tell(PodWorkerStarted("p", world.worker))
    listing.set_result(ListContainersResponse(containers=tuple(world.runtime.containers.values())))
    world.tell(seconds=5)
    assert world.left() == {"just made"}


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


def test_a_hanging_removal_holds_up_neither_the_pass_nor_an_ended_pod(world: World):
    world.runtime.add(*crashed("p", 40), *crashed("q", 2), *crashed("e", 2))
    world.runtime.hanging = {"p0", "q0"}
    world.tell(seconds=61)
    world.tell(CollectPod(world.worker, "e", ""), seconds=2)
    assert world.answers == [PodCollected("e")]
    assert len(world.left()) == 7, "all but the ones that hang, and what stood in line behind those"
    world.runtime.hanging.clear()
    world.tell(seconds=400)
    assert world.left() == {"p39", "q1"}


def test_20_000_dead_containers_drain_and_an_ended_pod_does_not_wait_for_them(world: World):
    for number in range(1_000):
        world.runtime.add(*crashed(f"p{number}_", 20))
    world.runtime.add(*crashed("e", 2))
    world.tell(seconds=59)
    world.gc.tell(CollectPod(world.worker, "e", ""))
    world.dispatcher.run_until(lambda: bool(world.answers), 10 * SECOND_NS)
    assert world.answers == [PodCollected("e")]
    assert len(world.left()) >= 10_000
    world.tell(seconds=10)
    assert len(world.left()) == 1_000


def test_dead_links_of_containers_that_are_gone_are_removed(world: World):
    world.runtime.add(*crashed(times=1))
    world.logs.links = (DeadLink("/c/a-p0.log", "p0"), DeadLink("/c/a-gone.log", "gone"))
    world.tell(seconds=62)
    assert world.logs.removed == ["/c/a-gone.log"]


def test_a_list_that_fails_is_tried_again(world: World):
    world.runtime.add(*crashed())
    world.runtime.listing = broken(CriError(StatusCode.UNAVAILABLE, "down", "ListContainers"))
    world.tell(seconds=62)
    world.runtime.listing = None
    assert len(world.left()) == 3
    world.tell(seconds=60)
    assert world.left() == {"p2"}


def test_a_list_that_fails_is_told_by_an_event_of_the_node(world: World):
    events, heard = Recorder.spawn_in(world.system, "events", RecordEvent, CollectorStarted)
    tools = GcTools(world.runtime, world.logs, GcPolicy(), Places(), "n", events)
    world.runtime.listing = broken(CriError(StatusCode.UNAVAILABLE, "down", "ListContainers"))
    world.system.spawn(ContainerGCActor, events, tools, name="another")
    world.tell(seconds=62)
    (event,) = [each for each in heard if isinstance(each, RecordEvent)]
    assert (event.kind, event.name, event.type, event.reason) == ("Node", "n", "Warning", "ContainerGCFailed")
    assert "down" in event.message


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


def known(*uids: str) -> list[Any]:
    return [KnownPods(frozenset(uids))]


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
