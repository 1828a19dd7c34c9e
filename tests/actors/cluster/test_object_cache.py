"""`ObjectCacheActor`: what pods refer to, as new as each strategy promises (spec 8.9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from actors.cluster.object_cache import ObjectCacheActor, Strategy
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    HoldObjects,
    ObjectCacheStarted,
    ObjectRef,
    ObjectsChanged,
    ObjectsRead,
    ReadObjects,
    ReleaseObjects,
)
from config.documents.codec import from_builtins
from config.objects import ConfigMap, Node, ObjectMeta, Pod
from runtime.api import ApiError, ObjectList
from tests.actors.manual_api import ManualApi, unreachable
from tests.actors.recorders import Recorder
from tests.work import lines_of

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
MAP = ObjectRef("ConfigMap", "shop", "m")
OTHER = ObjectRef("ConfigMap", "shop", "n")


def not_found() -> ApiError:
    return ApiError(404, "NotFound", 'configmaps "m" not found', "get configmaps shop/m")


def config_map(version: int, *, immutable: bool | None = None, name: str = "m") -> ConfigMap:
    meta = ObjectMeta(name=name, namespace="shop", uid="u", resource_version=str(version))
    return ConfigMap(metadata=meta, data={"K": str(version)}, immutable=immutable)


def pod(uid: str, name: str = "m", *, volume: bool = False) -> Pod:
    spec: dict[str, Any] = {"containers": [{"name": "a", "image": "b"}]}
    if volume:
        spec["volumes"] = [{"name": "v", "configMap": {"name": name}}]
    else:
        spec["containers"][0]["envFrom"] = [{"configMapRef": {"name": name}}]
    return from_builtins({"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}, Pod)


class World:
    def __init__(self, strategy: Strategy, *, alone: bool = False) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, self.started = Recorder.spawn_in(self.system, "sync-loop", ObjectCacheStarted)
        volumes, self.volumes = Recorder.spawn_in(self.system, "volumes", ObjectsChanged)
        self.reader, self.heard = Recorder.spawn_in(self.system, "reader", ObjectsRead, ObjectsChanged)
        node, self.followed = Recorder.spawn_in(self.system, "node-status", FollowNode)
        api = None if alone else self.api
        self.cache = self.system.spawn(
            ObjectCacheActor, api, strategy, MINUTE_NS, sync_loop, volumes, node, name="object-cache"
        )
        self.run()

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def hold(self, *pods: Pod) -> None:
        for each in pods:
            self.cache.tell(HoldObjects(each))
        self.run()

    def read(self, *refs: ObjectRef, uid: str = "p") -> None:
        self.cache.tell(ReadObjects(self.reader, "tag", refs or (MAP,), uid))
        self.run()

    def listed(self, *values: ConfigMap) -> None:
        self.api.answer(ObjectList(values, "9"))
        self.run()

    def got(self) -> list[str]:
        """What the reader heard since the last look: versions, reasons, and that something has changed."""
        words = []
        for message in self.heard:
            if isinstance(message, ObjectsChanged):
                words.append("changed")
                continue
            words += [value.metadata.resource_version or "" for value in message.objects.values()]
            words += [failure.reason for failure in message.failures.values()]
        self.heard.clear()
        return words


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World(Strategy.WATCH))
    return worlds[-1]


# --- watch ----------------------------------------------------------------------------------------------------------


# (spec 2.7.3, 8.9.2)
def test_pods_that_refer_to_one_object_share_one_watch_until_the_last_has_ended(world: World):
    world.hold(pod("p"), pod("q"), pod("p"))
    assert [dict(call.query)["fieldSelector"] for call in world.api.calls] == ["metadata.name=m"]
    world.listed(config_map(5))
    watch = world.api.watches[0]
    for uid in ("p", "q"):
        assert not watch.closed
        world.cache.tell(ReleaseObjects(uid))
        world.run()
    assert watch.closed


def test_a_reading_waits_for_the_first_answer_and_the_next_does_not_wait(world: World):
    world.hold(pod("p"))
    world.read()
    assert world.got() == []
    world.listed(config_map(5))
    assert world.got() == ["5"]
    world.read()
    assert world.got() == ["5"]
    assert len(world.api.calls) == 1


def test_a_reading_fails_a_second_after_the_server_has_not_answered(world: World):
    world.hold(pod("p"))
    world.read()
    world.api.fail(unreachable())
    world.run(SECOND_NS - 1)
    assert world.got() == []
    world.run(1)
    [reason] = world.got()
    assert "connection refused" in reason


def test_a_reading_that_has_waited_its_turn_fails_with_the_first_refusal(world: World):
    world.hold(pod("p"))
    world.read()
    world.run(5 * SECOND_NS)
    assert world.got() == []
    world.api.fail(unreachable())
    world.run()
    assert len(world.got()) == 1


def test_a_reading_waits_ten_seconds_at_most_and_is_told_when_the_object_is_known_after_all(world: World):
    world.hold(pod("p"))
    world.read()
    world.run(9 * SECOND_NS)
    assert world.got() == []
    world.run(SECOND_NS)
    assert world.got() == ['couldn\'t read configmap "shop/m": no answer from the API server yet']
    world.listed(config_map(5))
    assert world.got() == ["changed"]
    world.read()
    assert world.got() == ["5"]


# (spec 8.9.1)
def test_a_change_seen_by_the_watch_is_readable_and_announced(world: World):
    world.hold(pod("p", volume=True), pod("q", "n"))
    world.listed(config_map(5))
    world.listed(config_map(5, name="n"))
    world.read()
    world.api.watches[0].say("MODIFIED", config_map(6), "10")
    world.run()
    assert world.volumes == [ObjectsChanged(frozenset({"p"}))]
    world.read()
    assert world.got() == ["5", "6"]


def test_a_change_of_an_object_that_nobody_read_is_not_announced(world: World):
    world.hold(pod("p", volume=True))
    world.listed(config_map(5))
    world.api.watches[0].say("MODIFIED", config_map(6), "10")
    world.run()
    assert world.volumes == []


def test_a_reader_of_a_missing_object_hears_when_it_is_created(world: World):
    world.hold(pod("p"))
    world.listed()
    world.read()
    assert world.got() == ['configmap "m" not found']
    world.api.watches[0].say("ADDED", config_map(6), "10")
    world.run()
    assert world.got() == ["changed"]
    world.read()
    assert world.got() == ["6"]


def test_an_object_that_is_deleted_is_gone(world: World):
    world.hold(pod("p"))
    world.listed(config_map(5))
    world.api.watches[0].say("DELETED", config_map(5), "10")
    world.read()
    assert world.got() == ['configmap "m" not found']


# (spec 8.9.2)
def test_an_immutable_object_is_followed_no_more_and_looked_at_again_for_a_later_pod(world: World):
    world.hold(pod("p"))
    world.listed(config_map(5, immutable=True))
    assert world.api.watches == []
    world.read()
    world.hold(pod("q"))
    assert len(world.api.calls) == 1
    world.run(20 * SECOND_NS)
    world.hold(pod("r"))
    world.listed(config_map(8, immutable=True))
    world.read()
    assert world.got() == ["5", "8"]


# (spec 8.9.2)
def test_an_object_that_nobody_reads_is_unwatched_unless_a_volume_shows_it(world: World):
    world.hold(pod("p"), pod("q", "n", volume=True))
    world.listed(config_map(5))
    world.listed(config_map(5, name="n"))
    world.read()
    assert world.got() == ["5"]
    world.run(5 * MINUTE_NS)
    assert [watch.closed for watch in world.api.watches] == [False, False]
    world.run(2 * MINUTE_NS)
    assert [watch.closed for watch in world.api.watches] == [True, False]
    world.read()
    assert world.got() == []
    world.listed(config_map(7))
    assert world.got() == ["7"]


def test_without_an_answer_what_was_seen_before_is_served(world: World):
    world.hold(pod("p"))
    world.listed(config_map(5))
    world.run(7 * MINUTE_NS)
    world.read()
    world.api.fail(unreachable())
    world.run(SECOND_NS)
    assert world.got() == ["5"]


def test_the_reason_of_a_failure_is_the_servers(world: World):
    world.hold(pod("p"))
    world.read()
    world.api.fail(ApiError(403, "Forbidden", "no relationship found", "list configmaps"))
    world.run(SECOND_NS)
    [reason] = world.got()
    assert "no relationship found" in reason


def test_an_object_that_no_pod_refers_to_is_read_with_one_get(world: World):
    world.read()
    assert [call.method for call in world.api.calls] == ["GET"]
    world.api.answer(config_map(3))
    world.run()
    assert world.got() == ["3"]


def test_a_pod_whose_references_change_holds_the_new_ones_only(world: World):
    world.hold(pod("p"))
    world.listed(config_map(5))
    world.hold(pod("p", "n"))
    assert world.api.watches[0].closed
    assert dict(world.api.calls[-1].query)["fieldSelector"] == "metadata.name=n"


def test_a_reading_ends_when_its_pod_lets_go(world: World):
    world.hold(pod("p"))
    world.read()
    world.cache.tell(ReleaseObjects("p"))
    world.run()
    assert world.got() == ['no pod refers to configmap "shop/m" any more']


# --- cache and get --------------------------------------------------------------------------------------------------


# (spec 8.9.1)
def test_with_strategy_cache_an_answer_is_as_old_as_allowed_and_readings_share_a_flight(worlds: list[World]):
    worlds.append(world := World(Strategy.CACHE))
    world.hold(pod("p"))
    world.read()
    world.read()
    world.api.answer(config_map(5))
    world.run()
    assert world.got() == ["5", "5"]
    world.run(59 * SECOND_NS)
    world.read()
    assert world.got() == ["5"]
    world.run(SECOND_NS)
    world.read()
    world.api.answer(config_map(6))
    world.run()
    assert world.got() == ["6"]
    assert len(world.api.calls) == 2


# (spec 8.9.3)
def test_the_node_may_be_told_how_old_an_answer_may_be(worlds: list[World]):
    worlds.append(world := World(Strategy.CACHE))
    node = Node(metadata=ObjectMeta(name="n", annotations={"node.alpha.kubernetes.io/ttl": "300"}))
    assert world.followed == [FollowNode(world.cache)]
    world.cache.tell(NodeObserved(node))
    world.hold(pod("p"))
    world.read()
    world.api.answer(config_map(5))
    world.run(299 * SECOND_NS)
    world.read()
    assert len(world.api.calls) == 1


def test_a_cached_object_is_read_anew_for_a_new_pod_and_served_when_that_fails(worlds: list[World]):
    worlds.append(world := World(Strategy.CACHE))
    world.hold(pod("p"))
    world.read()
    world.api.answer(config_map(5))
    world.hold(pod("q"))
    world.read()
    world.api.fail(unreachable())
    world.run()
    assert world.got() == ["5", "5"]


def test_a_cached_object_that_is_deleted_is_gone(worlds: list[World]):
    worlds.append(world := World(Strategy.CACHE))
    world.hold(pod("p"))
    for answer in (lambda: world.api.answer(config_map(5)), lambda: world.api.fail(not_found())):
        world.read()
        answer()
        world.run(MINUTE_NS)
    assert world.got() == ["5", 'configmap "m" not found']


# (spec 8.9.1)
def test_with_strategy_get_every_reading_asks(worlds: list[World]):
    worlds.append(world := World(Strategy.GET))
    world.hold(pod("p"))
    for version in (5, 6):
        world.read()
        world.api.answer(config_map(version))
        world.run()
    assert world.got() == ["5", "6"]


# --- no server, restarts --------------------------------------------------------------------------------------------


def test_without_an_api_server_every_reading_fails_at_once_and_says_why(worlds: list[World]):
    worlds.append(world := World(Strategy.WATCH, alone=True))
    world.hold(pod("p"))
    world.read(MAP, OTHER)
    reasons = world.got()
    assert len(reasons) == 2
    assert all("stands alone" in reason for reason in reasons)


def test_a_cache_that_starts_asks_who_holds_what(world: World):
    assert world.started == [ObjectCacheStarted()]


def test_objects_of_one_reading_come_together(world: World):
    world.hold(pod("p"), pod("q", "n"))
    world.read(MAP, OTHER)
    world.listed(config_map(5))
    assert world.heard == []
    world.listed()
    [answer] = world.heard
    assert (set(answer.objects), set(answer.failures)) == ({MAP}, {OTHER})


# --- fair shares ----------------------------------------------------------------------------------------------------


def large_pod(uid: str, names: Iterable[str], *, priority: int | None = None) -> Pod:
    refs = [{"configMapRef": {"name": name}} for name in names]
    spec = {"containers": [{"name": "a", "image": "b", "envFrom": refs}], "priority": priority}
    return from_builtins({"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}, Pod)


def names_of(calls: list[Any]) -> list[str]:
    """The objects that calls list or get."""
    return [call.name or dict(call.query)["fieldSelector"].partition("=")[2] for call in calls]


@pytest.mark.parametrize("strategy", list(Strategy))
def test_a_pod_with_thousands_of_objects_does_not_hold_up_another(strategy: Strategy, worlds: list[World]):
    world = World(strategy)
    worlds.append(world)
    many = [f"m{number}" for number in range(3_000)]
    world.cache.tell(HoldObjects(large_pod("large", many)))
    refs = tuple(ObjectRef("ConfigMap", "shop", name) for name in many)
    world.cache.tell(ReadObjects(world.reader, "many", refs, "large"))
    world.run()
    asked = len(world.api.calls)
    assert 0 < asked <= 32, "few calls of one pod are in flight"
    world.hold(pod("small"))
    world.read(uid="small")
    assert names_of(world.api.calls[asked:]) == ["m"]
    assert world.api.calls[-1].turn_of == "small"


@pytest.mark.parametrize("strategy", [Strategy.WATCH, Strategy.CACHE])
def test_an_object_that_a_large_pod_needs_last_comes_in_the_turn_of_a_small_pod(
    strategy: Strategy, worlds: list[World]
):
    world = World(strategy)
    worlds.append(world)
    world.hold(large_pod("large", [*(f"m{number}" for number in range(300)), "m"]))
    refs = tuple(ObjectRef("ConfigMap", "shop", f"m{number}") for number in range(300))
    world.read(*refs, MAP, uid="large")
    asked = len(world.api.calls)
    assert "m" not in names_of(world.api.calls)
    world.hold(pod("small"))
    world.read(uid="small")
    assert names_of(world.api.calls[asked:]) == ["m"]


def test_a_critical_pod_comes_first_when_all_places_are_taken(world: World):
    for uid in range(12):
        world.hold(large_pod(f"pod{uid}", [f"m{uid}-{number}" for number in range(40)]))
    assert len(world.api.calls) == 256
    world.hold(large_pod("small", ["mine"]), large_pod("critical", ["first"], priority=2_000_000_000))
    for _ in range(2):
        world.listed(config_map(1))
    assert names_of(world.api.calls[256:])[0] == "first"
    assert world.api.calls[256].urgent


def test_the_end_of_a_large_pod_leaves_nothing_of_it(world: World):
    world.hold(large_pod("large", [f"m{number}" for number in range(1_000)]))
    world.cache.tell(HoldObjects(large_pod("large", [f"n{number}" for number in range(1_000)])))
    world.cache.tell(ReleaseObjects("large"))
    world.hold(pod("small"))
    world.run()
    before = len(world.api.calls)
    while world.api.open_calls:
        world.listed(config_map(1))
    assert len(world.api.calls) == before, "nothing is listed any more for the pod that has ended"
    assert [watch.call.query for watch in world.api.watches if not watch.closed] == [
        watch.call.query for watch in world.api.watches if "metadata.name=m" in dict(watch.call.query).values()
    ]


def test_an_object_goes_on_to_be_followed_for_the_pod_that_is_left(world: World):
    world.hold(pod("p"), pod("q"))
    world.cache.tell(ReleaseObjects("p"))
    world.run()
    world.listed(config_map(1))
    [watch] = world.api.watches
    assert watch.call.turn_of == "q"


def test_a_step_of_one_pod_costs_the_same_however_many_objects_others_hold():
    def cost(others: int) -> int:
        world = World(Strategy.WATCH)
        world.hold(large_pod("large", [f"m{number}" for number in range(others)]))

        def start_and_end() -> None:
            world.hold(pod("small"))
            world.read(uid="small")
            world.cache.tell(ReleaseObjects("small"))
            world.run()

        lines = lines_of(start_and_end)
        assert world.system.stop()
        return lines

    assert cost(3_000) <= 1.1 * cost(30)
