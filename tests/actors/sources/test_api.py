"""Pods of the API server: a list gives them all, a watch gives the changes, none is lost."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.events import RecordEvent
from actors.messages.pods import (
    ListProblems,
    PodChanged,
    PublishAgain,
    ReadAgain,
    SourceChanged,
    SourceReady,
    StorageStarted,
)
from actors.sources.api import ECHO_NS, ApiSourceActor
from actors.sources.pod_changes import is_echo
from actors.sources.storage import NOTHING, StorageActor, merge, merge_changes
from config.objects import Container, ObjectMeta, Pod, PodCondition, PodReadinessGate, PodSpec, PodStatus, VolumeMount
from config.pods.identity import CONFIG_SEEN, CONFIG_SOURCE
from runtime.api import ObjectList
from tests.actors.manual_api import ManualApi, gone, unreachable
from tests.actors.recorders import Recorder, only, replace_handler

SECOND_NS = 1_000_000_000


def pod(name: str, image: str = "i:1", version: str = "1", **meta: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version=version, **meta),
        spec=PodSpec(containers=(Container(name="web", image=image),)),
        status=PodStatus(phase="Pending"),
    )


def with_phase(one: Pod, phase: str) -> Pod:
    return msgspec.structs.replace(one, status=PodStatus(phase=phase))


def with_condition(one: Pod, kind: str) -> Pod:
    assert one.status is not None
    conditions = (PodCondition(type=kind, status="True"),)
    return msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, conditions=conditions))


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", PodChanged, SourceReady, StorageStarted)
        events, _ = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.storage = self.system.spawn(StorageActor, sync_loop, events, ("api",), name="storage")
        self.source = self.system.spawn(ApiSourceActor, self.storage, self.api, "n1", name="source-api")
        self.run()

    def run(self, ns: int = SECOND_NS // 10) -> None:
        self.dispatcher.run_for(ns)

    def heard(self) -> list[tuple[str, str]]:
        """What the sync loop was told since the last time."""
        heard = [(each.operation.value, each.pod.metadata.name) for each in only(self.told, PodChanged)]
        self.told.clear()
        return heard


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()


# (spec 1.1.3)
def test_only_pods_bound_to_this_node_are_asked_for(world: World):
    assert dict(world.api.calls[0].query)["fieldSelector"] == "spec.nodeName=n1"


# (spec 1.5.1)
def test_before_the_first_list_the_source_has_not_spoken(world: World):
    world.api.fail(unreachable())
    world.run()
    assert only(world.told, SourceReady) == []
    (problem,) = world.source.ask(ListProblems())
    assert "connection refused" in str(problem)
    world.run(2 * SECOND_NS)
    world.api.answer(ObjectList((), "1"))
    world.run()
    assert only(world.told, SourceReady) == [SourceReady("api", True)]
    assert world.source.ask(ListProblems()) == ()


# (spec 2.3.1)
def test_each_change_reaches_the_sync_loop_for_what_it_is(world: World):
    world.api.answer(ObjectList((pod("a"), pod("b")), "5"))
    world.run()
    assert world.heard() == [("ADD", "a"), ("ADD", "b")]
    watch = world.api.watches[0]
    watch.say("MODIFIED", with_phase(pod("a"), "Running"), "6")
    watch.say("MODIFIED", pod("b", "i:2"), "7")
    watch.say("ADDED", pod("c"), "8")
    world.run(ECHO_NS)
    assert sorted(world.heard()) == [("ADD", "c"), ("RECONCILE", "a"), ("UPDATE", "b")]
    watch.say("MODIFIED", pod("c", deletion_timestamp="2026-11-21T00:00:00Z"), "9")
    watch.say("DELETED", pod("b", "i:2"), "10")
    world.run()
    assert sorted(world.heard()) == [("DELETE", "c"), ("REMOVE", "b")]


def test_a_pod_that_came_and_went_during_an_outage_is_told(world: World):
    world.api.answer(ObjectList((pod("a"), pod("b")), "5"))
    world.run(2 * SECOND_NS)
    world.heard()
    world.api.watches[0].end(gone())
    world.run()
    world.api.answer(ObjectList((pod("b"), pod("c")), "50"))
    world.run()
    assert world.heard() == [("REMOVE", "a"), ("ADD", "c")]


def test_a_storage_that_was_restarted_asks_for_the_whole_set(world: World):
    world.api.answer(ObjectList((pod("a"),), "5"))
    world.run()
    world.heard()
    world.storage.tell(SourceChanged("api", (object(),), frozenset(), world.source))  # type: ignore[arg-type]
    world.run()  # it has failed, and has come back knowing nothing
    world.run(2 * SECOND_NS)
    world.storage.tell(PublishAgain())
    world.api.watches[0].say("ADDED", pod("b"), "6")
    world.run()
    assert sorted(world.heard()) == [("ADD", "a"), ("ADD", "b")]


def test_changes_of_one_moment_are_told_as_one(world: World, monkeypatch: pytest.MonkeyPatch):
    world.api.answer(ObjectList((), "5"))
    world.run()
    merges: list[SourceChanged] = []
    original = StorageActor.message_handlers[SourceChanged]

    def count(storage: StorageActor, message: SourceChanged) -> Any:
        merges.append(message)
        return original(storage, message)

    replace_handler(monkeypatch, StorageActor, SourceChanged, count)
    for number in range(100):
        world.api.watches[0].say("ADDED", pod(f"p{number}"), str(6 + number))
    world.run()
    assert len(world.heard()) == 100
    assert 0 < len(merges) < 20


def test_a_new_pod_is_told_at_once_and_its_next_form_as_a_change(world: World):
    world.api.answer(ObjectList((pod("a"),), "5"))
    world.run()
    world.heard()
    watch = world.api.watches[0]
    watch.say("ADDED", pod("b"), "6")
    world.run(0)
    assert world.heard() == [("ADD", "b")]
    watch.say("MODIFIED", pod("b", "i:2"), "7")
    world.run(0)
    assert world.heard() == [("UPDATE", "b")]


GATED = msgspec.structs.replace(
    pod("a"), spec=msgspec.structs.replace(pod("a").spec, readiness_gates=(PodReadinessGate(condition_type="x"),))
)
MARK = "2026-11-21T00:00:00Z"


@pytest.mark.parametrize(
    ("before", "now", "waits"),
    [
        (pod("a"), pod("a", version="2"), True),
        (pod("a"), with_phase(pod("a"), "Running"), True),
        (pod("a"), with_phase(pod("a", "i:2"), "Running"), False),
        (pod("a"), with_phase(pod("a", labels={"x": "y"}), "Running"), False),
        (pod("a"), pod("a", deletion_timestamp=MARK), False),
        (pod("a"), with_phase(pod("a"), "Failed"), False),
        (pod("a", deletion_timestamp=MARK), with_phase(pod("a", deletion_timestamp=MARK), "Failed"), True),
        (pod("a"), with_condition(pod("a"), "Ready"), True),
        (pod("a"), with_condition(pod("a"), "example.com/theirs"), False),
        (GATED, with_phase(GATED, "Running"), False),
    ],
)
# (spec 2.4.4)
def test_only_a_status_that_nobody_waits_for_is_an_echo(before: Pod, now: Pod, waits: bool):
    assert is_echo(before, now) is waits


def test_statuses_that_nobody_waits_for_are_told_together_in_their_newest_form(world: World):
    world.api.answer(ObjectList((pod("a"), pod("b")), "5"))
    world.run()
    world.heard()
    watch = world.api.watches[0]
    watch.say("MODIFIED", with_phase(pod("a"), "Running"), "6")
    world.run(ECHO_NS // 4)
    watch.say("MODIFIED", with_phase(pod("b"), "Running"), "7")
    watch.say("MODIFIED", with_condition(with_phase(pod("a"), "Running"), "Ready"), "8")
    world.run(ECHO_NS // 2)
    assert world.heard() == []
    world.run(ECHO_NS // 4)
    told = only(world.told, PodChanged)
    statuses = {each.pod.metadata.name: each.pod.status or PodStatus() for each in told}
    assert {name: len(status.conditions) for name, status in statuses.items()} == {"a": 1, "b": 0}
    world.heard()
    world.run(2 * ECHO_NS)
    assert world.heard() == []


def test_the_echo_of_a_pod_that_goes_or_changes_meanwhile_is_not_told(world: World):
    world.api.answer(ObjectList((pod("a"), pod("b")), "5"))
    world.run()
    world.heard()
    watch = world.api.watches[0]
    watch.say("MODIFIED", with_phase(pod("a"), "Running"), "6")
    watch.say("MODIFIED", with_phase(pod("b"), "Running"), "7")
    world.run(ECHO_NS // 4)
    watch.say("DELETED", with_phase(pod("a"), "Running"), "8")
    watch.say("MODIFIED", with_phase(pod("b", "i:2"), "Running"), "9")
    world.run(2 * ECHO_NS)
    assert sorted(world.heard()) == [("REMOVE", "a"), ("UPDATE", "b")]


def test_a_new_pod_that_goes_at_once_is_never_told(world: World):
    world.api.answer(ObjectList((), "5"))
    world.run()
    watch = world.api.watches[0]
    watch.say("ADDED", pod("a"), "6")
    watch.say("DELETED", pod("a"), "7")
    world.run(SECOND_NS)
    assert world.heard() == []


def test_a_new_pod_is_told_once_when_the_whole_set_is_told_meanwhile(world: World):
    world.api.answer(ObjectList((), "5"))
    world.run()
    watch = world.api.watches[0]
    watch.say("ADDED", pod("a"), "6")
    world.run(0)
    world.source.tell(ReadAgain())
    world.run(SECOND_NS)
    assert world.heard() == [("ADD", "a")]


def test_merging_changes_is_merging_the_whole_set():
    first = merge(NOTHING, "api", (pod("a"), pod("b"), pod("c")), 1).desire
    now = (with_phase(pod("a"), "Running"), pod("c", "i:2"), pod("d"))
    whole = merge(first, "api", now, 2)
    part = merge_changes(first, "api", now, ["uid-b"], 2)
    assert sorted(map(str, whole.changes)) == sorted(map(str, part.changes))
    first.take("api", part)
    assert whole.desire == first


def test_a_pod_keeps_its_first_seen_time_and_says_where_it_comes_from():
    first = merge(NOTHING, "api", (pod("a"),), 1).desire
    changed = merge_changes(first, "api", (pod("a", "i:2", annotations={CONFIG_SOURCE: "file"}),), (), 2)
    annotations = changed.changes[0].pod.metadata.annotations
    assert annotations[CONFIG_SOURCE] == "api"
    assert annotations[CONFIG_SEEN] == first.sources["api"]["uid-a"].pod.metadata.annotations[CONFIG_SEEN]


def test_a_pod_that_is_deleted_at_once_goes_in_its_last_form_which_says_how_fast_it_is_to_end(world: World):
    world.api.answer(ObjectList((pod("a"),), "5"))
    world.run()
    world.heard()
    marked = pod("a", deletion_timestamp="2026-01-01T00:00:00Z", deletion_grace_period_seconds=0)
    world.api.watches[0].say("MODIFIED", marked, "6")
    world.api.watches[0].say("DELETED", marked, "7")
    world.run()
    last = only(world.told, PodChanged)[-1]
    assert (last.operation.name, last.pod.metadata.deletion_grace_period_seconds) == ("REMOVE", 0)


def copied(one: Pod) -> Pod:
    """As if decoded again."""
    return msgspec.json.decode(msgspec.json.encode(one), type=Pod)


def test_forms_of_a_pod_and_pods_of_one_template_share_what_is_equal(world: World):
    world.api.answer(ObjectList((pod("a"), copied(pod("b"))), "5"))
    world.run()
    watch = world.api.watches[0]
    watch.say("ADDED", copied(pod("c")), "6")
    watch.say("MODIFIED", copied(with_phase(pod("a", version="7"), "Running")), "7")
    world.run(ECHO_NS)
    changes = only(world.told, PodChanged)
    assert len({id(each.pod.spec) for each in changes}) == 1
    first, last = (each.pod.metadata for each in changes if each.pod.metadata.name == "a")
    assert (last.resource_version, last.annotations) == ("7", first.annotations)
    assert last.uid is first.uid


def test_pods_whose_volumes_have_names_of_their_own_share_all_else(world: World):
    """As those that the API server adds for tokens, `kube-api-access-x7k2p`."""
    world.api.answer(ObjectList((), "5"))
    world.run()
    for number in range(2):
        came = pod(f"p{number}")
        mount = VolumeMount(name=f"token-{number}", mount_path="/token")
        web = msgspec.structs.replace(came.spec.containers[0], volume_mounts=(mount,))
        came = msgspec.structs.replace(came, spec=msgspec.structs.replace(came.spec, containers=(web,)))
        world.api.watches[0].say("ADDED", copied(came), "6")
        world.api.watches[0].say("MODIFIED", copied(with_condition(came, "Ready")), "7")
    world.run(ECHO_NS)
    last = {each.pod.metadata.name: each.pod for each in only(world.told, PodChanged)}
    one, other = (last[name] for name in ("p0", "p1"))
    assert one.spec.containers[0].volume_mounts != other.spec.containers[0].volume_mounts
    assert one.spec.containers[0].image is other.spec.containers[0].image
    assert one.status is other.status


def test_a_pod_that_is_gone_is_not_held_for_the_next_one(world: World):
    world.api.answer(ObjectList((), "5"))
    world.run()
    watch = world.api.watches[0]
    watch.say("ADDED", pod("a"), "6")
    watch.say("MODIFIED", with_phase(copied(pod("a")), "Running"), "7")
    world.run(ECHO_NS)
    spec = weakref.ref(only(world.told, PodChanged)[0].pod.spec)
    watch.say("DELETED", copied(pod("a")), "8")
    world.run()
    world.told.clear()
    gc.collect()
    assert spec() is None


def test_a_pod_of_another_template_keeps_its_own_spec(world: World):
    world.api.answer(ObjectList((pod("a"), copied(pod("b", "i:2")), pod("c")), "5"))
    world.run()
    images = {each.pod.metadata.name: each.pod.spec.containers[0].image for each in only(world.told, PodChanged)}
    assert images == {"a": "i:1", "b": "i:2", "c": "i:1"}
