"""The three lines of a node: their limits, their shared connections, and what silence does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from aiohttp import web

from config.api.resources import LEASES, PODS
from runtime.api import ApiError, get, in_turn_of, watch_objects
from runtime.api.client import SILENT_CALLS, ApiClient
from runtime.api.limited import LimitedApi
from runtime.api.lines import REVIEW_BURST, HttpApiLines, api_lines
from runtime.http_server.auth.reviews import UNDER_WAY_AT_MOST
from runtime.io.event_loop import LoopThread
from tests.runtime.api.conftest import Serve
from tests.runtime.api.scripted_server import WAIT, ScriptedServer, echo, event_line, pod, stream

Open = Callable[..., HttpApiLines]
GET = get(PODS, "default", "web")
LEASE = get(LEASES, "kube-node-lease", "node")


@pytest.fixture
def open_lines(loop: LoopThread) -> Iterator[Open]:
    opened: list[HttpApiLines] = []

    def open_them(server: ScriptedServer, **options: Any) -> HttpApiLines:
        opened.append(api_lines(server.access(), loop, user_agent="actorlet/test", **options))
        return opened[-1]

    yield open_them
    for lines in opened:
        lines.close()


def test_all_lines_share_their_connections(serve: Serve, open_lines: Open) -> None:
    server = serve(echo)
    lines = open_lines(server)
    for _ in range(5):
        for line in (lines.main, lines.events):
            line.call(GET).result(WAIT)
    assert len(server.connections) == 1


# (spec 12.3.4)
def test_leases_have_no_limit_and_wait_behind_no_burst(serve: Serve, open_lines: Open) -> None:
    server = serve(echo)
    lines = open_lines(server, qps=0.001, burst=1, event_qps=0.001, event_burst=1)
    lines.main.call(GET).result(WAIT)
    lines.events.call(GET).result(WAIT)
    waiting = [lines.main.call(GET), lines.events.call(GET)]
    for _ in range(20):
        lines.leases.call(GET).result(WAIT)
    assert not any(pending.done() for pending in waiting)
    assert len(server.asked) == 22
    lines.close()
    for pending in waiting:
        error = pending.exception(WAIT)
        assert isinstance(error, ApiError)
        assert error.message == "the client was closed"


def test_reviews_take_nothing_from_the_limits_of_the_node(serve: Serve, open_lines: Open) -> None:
    """Anybody who reaches the node's port causes reviews. Pods must not wait for those."""
    server = serve(echo)
    lines = open_lines(server, qps=0.001, burst=2, event_qps=0.001, event_burst=1)
    assert isinstance(lines.reviews, LimitedApi)
    asked = [lines.reviews.call(GET) for _ in range(REVIEW_BURST + 5_000)]
    assert lines.reviews.waiting
    for line in (lines.main, lines.main, lines.events):
        line.call(GET).result(WAIT)
    lines.close()
    assert any(each.exception(WAIT) for each in asked), "the rest was waiting still"


def test_a_slow_review_holds_up_no_other(serve: Serve, open_lines: Open) -> None:
    """The server is slow about as many as the node's port asks for at a time."""
    goes_on = asyncio.Event()
    came = threading.Semaphore(0)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/slow"):
            came.release()
            await goes_on.wait()
        return await echo(request)

    server = serve(answer)
    lines = open_lines(server)
    assert lines.reviews is not None
    slow = get(PODS, "default", "slow")
    waiting = [lines.reviews.call(in_turn_of(slow, f"10.0.0.{each}")) for each in range(2 * UNDER_WAY_AT_MOST - 1)]
    for _ in range(90):
        assert came.acquire(timeout=WAIT)
    lines.reviews.call(in_turn_of(GET, "10.1.0.1")).result(WAIT)
    assert not any(each.done() for each in waiting)
    for each in waiting:
        each.cancel()


def test_a_limited_line_goes_on_when_the_time_has_come(serve: Serve, open_lines: Open) -> None:
    server = serve(echo)
    lines = open_lines(server, qps=1000, burst=1)
    pending = [lines.main.call(get(PODS, "default", f"p{number}")) for number in range(20)]
    assert [each.result(WAIT).metadata.name for each in pending] == [f"p{number}" for number in range(20)]
    assert len(server.asked) == 20


def test_a_lifted_limit_leaves_nothing_in_between(serve: Serve, open_lines: Open) -> None:
    lines = open_lines(serve(echo), qps=None, event_qps=0)
    assert isinstance(lines.main, ApiClient)
    assert isinstance(lines.events, LimitedApi)


def swallows(silent: threading.Event) -> Callable[[web.Request], Any]:
    """Swallow everything, like a broken network: connections stay open, and nothing comes through."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            line = event_line("ADDED", pod("a", "5"))
            return await stream(request, line, asyncio.Event().wait())
        if silent.is_set() and "leases" in request.path:
            await asyncio.Event().wait()
        return await echo(request)

    return answer


# (spec 9.2.6)
def test_leases_without_an_answer_close_every_connection(serve: Serve, open_lines: Open) -> None:
    silent = threading.Event()
    server = serve(swallows(silent))
    lines = open_lines(server)
    told, ended = threading.Event(), Future[Any]()
    lines.main.watch(watch_objects(PODS, resource_version="1"), lambda _: told.set(), ended.set_result)
    assert told.wait(WAIT)
    lines.main.call(GET).result(WAIT)
    silent.set()
    for _ in range(SILENT_CALLS):
        assert not ended.done()
        error = lines.leases.call(LEASE, timeout_ns=20_000_000).exception(WAIT)
        assert isinstance(error, ApiError)
        assert error.reason == "Timeout"
    end = ended.result(WAIT)
    assert isinstance(end, ApiError)
    assert end.reason == "Unreachable", "the watch is told, and can go on elsewhere"
    before = len(server.connections)
    lines.main.call(GET).result(WAIT)
    assert len(server.connections) == before + 1


def test_connections_can_be_reset_by_hand(serve: Serve, open_lines: Open) -> None:
    server = serve(echo)
    lines = open_lines(server)
    lines.main.call(GET).result(WAIT)
    lines.loop.post(lines.connections.reset)
    lines.main.call(GET).result(WAIT)
    assert len(server.connections) == 2


def test_closed_lines_fail_every_call_and_close_again(serve: Serve, open_lines: Open, loop: LoopThread) -> None:
    lines = open_lines(serve(echo))
    lines.main.call(GET).result(WAIT)
    lines.close()
    lines.close()
    loop.close()
    lines.close()
    for line in (lines.main, lines.leases, lines.events):
        error = line.call(GET).exception(WAIT)
        assert isinstance(error, ApiError)
        assert error.message == "the client was closed"


def test_a_call_made_inside_an_answer_is_sent(serve: Serve, open_lines: Open) -> None:
    """Answers come on the thread that makes the calls."""
    lines = open_lines(serve(echo), qps=None)
    second: Future[str] = Future()

    def ask_again(_: object) -> None:
        lines.main.call(GET).add_done_callback(lambda answer: second.set_result(answer.result(0).metadata.name))

    lines.main.call(GET).add_done_callback(ask_again)
    assert second.result(WAIT) == "web"


def test_a_reset_fails_the_calls_in_flight(serve: Serve, open_lines: Open) -> None:
    came = threading.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        came.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    lines = open_lines(serve(hang))
    pending = lines.main.call(GET)
    assert came.wait(WAIT)
    lines.loop.post(lines.connections.reset)
    error = pending.exception(WAIT)
    assert isinstance(error, ApiError)
    assert error.reason == "Unreachable"
    assert "given up" in error.message
