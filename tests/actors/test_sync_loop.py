"""`SyncLoopActor` with workers played by hand: who gets one, who waits, who is let go, and what survives a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.event_messages import RecordEvent
from actors.history_messages import NoteHistory
from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages import (
    AnnounceYourself,
    KnownPods,
    Operation,
    PlegStarted,
    PodChanged,
    PodWorkerStarted,
    PublishAgain,
    RuntimePod,
    RuntimeStateObserved,
    SourceReady,
    StorageStarted,
    SyncLoopStarted,
    SyncPod,
    TerminatePod,
    UnknownPodsObserved,
    WorkersKnown,
)
from actors.pod_services import NodeFacts, PodServices
from actors.reference_messages import HoldObjects, ReadSurroundings, ReleaseObjects, SurroundingsChanged
from actors.start.container_config import NodeRules
from actors.status_messages import PodForgotten, PodLeftApi, PodReconciled, PodStatusChanged, StatusManagerStarted
from actors.surroundings import Surroundings
from actors.sync_loop import HOUSEKEEPING_NS, KNOWN_PODS_NS, SyncLoopActor
from config.kubelet import KubeletConfiguration
from config.objects import ObjectMeta, Pod, PodCondition, PodStatus
from config.pod_identity import SOURCE_API, SOURCE_FILE
from simulation.cri import SimulatedCri
from simulation.hook_caller import SimulatedHookCaller
from simulation.host import SimulatedHost
from simulation.prober import SimulatedProber
from tests.actors.pod_pictures import PERIODS
from tests.actors.probes import Recorder, only

SECOND_NS = 1_000_000_000
READY = RuntimeStateObserved("", "", "simulated")
ADD, UPDATE, REMOVE, DELETE = Operation.ADD, Operation.UPDATE, Operation.REMOVE, Operation.DELETE


class Told:
    """What the workers of all UIDs were told, and whether they obey the order to end."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Any]] = []
        self.lives: list[str] = []
        self.obey = True


class End(Message, frozen=True):
    """To a played worker: the pod has ended."""


class Fail(Message, frozen=True):
    """To the sync loop, or to a worker: a fault of the program."""


class PlayedWorker(Actor):
    """A pod's worker that does nothing but end when it is told to."""

    def __init__(self, uid: str, loop: ActorRef, told: Told) -> None:
        super().__init__()
        self._uid = uid
        self._loop = loop
        self._told = told
        told.lives.append(uid)

    @handles(SyncPod, RuntimeStateObserved, StatusManagerStarted)
    def told(self, message: Message) -> None:
        self._told.messages.append((self._uid, message))

    @handles(Fail)
    def fail(self, _: Fail) -> None:
        raise ZeroDivisionError("a fault of the program")

    @handles(AnnounceYourself)
    def announce(self, _: AnnounceYourself) -> None:
        self._loop.tell(PodWorkerStarted(self._uid, self.ref))

    @handles(TerminatePod)
    def terminate(self, message: TerminatePod) -> None:
        self._told.messages.append((self._uid, message))
        if self._told.obey:
            self.stop()


class Loop(SyncLoopActor):
    """The sync loop, with played workers."""

    told = Told()

    def _spawn(self, uid: str, orphan: RuntimePod | None) -> ActorRef:
        worker = self.spawn(PlayedWorker, uid, self.ref, self.told, name=uid)
        self.watch(worker)
        return worker

    @handles(Fail)
    def fail(self, _: Fail) -> None:
        raise ZeroDivisionError("a fault of the program")

    @handles(End)
    def end(self, _: End) -> None:
        for worker in self.children.values():
            worker.tell(TerminatePod())


