"""API calls over real HTTP: what is sent, how answers are read, what is retried.

Also how connections are used.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest
from aiohttp import web

from config.api.resources import NODES, PODS
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, Impersonation, UserAccess
from runtime.api import ApiError, PatchType, create, delete, get, list_objects, patch, update
from runtime.api.client import DECODED_ASIDE_BYTES
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, Handler, echo, forever, pod, reply, status_object

GET = get(PODS, "default", "web")


def failure(pending: object) -> ApiError:
    error = pending.exception(WAIT)  # type: ignore[attr-defined]  # any Pending
    assert isinstance(error, ApiError)
    return error


def test_requests_have_the_methods_paths_and_bodies_of_the_api(serve: Serve, connect: Connect) -> None:
    server = serve(echo)
    client = connect(server)
    found = client.call(GET).result(WAIT)
    client.call(patch(PODS, "default", "web", {"a": 1}, subresource="status")).result(WAIT)
    client.call(patch(PODS, "default", "web", {"a": 1}, patch_type=PatchType.MERGE)).result(WAIT)
    client.call(create(PODS, "default", found, name="web")).result(WAIT)
    client.call(update(PODS, "default", found)).result(WAIT)
    client.call(delete(PODS, "default", "web", grace_seconds=0, uid="u")).result(WAIT)
    client.call(list_objects(PODS, field_selector="spec.nodeName=n 1,a!=b", limit=5)).exception(WAIT)
    of_pod = "/api/v1/namespaces/default/pods/web"
    assert [(asked.method, asked.path, asked.header("Content-Type")) for asked in server.asked] == [
        ("GET", of_pod, ""),
        ("PATCH", f"{of_pod}/status", "application/strategic-merge-patch+json"),
        ("PATCH", of_pod, "application/merge-patch+json"),
        ("POST", of_pod, "application/json"),
        ("PUT", of_pod, "application/json"),
        ("DELETE", of_pod, "application/json"),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn%201%2Ca%21%3Db&limit=5", ""),
    ]
    assert server.asked[1].body == b'{"a":1}'
    assert {asked.header("User-Agent") for asked in server.asked} == {"actorlet/test"}
    assert {asked.header("Accept") for asked in server.asked} == {"application/json"}
    assert {asked.header("Authorization") for asked in server.asked} == {""}
    assert {asked.header("Accept-Encoding") for asked in server.asked} == {"identity"}


def test_an_impersonating_user_sends_the_impersonation_headers(serve: Serve, connect: Connect) -> None:
    server = serve(echo)
    who = Impersonation("jane", "7", ("a", "b"), (("team/x", ("c", "d")),))
    connect(server.access(UserAccess(token="t", impersonate=who))).call(GET).result(WAIT)
    (asked,) = server.asked
    assert asked.header("Authorization") == "Bearer t"
    assert asked.header("Impersonate-User") == "jane"
    assert asked.header("Impersonate-Uid") == "7"
    assert asked.headers["impersonate-group"] == ["a", "b"]
    assert asked.headers["impersonate-extra-team%2fx"] == ["c", "d"]


async def refuse(request: web.Request) -> web.StreamResponse:
    what = request.path.rpartition("/")[2]
    if what == "gone":
        return reply(status_object(404, "NotFound", 'pods "gone" not found'), 404)
    if what == "conflict":
        return reply(status_object(409, "Conflict"), 409)
    if what == "exists":
        return reply(status_object(409, "AlreadyExists"), 409)
    if what == "later":
        return reply(status_object(503, "ServiceUnavailable", details={"retryAfterSeconds": 7200}), 503)
    if what == "proxy":
        return web.Response(status=502, text="<html>\n<h1>bad gateway</h1></html>")
    if what == "moved":
        return web.Response(status=302, headers={"Location": "/login"})
    if what == "text":
        return web.Response(text="ok")
    if what == "wrong":
        return reply({"kind": "Pod", "metadata": {"name": 7}})
    return web.Response(status=500)


@pytest.mark.parametrize(
    ("name", "code", "reason", "message"),
    [
        ("gone", 404, "NotFound", 'pods "gone" not found'),
        ("conflict", 409, "Conflict", "why"),
        ("exists", 409, "AlreadyExists", "why"),
        ("later", 503, "ServiceUnavailable", "why"),
        ("proxy", 502, "BadGateway", "<html> <h1>bad gateway</h1></html>"),
        ("moved", 302, "Found", "the server points elsewhere; give the address of the API server itself"),
        ("empty", 500, "InternalError", "Internal Server Error"),
        ("text", 200, "NotUnderstood", "the answer cannot be read: $: it is not JSON"),
        ("wrong", 200, "NotUnderstood", "the answer cannot be read: $.metadata.name: "),
    ],
)
def test_every_answer_is_a_result_or_an_api_error(
    serve: Serve, connect: Connect, name: str, code: int, reason: str, message: str
) -> None:
    error = failure(connect(serve(refuse)).call(get(PODS, "default", name)))
    assert (error.code, error.reason) == (code, reason)
    assert error.message.startswith(message)
    assert error.verb == f"get pods default/{name}"


def test_the_wait_a_server_asks_for_is_in_the_error(serve: Serve, connect: Connect) -> None:
    assert failure(connect(serve(refuse)).call(get(PODS, "default", "later"))).retry_after_ns == 3600 * 10**9


def test_a_server_that_is_not_there_or_hangs_up_is_unreachable(serve: Serve, connect: Connect) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    server = serve(hang_up)
    client = connect(server)
    error = failure(client.call(patch(PODS, "default", "web", {})))
    assert (error.code, error.reason, error.outcome_unknown) == (0, "Unreachable", True)
    assert len(server.asked) == 1, "what may have been done is not done again"
    access = server.access()
    server.stop_listening()
    error = failure(connect(access).call(GET))
    assert error.reason == "Unreachable"
    assert "cannot connect to 127.0.0.1:" in error.message


def test_a_call_ends_with_its_time(serve: Serve, connect: Connect) -> None:
    error = failure(connect(serve(forever)).call(GET, timeout_ns=50_000_000))
    assert (error.code, error.reason) == (0, "Timeout")


def test_a_cancelled_call_gives_its_connection_up(serve: Serve, connect: Connect) -> None:
    came, left = threading.Event(), threading.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        came.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError("nobody sets it")

    client = connect(serve(hang), in_flight=1)
    pending = client.call(GET)
    queued = client.call(GET)
    assert came.wait(WAIT)
    assert queued.cancel()
    assert pending.cancel()
    with pytest.raises(CancelledError):
        pending.result(WAIT)
    assert left.wait(WAIT), "the server sees that the connection is closed"


def test_a_cancelled_call_makes_room_for_the_next(serve: Serve, connect: Connect) -> None:
    came = threading.Event()

    async def hang_first(request: web.Request) -> web.StreamResponse:
        if came.is_set():
            return await echo(request)
        came.set()
        return await forever(request)

    client = connect(serve(hang_first), in_flight=1)
    pending, following = client.call(GET), client.call(GET)
    assert came.wait(WAIT)
    pending.cancel()
    assert following.result(WAIT).metadata.name == "web"


def test_calls_one_after_the_other_use_one_connection(serve: Serve, connect: Connect) -> None:
    server = serve(echo)
    client = connect(server)
    for _ in range(20):
        client.call(GET).result(WAIT)
        client.call(patch(PODS, "default", "web", {})).result(WAIT)
    assert len(server.connections) == 1


def test_no_more_calls_are_in_flight_than_allowed_and_they_leave_in_order(serve: Serve, connect: Connect) -> None:
    now, most = 0, 0

    async def count(request: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(5):
            await asyncio.sleep(0)
        now -= 1
        return await echo(request)

    server = serve(count)
    client = connect(server, in_flight=3)
    pending = [client.call(get(PODS, "default", f"p{number}")) for number in range(30)]
    assert [each.result(WAIT).metadata.name for each in pending] == [f"p{number}" for number in range(30)]
    assert most <= 3
    assert len(server.connections) <= 3
    client = connect(server, in_flight=1)
    server.asked.clear()
    for each in [client.call(get(PODS, "default", f"p{number}")) for number in range(10)]:
        each.result(WAIT)
    assert [asked.path[-2:] for asked in server.asked] == [f"p{number}" for number in range(10)]


class Pauses:
    """Does not wait, and notes for how long it should have waited."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def overloaded(code: int, times: int) -> Handler:
    left = times

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal left
        if left:
            left -= 1
            return reply(status_object(code, "TooManyRequests"), code, Retry_After="2")
        return await echo(request)

    return answer


