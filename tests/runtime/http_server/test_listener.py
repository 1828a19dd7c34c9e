"""The listener with real sockets: what it lets in, what it refuses, and what hostile clients get."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from contextlib import closing, suppress

import pytest
from aiohttp import web

from runtime.http_server.accepting import let_in
from runtime.http_server.connection import HEAD_BYTES_AT_MOST
from runtime.http_server.heads import Head, HttpRefusal, head_of, sound_path
from runtime.http_server.listener import HttpListener
from runtime.http_server.tunnel import Way
from runtime.io.event_loop import LoopThread
from tests.ports import free_port
from tests.runtime.http_server.clients import Client, ask, listening, said


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    if request.path == "/broken":
        raise ZeroDivisionError
    if request.path == "/refused":
        raise HttpRefusal(418, "no")
    return web.Response(text=f"{request.method} {request.path}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_is_that_of_both_families(host: str) -> None:
    """`address: "::"` is how nodes of two families are configured, whichever of them clients come with."""
    with closing(LoopThread("test")) as loop:
        listener = HttpListener(loop, echo, host=host, port=0)
        listener.start()
        with closing(listener):
            for each in ("127.0.0.1", "::1"):
                with closing(socket.create_connection((each, listener.port), 120)) as client:
                    client.sendall(b"GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
                    assert client.recv(12) == b"HTTP/1.1 200"


async def known(request: web.BaseRequest) -> web.StreamResponse:
    let_in(request.transport)
    return await echo(request)


def test_requests_are_answered_one_after_the_other_on_a_connection() -> None:
    with listening(known) as listener, closing(Client(listener.port)) as client:
        client.send("GET /one HTTP/1.1\r\nHost: n\r\n\r\n")
        client.send("GET /two HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
        answer = client.rest().decode()
        assert "GET /one" in answer
        assert "GET /two" in answer


# (spec 11.1.2)
def test_a_handler_that_fails_is_a_500_and_refusals_keep_their_words() -> None:
    with listening(echo) as listener:
        assert ask(listener.port, "/broken").status == 500
        refused = ask(listener.port, "/refused")
        assert (refused.status, refused.body) == (418, "no")


@pytest.mark.parametrize(
    "junk", [b"\0\0\0\0", b"HELLO\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\x16\x03\x01"]
)
def test_a_request_that_is_no_http_gets_400(junk: bytes) -> None:
    with listening(echo) as listener, closing(Client(listener.port)) as client:
        client.send(junk + b"\r\n\r\n")
        assert said(client.rest()).status == 400


def test_a_head_that_does_not_end_is_refused_at_its_limit() -> None:
    with listening(echo) as listener, closing(Client(listener.port)) as client:
        client.send(b"GET / HTTP/1.1\r\nX: ")
        client.send(b"a" * HEAD_BYTES_AT_MOST)
        assert said(client.rest()).status == 431


def test_a_client_that_sends_no_request_is_cut() -> None:
    with listening(echo, head_seconds=0.2) as listener, closing(Client(listener.port)) as client:
        client.send(b"GET / HT")
        assert client.rest() == b""


def test_an_unauthenticated_client_gets_one_answer_per_connection() -> None:
    with listening(echo) as listener, closing(Client(listener.port)) as client:
        client.send("GET /one HTTP/1.1\r\nHost: n\r\n\r\n" * 2)
        assert client.rest().count(b"HTTP/1.1 200") == 1


def test_no_more_than_so_many_connections_and_room_again_when_they_have_gone() -> None:
    with listening(known, connections_at_most=3) as listener:
        kept = [Client(listener.port) for _ in range(3)]
        for each in kept:
            each.send("GET /one HTTP/1.1\r\nHost: n\r\n\r\n")
            each.until(b"GET /one")
        with suppress(ConnectionResetError), closing(Client(listener.port)) as late:
            assert late.rest() == b"", "who was let in makes room for nobody"
        for each in kept:
            each.send("GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
            assert said(each.rest()).status == 200
            each.close()
        assert ask(listener.port).status == 200


def test_connections_that_have_ended_are_not_kept() -> None:
    with listening(echo) as listener:
        for _ in range(50):
            assert ask(listener.port).status == 200
        gc.collect()
        assert listener.connections <= 2


def test_a_thousand_idle_connections_do_not_keep_others_out() -> None:
    with listening(echo) as listener:
        idle = [socket.create_connection(("127.0.0.1", listener.port)) for _ in range(1000)]
        try:
            assert ask(listener.port, "/one").body == "GET /one"
        finally:
            for each in idle:
                each.close()


class Behind:
    """What an upgraded connection is tunnelled to: it answers 101 and gives back every byte."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heads: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            head, _, rest = head.partition(b"\r\n\r\n")
            self.heads.append(head)
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + rest)
            while data := connection.recv(65536):
                connection.sendall(data)