class World:
    def __init__(self, *sources: str) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.told = Loop.told = Told()
        everyone: dict[str, tuple[type[Any], ...]] = {
            "pleg": (WorkersKnown, SyncLoopStarted),
            "images": (),
            "volumes": (KnownPods,),
            "container_gc": (KnownPods,),
            "status_manager": (PodStatusChanged, PodForgotten, PodReconciled, PodLeftApi),
            "events": (RecordEvent,),
            "objects": (HoldObjects,),
            "tokens": (ReleaseObjects,),
            "ids": (),
            "cluster": (ReadSurroundings,),
            "historian": (NoteHistory,),
            "resources": (PodWorkerStarted, KnownPods),
            "storage": (PublishAgain,),
        }
        partners = {name: Recorder.spawn_in(self.system, name, *kinds) for name, kinds in everyone.items()}
        refs = {name: ref for name, (ref, _) in partners.items()}
        self.kept = {name: kept for name, (_, kept) in partners.items()}
        storage = refs.pop("storage")
        host = SimulatedHost(pod_logs="/var/log/pods", container_logs="/var/log/containers")
        cri = SimulatedCri(self.dispatcher)
        services = PodServices(
            cri=cri,
            prober=SimulatedProber(self.dispatcher, cri, cri),
            hooks=SimulatedHookCaller(self.dispatcher, cri),
            files=host.pod_files,
            node=NodeFacts("node", "/root", (), "simulated", 2, 2**30, NodeRules(root_directory="/root")),
            configuration=KubeletConfiguration(),
            crash_loop=PERIODS,
            sync_loop=storage,
            **refs,
        )
        self.loop = self.system.spawn(Loop, services, storage, sources or (SOURCE_FILE,), name="sync-loop")
        self.run()

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.loop.tell(message)
        self.run()

    def ready(self, *unknown: RuntimePod, source: str = SOURCE_FILE) -> None:
        """The source has spoken, and the runtime was listed."""
        self.tell(self.spoken(source), UnknownPodsObserved(unknown))

    def spoken(self, source: str = SOURCE_FILE) -> SourceReady:
        """That the source has spoken, as the storage says it now."""
        asked = [each.number for each in only(self.kept["storage"], PublishAgain)]
        return SourceReady(source, True, max(asked, default=0))

    def workers(self) -> list[str]:
        """UIDs of the living workers."""
        return [ref.name for ref in self.system.find("/sync-loop")._cell.children_by_name().values()]  # type: ignore[union-attr]

    def said(self, uid: str) -> list[str]:
        """Kinds of the messages that the workers of that UID were told."""
        return [type(message).__name__ for whose, message in self.told.messages if whose == uid]

    def last_known(self) -> set[str]:
        return set(only(self.kept["volumes"], KnownPods)[-1].uids)


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        world.told.obey = True
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[0]


def pod(uid: str, name: str = "", *, static: bool = True, deleted: bool = False) -> Pod:
    source = {"kubernetes.io/config.source": "file"} if static else {"kubernetes.io/config.source": "api"}
    return Pod(
        metadata=ObjectMeta(
            name=name or uid,
            namespace="default",
            uid=uid,
            annotations=source,
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
        )
    )


def changed(operation: Operation, of: Pod, source: str = SOURCE_FILE) -> PodChanged:
    return PodChanged(operation, of, source)


def api(operation: Operation, of: Pod) -> PodChanged:
    return changed(operation, of, SOURCE_API)


def running(uid: str, name: str = "") -> RuntimePod:
    return RuntimePod(uid, name or uid, "default", True)


# --- workers --------------------------------------------------------------------------------------------------------


def test_spec_2_6_a_desired_pod_has_one_worker_that_is_told_of_the_runtime_and_of_each_form(world: World):
    world.ready()
    world.tell(READY, changed(ADD, pod("1")), changed(UPDATE, pod("1", "renamed")))
    assert world.workers() == ["1"]
    told = [message for _, message in world.told.messages]
    first, last = told[0], told[-1]
    assert isinstance(first, SyncPod)
    assert first.runtime == READY  # in one message, so that one place in its mailbox is enough
    assert isinstance(last, SyncPod)
    assert last.pod.metadata.name == "renamed"


def test_a_worker_that_begins_is_told_of_the_cluster_as_it_is_then(world: World):
    before, now = (Surroundings((), {"cpu": number}) for number in "12")
    world.ready()
    world.tell(READY, changed(ADD, pod("1")), SurroundingsChanged(before), SurroundingsChanged(now))
    world.tell(changed(ADD, pod("2")))
    world.tell(SurroundingsChanged(None))
    world.tell(changed(ADD, pod("3")), changed(UPDATE, pod("2", "b")))
    told = {message.pod.metadata.name: message.around for _, message in world.told.messages}
    assert told == {"1": None, "2": now, "3": None, "b": None}


def test_what_is_known_of_the_cluster_is_not_handed_on_when_news_of_it_may_be_lost(world: World):
    world.ready()
    world.tell(READY, SurroundingsChanged(Surroundings((), {"cpu": "1"})))
    for number in range(SyncLoopActor.mailbox_capacity):
        world.loop.tell(changed(REMOVE, pod(f"unknown{number}"), "unheard source"))
    world.loop.tell(SurroundingsChanged(Surroundings((), {"cpu": "2"})))
    world.run()
    world.tell(changed(ADD, pod("1")))
    assert [message.around for _, message in world.told.messages if isinstance(message, SyncPod)] == [None]


