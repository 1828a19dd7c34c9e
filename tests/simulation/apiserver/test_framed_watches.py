"""Watches over WebSocket, as fabric8 and browsers make them: each event is a frame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

from tests.simulation.apiserver.fronts import Front, front_of
from tests.simulation.apiserver.test_http_front import say

MAPS = "/api/v1/namespaces/default/configmaps"
WAIT_S = 120
T = TypeVar("T")


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with front_of("http", tmp_path) as front:
        yield front


def connected(
    front: Front,
    use: Callable[[aiohttp.ClientWebSocketResponse], Awaitable[T]],
    query: str = "",
    protocols: tuple[str, ...] = (),
    origin: bool = True,
) -> T:
    async def run() -> T:
        assert front.http is not None
        url = front.http.url
        headers = {"Origin": url} if origin else {}
        async with (
            asyncio.timeout(WAIT_S),
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{url}{MAPS}?watch=true&{query}", protocols=protocols, headers=headers) as socket,
        ):
            return await use(socket)

    return asyncio.run(run())


async def event(socket: aiohttp.ClientWebSocketResponse) -> Any:
    message = await socket.receive()
    assert message.type is aiohttp.WSMsgType.TEXT
    assert message.data.endswith("}\n"), "a whole event and a line"
    return json.loads(message.data)


def test_each_frame_is_one_event(front: Front) -> None:
    say(front, "POST", MAPS, {"metadata": {"name": "a"}})

    async def use(socket: aiohttp.ClientWebSocketResponse) -> list[Any]:
        first = await event(socket)
        for name in ("b", "c"):
            await asyncio.to_thread(say, front, "POST", MAPS, {"metadata": {"name": name}})
        await asyncio.to_thread(say, front, "DELETE", f"{MAPS}/b")
        return [first, *[await event(socket) for _ in range(3)]]

    told = connected(front, use, "fieldSelector=metadata.name!=kube-root-ca.crt")
    assert [f"{one['type']} {one['object']['metadata']['name']}" for one in told] == [
        "ADDED a",
        "ADDED b",
        "ADDED c",
        "DELETED b",
    ]


def test_it_ends_in_order_when_its_time_is_over(front: Front) -> None:
    async def use(socket: aiohttp.ClientWebSocketResponse) -> list[Any]:
        assert await socket.receive()
        return [socket.close_code, [message async for message in socket]]

    assert connected(front, use, "timeoutSeconds=1&resourceVersion=1&fieldSelector=metadata.name=none") == [1000, []]


def test_the_server_ends_a_watch_whose_client_has_gone(front: Front) -> None:
    async def use(socket: aiohttp.ClientWebSocketResponse) -> bool:
        assert front.http is not None
        await socket.send_str("this is ignored")
        return await socket.close()

    assert connected(front, use)
    maps = front.server.store.of["configmaps"]
    for _ in range(1000):
        if not maps.is_watched:
            break
        say(front, "GET", MAPS)
    assert not maps.is_watched


def test_one_subprotocol_is_taken_whatever_its_name(front: Front) -> None:
    async def use(socket: aiohttp.ClientWebSocketResponse) -> str | None:
        return socket.protocol

    assert connected(front, use, protocols=("v4.base64.channel.k8s.io",)) == "v4.base64.channel.k8s.io"
    assert connected(front, use) is None


def test_a_version_that_is_gone_is_an_event(front: Front) -> None:
    front.server.store.forget()

    async def use(socket: aiohttp.ClientWebSocketResponse) -> Any:
        return await event(socket)

    told = connected(front, use, "resourceVersion=1")
    assert (told["type"], told["object"]["code"]) == ("ERROR", 410)


@pytest.mark.parametrize(
    ("query", "protocols", "origin", "code"),
    [
        ("fieldSelector=odd=a", (), True, 400),
        ("", ("a", "b"), True, 400),
        ("", (), False, 403),
    ],
)
def test_refusals_come_instead_of_the_upgrade(
    front: Front, query: str, protocols: tuple[str, ...], origin: bool, code: int
) -> None:
    async def use(socket: aiohttp.ClientWebSocketResponse) -> None: ...

    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        connected(front, use, query, protocols, origin)
    assert refusal.value.status == code
