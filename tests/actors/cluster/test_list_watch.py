"""Followers miss no change, whatever ends their watch, and do not flood the API server."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from actors.cluster.list_watch import Follower
from actors.kernel import Actor, ActorSystem, SimulatedDispatcher
from config.api.resources import PODS
from config.objects import ObjectMeta, Pod
from runtime.api import ApiError, ObjectList
from runtime.api.resume import FIRST_WAIT_NS, LONGEST_WAIT_NS
from tests.actors.manual_api import ManualApi, gone, unreachable

SECOND_NS = 1_000_000_000


class PodFollower(Follower):
    """Writes down what it is told."""

    def __init__(self, api: ManualApi, heard: list[Any]) -> None:
        super().__init__(api)
        self.heard = heard

    def on_start(self) -> None:
        self.follow("pods", PODS, field_selector="spec.nodeName=n1")

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        self.heard.append(("listed", *(pod.metadata.name for pod in objects)))

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        self.heard.append((event_type, value.metadata.name))


def pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"))


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.heard: list[Any] = []
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.ref = self.system.spawn(PodFollower, self.api, self.heard, name="follower")
        self.run()

    def run(self, ns: int = SECOND_NS // 10) -> None:
        self.dispatcher.run_for(ns)

    def watching(self, version: str = "5") -> None:
        """Until the first watch has proved itself."""
        self.api.answer(ObjectList((pod("a"),), version))
        self.run(2 * SECOND_NS)

    def must_list_the_newest(self) -> None:
        """The server has forgotten what was known, and a list of it as well."""
        self.watching("5")
        self.api.watches[0].end(gone())
        self.run()
        self.api.fail(gone())
        self.run(3 * SECOND_NS)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()


# (spec 1.1.3)
def test_a_follower_lists_and_watches_from_the_listed_version(world: World):
    assert dict(world.api.calls[0].query) == {"fieldSelector": "spec.nodeName=n1", "resourceVersion": "0"}
    world.watching("5")
    query = world.api.watches[0].query
    assert (query["resourceVersion"], query["fieldSelector"]) == ("5", "spec.nodeName=n1")
    assert 300 <= int(query["timeoutSeconds"]) <= 600
    world.api.watches[0].say("ADDED", pod("b"), "6")
    world.api.watches[0].say("DELETED", pod("a"), "7")
    world.run()
    assert world.heard == [("listed", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_that_ends_goes_on_from_the_last_version_bookmarks_included(world: World):
    world.watching("5")
    world.api.watches[0].say("MODIFIED", pod("a"), "6")
    world.api.watches[0].say("BOOKMARK", None, "90")
    world.run()
    world.api.watches[0].end()
    world.run()
    assert world.api.watches[1].query["resourceVersion"] == "90"
    assert len(world.api.calls) == 1  # nothing was listed again


def test_a_starved_follower_gets_only_the_newest_version_of_each_object(world: World):
    world.watching("5")
    world.heard.clear()
    for version in range(6, 3_006):
        world.api.watches[0].say("MODIFIED", pod("abc"[version % 3]), str(version))
    world.api.watches[0].say("DELETED", pod("a"), "3006")
    world.api.watches[0].say("ADDED", pod("d"), "3007")
    assert world.ref.actor_inbox.mailbox.depth() == 4
    world.run()
    assert world.heard == [("DELETED", "a"), ("MODIFIED", "b"), ("MODIFIED", "c"), ("ADDED", "d")]


def test_where_the_history_is_gone_the_set_is_listed_at_once(world: World):
    world.watching("5")
    world.api.watches[0].end(gone())
    world.run()
    again = world.api.answer(ObjectList((pod("a"), pod("c")), "200"))
    assert dict(again.query)["resourceVersion"] == "5"  # not older than what is known
    world.run()
    assert world.heard[-1] == ("listed", "a", "c")
    assert world.api.watches[1].query["resourceVersion"] == "200"


def test_a_long_list_comes_in_pages_and_is_told_as_one(world: World):
    world.must_list_the_newest()
    first = world.api.answer(ObjectList((pod("a"),), "200", "more"))
    assert dict(first.query)["limit"] == "500"
    world.run()
    second = world.api.answer(ObjectList((pod("b"),), "200"))
    assert dict(second.query)["continue"] == "more"
    world.run()
    assert world.heard[-1] == ("listed", "a", "b")


def test_a_page_that_has_expired_begins_the_list_anew(world: World):
    world.must_list_the_newest()
    world.api.answer(ObjectList((pod("a"),), "200", "more"))
    world.run()
    world.api.fail(gone())
    world.run(3 * SECOND_NS)
    assert "continue" not in dict(world.api.open_calls[0][0].query)
    world.api.answer(ObjectList((pod("b"),), "300"))
    world.run()
    assert world.heard[-1] == ("listed", "b")


def test_a_server_that_is_away_is_asked_less_and_less_often(world: World):
    for _ in range(8):
        world.api.fail(unreachable())
        world.run(LONGEST_WAIT_NS + SECOND_NS)
    assert len(world.api.calls) == 9
    world.api.answer(ObjectList((), "1"))
    world.run()
    assert world.heard == [("listed",)]


def test_after_an_outage_the_watch_goes_on_without_a_new_list(world: World):
    world.watching("5")
    world.api.watches[0].end(unreachable())
    world.run(3 * SECOND_NS)
    assert world.api.watches[1].query["resourceVersion"] == "5"
    world.api.watches[1].say("ADDED", pod("b"), "6")
    world.run()
    assert world.heard[-1] == ("ADDED", "b")


def test_events_of_a_replaced_watch_are_ignored(world: World):
    world.watching("5")
    old = world.api.watches[0]
    old.end(gone())
    world.run()
    world.api.answer(ObjectList((), "9"))
    old.say("ADDED", pod("ghost"), "6")
    world.run()
    assert ("ADDED", "ghost") not in world.heard


def test_a_watch_that_always_ends_at_once_does_not_spin(world: World):
    world.watching("5")
    for _ in range(5):
        world.api.watches[-1].end()
        world.run(FIRST_WAIT_NS // 2)
    assert len(world.api.watches) <= 3


def test_a_refusal_is_not_fatal(world: World):
    world.api.fail(ApiError(403, "Forbidden", "not you", "list pods"))
    world.run(3 * SECOND_NS)
    world.watching()
    assert world.heard == [("listed", "a")]


def test_after_a_failure_of_the_actor_it_follows_again_and_the_old_watch_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.watching("5")
    old = world.api.watches[0]

    def fail(self: Actor, *_: Any) -> None:
        raise RuntimeError("boom")

    with monkeypatch.context() as patched:
        patched.setattr(PodFollower, "changed", fail)
        old.say("ADDED", pod("b"), "6")
        world.run()
    world.run(3 * SECOND_NS)
    world.api.answer(ObjectList((pod("a"), pod("b")), "6"))
    world.run()
    assert world.heard[-1] == ("listed", "a", "b")
    old.say("ADDED", pod("c"), "7")
    world.run()
    assert old.closed


def test_one_outage_is_said_once_for_all_sets_of_a_resource(world: World, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")

    def follow_more(self: PodFollower) -> None:
        for number in range(3):
            self.follow(number, PODS, field_selector=f"metadata.name={number}")

    follower = world.system.spawn(type("Many", (PodFollower,), {"on_start": follow_more}), world.api, [], name="many")
    world.run()
    while world.api.open_calls:
        world.api.fail(unreachable())
    world.run()
    assert caplog.text.count("pods cannot be followed now") == 2  # one actor each
    world.run(3 * SECOND_NS)
    while world.api.open_calls:
        world.api.answer(ObjectList((), "5"))
    world.run()
    assert caplog.text.count("pods are followed again") == 2
    assert follower is not None


def test_a_failing_follower_closes_its_watch(world: World, monkeypatch: pytest.MonkeyPatch):
    world.watching("5")
    monkeypatch.setattr(PodFollower, "changed", lambda *_: 1 / 0)
    world.api.watches[0].say("MODIFIED", pod("a"), "6")
    world.run()
    assert world.api.watches[0].closed
