"""A client that lists once and then watches knows at any time what a list would show.

That holds whatever happens meanwhile.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.core import Options
from simulation.apiserver.requests.answers import WatchAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.store import store
from simulation.apiserver.store.store import Version
from tests.simulation.apiserver.worlds import MERGE, PODS, Server, pod, typed

NAMES = ("a", "b", "c")
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"labelSelector": "app=x"},
    {"labelSelector": "app!=x"},
    {"fieldSelector": "spec.nodeName=n1"},
    {"fieldSelector": "metadata.name=a"},
    {"fieldSelector": "status.phase!=Running", "labelSelector": "app"},
)

name = st.sampled_from(NAMES)
operation = st.one_of(
    st.tuples(st.just("create"), name, st.sampled_from(["", "n1", "n2"])),
    st.tuples(st.just("label"), name, st.sampled_from([None, "x", "y"])),
    st.tuples(st.just("phase"), name, st.sampled_from(["Running", "Pending"])),
    st.tuples(st.just("bind"), name, st.sampled_from(["n1", "n2"])),
    st.tuples(st.just("delete"), name, st.sampled_from([0, 5])),
    st.tuples(st.just("cut"), name, st.just("")),
)


class Follower:
    """A client with a cache: it begins with a list, and a watch that is cut goes on where it was."""

    def __init__(self, server: Server, query: dict[str, str]) -> None:
        self.server = server
        self.query = query
        self.known: dict[str, Any] = {}
        self.lists = 0
        self.list()

    def list(self) -> None:
        listed = self.server.get(PODS, **self.query).value
        self.known = {item["metadata"]["name"]: typed(item, "Pod") for item in listed["items"]}
        self.revision = listed["metadata"]["resourceVersion"]
        self.lists += 1
        self.watch()

    def watch(self) -> None:
        query = (("watch", "true"), ("resourceVersion", self.revision), *self.query.items())
        answer = self.server.server.handle(ApiRequest("GET", PODS, query))
        if isinstance(answer, WatchAnswer):
            self.watcher = answer.watcher
            answer.watcher.start(self.take, lambda _: None)
        else:
            assert answer.code == 410
            self.list()

    def take(self, kind: str, version: Version) -> None:
        value = msgspec.json.decode(version.body())
        where = value["metadata"]["name"]
        assert int(value["metadata"]["resourceVersion"]) > int(self.revision), "nothing comes twice"
        self.revision = value["metadata"]["resourceVersion"]
        assert (kind == "ADDED") is (where not in self.known)
        if kind == "DELETED":
            del self.known[where]
        else:
            self.known[where] = value

    def cut(self) -> None:
        self.watcher.end()
        self.watch()


def do(server: Server, operation: tuple[str, str, Any], followers: list[Follower]) -> None:
    what, which, value = operation
    path = f"{PODS}/{which}"
    if what == "create":
        server.ask("POST", PODS, pod(which, **({"nodeName": value} if value else {})))
    elif what == "label":
        server.ask("PATCH", path, {"metadata": {"labels": {"app": value}}}, content_type=MERGE)
    elif what == "phase":
        server.ask("PATCH", f"{path}/status", {"status": {"phase": value}}, content_type=MERGE)
    elif what == "bind":
        server.ask("POST", f"{path}/binding", {"target": {"name": value}})
    elif what == "delete":
        server.ask("DELETE", path, gracePeriodSeconds=str(value))
    else:
        for follower in followers:
            follower.cut()


@given(st.lists(operation, max_size=30), st.sampled_from([1, 2, 10_000]))
def test_a_follower_of_a_watch_knows_what_a_list_shows(
    operations: list[tuple[str, str, Any]], history_at_most: int
) -> None:
    server = Server(Options(history_at_most=history_at_most))
    followers = [Follower(server, query) for query in QUERIES]
    for one in operations:
        do(server, one, followers)
        for follower in followers:
            listed = server.get(PODS, **follower.query).value["items"]
            assert {item["metadata"]["name"]: typed(item, "Pod") for item in listed} == follower.known
    if history_at_most == 10_000:
        assert all(follower.lists == 1 for follower in followers)


@given(st.lists(operation, max_size=20), st.integers(1, 3))
def test_pages_show_what_one_list_shows(operations: list[tuple[str, str, Any]], limit: int) -> None:
    server = Server()
    for one in operations:
        do(server, one, [])
    for query in QUERIES:
        seen: list[Any] = []
        token = ""
        while True:
            page = server.get(PODS, limit=str(limit), continue_=token, **query).value
            assert len(page["items"]) <= limit
            seen += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                break
        assert seen == server.get(PODS, **query).value["items"]


def test_an_object_that_is_written_down_while_its_text_is_made_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are written without the lock.

    Meanwhile the next event lets this object be encoded.
    """
    value = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}
    version, encode = Version(("", "a"), value, 1), store.encode

    def made_meanwhile(value: Any) -> bytes:
        monkeypatch.undo()
        text = encode(value)
        version.write_down()
        return text

    monkeypatch.setattr(store, "encode", made_meanwhile)
    assert version.body() == b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}' == version.body()
    assert version.object == value
