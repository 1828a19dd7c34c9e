"""The GET of a probe or a hook, against servers that misbehave."""

from __future__ import annotations

import asyncio

import pytest

from config.caches import LONGEST_BYTES
from runtime.http_client.call import SHOWN_BYTES, SHOWN_PIECES, HttpAnswer, HttpCallError, get
from runtime.http_client.request import LOCATION_CHARACTERS_AT_MOST
from tests.kept_bytes import kept_bytes
from tests.process_memory import objects_in_bytes

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def ask(*pieces: bytes, endless: bytes = b"") -> HttpAnswer:
    """GET from a server that sends `pieces`, and then `endless` again and again."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.writelines(pieces)
        try:
            while endless:
                writer.write(endless)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def serve_and_ask() -> HttpAnswer:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        try:
            async with asyncio.timeout(120):
                return await get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", (), "test")
        finally:
            server.close()

    return asyncio.run(serve_and_ask())


def test_only_the_shown_part_of_a_body_is_read() -> None:
    assert ask(b"HTTP/1.1 200 OK\r\n\r\n", endless=b"x" * 65536).body == b"x" * SHOWN_BYTES


def test_only_a_bounded_number_of_tiny_chunks_is_read() -> None:
    assert len(ask(HEAD, endless=b"1\r\nx\r\n" * 10_000).body) == SHOWN_PIECES < SHOWN_BYTES


@pytest.mark.parametrize(
    ("begin", "endless", "why"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000, "interim"),
        (HEAD, b"\r\n" * 10_000, "illegal chunk header"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 10_000, "exceeded"),
    ],
    ids=["100 Continue", "blank chunks", "headers"],
)
def test_a_server_that_never_completes_its_answer_is_given_up(begin: bytes, endless: bytes, why: str) -> None:
    with pytest.raises(HttpCallError, match=why):
        ask(begin, endless=endless)


def test_redirect_targets_are_not_kept() -> None:
    """Each answer leads elsewhere, by a long way: kept, they would take hundreds of MiB."""
    asked = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        way = f"/{asked}{'a' * 10_000}"
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {way}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async def ask_often(times: int) -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(times):
            with pytest.raises(HttpCallError, match="stopped after 10 redirects"):
                await get(url, (), "test")
        server.close()

    with objects_in_bytes() as held:
        asyncio.run(ask_often(20))  # whatever is kept of URLs is full from now on
        before, kept = held(), kept_bytes()
        asyncio.run(ask_often(40))
        assert asked == 60 * 11
        assert kept_bytes() <= kept + LONGEST_BYTES
        assert held() - before < 2 * 1024 * 1024  # one text of each target is 4 MiB


def test_a_redirect_target_that_is_too_long_is_not_followed() -> None:
    location = b"/" + b"a" * LOCATION_CHARACTERS_AT_MOST
    with pytest.raises(HttpCallError, match="Location"):
        ask(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")
