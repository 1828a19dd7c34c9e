"""Port 10250 without credentials: what a crowd can cost, and that it locks nobody out.

Costs are counted in connections, bytes and memory, never by a clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from runtime.http_server import accepting
from runtime.http_server.accepting import let_in
from runtime.http_server.auth.serving_certificate import ServingFiles, ServingTls
from runtime.http_server.guests import OF_SOURCE_AT_MOST, UNKNOWN_AT_MOST, Guests, source_of
from runtime.http_server.heads import Head
from runtime.http_server.tunnel import Way
from runtime.io.held_bytes import HELD_BYTES_AT_MOST
from tests.process_memory import peak_growth, resident_bytes
from tests.real.waiting import until
from tests.runtime.hostile_servers import own_certificate
from tests.runtime.http_server.clients import Client, ask, listening, said

MIB = 1024 * 1024
ENDLESS_BYTES = 16 * 1024 * MIB
"""The server cuts a body off by time. A machine that is busy just then takes more than a GiB before."""
CROWD = 3_000
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100
"""The beginning of a ClientHello whose end never comes."""


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text=f"{request.method} {request.path}")


@contextmanager
def crowd(port: int, count: int, say: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections that say this and then nothing. Nothing of them lingers."""
    made: list[socket.socket] = []
    try:
        for _ in range(count):
            each = socket.create_connection(("127.0.0.1", port), 120)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            made.append(each)
            with contextlib.suppress(OSError):  # it may have made room already
                each.sendall(say)
        yield made
    finally:
        for each in made:
            each.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return own_certificate(tmp_path_factory.mktemp("tls"))


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.mark.parametrize("say", [b"", HELLO], ids=["nothing", "half a hello"])
def test_a_crowd_that_asks_for_nothing_costs_little_locks_nobody_out_and_leaves_nothing(
    tls: ssl.SSLContext, say: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "GIVE_BACK_SECONDS", 0.0)
    with listening(answer, tls=tls, head_seconds=600.0) as listener:
        assert ask(listener.port, "/before", tls=trusting()).status == 200
        before = resident_bytes()
        with peak_growth() as grown, crowd(listener.port, CROWD, say):
            assert ask(listener.port, "/amid", tls=trusting()).body == "GET /amid"
            assert listener.connections <= OF_SOURCE_AT_MOST + 1
        assert grown() < 80 * MIB
        until(lambda: listener.connections == 0, 30, "all have gone")
        until(lambda: resident_bytes() - before < 24 * MIB, 30, "what was used is given back")


def test_a_handshake_and_a_head_have_one_time_together(tls: ssl.SSLContext) -> None:
    with listening(answer, tls=tls, head_seconds=0.3) as listener:
        for say in (b"", HELLO, b"GET / HTTP/1.1\r\n"):
            with closing(Client(listener.port)) as half:
                half.send(say)
                assert not half.rest().startswith(b"HTTP")
        with closing(Client(listener.port, trusting())) as slow:
            slow.send(b"GET / HTTP/1.1\r\n")
            assert slow.rest() == b""
        until(lambda: listener.connections == 0, 30, "their time is over")


def test_an_authenticated_client_keeps_its_connection_in_a_crowd(tls: ssl.SSLContext) -> None:
    async def known(request: web.BaseRequest) -> web.StreamResponse:
        let_in(request.transport)
        return await answer(request)

    with (
        listening(known, tls=tls, head_seconds=600.0) as listener,
        closing(Client(listener.port, trusting())) as client,
    ):
        for path in ("/one", "/two"):
            client.send(f"GET {path} HTTP/1.1\r\nHost: n\r\n\r\n")
            client.until(f"GET {path}".encode())
            with crowd(listener.port, OF_SOURCE_AT_MOST + 200):
                pass


def test_unfinished_heads_take_a_bounded_memory_together() -> None:
    head = b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000
    count, most = 2 * HELD_BYTES_AT_MOST // len(head), HELD_BYTES_AT_MOST // len(head)
    with listening(answer, head_seconds=600.0) as listener, crowd(listener.port, count, head):
        until(lambda: listener.connections <= most, 30, "the largest are given up")
        assert ask(listener.port, "/amid").body == "GET /amid"


def test_a_connection_that_speaks_without_waiting_for_answers_is_read_no_further() -> None:
    """Pipelined requests wait in the network while the first one is answered."""
    going, asked = threading.Event(), [0]

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        let_in(request.transport)
        asked[0] += 1
        while not going.is_set():
            await asyncio.sleep(0.01)
        return web.Response()

    pipelined, sent = b"GET / HTTP/1.1\r\nHost: n\r\n\r\n" * 1_000, 0
    with listening(slow) as listener, closing(Client(listener.port)) as client, peak_growth() as grown:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        client.socket.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            while sent < 64 * MIB:
                sent += client.socket.send(pipelined)
        until(lambda: asked[0], 60, "it is not asked")
        assert asked[0] == 1
        assert sent < 16 * MIB, "the rest waits where it is"
        going.set()
    assert grown() < 32 * MIB


@pytest.mark.parametrize(
    "more",
    [
        "Transfer-Encoding: chunked\r\n\r\n" + "1\r\nx\r\n" * 1_000,
        "Content-Length: 1000000000000\r\n\r\n" + "x" * 6_000,
    ],
    ids=["chunks", "a length"],
)
def test_a_body_without_end_is_not_read_after_the_answer(more: str) -> None:
    async def refused(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=401)

    with listening(refused) as listener, closing(Client(listener.port)) as client, peak_growth() as grown:
        client.send(f"POST /exec/a/b/c HTTP/1.1\r\nHost: n\r\n{more}")
        body, sent = more.partition("\r\n\r\n")[2].encode(), 0
        with contextlib.suppress(OSError):
            while sent < ENDLESS_BYTES:
                sent += client.socket.send(body)
        assert sent < ENDLESS_BYTES, "it is cut off"
    assert grown() < 32 * MIB


