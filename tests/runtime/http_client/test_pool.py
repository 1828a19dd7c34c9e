"""Connections that wait for the next request: which are used again, and which are dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from runtime.http_client import CannotConnectError, HttpError, HttpOrigin, HttpPool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Talk = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk) -> AsyncIterator[HttpOrigin]:
    """A server; `talk` gets the number of each connection."""
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            await talk(connections, reader, writer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield HttpOrigin("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def ask(pool: HttpPool, origin: HttpOrigin, method: str = "GET", body: bytes | None = None) -> bytes:
    async with asyncio.timeout(120), pool.exchange(origin, method, "/", [], body) as response:
        return await response.read()


async def answer_once_then_close(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The first connection ends, without a word, when its second request is there."""
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        if number == 1:
            await reader.readuntil(b"\r\n\r\n")
            return


def test_a_request_is_repeated_when_its_idle_connection_was_gone() -> None:
    async def twice() -> None:
        pool = HttpPool()
        async with serving(answer_once_then_close) as origin:
            assert await ask(pool, origin) == b"ok"
            assert await ask(pool, origin) == b"ok"
            pool.close()

    asyncio.run(twice())


def test_a_change_is_not_repeated() -> None:
    async def twice() -> None:
        pool = HttpPool()
        async with serving(answer_once_then_close) as origin:
            await ask(pool, origin)
            with pytest.raises(HttpError, match="EOF"):
                await ask(pool, origin, "POST", b"{}")
            pool.close()

    asyncio.run(twice())


def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    closed: list[asyncio.Event] = []

    async def close_after_one(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        closed[0].set()

    async def twice() -> None:
        closed.append(asyncio.Event())
        pool = HttpPool()
        async with serving(close_after_one) as origin:
            await ask(pool, origin)
            await closed[0].wait()
            for _ in range(50):  # turns of the loop, in which the end of the connection arrives
                await asyncio.sleep(0)
            assert await ask(pool, origin, "POST", b"{}") == b"ok"
            pool.close()

    asyncio.run(twice())


def test_an_idle_connection_is_closed_in_time() -> None:
    async def idle() -> None:
        ended = asyncio.Event()

        async def talk(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            try:
                await reader.read()
            finally:
                ended.set()

        pool = HttpPool(idle_seconds=0.01)
        async with serving(talk) as origin, asyncio.timeout(120):
            await ask(pool, origin)
            await ended.wait()

    asyncio.run(idle())


def test_closing_the_pool_fails_what_is_under_way_and_repeats_nothing() -> None:
    async def close() -> None:
        asked = asyncio.Event()
        requests = 0

        async def talk(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal requests
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await reader.readuntil(b"\r\n\r\n")
            requests += 1
            asked.set()
            await reader.read()

        pool = HttpPool()
        async with serving(talk) as origin:
            await ask(pool, origin)
            pending = asyncio.ensure_future(ask(pool, origin))
            await asked.wait()
            pool.close("given up")
            with pytest.raises(HttpError, match="given up"):
                await pending
            assert requests == 1

    asyncio.run(close())


def test_nobody_who_listens_is_said_with_the_address() -> None:
    async def nobody() -> HttpOrigin:
        async with serving(answer_once_then_close) as origin:
            return origin

    async def connect() -> None:
        origin = await nobody()
        with pytest.raises(CannotConnectError, match=f"cannot connect to 127.0.0.1:{origin.port}: "):
            await ask(HttpPool(), origin)

    asyncio.run(connect())