def test_only_a_worker_that_begins_at_once_is_told_of_the_cluster(world: World):
    world.ready()
    world.tell(READY, SurroundingsChanged(Surroundings((), {"cpu": "1"})), changed(ADD, pod("1")))
    world.loop._cell.children_by_name()["1"].tell(Fail())
    world.run(SECOND_NS)
    told = [message.around is not None for _, message in world.told.messages if isinstance(message, SyncPod)]
    assert told == [True, False], "what is told to one that waits to begin again may be old by then"


def test_a_pod_that_is_removed_ends_and_is_forgotten_by_everybody(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.tell(changed(REMOVE, pod("1")))
    assert world.workers() == []
    (told,) = world.kept["historian"]
    assert (told.uid, told.gone_wall_ns) == ("1", world.dispatcher.wall_ns())
    assert world.kept["status_manager"][-1] == PodForgotten("1")
    world.run(KNOWN_PODS_NS)
    assert world.last_known() == set()


def test_spec_2_6_a_uid_that_comes_back_while_its_worker_ends_starts_anew_after_that(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.told.obey = False
    world.tell(changed(REMOVE, pod("1")))
    world.tell(changed(ADD, pod("1", "again")))
    assert world.told.lives == ["1"]
    world.told.obey = True
    world.tell(End())
    assert world.told.lives == ["1", "1"]
    last = world.told.messages[-1][1]
    assert isinstance(last, SyncPod)
    assert last.pod.metadata.name == "again"
    assert PodForgotten("1") in world.kept["status_manager"], "the new life does not inherit the final status"


def test_a_pod_that_went_and_came_back_before_anybody_looked_goes_on(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.tell(changed(REMOVE, pod("1")), changed(ADD, pod("1", "again")))
    assert world.told.lives == ["1"]
    assert "TerminatePod" not in world.said("1")


def test_spec_2_6_a_pod_that_comes_back_and_goes_again_before_its_worker_ended_does_not_start(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.told.obey = False
    world.tell(changed(REMOVE, pod("1")))
    world.tell(changed(ADD, pod("1")))
    world.tell(changed(REMOVE, pod("1")))
    world.told.obey = True
    world.tell(End())
    assert world.told.lives == ["1"]
    assert world.workers() == []


def test_a_pod_of_the_api_that_is_to_be_deleted_ends_and_is_not_started_again(world: World):
    world.ready()
    world.tell(api(ADD, pod("1", static=False)))
    world.tell(api(DELETE, pod("1", static=False, deleted=True)))
    assert world.said("1")[-1] == "TerminatePod"
    world.tell(api(UPDATE, pod("1", static=False, deleted=True)))
    assert (world.told.lives, world.workers()) == (["1"], [])
    world.tell(api(REMOVE, pod("1", static=False)))
    assert world.kept["status_manager"][-1] == PodForgotten("1")


def test_a_pod_that_leaves_the_api_while_it_still_ends_is_written_to_no_more(world: World):
    world.ready()
    world.told.obey = False
    world.tell(api(ADD, pod("1", static=False)), api(REMOVE, pod("1", static=False)))
    assert world.kept["status_manager"] == [PodLeftApi("1")]


def test_what_others_write_into_a_status_reaches_its_manager_and_the_worker_where_it_concerns_it(world: World):
    def shown(**status: Any) -> Pod:
        return msgspec.structs.replace(pod("1", static=False), status=PodStatus(**status))

    world.ready()
    world.tell(api(ADD, shown(phase="Pending")))
    echo, condition = shown(phase="Running"), PodCondition(type="example.com/checked", status="True")
    world.tell(api(Operation.RECONCILE, echo))
    assert world.said("1") == ["SyncPod"], "the echo of its own words says nothing to the worker"
    world.tell(api(Operation.RECONCILE, shown(phase="Running", conditions=(condition,))))
    world.tell(api(Operation.RECONCILE, shown(phase="Succeeded", conditions=(condition,))))
    assert world.said("1") == ["SyncPod"] * 3
    reconciled = only(world.kept["status_manager"], PodReconciled)
    assert [each.pod.status.phase for each in reconciled if each.pod.status] == ["Running", "Running", "Succeeded"]
    world.tell(StatusManagerStarted())
    newest = only(world.kept["status_manager"], PodReconciled)[-1].pod.status
    assert newest is not None
    assert newest.phase == "Succeeded", "of what the workers have not been told it is told by us"


def test_a_pod_of_the_api_waits_for_no_source_and_no_list(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.tell(api(ADD, pod("1", static=False)))
    assert world.workers() == ["1"]
    assert world.kept["status_manager"] == [], "its worker tells of it"


# --- one life of a static pod ---------------------------------------------------------------------------------------


def test_a_static_pod_waits_for_its_source_and_the_first_list_of_the_runtime(world: World):
    world.tell(changed(ADD, pod("1")))
    assert world.workers() == []
    world.tell(SourceReady(SOURCE_FILE, True))
    assert world.workers() == []
    world.tell(UnknownPodsObserved(()))
    assert world.workers() == ["1"]


def test_static_pods_wait_for_no_other_source(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.tell(changed(ADD, pod("1")))
    world.ready()
    assert world.workers() == ["1"]


def test_spec_2_6_static_pods_of_one_name_run_one_after_another_in_the_order_of_their_coming(world: World):
    world.ready()
    world.tell(*(changed(ADD, pod(uid, "web")) for uid in ("1", "2", "3")))
    assert world.workers() == ["1"]
    waiting = only(world.kept["status_manager"], PodStatusChanged)
    assert [(each.pod.metadata.uid, each.status.phase) for each in waiting] == [("2", "Pending"), ("3", "Pending")]
    world.tell(changed(REMOVE, pod("1", "web")))
    assert world.workers() == ["2"]
    world.tell(changed(REMOVE, pod("3", "web")), changed(REMOVE, pod("2", "web")))
    assert world.workers() == []
    assert sorted(world.told.lives) == ["1", "2"]


def test_spec_2_6_a_pod_that_waits_for_its_name_keeps_waiting_while_the_one_before_ends(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1", "web")))
    world.told.obey = False
    world.tell(changed(REMOVE, pod("1", "web")), changed(ADD, pod("2", "web")))
    world.run(600 * SECOND_NS)
    assert world.workers() == ["1"]
    world.told.obey = True
    world.tell(End())
    assert world.workers() == ["2"]


def test_spec_2_6_a_pod_that_the_runtime_still_runs_under_the_name_ends_first(world: World):
    world.tell(changed(ADD, pod("2", "web")), SourceReady(SOURCE_FILE, True))
    world.told.obey = False
    world.tell(UnknownPodsObserved((running("1", "web"),)))
    assert world.workers() == ["1"]
    world.told.obey = True
    world.tell(End())
    assert world.workers() == ["2"]


# --- orphans and housekeeping ---------------------------------------------------------------------------------------


def test_spec_2_6_an_orphan_is_ended_once_every_source_has_spoken(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.ready(running("1"))
    assert world.told.lives == []
    world.tell(SourceReady(SOURCE_API, True))
    assert world.told.lives == ["1"]
    assert world.said("1") == ["TerminatePod"]


def test_what_is_desired_is_no_orphan(world: World):
    world.tell(changed(ADD, pod("1")))
    world.ready(running("1"))
    assert "TerminatePod" not in world.said("1")


def test_which_pods_are_known_is_told_when_nobody_can_still_turn_up_and_then_once_a_minute(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.tell(changed(ADD, pod("1")))
    world.ready()
    world.run(10 * KNOWN_PODS_NS)
    assert world.kept["volumes"] == []
    world.tell(SourceReady(SOURCE_API, True))
    assert world.last_known() == {"1"}
    told = len(world.kept["volumes"])
    world.run(5 * KNOWN_PODS_NS)
    assert len(world.kept["volumes"]) == told + 5


def test_the_remains_of_an_orphan_go_soon_after_its_end(world: World):
    world.told.obey = False
    world.ready(running("1"))
    world.run(1)
    assert world.last_known() == {"1"}
    world.told.obey = True
    world.tell(End())
    world.run(HOUSEKEEPING_NS)
    assert world.last_known() == set()


# --- failures -------------------------------------------------------------------------------------------------------


def test_a_restart_keeps_the_workers_and_asks_for_everything_again(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")), changed(ADD, pod("2")))
    world.tell(Fail())
    world.run(SECOND_NS)
    assert world.workers() == ["1", "2"]
    first, again = only(world.kept["storage"], PublishAgain)
    assert (again.known, again.number > first.number) == ((), True)
    assert len(only(world.kept["pleg"], SyncLoopStarted)) == 2
    world.tell(changed(ADD, pod("1")))
    world.ready()
    assert world.workers() == ["1"], "the one that no source desired any more was let go when all had spoken"
    assert sorted(world.told.lives) == ["1", "2"]


def test_after_a_restart_nobody_is_let_go_before_the_sources_have_spoken(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.tell(Fail())
    world.run(SECOND_NS)
    world.kept["volumes"].clear()
    world.tell(UnknownPodsObserved((running("2"),)))
    world.run(600 * SECOND_NS)
    assert world.workers() == ["1"]
    assert world.kept["volumes"] == [], "whoever removes remains is told nothing either"


def test_after_a_restart_no_static_pod_starts_beside_one_that_was_not_heard_of_yet(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1", "web")))
    world.told.obey = False
    world.tell(Fail())
    world.run(SECOND_NS)
    world.tell(changed(ADD, pod("2", "web")), UnknownPodsObserved(()))
    assert world.workers() == ["1"]
    world.tell(world.spoken())
    assert world.said("1")[-1] == "TerminatePod"


def test_after_a_restart_what_was_told_to_the_life_before_takes_nobody_for_gone(world: World):
    world.ready()
    before = world.spoken()
    world.tell(changed(ADD, pod("1")))
    world.loop.tell(Fail())
    world.loop.tell(before)  # it waits in the mailbox, which outlives the life
    world.run(SECOND_NS)
    world.tell(UnknownPodsObserved(()))
    assert world.workers() == ["1"]
    assert "TerminatePod" not in world.said("1")
    world.loop.tell(before)
    world.tell(changed(ADD, pod("1")), world.spoken())
    assert "TerminatePod" not in world.said("1"), "the word that waits does not take the newer one ahead of the pods"
    assert world.last_known() == {"1"}


def test_an_overflow_of_the_mailbox_asks_the_storage_and_the_workers(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    before = len(only(world.kept["storage"], PublishAgain))
    synced = world.said("1").count("SyncPod")
    for number in range(SyncLoopActor.mailbox_capacity + 10):
        world.loop.tell(changed(ADD, pod(f"many{number}"), "unheard source"))
    world.run()
    asked = only(world.kept["storage"], PublishAgain)
    assert len(asked) == before + 1
    assert world.said("1").count("SyncPod") == synced + 1


@pytest.mark.parametrize("message", [StorageStarted(), PlegStarted(), StatusManagerStarted()])
def test_a_partner_that_begins_anew_gets_what_it_must_know(world: World, message: Message):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.kept["storage"].clear()
    synced = world.said("1").count("SyncPod")
    world.tell(message)
    if isinstance(message, StorageStarted):
        assert world.kept["storage"] == [PublishAgain((pod("1"),))]
    elif isinstance(message, PlegStarted):
        (known,) = only(world.kept["pleg"], WorkersKnown)
        assert [uid for uid, _ in known.workers] == ["1"]
        assert world.said("1").count("SyncPod") == synced
    else:
        assert world.said("1")[-1] == "StatusManagerStarted"


def test_the_state_of_the_runtime_reaches_every_worker(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")), changed(ADD, pod("2")))
    gone = RuntimeStateObserved("away", "not known")
    world.tell(gone)
    assert [message for _, message in world.told.messages[-2:]] == [gone, gone]
    told = len(world.told.messages)
    world.tell(gone)
    assert len(world.told.messages) == told, "the same again is no news"


def test_what_a_worker_was_told_of_the_runtime_is_not_lost_when_the_pod_changes_before_it_has_heard():
    first, newer = SyncPod(pod("1"), ADD, READY), SyncPod(pod("1", "renamed"), UPDATE)
    assert newer.merged(first) == SyncPod(newer.pod, ADD, READY)


@pytest.mark.parametrize(
    ("waiting", "newer", "merged"),
    [
        (ADD, UPDATE, ADD),
        (ADD, DELETE, ADD),
        (UPDATE, Operation.RECONCILE, UPDATE),
        (UPDATE, DELETE, DELETE),
        (DELETE, UPDATE, DELETE),
        (Operation.RECONCILE, UPDATE, UPDATE),
    ],
)
def test_spec_2_6_updates_that_wait_are_one_in_the_newest_form(
    waiting: Operation, newer: Operation, merged: Operation
) -> None:
    old, new = (SyncPod(Pod(metadata=ObjectMeta(name=name)), kind) for name, kind in (("old", waiting), ("new", newer)))
    assert old.coalesce_key() == new.coalesce_key()
    both = new.merged(old)
    assert (both.pod, both.operation) == (new.pod, merged)
