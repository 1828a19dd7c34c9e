"""What the door does to the requests and the watches of one identity, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.requests.answers import Answer, ListAnswer, ObjectAnswer, WatchAnswer
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError
from simulation.apiserver.store.store import Version
from simulation.operators.door import Door
from simulation.operators.faults import read_fault

OPERATOR = ApiUser("operator", ("system:masters",))
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
ROOT = "kube-root-ca.crt"
"""The config map that every namespace has."""
SECOND_NS = 10**9


class Bench:
    """A server, a door with one fault, and how often the operator was killed."""

    def __init__(self, fault: str = "") -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.server = ApiServer(self.dispatcher)
        self.kills = 0
        self.door = Door(self.server, self, "operator", read_fault(fault) if fault else None, self._kill)
        self.door.life = 1

    def after(self, ns: int, operation: Callable[[], object]) -> None:
        self.dispatcher.schedule(ns, operation)

    def _kill(self) -> None:
        self.kills += 1

    def ask(self, method: str, path: str, body: Any = None, user: ApiUser = OPERATOR, **query: Any) -> Answer:
        asked = ApiRequest(method, path, tuple(query.items()), body or b"", user=user)

        async def carry_out() -> Answer:
            return self.server.handle(asked)

        return asyncio.run(self.door.answer(Clients(), asked, "operator", carry_out))

    def make(self, name: str, user: ApiUser = OPERATOR, **data: str) -> int:
        return self.ask("POST", MAPS, {"metadata": {"name": name}, "data": data}, user).code

    def secret(self, name: str, **metadata: Any) -> None:
        assert self.ask("POST", SECRETS, {"metadata": {"name": name, **metadata}}, ADMIN).code == 201

    def update(self, name: str, value: str) -> None:
        self.ask("PUT", f"{MAPS}/{name}", {"metadata": {"name": name}, "data": {"key": value}})

    def names(self, **query: Any) -> list[str]:
        answer = self.ask("GET", MAPS, **query)
        assert isinstance(answer, ListAnswer)
        return [version.name for version in answer.versions if version.name != ROOT]

    def watch(self, **query: Any) -> Watched:
        return Watched(self.ask("GET", MAPS, watch="true", **query))


class Watched:
    """What a watch has shown, and how it ended."""

    def __init__(self, answer: Answer) -> None:
        assert isinstance(answer, WatchAnswer)
        self.events: list[tuple[str, str]] = []
        self.end: StatusError | None = None
        self.ended = False
        answer.watcher.start(self._take, self._end)

    def _take(self, kind: str, version: Version) -> None:
        if version.name != ROOT:
            self.events.append((kind, version.name))

    def _end(self, error: StatusError | None) -> None:
        self.ended, self.end = True, error


def test_requests_are_recorded_by_name_and_those_of_others_are_not() -> None:
    bench = Bench()
    bench.make("a")
    bench.make("b", ADMIN)
    bench.ask("GET", f"{MAPS}/a")
    bench.ask("DELETE", f"{MAPS}/gone")
    assert [(str(one.key), one.code, one.changed) for one in bench.door.asked] == [
        ("create configmaps default/a #1", 201, True),
        ("get configmaps default/a #1", 200, False),
        ("delete configmaps default/gone #1", 404, False),
    ]


def test_writes_that_change_nothing_have_the_number_of_the_next_one() -> None:
    bench = Bench()
    bench.make("a")
    bench.make("a")  # 409
    for value in ("x", "x", "y"):
        bench.update("a", value)
    assert [(str(one.key), one.code, one.changed) for one in bench.door.asked] == [
        ("create configmaps default/a #1", 201, True),
        ("create configmaps default/a #2", 409, False),
        ("update configmaps default/a #1", 200, True),
        ("update configmaps default/a #2", 200, False),
        ("update configmaps default/a #2", 200, True),
    ]


def test_to_take_the_last_finalizer_away_changes_something() -> None:
    bench = Bench()
    bench.secret("a", finalizers=["example.com/last"])
    bench.ask("DELETE", f"{SECRETS}/a", user=ADMIN)
    assert bench.ask("PUT", f"{SECRETS}/a", {"metadata": {"name": "a"}}).code == 200
    assert [one.changed for one in bench.door.asked] == [True]


@pytest.mark.parametrize(("kind", "strikes_at"), [("kill-after", "y"), ("timeout", "y"), ("error", "x")])
def test_what_strikes_after_a_write_waits_for_one_that_changes_something(kind: str, strikes_at: str) -> None:
    bench = Bench(f"{kind} update configmaps default/a #2")
    bench.make("a")
    bench.update("a", "x")
    struck = []
    for value in ("x", "y"):
        with suppress(ConnectionResetError):
            bench.update("a", value)
        struck.append(bench.door.struck)
    assert struck == ([False, True] if strikes_at == "y" else [True, True])


@pytest.mark.parametrize(("kind", "is_done"), [("kill-before", False), ("kill-after", True)])
def test_a_kill_leaves_the_write_undone_or_done_and_gives_no_answer(kind: str, is_done: bool) -> None:
    bench = Bench(f"{kind} create configmaps default/a #1")
    with pytest.raises(ConnectionResetError):
        bench.make("a")
    assert (bench.kills, bench.door.struck, "a" in bench.names()) == (1, True, is_done)
    assert bench.make("b") == 201


@pytest.mark.parametrize(
    ("kind", "code", "is_done"), [("error", 500, False), ("throttle", 429, False), ("timeout", 504, True)]
)
def test_a_refusal_strikes_once(kind: str, code: int, is_done: bool) -> None:
    bench = Bench(f"{kind} create configmaps default/a #1")
    assert bench.make("a") == code
    assert ("a" in bench.names()) is is_done
    assert bench.make("b") == 201


def test_after_a_restart_only_reads_of_any_version_are_old() -> None:
    bench = Bench("stale-write create configmaps default/b #1")
    bench.make("a")
    with pytest.raises(ConnectionResetError):
        bench.make("b")
    assert bench.names(resourceVersion="0") == ["a"]
    assert bench.names() == ["a", "b"]
    assert isinstance(bench.ask("GET", f"{MAPS}/a", resourceVersion="0"), ObjectAnswer)
    assert bench.ask("GET", f"{MAPS}/b", resourceVersion="0").code == 404
    assert bench.ask("GET", f"{MAPS}/b").code == 200


def test_a_lag_ends_soon_after_the_next_change_of_a_user_and_its_watches_show_the_rest() -> None:
    bench = Bench("stale-write create configmaps default/b #1")
    bench.make("a")
    with pytest.raises(ConnectionResetError):
        bench.make("b")
    watched = bench.watch(resourceVersion="0")
    assert watched.events == [("ADDED", "a")]
    bench.make("c", ADMIN)
    bench.dispatcher.run_for(4 * SECOND_NS)
    assert watched.events == [("ADDED", "a")]
    bench.dispatcher.run_for(2 * SECOND_NS)
    assert watched.events == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert bench.names(resourceVersion="0") == ["a", "b", "c"]


def test_a_lag_of_a_step_hides_what_the_user_did_in_it() -> None:
    bench = Bench("stale-step create configmaps default/b #1")
    bench.make("before", ADMIN)
    bench.door.next_step()
    bench.make("asked-for", ADMIN)
    with pytest.raises(ConnectionResetError):
        bench.make("b")
    assert bench.names(resourceVersion="0") == ["before"]


def test_a_missed_event_is_never_shown_and_the_watch_ends_with_410() -> None:
    bench = Bench("miss DELETED configmaps default/a #1")
    bench.make("a", ADMIN)
    version = str(bench.server.store.revision)
    watched = bench.watch(resourceVersion=version)
    bench.ask("DELETE", f"{MAPS}/a", user=ADMIN)
    bench.make("a", ADMIN)
    bench.dispatcher.run_for(6 * SECOND_NS)
    assert watched.events == []
    assert watched.end is not None
    assert watched.end.code == 410
    assert bench.ask("GET", MAPS, watch="true", resourceVersion=version).code == 410
    assert bench.names() == ["a"]


def test_a_late_event_comes_after_a_minute_at_the_latest() -> None:
    bench = Bench("late ADDED configmaps default/a #1")
    watched = bench.watch(resourceVersion=str(bench.server.store.revision))
    bench.ask("POST", MAPS, {"metadata": {"name": "a"}})
    bench.dispatcher.run_for(59 * SECOND_NS)
    assert watched.events == []
    bench.dispatcher.run_for(2 * SECOND_NS)
    assert watched.events == [("ADDED", "a")]


def test_a_spec_that_lags_behind_is_shown_beside_new_objects_of_the_operator() -> None:
    bench = Bench("stale-spec create configmaps default/b #1")
    Watched(bench.ask("GET", SECRETS, watch="true", resourceVersion=str(bench.server.store.revision)))
    bench.secret("before")
    bench.door.next_step()
    bench.secret("after")
    with pytest.raises(ConnectionResetError):
        bench.make("b")
    answer = bench.ask("GET", SECRETS, resourceVersion="0")
    assert isinstance(answer, ListAnswer)
    assert [version.name for version in answer.versions] == ["before"]
    assert bench.names(resourceVersion="0") == ["b"]
    secrets = Watched(bench.ask("GET", SECRETS, watch="true", resourceVersion=str(answer.revision)))
    maps = bench.watch(resourceVersion=str(bench.server.store.revision))
    bench.make("c")
    assert (secrets.events, maps.events) == ([], [("ADDED", "c")])
    bench.dispatcher.run_for(61 * SECOND_NS)
    assert secrets.events == [("ADDED", "after")]


def test_an_earlier_deletion_of_a_spec_is_shown_beside_new_objects_of_the_operator() -> None:
    bench = Bench("stale-deletion create configmaps default/b #1")
    bench.secret("spec", finalizers=["example.com/last"])
    Watched(bench.ask("GET", SECRETS, watch="true", resourceVersion=str(bench.server.store.revision)))
    bench.ask("DELETE", f"{SECRETS}/spec", user=ADMIN)
    bench.ask("PUT", f"{SECRETS}/spec", {"metadata": {"name": "spec"}}, ADMIN)
    bench.secret("spec")
    with pytest.raises(ConnectionResetError):
        bench.make("b")
    answer = bench.ask("GET", SECRETS, resourceVersion="0")
    assert isinstance(answer, ListAnswer)
    assert ["deletionTimestamp" in version.object["metadata"] for version in answer.versions] == [True]
    assert bench.names(resourceVersion="0") == ["b"]


def test_cut_watches_end_before_the_event_which_a_new_one_shows() -> None:
    bench = Bench("cut ADDED configmaps default/b #1")
    version = str(bench.server.store.revision)
    watched = bench.watch(resourceVersion=version)
    bench.make("a")
    bench.make("b")
    assert (watched.events, watched.ended) == ([("ADDED", "a")], True)
    assert bench.watch(resourceVersion=version).events == [("ADDED", "a"), ("ADDED", "b")]


@pytest.mark.parametrize("kind", ["cut", "miss"])
def test_an_operator_may_sleep_before_it_watches_anew_but_not_for_ever(kind: str) -> None:
    bench = Bench(f"{kind} ADDED configmaps default/a #1")
    bench.watch(resourceVersion=str(bench.server.store.revision))
    assert not bench.door.awaits(100.0)
    bench.make("a", ADMIN)
    bench.dispatcher.run_for(61 * SECOND_NS)  # what was held back is given up
    assert bench.door.awaits(100.0)
    assert bench.door.awaits(104.0)
    assert not bench.door.awaits(106.0)
    bench.watch(resourceVersion=str(bench.server.store.revision))
    assert not bench.door.awaits(101.0)


def test_an_event_that_is_shown_again_is_one_moment() -> None:
    bench = Bench()
    version = str(bench.server.store.revision)
    first, second = bench.watch(resourceVersion=version), bench.watch(resourceVersion=version)
    bench.make("a")
    assert first.events == second.events == [("ADDED", "a")]
    assert [str(one.key) for one in bench.door.shown] == ["ADDED configmaps default/a #1"]
