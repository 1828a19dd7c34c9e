"""What survives a restart of the sync loop or of a partner, and what waits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.kernel import Message
from actors.messages.eviction import PodsHere, WantPods
from actors.messages.pods import (
    Operation,
    PlegStarted,
    PublishAgain,
    RuntimeStateObserved,
    StorageStarted,
    SyncLoopStarted,
    SyncPod,
    UnknownPodsObserved,
    WorkersKnown,
)
from actors.messages.status import StatusManagerStarted
from actors.sync.loop import SyncLoopActor
from actors.sync.partners import KNOWN_PODS_NS
from actors.sync.state import RETRIES_NS, PodEntry
from actors.sync.workers import RUNTIME_NOT_ASKED, PodStarts, PodWorkers
from config.objects import ObjectMeta, Pod, PodStatus
from tests.actors.recorders import Recorder, only
from tests.actors.sync.worlds import (
    ADD,
    DELETE,
    READY,
    REMOVE,
    SECOND_NS,
    UPDATE,
    End,
    Fail,
    World,
    api,
    changed,
    pod,
    running,
)


def test_a_restart_keeps_the_workers_and_asks_for_everything_again(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")), changed(ADD, pod("2")))
    world.tell(Fail())
    world.run(SECOND_NS)
    assert world.workers() == ["1", "2"]
    first, again = only(world.kept["storage"], PublishAgain)
    assert (again.known, again.number > first.number) == ((), True)
    for partner in ("pleg", "runtime_monitor"):
        assert len(only(world.kept[partner], SyncLoopStarted)) == 2
    world.tell(changed(ADD, pod("1")))
    world.ready()
    assert world.workers() == ["1"], "the one that no source desired any more was let go when all had spoken"
    assert sorted(world.told.lives) == ["1", "2"]


# (spec 1.5.2)
def test_after_a_restart_no_pod_ends_before_the_sources_have_reported(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    world.tell(Fail())
    world.run(SECOND_NS)
    world.kept["volumes"].clear()
    world.tell(UnknownPodsObserved((running("2"),)))
    world.run(600 * SECOND_NS)
    assert world.workers() == ["1"]
    assert world.kept["volumes"] == [], "whoever removes remains is told nothing either"


def test_after_a_restart_no_static_pod_starts_beside_an_unreported_one(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1", "web")))
    world.told.obey = False
    world.tell(Fail())
    world.run(SECOND_NS)
    world.tell(changed(ADD, pod("2", "web")), UnknownPodsObserved(()))
    assert world.workers() == ["1"]
    world.tell(world.spoken())
    assert world.said("1")[-1] == "TerminatePod"


def test_after_a_restart_answers_to_the_earlier_life_remove_no_pod(world: World):
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


def test_the_life_number_of_a_failed_worker_grows_across_restarts_of_the_sync_loop(world: World):
    """Between two passes of the eviction manager both may restart.

    The number must not be the same again.
    """
    asker, answers = Recorder.spawn_in(world.system, "asker", PodsHere)

    def life() -> int:
        world.tell(WantPods(asker))
        (here,) = only(answers, PodsHere)[-1].pods
        return here.lives

    world.ready()
    world.tell(changed(ADD, pod("1")))
    before = life()
    world.tell(Fail())
    world.run(SECOND_NS)
    worker = world.system.find("/sync-loop/1")
    assert worker is not None
    worker.tell(Fail())
    world.run(SECOND_NS)
    world.tell(changed(ADD, pod("1")))
    assert life() != before


def test_an_overflow_of_the_mailbox_asks_the_storage_and_the_workers(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    before = len(only(world.kept["storage"], PublishAgain))
    synced = world.said("1").count("SyncPod")
    for number in range(SyncLoopActor.mailbox_capacity + 10):
        world.loop.tell(changed(ADD, pod(f"many{number}"), "unreported source"))
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


def test_merging_pod_updates_keeps_the_runtime_state():
    first, newer = SyncPod(pod("1"), ADD, READY), SyncPod(pod("1", "renamed"), UPDATE)
    assert newer.merged(first) == SyncPod(newer.pod, ADD, READY)


def test_merging_pod_updates_keeps_the_later_state_of_the_runtime():
    later = msgspec.structs.replace(READY, since_ns=1)
    for first, second in ((READY, later), (later, READY), (later, RUNTIME_NOT_ASKED), (None, later)):
        assert SyncPod(pod("1"), UPDATE, second).merged(SyncPod(pod("1"), ADD, first)).runtime is later


def test_a_worker_that_waits_for_its_restart_learns_what_it_had_published(world: World):
    """Otherwise it would show a container as not ready of which its probes know nothing either."""

    def shown(phase: str) -> Pod:
        return msgspec.structs.replace(pod("1", static=False), status=PodStatus(phase=phase))

    world.ready()
    world.tell(api(ADD, shown("Pending")))
    (worker,) = world.loop.actor_inbox.child_cells()
    worker.ref.tell(Fail())
    world.run()
    world.tell(api(Operation.RECONCILE, shown("Running")))
    world.run(10 * SECOND_NS)
    assert world.said("1") == ["SyncPod", "SyncPod"]
    told = world.told.messages[-1][1]
    assert (told.operation, told.pod.status.phase) == (ADD, "Running")


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
# (spec 2.6.2)
def test_spec_2_6_updates_that_wait_are_one_in_the_newest_form(
    waiting: Operation, newer: Operation, merged: Operation
) -> None:
    old, new = (SyncPod(Pod(metadata=ObjectMeta(name=name)), kind) for name, kind in (("old", waiting), ("new", newer)))
    assert old.coalesce_key() == new.coalesce_key()
    both = new.merged(old)
    assert (both.pod, both.operation) == (new.pod, merged)


# --- a pod on which it fails itself ---------------------------------------------------------------------------------


def fails_on(monkeypatch: pytest.MonkeyPatch, *uids: str) -> None:
    """Whatever it does to start one of these pods, or to tell its worker, fails.

    Only the pod named `mended` succeeds.
    """
    start, tell = PodStarts.start_or_wait, PodWorkers.tell_desired

    def check(pod: Pod | None) -> None:
        if pod is not None and pod.metadata.uid in uids and pod.metadata.name != "mended":
            raise ZeroDivisionError("a fault of the program")

    def start_or_fail(starts: PodStarts, uid: str, entry: PodEntry, pod: Pod) -> None:
        check(pod)
        start(starts, uid, entry, pod)

    def tell_or_fail(workers: PodWorkers, entry: PodEntry, *args: Any, **more: Any) -> None:
        check(entry.pod)
        tell(workers, entry, *args, **more)

    monkeypatch.setattr(PodStarts, "start_or_wait", start_or_fail)
    monkeypatch.setattr(PodWorkers, "tell_desired", tell_or_fail)


def hear(world: World, *pods: Pod) -> None:
    """The storage answers each question, until nothing is asked any more."""
    answered = 0
    while answered < len(asked := only(world.kept["storage"], PublishAgain)):
        answered = len(asked)
        world.tell(*(changed(ADD, each) for each in pods), world.spoken(), UnknownPodsObserved(()))
        world.run(10 * SECOND_NS)


def test_pods_that_crash_the_sync_loop_delay_no_other_pod(world: World, monkeypatch: pytest.MonkeyPatch):
    fails_on(monkeypatch, "bad", "worse")
    hear(world, pod("1"), pod("bad"), pod("2"), pod("worse"), pod("3"))
    assert sorted(world.workers()) == ["1", "2", "3"]
    assert world.last_known() == {"1", "2", "3", "bad", "worse"}, "nothing of theirs is taken for left over"
    told = [each for each in world.kept["events"] if each.reason == "FailedSync"]
    assert {each.name for each in told} == {"bad", "worse"}
    world.tell(changed(UPDATE, pod("bad", "mended")))
    assert sorted(world.workers()) == ["1", "2", "3", "bad"]
    world.tell(changed(REMOVE, pod("worse")))
    world.run(KNOWN_PODS_NS)
    assert world.last_known() == {"1", "2", "3", "bad"}


def test_a_restarted_storage_is_asked_whether_quarantined_pods_are_gone(world: World, monkeypatch: pytest.MonkeyPatch):
    """The storage knows nothing of a pod that was removed meanwhile.

    If the question did not name it, the pod would be desired, and run, for ever.
    """
    fails_on(monkeypatch, "bad")
    hear(world, pod("1"), pod("bad"))
    world.kept["storage"].clear()
    world.tell(StorageStarted())
    (asked,) = only(world.kept["storage"], PublishAgain)
    assert {each.metadata.uid for each in asked.known} == {"1", "bad"}


def test_a_quarantined_running_pod_can_still_be_evicted(world: World, monkeypatch: pytest.MonkeyPatch):
    """Its worker obeys orders.

    The machine must not go down under the pod, and an eviction is not taken for done.
    """
    asker, answers = Recorder.spawn_in(world.system, "asker", PodsHere)
    world.ready()
    world.tell(changed(ADD, pod("bad")))
    fails_on(monkeypatch, "bad")
    world.tell(Fail())
    world.run(SECOND_NS)
    hear(world, pod("bad"))
    world.tell(WantPods(asker))
    ((here,),) = (each.pods for each in only(answers, PodsHere))
    assert (here.pod.metadata.uid, here.may_be_evicted()) == ("bad", True)


def test_a_running_pod_that_crashes_the_sync_loop_runs_on_and_keeps_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.ready()
    world.tell(changed(ADD, pod("bad", "web")))
    with monkeypatch.context() as patched:
        fails_on(patched, "bad")
        world.tell(Fail())
        world.run(SECOND_NS)
        hear(world, pod("bad", "web"), pod("next", "web"))
        assert world.workers() == ["bad"]
        assert "TerminatePod" not in world.said("bad")
    before = len(world.said("bad"))
    world.run(sum(RETRIES_NS))
    assert world.said("bad")[before:] == ["SyncPod"], "it is met again by itself"


def test_many_pods_that_crash_the_sync_loop_delay_no_other_pod(world: World, monkeypatch: pytest.MonkeyPatch):
    """All replicas of a Deployment have the same form."""
    many = [f"bad{number}" for number in range(30)]
    fails_on(monkeypatch, *many)
    world.tell(*(changed(ADD, pod(each)) for each in many), changed(ADD, pod("good")))
    world.ready()
    world.run(SECOND_NS)
    assert world.workers() == ["good"]
    assert world.last_known() == {*many, "good"}
    assert len(only(world.kept["storage"], PublishAgain)) == 1, "it does not begin anew for any of them"


def test_a_pod_that_crashes_the_sync_loop_once_is_retried_after_a_second(world: World, monkeypatch: pytest.MonkeyPatch):
    world.ready()
    with monkeypatch.context() as patched:
        fails_on(patched, "1")
        world.tell(changed(ADD, pod("1", "web")), changed(ADD, pod("2", "web")))
        assert world.workers() == []
    world.run(SECOND_NS)
    assert world.workers() == ["1"], "and has kept its place in the line"


def test_the_removal_of_a_pod_that_crashes_the_sync_loop_is_not_lost(world: World, monkeypatch: pytest.MonkeyPatch):
    world.ready()
    world.tell(changed(ADD, pod("1")))
    with monkeypatch.context() as patched:
        patched.setattr(SyncLoopActor, "remove", lambda *_: 1 // 0)
        world.tell(changed(REMOVE, pod("1")))
        world.run(30 * SECOND_NS)
        assert world.workers() == ["1"]
    world.run(60 * SECOND_NS + KNOWN_PODS_NS)
    assert (world.workers(), world.last_known()) == ([], set())


def test_a_worker_that_ends_although_its_pod_is_desired_is_replaced_once_a_second(world: World):
    world.ready()
    world.tell(changed(ADD, pod("a")))
    for lives in (1, 2, 3):
        assert world.told.lives == ["a"] * lives
        world.tell(End())
        world.run(SECOND_NS // 2)
        assert world.workers() == []
        world.run(SECOND_NS // 2)
    world.tell(End(), changed(REMOVE, pod("a")))
    world.run(5 * SECOND_NS)
    assert world.told.lives == ["a"] * 4
