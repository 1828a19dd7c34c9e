"""Exec and attach in a simulated cluster, as clients have them over websockets and SPDY."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import aiohttp
import pytest

from actorlet.testing import Cluster, cluster
from runtime.http_server.sessions.spdy import FRAME_BYTES, DataFrame, Opener, frame_of
from simulation.cluster.sessions import SPOKEN
from simulation.cluster.spdy_sessions import PROTOCOL
from tests.simulation.cluster.plain_client import PATIENCE_S, PODS, PlainClient, trusting

STDOUT, ERROR = 1, 3
SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Stepped; tests take pods of their own."""
    with cluster() as found:
        yield found


class Session:
    """A session that has begun."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def said(self) -> bytes:
        """The next words on standard output, without those that say that the session has begun."""
        while True:
            message = await self.socket.receive_bytes(timeout=PATIENCE_S)
            if message[0] == STDOUT and len(message) > 1:
                return message[1:]

    async def rest(self) -> tuple[bytes, Any]:
        """The rest of standard output, and the Status at the end."""
        out, status = b"", None
        async for message in self.socket:
            out += message.data[1:] if message.data[0] == STDOUT else b""
            status = json.loads(message.data[1:]) if message.data[0] == ERROR else status
        return out, status


Use = Callable[[Session], Coroutine[Any, Any, Any]]


def session(found: Cluster, path: str, use: Use, protocol: str = SPOKEN[0]) -> Any:
    """What `use` makes of a session there."""

    async def run() -> Any:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{found.url}{PODS}/{path}", protocols=[protocol], ssl=trusting(found) or True) as socket,
        ):
            assert socket.protocol == protocol
            return await use(Session(socket))

    return asyncio.run(run())


def executed(found: Cluster, pod: str, protocol: str = SPOKEN[0]) -> tuple[bytes, Any]:
    return session(found, f"{pod}/exec?command=ls&command=-l&stdout=true", Session.rest, protocol)


def refusal(found: Cluster, path: str, headers: dict[str, str]) -> tuple[int, str, str]:
    """Code, reason and message of the Status that a request to upgrade gets."""

    async def run() -> Any:
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{found.url}{PODS}/{path}", headers=headers, ssl=trusting(found) or True) as got,
        ):
            return await got.json()

    status = asyncio.run(run())
    return status["code"], status["reason"], status["message"]


@pytest.mark.parametrize("protocol", SPOKEN)
def test_a_command_writes_and_ends_as_the_test_said(shared: Cluster, api: PlainClient, protocol: str):
    name = f"runs-{protocol[:2]}"
    shared.behave(name, exec_output="hello\n" * 10_000, exec_exit_code="0,3")
    api.create_pod(name)
    shared.step("5s")
    assert executed(shared, name, protocol) == (b"hello\n" * 10_000, {"metadata": {}, "status": "Success"})
    out, status = executed(shared, name, protocol)
    assert out == b"hello\n" * 10_000
    assert (status["reason"], status["details"]["causes"]) == (
        "NonZeroExitCode",
        [{"reason": "ExitCode", "message": "3"}],
    )


def test_a_command_takes_the_cluster_s_time(shared: Cluster, api: PlainClient):
    shared.behave("thinks", exec_delay="30s", exec_output="done")
    api.create_pod("thinks")
    shared.step("5s")

    async def use(begun: Session) -> Any:
        first = asyncio.ensure_future(begun.said())
        await asyncio.to_thread(shared.step, "29s")
        early = first.done()
        await asyncio.to_thread(shared.step, "2s")
        return early, await first

    assert session(shared, "thinks/exec?command=ls&stdout=true", use) == (False, b"done")


def test_a_runtime_that_does_not_run_it_says_so_in_the_status(shared: Cluster, api: PlainClient):
    shared.behave("fails", fail="ExecSync=UNAVAILABLE")
    api.create_pod("fails")
    shared.step("5s")
    assert "the runtime does not run it" in executed(shared, "fails")[1]["message"]


def test_an_attached_client_reads_the_output_from_then_on(shared: Cluster, api: PlainClient):
    shared.behave("watched", output="before")
    api.create_pod("watched")
    shared.step("5s")

    async def use(begun: Session) -> Any:
        first = asyncio.ensure_future(begun.said())
        while not first.done():
            await asyncio.to_thread(shared.say, "watched", "now")
            await asyncio.wait([first], timeout=1)
        await asyncio.to_thread(shared.exit, "watched", 0)
        return first.result(), (await begun.rest())[1]["status"]

    first, status = session(shared, "watched/attach?stdout=true", use)
    assert first.startswith(b"now\n")
    assert status == "Success"


async def over_spdy(found: Cluster, path: str, *names: str) -> tuple[bytes, dict[str, bytes]]:
    """The head of the answer, and what comes on each stream, to its end."""
    host, port = found.url.removeprefix("https://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=trusting(found))
    lines = (f"POST {PODS}/{path} HTTP/1.1", f"Host: {host}", "Connection: Upgrade", "Upgrade: SPDY/3.1")
    writer.write("\r\n".join([*lines, f"X-Stream-Protocol-Version: {PROTOCOL}", "", ""]).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    opener, said = Opener(), dict.fromkeys(names, b"")
    streams: dict[int, str] = {}
    for name in names:
        number, frame = opener.open({"streamType": name})
        streams[number] = name
        writer.write(frame)
    open_streams = {name for name in names if name != "stdin"}
    while open_streams:
        frame_read = frame_of(await reader.readexactly(FRAME_BYTES))
        body = await reader.readexactly(frame_read.length)
        if isinstance(frame_read, DataFrame):
            said[streams[frame_read.stream]] += body
            if frame_read.last:
                open_streams.discard(streams[frame_read.stream])
    writer.close()
    return head, said


def test_a_session_over_spdy_is_the_same(shared: Cluster, api: PlainClient):
    shared.behave("older", exec_output="hello\n" * 20_000, exec_exit_code=3)
    api.create_pod("older")
    shared.step("5s")
    path = "older/exec?command=ls&stdin=true&stdout=true&stderr=true"
    head, said = asyncio.run(over_spdy(shared, path, "error", "stdin", "stdout", "stderr"))
    assert head.startswith(b"HTTP/1.1 101 ")
    assert said["stdout"] == b"hello\n" * 20_000
    assert json.loads(said["error"])["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]


def test_sessions_that_are_over_leave_nothing_open(shared: Cluster, api: PlainClient):
    api.create_pod("visited")
    shared.step("5s")

    def open_files() -> int:
        return len(os.listdir(f"/proc/{shared.pid}/fd"))

    path = "visited/exec?command=ls&stdout=true"
    before = open_files()
    for _ in range(5):
        asyncio.run(over_spdy(shared, path, "error", "stdout"))
        executed(shared, "visited")
    # The cluster hears of the last that went when it looks next.
    for _ in range(100):
        if open_files() <= before:
            break
        assert shared.now >= 0
    assert open_files() <= before


def test_an_impossible_session_is_refused_with_a_reason(shared: Cluster, api: PlainClient):
    api.create_pod("refuses", restartPolicy="Never")
    for headers in ({}, SPDY):
        told = refusal(shared, "refuses/exec?command=ls&stdout=true", headers)
        assert told == (400, "BadRequest", "pod refuses does not have a host assigned")
    shared.step("5s")
    assert SPOKEN[0] in refusal(shared, "refuses/exec?command=ls&stdout=true", {})[2]
    for headers in ({}, SPDY):
        assert refusal(shared, "refuses/exec?stdout=true", headers)[2] == "there is no command"
        told = refusal(shared, "refuses/portforward?ports=80", headers)
        assert told == (501, "NotImplemented", "simulated containers listen on no ports")
    shared.exit("refuses")
    shared.step("5s")
    for headers in ({}, SPDY):
        told = refusal(shared, "refuses/exec?command=ls&stdout=true", headers)
        assert told == (500, "InternalError", 'container "app" in pod "refuses" is not running')
