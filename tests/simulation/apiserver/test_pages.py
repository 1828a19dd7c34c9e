"""Pages of a list: they show one moment, for as long as the server knows it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.verbs.read import CONTINUE_TOO_OLD
from tests.simulation.apiserver.test_store_properties import do, operation
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, Asked, Server

SECRETS = "/api/v1/namespaces/default/secrets"


def names(answer: Asked) -> list[str]:
    assert answer.code == 200, answer.value
    return [item["metadata"]["name"] for item in answer.value["items"]]


def make(server: Server, *named: str) -> None:
    for name in named:
        assert server.ask("POST", SECRETS, {"metadata": {"name": name}}).code == 201


def test_all_pages_show_the_moment_of_the_first_whatever_happens_between_them() -> None:
    server = Server()
    make(server, "a", "b", "c", "d")
    page = server.get(SECRETS, limit="2").value
    token, version = page["metadata"]["continue"], page["metadata"]["resourceVersion"]
    server.ask("DELETE", f"{SECRETS}/d")
    make(server, "bb")
    server.ask("PATCH", f"{SECRETS}/c", {"data": {"a": "Yg=="}}, content_type=MERGE)
    rest = server.get(SECRETS, continue_=token)
    assert names(rest) == ["c", "d"]
    assert "data" not in rest.value["items"][0]
    assert rest.value["metadata"]["resourceVersion"] == version
    assert names(server.get(SECRETS)) == ["a", "b", "bb", "c"]


@given(st.lists(operation, max_size=20), st.lists(operation, max_size=20))
def test_an_old_version_lists_what_was_there_then(before: list[Any], after: list[Any]) -> None:
    server = Server()
    for one in before:
        do(server, one, [])
    then = server.get(PODS).value
    for one in after:
        do(server, one, [])
    version = then["metadata"]["resourceVersion"]
    assert server.get(PODS, resourceVersion=version, resourceVersionMatch="Exact").value == then


def test_a_page_of_a_forgotten_moment_is_refused_with_a_token_to_go_on() -> None:
    server = Server()
    make(server, "a", "b", "c")
    token = server.get(SECRETS, limit="1").value["metadata"]["continue"]
    server.server.store.forget()
    late = server.get(SECRETS, limit="1", continue_=token)
    assert (late.code, late.value["reason"], late.message) == (410, "Expired", CONTINUE_TOO_OLD)
    make(server, "d")
    assert names(server.get(SECRETS, continue_=late.value["metadata"]["continue"])) == ["b", "c", "d"]


def test_a_page_is_too_late_some_minutes_after_the_first() -> None:
    server = Server()
    make(server, "a", "b", "c")
    token = server.get(SECRETS, limit="1").value["metadata"]["continue"]
    codes = []
    for minute in range(12):
        make(server, f"x{minute}")
        codes.append(server.get(SECRETS, limit="1", continue_=token).code)
        server.world.run_for(60 * SECOND_NS)
    assert codes == sorted(codes)
    assert {codes[0], codes[4], codes[-1]} == {200, 410}
    assert codes[4] == 200


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({}, ["a", "b"]),
        ({"limit": "1"}, ["a"]),
        ({"limit": "-1"}, ["a", "b"]),
        ({"resourceVersion": "THEN"}, ["a", "b"]),
        ({"resourceVersion": "THEN", "limit": "1"}, ["a"]),
        ({"resourceVersion": "THEN", "limit": "5"}, ["a"]),
        ({"resourceVersion": "THEN", "resourceVersionMatch": "Exact"}, ["a"]),
        ({"resourceVersion": "THEN", "resourceVersionMatch": "NotOlderThan", "limit": "5"}, ["a", "b"]),
        ({"resourceVersion": "0", "limit": "1"}, ["a", "b"]),
    ],
)
def test_which_moment_a_list_shows(query: dict[str, str], shown: list[str]) -> None:
    server = Server()
    make(server, "a")
    then = server.get(SECRETS).value["metadata"]["resourceVersion"]
    make(server, "b")
    asked = {name: then if value == "THEN" else value for name, value in query.items()}
    assert names(server.get(SECRETS, **asked)) == shown


def test_a_version_that_is_still_to_come_is_not_waited_for() -> None:
    server = Server()
    for path in (SECRETS, f"{SECRETS}/a"):
        answer = server.get(path, resourceVersion="99999")
        assert answer.code == 504
        assert answer.message.startswith("Timeout: Too large resource version: 99999, current: ")


def test_objects_of_all_namespaces_have_the_order_of_a_real_server() -> None:
    server = Server()
    for namespace in ("x", "x-y"):
        server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        server.ask("POST", f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": f"in-{namespace}"}})
    first = server.get("/api/v1/secrets", limit="1")
    assert names(first) == ["in-x-y"], "a dash sorts before a slash"
    assert names(server.get("/api/v1/secrets", continue_=first.value["metadata"]["continue"])) == ["in-x"]


def test_a_collection_is_deleted_page_by_page() -> None:
    server = Server()
    make(server, "a", "b", "c")
    page = server.ask("DELETE", SECRETS, limit="2")
    assert names(page) == ["a", "b"]
    assert names(server.get(SECRETS)) == ["c"]
    assert names(server.ask("DELETE", SECRETS, continue_=page.value["metadata"]["continue"])) == ["c"]


def test_a_watch_from_no_version_says_where_its_beginning_ends_to_who_takes_bookmarks() -> None:
    server = Server()
    make(server, "a")
    version = server.get(SECRETS).value["metadata"]["resourceVersion"]
    end = {"resourceVersion": version, "annotations": {"k8s.io/initial-events-end": "true"}}
    for query in ({}, {"resourceVersion": "0"}):
        told = server.watch(SECRETS, allowWatchBookmarks="true", **query)
        assert told.told == ["ADDED a", "BOOKMARK"]
        assert told.events[1][1]["metadata"] == end
        assert server.watch(SECRETS, **query).told == ["ADDED a"]
    match = {"resourceVersionMatch": "NotOlderThan"}
    assert server.watch(SECRETS, sendInitialEvents="false", allowWatchBookmarks="true", **match).told == []
    assert server.watch(SECRETS, resourceVersion=version, allowWatchBookmarks="true").told == []


@pytest.mark.parametrize("text", ["x", "-1", "9" * 5000, "1.5"])
def test_numbers_of_a_query_that_are_none_are_refused(text: str) -> None:
    server = Server()
    make(server, "a")
    for query in ({"resourceVersion": text}, {"resourceVersion": text, "watch": "true"}):
        assert server.get(SECRETS, **query).code == 400
    assert server.get(f"{SECRETS}/a", resourceVersion=text).code == 400
    if text != "-1":
        for name in ("limit", "timeoutSeconds"):
            assert server.get(SECRETS, **{name: text}).code == 400