@pytest.mark.parametrize("framing", ["Transfer-Encoding: chunked", "Content-Length: 5"])
def test_a_request_to_upgrade_has_no_body(framing: str) -> None:
    async def nowhere(head: Head, _: asyncio.Transport) -> Way:
        raise AssertionError("nobody is asked")

    with listening(answer, upgrade=nowhere) as listener, closing(Client(listener.port)) as client:
        client.send(
            f"POST /exec/x HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n{framing}\r\n\r\n"
        )
        assert said(client.rest()).status == 400


class Refusing:
    """A streaming server that answers every request on a connection, and never closes one.

    `heard`: all it was sent.
    """

    def __init__(self, reply: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.heard = b""
        self.ended = threading.Event()
        self._reply = reply
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                self.heard += data
                if self.heard.endswith(b"\r\n\r\n"):
                    connection.sendall(self._reply)
        self.ended.set()


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 6\r\n\r\nno way", 400, "no way"),
        (b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nno way\r\n0\r\n\r\n", 400, "no way"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 403, "refuses"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 502, "ok"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", 502, ""),
        (b"SSH-2.0-x\r\n\r\n", 502, "malformed"),
    ],
)
def test_an_upgrade_refused_by_the_runtime_opens_no_tunnel(reply: bytes, status: int, text: str) -> None:
    """Otherwise a client could go on speaking HTTP with the streaming server.

    That server takes the client for the agent.
    """
    behind = Refusing(reply)

    async def way(head: Head, _: asyncio.Transport) -> Way:
        first = b"POST /token HTTP/1.1\r\nHost: n\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n"
        return Way("127.0.0.1", behind.port, first)

    with listening(answer, upgrade=way) as listener, closing(Client(listener.port)) as client:
        client.send(b"POST /exec/x HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        client.send(b"GET /another/token HTTP/1.1\r\nHost: n\r\n\r\n")
        told = said(client.rest())
        assert (told.status, text in told.body) == (status, True)
        assert behind.ended.wait(120)
        assert b"another" not in behind.heard


def test_a_frame_of_a_websocket_that_claims_to_be_huge_ends_the_session() -> None:
    async def session(request: web.BaseRequest) -> web.StreamResponse:
        socket_ = web.WebSocketResponse(compress=False, max_msg_size=MIB)
        await socket_.prepare(request)
        async for _ in socket_:
            pass
        return socket_

    with listening(session) as listener, closing(Client(listener.port)) as client, peak_growth() as grown:
        client.send(
            "GET / HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        client.until(b"\r\n\r\n")
        client.send(b"\x82\xff" + (1 << 62).to_bytes(8, "big") + b"\0\0\0\0")
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 256 * MIB:
                sent += client.socket.send(b"\0" * 65_536)
        assert sent < 256 * MIB, "it is cut off"
    assert grown() < 32 * MIB


# --- who makes room --------------------------------------------------------------------------------------------------


def test_the_oldest_unknown_makes_room_and_known_ones_never_do() -> None:
    guests: Guests[int] = Guests(4, 3, 3)
    assert [guests.add(each, f"10.0.0.{each}") for each in (1, 2, 3)] == [None, None, None]
    assert guests.add(4, "10.0.0.4") == 1
    guests.know(2)
    assert guests.add(5, "10.0.0.5") is None
    assert guests.add(6, "10.0.0.6") == 3
    for each in (4, 5, 6):
        guests.know(each)
    assert guests.add(7, "10.0.0.7") == 7, "all others have been let in"
    guests.remove(2)
    assert (guests.add(8, "10.0.0.8"), len(guests), guests.unknown) == (None, 4, 1)


def test_one_source_pushes_out_itself_and_nobody_else() -> None:
    guests: Guests[int] = Guests(100, 100, 3)
    guests.add(1, "10.0.0.1")
    gone = [guests.add(each, "10.0.0.9") for each in range(2, 8)]
    assert gone == [None, None, None, 2, 3, 4]
    assert set(guests.all()) == {1, 5, 6, 7}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_ipv6_sources_are_counted_by_network(one: str, other: str, same: bool) -> None:
    assert (source_of(one) == source_of(other)) is same


def test_a_crowd_of_many_sources_is_bounded_too() -> None:
    guests: Guests[int] = Guests()
    for each in range(5_000):
        guests.add(each, f"10.{each // 250}.{each % 250}.1")
    assert guests.unknown == UNKNOWN_AT_MOST


def test_a_client_may_not_shake_hands_again_on_a_connection(tmp_path: Path) -> None:
    """Each handshake costs the server far more than the client."""
    own_certificate(tmp_path)
    served = ServingTls(ServingFiles(str(tmp_path / "certificate"), str(tmp_path / "key")))
    assert served.context.options & ssl.OP_NO_RENEGOTIATION
    with listening(answer, tls=served.context) as listener:
        command = ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{listener.port}"]
        asked = subprocess.run(command, input=b"R\n" * 50, capture_output=True, timeout=60)
        assert b"RENEGOTIATING" in asked.stdout + asked.stderr
        assert asked.returncode != 0
        assert asked.stderr.count(b"verify return") <= 2, "one handshake was made, with one certificate"
        assert ask(listener.port, "/after", tls=trusting()).body == "GET /after"
