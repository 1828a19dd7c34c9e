"""Which pods get a worker, what it is told, and when it is released."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.messages.pods import KnownPods, Operation, SyncPod, WantKnownPods
from actors.messages.references import PodInputs, PodInputsChanged
from actors.messages.status import PodForgotten, PodLeftApi, PodReconciled, StatusManagerStarted
from actors.sync.loop import SyncLoopActor
from actors.sync.partners import KNOWN_PODS_NS
from config.frozen_map import FrozenMap
from config.objects import Pod, PodCondition, PodStatus
from config.pods.identity import SOURCE_API, SOURCE_FILE
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
)


# (spec 2.3.1, 2.6.1)
def test_spec_2_6_a_desired_pod_has_one_worker_that_is_told_of_the_runtime_and_of_each_form(world: World):
    world.ready()
    forms = pod("1", static=False), pod("1", "renamed", static=False)
    world.tell(READY, changed(ADD, forms[0]), changed(UPDATE, forms[1]))
    assert world.workers() == ["1"]
    told = [message for _, message in world.told.messages]
    first, last = told[0], told[-1]
    assert isinstance(first, SyncPod)
    assert first.runtime == READY  # in one message, so that one place in its mailbox is enough
    assert isinstance(last, SyncPod)
    assert last.pod.metadata.name == "renamed"


def test_a_worker_that_begins_is_told_of_the_cluster_as_it_is_then(world: World):
    before, now = (PodInputs(FrozenMap(), FrozenMap(), FrozenMap({"cpu": number})) for number in "12")
    world.ready()
    world.tell(READY, changed(ADD, pod("1")), PodInputsChanged(before), PodInputsChanged(now))
    world.tell(changed(ADD, pod("2", static=False)))
    world.tell(PodInputsChanged(None))
    world.tell(changed(ADD, pod("3")), changed(UPDATE, pod("2", "b", static=False)))
    told = {message.pod.metadata.name: message.around for _, message in world.told.messages}
    assert told == {"1": None, "2": now, "3": None, "b": None}


def test_a_worker_gets_no_cluster_inputs_after_an_overflow_may_have_lost_news(world: World):
    world.ready()
    world.tell(READY, PodInputsChanged(PodInputs(FrozenMap(), FrozenMap(), FrozenMap({"cpu": "1"}))))
    for number in range(SyncLoopActor.mailbox_capacity):
        world.loop.tell(changed(REMOVE, pod(f"unknown{number}"), "unreported source"))
    world.loop.tell(PodInputsChanged(PodInputs(FrozenMap(), FrozenMap(), FrozenMap({"cpu": "2"}))))
    world.run()
    world.tell(changed(ADD, pod("1")))
    assert [message.around for _, message in world.told.messages if isinstance(message, SyncPod)] == [None]


def test_only_a_worker_that_begins_at_once_is_told_of_the_cluster(world: World):
    world.ready()
    world.tell(
        READY,
        PodInputsChanged(PodInputs(FrozenMap(), FrozenMap(), FrozenMap({"cpu": "1"}))),
        changed(ADD, pod("1")),
    )
    next(child.ref for child in world.loop.actor_inbox.child_cells() if child.name == "1").tell(Fail())
    world.run(SECOND_NS)
    told = [message.around is not None for _, message in world.told.messages if isinstance(message, SyncPod)]
    assert told == [True, False], "what is told to one that waits to begin again may be old by then"


# (spec 2.4.3, 2.10.1)
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


def test_known_pods_are_reported_only_once_all_sources_and_the_runtime_have_answered(world: World):
    historian, kept = Recorder.spawn_in(world.system, "another", KnownPods)
    world.tell(changed(ADD, pod("1")), WantKnownPods(historian))
    assert kept == []
    world.ready()
    world.tell(WantKnownPods(historian))
    assert kept == [KnownPods(frozenset({"1"}))]


# (spec 2.6.11, 2.10.1)
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
    world.tell(changed(ADD, pod("1", static=False)))
    world.tell(changed(REMOVE, pod("1", static=False)), changed(ADD, pod("1", "again", static=False)))
    assert world.told.lives == ["1"]
    assert "TerminatePod" not in world.said("1")


# (spec 2.6.19)
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


# (spec 2.4.4)
def test_status_changes_of_others_reach_the_status_manager_and_the_worker_if_relevant(world: World):
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