SESSION = b"POST /session HTTP/1.1\r\nHost: n\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n"
UPGRADE = b"POST /exec/x HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


# (spec 11.3.2)
def test_an_upgraded_connection_becomes_a_tunnel_of_bytes() -> None:
    behind = Behind()

    async def way(head: Head, _: asyncio.Transport) -> Way:
        return Way("127.0.0.1", behind.port, SESSION)

    with listening(echo, upgrade=way) as listener, closing(Client(listener.port)) as client:
        # The first bytes of the new protocol may come with the head.
        client.send(UPGRADE + b"early")
        assert client.read(len(SWITCHED) + 5) == SWITCHED + b"early"
        big = bytes(range(256)) * 4096
        sender = threading.Thread(target=client.send, args=(big,))
        sender.start()
        assert client.read(len(big)) == big
        sender.join()
        assert [each.partition(b"\r\n")[0] for each in behind.heads] == [b"POST /session HTTP/1.1"]


def test_an_offer_of_something_else_is_passed_over() -> None:
    with listening(echo) as listener:
        assert ask(listener.port, "/one", Connection="close, Upgrade", Upgrade="h2c").body == "GET /one"


# (spec 11.3.4)
def test_a_tunnel_that_is_silent_for_too_long_is_cut() -> None:
    behind = Behind()

    async def way(head: Head, _: asyncio.Transport) -> Way:
        return Way("127.0.0.1", behind.port, SESSION)

    with listening(echo, upgrade=way, idle_ns=200_000_000) as listener, closing(Client(listener.port)) as client:
        client.send(UPGRADE)
        assert client.rest() == SWITCHED


def test_an_upgrade_that_leads_nowhere_says_so() -> None:
    port = free_port()

    async def nowhere(head: Head, _: asyncio.Transport) -> Way:
        return Way("127.0.0.1", port, SESSION, who="the runtime")

    async def refused(head: Head, _: asyncio.Transport) -> Way:
        raise HttpRefusal(403, "not you")

    with listening(echo, upgrade=nowhere) as listener, closing(Client(listener.port)) as client:
        client.send(UPGRADE)
        answer = said(client.rest())
        assert answer.status == 502
        assert "error dialing the runtime" in answer.body
    with listening(echo, upgrade=refused) as listener, closing(Client(listener.port)) as client:
        client.send(UPGRADE)
        assert said(client.rest()).body == "not you"


def test_a_client_that_goes_ends_its_handler() -> None:
    ended = threading.Event()

    async def forever(request: web.BaseRequest) -> web.StreamResponse:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    with listening(forever) as listener:
        client = Client(listener.port)
        client.send("GET / HTTP/1.1\r\nHost: n\r\n\r\n")
        client.close()
        assert ended.wait(120)


# (spec 11.1.3)
def test_a_port_that_is_taken_is_an_error() -> None:
    with listening(echo) as listener, closing(LoopThread("other")) as loop:
        other = HttpListener(loop, echo, host="127.0.0.1", port=listener.port)
        with pytest.raises(OSError):
            other.start()
        other.close()


@pytest.mark.parametrize("path", ["", "pods", "/../etc/passwd", "/logs/..", "/a//b", "/a/./b", "/a\0", "/a\\..\\b"])
def test_paths_that_go_elsewhere_are_refused(path: str) -> None:
    with pytest.raises(HttpRefusal):
        sound_path(path)


@pytest.mark.parametrize("path", ["/", "/pods", "/runningpods/", "/containerLogs/a/b..c/d"])
def test_paths_that_mean_themselves_are_kept(path: str) -> None:
    assert sound_path(path) == path


def test_a_head_is_read_as_it_was_sent() -> None:
    head = head_of(b"GET /a%2Fb?x=1&x=2&y= HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer t")
    assert head.path == "/a/b"
    assert head.query == (("x", "1"), ("x", "2"), ("y", ""))
    assert head.header("authorization") == "Bearer t"
    assert head.header("other") == ""
