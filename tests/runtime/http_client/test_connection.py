"""One connection of the HTTP client (RFC 9112).

Where an answer ends, what is no answer, and what a hostile server can cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.http_client import HttpConnection, HttpError, HttpResponse
from runtime.http_client.connection import (
    HEAD_BYTES_AT_MOST,
    INTERIM_ANSWERS_AT_MOST,
    UNPACKED_BYTES_AT_ONCE,
    UNPARSED_BYTES_AT_MOST,
)

T = TypeVar("T")
REQUEST = h11.Request(method="GET", target="/", headers=[("Host", "server")])


class MemoryTransport(asyncio.Transport):
    """Keeps what is written; `paused` and `aborted` say what the connection did to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.paused = self.aborted = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        self.aborted = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Line:
    """A connection to a server that the test plays."""

    def __init__(self) -> None:
        self.transport = MemoryTransport()
        self.connection = HttpConnection()
        self.connection.connection_made(self.transport)

    async def ask(self, *pieces: bytes, closed: bool = True) -> HttpResponse:
        """Ask; the server sends `pieces`, each in a turn of its own, and then closes."""
        asking = asyncio.ensure_future(self.connection.ask(REQUEST))
        for piece in pieces:
            await asyncio.sleep(0)
            self.connection.data_received(piece)
        await asyncio.sleep(0)
        if closed:
            self.connection.connection_lost(None)
        return await asking


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(120):
            return await coroutine

    return asyncio.run(limited())


def read(data: bytes, cuts: tuple[int, ...] = (), *, closed: bool = True) -> tuple[int, bytes]:
    """Status and body of an answer that comes in pieces, cut at those places."""
    places = (0, *sorted(cuts), len(data))
    pieces = [data[begin:end] for begin, end in itertools.pairwise(places) if begin < end]

    async def ask() -> tuple[int, bytes]:
        response = await Line().ask(*pieces, closed=closed)
        return response.status, await response.read()

    return run(ask())


WHOLE = [
    ("a length", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    ("no reason", b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, b""),
    ("what comes after it", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore", 200, b"ok"),
    ("until the end", b"HTTP/1.0 200 OK\r\n\r\nall of it", 200, b"all of it"),
    (
        "chunks",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=1\r\nok\r\n3\r\nyes\r\n0\r\n\r\n",
        200,
        b"okyes",
    ),
    ("no body", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    ("not modified", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b""),
    (
        "another comes",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny",
        200,
        b"y",
    ),
    ("bare line ends", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok"),
]


@pytest.mark.parametrize(("data", "status", "body"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE])
@given(cuts=st.lists(st.integers(0, 100), max_size=8))
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(
    data: bytes, status: int, body: bytes, cuts: list[int]
) -> None:
    assert read(data, tuple(min(each, len(data)) for each in cuts)) == (status, body)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "^EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "unexpected EOF"),
        (b"220 mail.example ready\r\n", 'malformed HTTP response "220 mail.example ready"'),
        (b"HTTP/2 200 OK\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed HTTP response: illegal header line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "bad Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "illegal chunk header"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + b"\r\n" * 9, "illegal chunk header"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope", "gzip encoding is broken"),
    ],
)
def test_a_malformed_or_cut_answer_is_an_error_with_its_cause(data: bytes, why: str) -> None:
    with pytest.raises(HttpError, match=why.replace(".", r"\.")):
        read(data)


def test_an_answer_that_is_no_http_fails_at_once() -> None:
    with pytest.raises(HttpError, match="malformed HTTP response"):
        read(b"SSH-2.0-OpenSSH_9.2\r\n", closed=False)


@given(st.binary(max_size=400))
def test_no_bytes_are_more_than_an_error(data: bytes) -> None:
    with contextlib.suppress(HttpError):
        read(b"HTTP/1.1 200 OK\r\n" + data)


def test_a_connection_carries_the_next_request_when_the_answer_was_read() -> None:
    async def twice() -> None:
        line = Line()
        for _ in range(2):
            response = await line.ask(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", closed=False)
            assert await response.read() == b"ok"
            assert await response.read() == b"", "the end of a body is told again"
            assert line.connection.finish()
        assert line.transport.written.count(b"GET / HTTP/1.1\r\nHost: server\r\n") == 2

    run(twice())


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ],
    ids=["unread body", "told to close", "an answer nobody asked for"],
)
def test_a_connection_that_cannot_carry_another_request_is_closed(data: bytes) -> None:
    async def once() -> None:
        line = Line()
        await line.ask(data, closed=False)
        assert not line.connection.finish()
        assert line.transport.aborted

    run(once())


def test_a_server_that_speaks_without_a_request_is_not_believed() -> None:
    line = Line()
    line.connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    assert line.transport.aborted
    assert not line.connection.usable


@pytest.mark.parametrize("count", [INTERIM_ANSWERS_AT_MOST, INTERIM_ANSWERS_AT_MOST + 1])
def test_interim_answers_are_counted(count: int) -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\n" * count + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    if count <= INTERIM_ANSWERS_AT_MOST:
        assert read(data) == (200, b"")
    else:
        with pytest.raises(HttpError, match="more than 5 interim"):
            read(data, closed=False)


@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x="]
)
def test_a_line_without_end_is_given_up(begin: bytes) -> None:
    with pytest.raises(HttpError, match=f"exceeded {HEAD_BYTES_AT_MOST} bytes"):
        read(begin + b"x" * 3 * HEAD_BYTES_AT_MOST, closed=False)


def test_a_body_that_nobody_reads_stays_in_the_network() -> None:
    async def flood() -> None:
        line = Line()
        response = await line.ask(b"HTTP/1.1 200 OK\r\n\r\n", closed=False)
        line.connection.data_received(b"x" * (UNPARSED_BYTES_AT_MOST + 1))
        assert line.transport.paused
        assert await response.raw_piece()
        assert line.transport.paused, "there is more to parse"
        while line.transport.paused:
            assert await response.raw_piece()

    run(flood())


def test_an_answer_in_many_pieces_lets_others_have_their_turn() -> None:
    chunks = b"1\r\nx\r\n" * 2_000

    async def beside() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        response = await Line().ask(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        counting = asyncio.ensure_future(count())
        assert len(await response.read()) == 2_000
        counting.cancel()
        return turns

    assert run(beside()) >= 2_000 // 100


def test_a_body_that_is_larger_unpacked_than_it_may_be_is_refused_before_it_is_unpacked() -> None:
    packed = gzip.compress(bytes(64 * 2**20 + 1))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    async def sizes() -> list[int]:
        response = await Line().ask(head + packed)
        found = []
        while piece := await response.piece():
            found.append(len(piece))
        return found

    assert max(run(sizes())) <= UNPACKED_BYTES_AT_ONCE
    with pytest.raises(HttpError, match="more than 67108864 bytes"):
        read(head + packed)


def test_after_an_upgrade_the_bytes_are_those_of_the_other_protocol() -> None:
    async def upgrade() -> None:
        line = Line()
        request = h11.Request(
            method="POST", target="/", headers=[("Host", "s"), ("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
        )
        asking = asyncio.ensure_future(line.connection.ask(request))
        await asyncio.sleep(0)
        line.connection.data_received(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\nfirst")
        assert (await asking).status == 101
        reader, writer = await line.connection.detach()
        assert await reader.read(100) == b"first"
        writer.write(b"second")
        assert line.transport.written.endswith(b"second")

    run(upgrade())
