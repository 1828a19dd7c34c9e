"""Watches over real HTTP: cut, slow, refused, ended and closed."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any

import pytest
from aiohttp import web

from config.api.resources import PODS
from config.objects import Pod
from runtime.api import ApiError, WatchEvent, get, watch_objects
from runtime.api.client import ApiClient
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import (
    WAIT,
    Handler,
    echo,
    event_line,
    pod,
    reply,
    status_object,
    stream,
)

WATCH = watch_objects(PODS, resource_version="1", timeout_seconds=300)


class Follower:
    """Collects what one watch tells."""

    def __init__(self) -> None:
        self.events: queue.Queue[WatchEvent[Pod]] = queue.Queue()
        self.ends: list[ApiError | None] = []
        self.ended = threading.Event()

    def on_event(self, event: WatchEvent[Pod]) -> None:
        assert not self.ends
        self.events.put(event)

    def on_end(self, error: ApiError | None) -> None:
        self.ends.append(error)
        self.ended.set()

    def follow(self, client: ApiClient) -> Any:
        return client.watch(WATCH, self.on_event, self.on_end)

    def told(self, count: int) -> list[tuple[str, str, str]]:
        """(type, name, version) of the next events."""
        events = [self.events.get(timeout=WAIT) for _ in range(count)]
        return [
            (event.type, event.object.metadata.name if event.object else "", event.resource_version) for event in events
        ]

    def end(self) -> ApiError | None:
        assert self.ended.wait(WAIT)
        (error,) = self.ends
        return error


def events(*chunks: Any) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await stream(request, *chunks)

    return answer


BOOKMARK = event_line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "12"}})
THREE = event_line("ADDED", pod("a", "10")) + event_line("MODIFIED", pod("a", "11")) + BOOKMARK
TOLD = [("ADDED", "a", "10"), ("MODIFIED", "a", "11"), ("BOOKMARK", "", "12")]


def test_a_watch_that_the_server_ends_in_order(serve: Serve, connect: Connect) -> None:
    server = serve(events(THREE))
    follower = Follower()
    follower.follow(connect(server))
    assert follower.end() is None
    assert follower.told(3) == TOLD
    (asked,) = server.asked
    assert asked.path == "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=300"


def test_events_are_told_however_the_network_cuts_them(serve: Serve, connect: Connect) -> None:
    follower = Follower()
    follower.follow(connect(serve(events(*(THREE[at : at + 7] for at in range(0, len(THREE), 7))))))
    assert follower.end() is None
    assert follower.told(3) == TOLD


def test_an_event_is_told_while_the_stream_goes_on(serve: Serve, connect: Connect) -> None:
    server = serve(events(THREE, asyncio.Event().wait()))
    follower = Follower()
    subscription = follower.follow(connect(server))
    assert follower.told(3) == TOLD
    assert not follower.ended.is_set()
    subscription.close()
    assert follower.end() is None


def test_a_stream_cut_by_the_network_is_unreachable(serve: Serve, connect: Connect) -> None:
    server = serve(events(THREE, asyncio.Event().wait()))
    follower = Follower()
    follower.follow(connect(server))
    follower.told(3)
    server.cut_all()
    error = follower.end()
    assert error is not None
    assert (error.code, error.reason, error.verb) == (0, "Unreachable", "watch pods")


def test_a_stream_that_ends_within_an_event_is_cut(serve: Serve, connect: Connect) -> None:
    follower = Follower()
    follower.follow(connect(serve(events(THREE[:-20]))))
    error = follower.end()
    assert follower.told(2) == TOLD[:2]
    assert error is not None
    assert error.code == 0


@pytest.mark.parametrize(
    ("line", "code", "reason"),
    [
        (event_line("ERROR", status_object(410, "Expired")), 410, "Expired"),
        (event_line("ERROR", status_object(429, "TooManyRequests")), 429, "TooManyRequests"),
        (event_line("ERROR", {"what": 1}), 500, "NotUnderstood"),
        (event_line("CHANGED", pod("a")), 200, "NotUnderstood"),
        (b"<html>\n", 200, "NotUnderstood"),
        (event_line("ADDED", {"metadata": {"name": 1}}), 200, "NotUnderstood"),
    ],
)
def test_a_line_that_is_no_watch_event_ends_the_watch(
    serve: Serve, connect: Connect, line: bytes, code: int, reason: str
) -> None:
    follower = Follower()
    follower.follow(connect(serve(events(THREE + line + THREE))))
    error = follower.end()
    assert error is not None
    assert (error.code, error.reason) == (code, reason)
    assert follower.events.qsize() == 3


def test_a_refused_watch(serve: Serve, connect: Connect) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return reply(status_object(410, "Expired", "too old resource version: 1 (7)"), 410)

    follower = Follower()
    follower.follow(connect(serve(refuse)))
    error = follower.end()
    assert error is not None
    assert error.expired
    assert str(error) == "watch pods: too old resource version: 1 (7) (410 Expired)"


def test_a_server_that_is_not_there(serve: Serve, connect: Connect) -> None:
    server = serve(echo)
    client = connect(server)
    server.stop_listening()
    follower = Follower()
    follower.follow(client)
    error = follower.end()
    assert error is not None
    assert error.reason == "Unreachable"


def test_closing_a_watch_closes_its_connection_and_tells_nothing_more(serve: Serve, connect: Connect) -> None:
    left = threading.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await stream(request, THREE, asyncio.Event().wait())
        finally:
            left.set()

    follower = Follower()
    subscription = follower.follow(connect(serve(answer)))
    follower.told(3)
    subscription.close()
    assert follower.end() is None
    assert left.wait(WAIT)
    subscription.close()
    assert follower.ends == [None]


def test_a_watch_closed_before_it_began(serve: Serve, connect: Connect) -> None:
    follower = Follower()
    follower.follow(connect(serve(events(THREE)))).close()
    assert follower.end() is None


def test_closing_the_client_ends_its_watches(serve: Serve, connect: Connect) -> None:
    client = connect(serve(events(THREE, asyncio.Event().wait())))
    follower = Follower()
    follower.follow(client)
    follower.told(3)
    client.close()
    error = follower.end()
    assert error is not None
    assert error.message == "the client was closed"
    late = Follower()
    late.follow(client)
    error = late.end()
    assert error is not None
    assert error.message == "the client was closed"


def test_calls_go_on_beside_any_number_of_watches(serve: Serve, connect: Connect) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await stream(request, THREE, asyncio.Event().wait())
        return await echo(request)

    client = connect(serve(answer), in_flight=1)
    followers = [Follower() for _ in range(20)]
    for follower in followers:
        follower.follow(client)
    for follower in followers:
        follower.told(3)
    assert client.call(get(PODS, "default", "web")).result(WAIT).metadata.name == "web"


def test_a_follower_that_raises_gets_the_next_event(serve: Serve, connect: Connect) -> None:
    seen: list[str] = []
    ended = threading.Event()

    def fail(event: WatchEvent[Pod]) -> None:
        seen.append(event.resource_version)
        raise ValueError("a fault of the follower")

    connect(serve(events(THREE))).watch(WATCH, fail, lambda _: ended.set())
    assert ended.wait(WAIT)
    assert seen == ["10", "11", "12"]
