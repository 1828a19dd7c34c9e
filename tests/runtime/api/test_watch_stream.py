"""Lines put together from chunks, and what an event becomes."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.api.resources import PODS
from runtime.api import ApiError, get, list_objects, watch_objects
from runtime.api.watch_stream import LineSplitter, LineTooLongError, cut_short, read_event
from tests.runtime.api.scripted_server import event_line, pod

WATCH = watch_objects(PODS, resource_version="1")


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.lists(st.integers(0, 400)))
def test_lines_come_out_whole_however_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(line + b"\n" for line in lines) + b"rest"
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    splitter = LineSplitter()
    found = [line for at, to in pairwise(places) for line in splitter.feed(text[at:to])]
    assert found == [line for line in lines if line.strip()]
    assert splitter.rest == b"rest"


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    splitter = LineSplitter(limit_bytes=10)
    assert splitter.feed(b"0123456789") == []
    with pytest.raises(LineTooLongError):
        splitter.feed(b"x")
    with pytest.raises(LineTooLongError):
        LineSplitter(limit_bytes=10).feed(b"0123456789x\n")
    splitter = LineSplitter(limit_bytes=10)
    assert len(splitter.feed(b"0123456789\n" * 3)) == 3


def test_a_line_that_comes_byte_by_byte_takes_no_more_than_its_size() -> None:
    splitter = LineSplitter()
    tracemalloc.start()
    try:
        for _ in range(100_000):
            splitter.feed(b"x")
        assert tracemalloc.get_traced_memory()[0] < 300_000
    finally:
        tracemalloc.stop()


def test_a_change_has_the_object_and_its_version() -> None:
    event = read_event(event_line("DELETED", pod("a", "5")), WATCH)
    assert (event.type, event.resource_version) == ("DELETED", "5")
    assert event.object is not None
    assert event.object.metadata.name == "a"


def test_a_large_object_is_remembered_from_change_to_change_until_it_is_gone() -> None:
    document = {
        **pod("a", "5"),
        "spec": {"containers": [{"name": "app", "env": [{"name": "X", "value": "x" * 99_999}]}]},
    }
    document["metadata"]["uid"] = "large"

    def read(change: str) -> Any:
        event = read_event(event_line(change, document), WATCH)
        assert event.object is not None
        return event.object.spec

    first = read("ADDED")
    assert read("MODIFIED") is first
    assert read("DELETED") is first
    assert read("ADDED") is not first


def test_a_bookmark_has_a_version_alone() -> None:
    event = read_event(event_line("BOOKMARK", {"metadata": {"resourceVersion": "6"}, "spec": {}}), WATCH)
    assert (event.type, event.object, event.resource_version) == ("BOOKMARK", None, "6")


def test_an_error_is_raised_with_the_wait_the_server_asks_for() -> None:
    status = {"kind": "Status", "code": 429, "message": "later", "details": {"retryAfterSeconds": 3}}
    with pytest.raises(ApiError) as caught:
        read_event(event_line("ERROR", status), WATCH)
    assert (caught.value.code, caught.value.reason, caught.value.retry_after_ns) == (429, "TooManyRequests", 3 * 10**9)


def test_an_end_between_two_lines_is_in_order() -> None:
    splitter = LineSplitter()
    splitter.feed(b"a\n \t")
    assert cut_short(splitter, WATCH) is None
    splitter.feed(b"{")
    assert cut_short(splitter, WATCH) is not None


def test_managed_fields_are_left_out_of_changes_lists_and_answers() -> None:
    shown = pod("a", "5")
    plain = read_event(event_line("ADDED", shown), WATCH).object
    shown["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:containers": {}}}}]
    assert read_event(event_line("ADDED", shown), WATCH).object == plain
    body = msgspec.json.encode(shown)
    assert get(PODS, "default", "a").read(body) == plain
    listed = list_objects(PODS).read(b'{"metadata": {"resourceVersion": "5"}, "items": [' + body + b"]}")
    assert listed.items == (plain,)