def test_a_retry_after_answer_delays_the_next_try(serve: Serve, connect: Connect) -> None:
    pause = Pauses()
    client = connect(serve(overloaded(429, 3)), pause=pause)
    assert client.call(patch(PODS, "default", "web", {})).result(WAIT).metadata.name == "web"
    assert pause.seconds == [2.0, 2.0, 2.0]


def test_retries_after_retry_after_answers_are_bounded(serve: Serve, connect: Connect) -> None:
    pause = Pauses()
    server = serve(overloaded(429, 100))
    error = failure(connect(server, pause=pause).call(GET))
    assert (error.code, error.retry_after_ns) == (429, 2 * 10**9)
    assert len(server.asked) == 5
    assert failure(connect(server, pause=pause).call(GET, timeout_ns=10**9)).code == 429
    assert len(server.asked) == 6, "the call would be over before the wait is"


def test_a_change_is_not_made_again_where_it_may_have_been_made(serve: Serve, connect: Connect) -> None:
    pause = Pauses()
    server = serve(overloaded(503, 2))
    client = connect(server, pause=pause)
    assert failure(client.call(patch(PODS, "default", "web", {}))).code == 503
    assert pause.seconds == []
    assert client.call(GET).result(WAIT).metadata.name == "web"
    assert pause.seconds == [2.0]


