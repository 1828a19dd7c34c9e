"""A static pod has one life at a time. Pods that run and that nobody desires."""

from __future__ import annotations

from actors.messages.history import NoteHistory
from actors.messages.mirrors import StaticPodDesired, StaticSourcesReady
from actors.messages.pods import RuntimeStateObserved, SourceReady, UnknownPodsObserved
from actors.messages.status import PodStatusChanged
from actors.sync.loop import HOUSEKEEPING_NS
from actors.sync.partners import KNOWN_PODS_NS
from config.pods.identity import SOURCE_API, SOURCE_FILE
from tests.actors.recorders import only
from tests.actors.sync.worlds import ADD, REMOVE, SECOND_NS, UPDATE, End, World, changed, pod, running


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


# (spec 2.6.18)
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


# (spec 2.6.5, 2.10.2)
def test_spec_2_6_an_orphan_is_ended_once_every_source_has_spoken(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.ready(running("1"))
    assert world.told.lives == []
    world.tell(SourceReady(SOURCE_API, True))
    assert world.told.lives == ["1"]
    assert world.said("1") == ["TerminatePod"]


def test_a_desired_pod_is_no_orphan(world: World):
    world.tell(changed(ADD, pod("1")))
    world.ready(running("1"))
    assert "TerminatePod" not in world.said("1")


# (spec 2.3.4)
def test_known_pods_are_reported_once_all_sources_have_spoken_and_then_every_minute(worlds: list[World]):
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


def test_a_static_pod_that_waits_for_a_runtime_that_is_away_says_why_it_cannot_be_asked(world: World):
    world.tell(changed(ADD, pod("1", "web")))
    world.tell(RuntimeStateObserved("there is no socket", "not known"))
    world.tell(RuntimeStateObserved("the socket refuses", "not known"))
    texts = [wait.text for note in only(world.kept["historian"], NoteHistory) for wait in note.waits or ()]
    assert [text.partition(": ")[2] for text in texts] == ["", "there is no socket", "the socket refuses"]
    world.tell(UnknownPodsObserved(()), world.spoken())
    assert world.workers() == ["1"]


def test_a_pod_that_is_renamed_under_its_uid_ends_and_begins_and_leaves_its_name_to_others(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1", "web")), changed(ADD, pod("2", "web")))
    world.told.obey = False
    world.tell(changed(UPDATE, pod("1", "shop")))
    assert (world.workers(), world.said("1")[-1]) == (["1"], "TerminatePod")
    world.told.obey = True
    world.tell(End())
    assert (sorted(world.workers()), sorted(world.told.lives)) == (["1", "2"], ["1", "1", "2"])


def test_a_pod_that_is_renamed_while_it_waits_for_its_name_waits_for_the_other(world: World):
    world.ready()
    world.tell(changed(ADD, pod("1", "web")), changed(ADD, pod("2", "web")), changed(ADD, pod("3", "web")))
    world.tell(changed(UPDATE, pod("2", "shop")))
    assert sorted(world.workers()) == ["1", "2"]
    world.tell(changed(REMOVE, pod("1", "web")))
    assert sorted(world.workers()) == ["2", "3"]


def test_mirrors_are_judged_after_the_static_pods_that_have_them_have_started(worlds: list[World]):
    world = World(SOURCE_FILE, SOURCE_API)
    worlds.append(world)
    world.tell(changed(ADD, pod("1")), SourceReady(SOURCE_API, True), SourceReady(SOURCE_FILE, True))
    told = world.kept["mirrors"]
    assert not only(told, StaticSourcesReady), "the runtime was not listed yet, so no pod could start"
    world.tell(UnknownPodsObserved(()))
    world.tell(SourceReady(SOURCE_FILE, True))
    kinds = [type(each) for each in told if isinstance(each, StaticPodDesired | StaticSourcesReady)]
    assert kinds == [StaticPodDesired, StaticSourcesReady]
