"""Exec and attach in a simulated cluster, as clients with websockets have them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import aiohttp
import pytest

from simulation.cluster import Cluster, cluster
from simulation.cluster.sessions import SPOKEN
from tests.simulation.cluster.plain_client import PATIENCE_S, PODS, PlainClient

STDOUT, ERROR = 1, 3
SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Stepped; tests take pods of their own."""
    with cluster() as found:
        yield found


@pytest.fixture
def api(shared: Cluster) -> PlainClient:
    return PlainClient(shared.url)


class Session:
    """A session that has begun."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def said(self) -> bytes:
        """The next words on standard output; what says that it has begun is passed over."""
        while True:
            message = await self.socket.receive_bytes(timeout=PATIENCE_S)
            if message[0] == STDOUT and len(message) > 1:
                return message[1:]

    async def rest(self) -> tuple[bytes, Any]:
        """What standard output has to say still, and the Status at the end."""
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
            client.ws_connect(f"{found.url}{PODS}/{path}", protocols=[protocol]) as socket,
        ):
            assert socket.protocol == protocol
            return await use(Session(socket))

    return asyncio.run(run())


def executed(found: Cluster, pod: str, protocol: str = SPOKEN[0]) -> tuple[bytes, Any]:
    return session(found, f"{pod}/exec?command=ls&command=-l&stdout=true", Session.rest, protocol)  # type: ignore[no-any-return]


def refusal(found: Cluster, path: str, headers: dict[str, str]) -> tuple[int, str, str]:
    """Code, reason and message of the Status that a request to upgrade gets."""

    async def run() -> Any:
        async with aiohttp.ClientSession() as client, client.get(f"{found.url}{PODS}/{path}", headers=headers) as got:
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


def test_who_attaches_reads_what_is_written_from_then_on(shared: Cluster, api: PlainClient):
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


@pytest.mark.parametrize("headers", [{}, SPDY])
def test_what_cannot_be_is_refused_in_words(shared: Cluster, api: PlainClient, headers: dict[str, str]):
    name = f"refuses-{len(headers)}"
    api.create_pod(name, restartPolicy="Never")
    assert refusal(shared, f"{name}/exec?command=ls&stdout=true", headers)[2] == (
        f"pod {name} does not have a host assigned"
    )
    shared.step("5s")
    told = refusal(shared, f"{name}/exec?command=ls&stdout=true", headers)
    assert SPOKEN[0] in told[2]
    assert refusal(shared, f"{name}/portforward?ports=80", headers)[2] == "simulated containers listen on no ports"
    shared.exit(name)
    shared.step("5s")
    told = refusal(shared, f"{name}/exec?command=ls&stdout=true", headers)
    assert told == (500, "InternalError", f'container "app" in pod "{name}" is not running')