def test_a_large_list_is_read_aside(serve: Serve, connect: Connect) -> None:
    async def many(_: web.Request) -> web.StreamResponse:
        return reply({"metadata": {"resourceVersion": "9"}, "items": [pod(f"p{number}") for number in range(2000)]})

    listed = connect(serve(many)).call(list_objects(PODS)).result(WAIT)
    assert (len(listed.items), listed.resource_version) == (2000, "9")
    assert 2000 * len('{"metadata":{"name":"p"}}') < DECODED_ASIDE_BYTES < 2000 * len(str(pod("p1000")))


def test_packed_answers_are_unpacked_and_asked_for_beyond_loopback(serve: Serve, connect: Connect) -> None:
    async def packed(request: web.Request) -> web.StreamResponse:
        response = reply(pod("web"))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    server = serve(packed)
    # The server is on loopback, but its proxy's name is not known to be: the client goes by the address it is given.
    access = server.access()
    assert connect(access).call(GET).result(WAIT).metadata.name == "web"
    proxy = serve(packed)
    there: dict[str, Any] = {"server": "http://api.example.com", "proxy_url": proxy.url}
    assert connect(ApiAccess(ClusterAccess(**there))).call(GET).result(WAIT).metadata.name == "web"
    assert connect(ApiAccess(ClusterAccess(**there, disable_compression=True))).call(GET).result(WAIT)
    assert [asked.header("Accept-Encoding") for asked in proxy.asked] == ["gzip", "identity"]


def test_after_close_every_call_fails(serve: Serve, connect: Connect) -> None:
    came = threading.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        came.set()
        return await forever(request)

    client = connect(serve(hang))
    pending = client.call(GET)
    assert came.wait(WAIT)
    client.close()
    assert failure(pending).message == "the client was closed"
    assert failure(client.call(get(NODES, "", "n"))).message == "the client was closed"
