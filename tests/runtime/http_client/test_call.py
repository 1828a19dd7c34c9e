"""The GET of a probe or a hook, against servers that misbehave."""

from __future__ import annotations

import asyncio

import pytest

from runtime.http_client.call import SHOWN_BYTES, SHOWN_PIECES, HttpAnswer, HttpCallError, get

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
            async with asyncio.timeout(20):
                return await get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", (), "test")
        finally:
            server.close()

    return asyncio.run(serve_and_ask())


def test_of_a_body_only_what_is_shown_is_read() -> None:
    assert ask(b"HTTP/1.1 200 OK\r\n\r\n", endless=b"x" * 65536).body == b"x" * SHOWN_BYTES


def test_of_a_body_in_tiny_chunks_so_many_are_read() -> None:
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
def test_a_server_that_never_comes_to_the_point_is_given_up(begin: bytes, endless: bytes, why: str) -> None:
    with pytest.raises(HttpCallError, match=why):
        ask(begin, endless=endless)
