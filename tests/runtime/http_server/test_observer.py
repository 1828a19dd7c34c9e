"""The observer: what its stream sends when, to whom, how many may watch; and what its page lets in."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from aiohttp import web

from runtime.http_server.auth.gate import bearer_of
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.listener import HttpListener
from runtime.http_server.observer import PAGE, WATCHERS_AT_MOST, Look, Observer, asking_for_token, is_observed
from tests.real.waiting import until
from tests.runtime.http_server.clients import Client, ask, listening


class Scene:
    """Parts that a test changes."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {"pod/1": b'"one"', "pod/2": b'"two"'}
        self.looks = 0

    def look(self) -> Look:
        self.looks += 1
        return dict(self.parts)

    def timeline(self, uid: str) -> bytes | None:
        return None


@contextmanager
def watched(scene: Scene) -> Iterator[HttpListener]:
    async def directly(operation: Callable[[], Look]) -> Look:
        return operation()

    made: list[Observer] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if not made:
            made.append(Observer(scene, directly, every_seconds=0.02))
        told: Awaitable[web.StreamResponse] = made[0].stream(request)
        return await told

    with listening(answer) as listener:
        yield listener


def watch(client: Client) -> Iterator[dict[str, object]]:
    """Events as they come."""
    client.send("GET /ui/live/stream HTTP/1.1\r\nHost: n\r\n\r\n")
    held = b""
    while data := client.socket.recv(65536):
        held += data
        while b"\n\n" in held:
            event, _, held = held.partition(b"\n\n")
            if b"data: " in event:
                yield json.loads(event.partition(b"data: ")[2])


def test_a_new_watcher_gets_everything_and_then_changes_and_removals() -> None:
    scene = Scene()
    with watched(scene) as listener, closing(Client(listener.port)) as client:
        events = watch(client)
        assert next(events) == {"whole": True, "gone": [], "parts": {"pod/1": "one", "pod/2": "two"}}
        scene.parts = {"pod/1": b'"one"', "pod/2": b'"changed"'}
        assert next(events) == {"whole": False, "gone": [], "parts": {"pod/2": "changed"}}
        scene.parts = {"pod/2": b'"changed"'}
        assert next(events) == {"whole": False, "gone": ["pod/1"], "parts": {}}
        with closing(Client(listener.port)) as other:
            assert next(watch(other)) == {"whole": True, "gone": [], "parts": {"pod/2": "changed"}}


def test_the_observer_collects_nothing_without_watchers() -> None:
    scene = Scene()
    with watched(scene) as listener:
        with closing(Client(listener.port)) as client:
            next(watch(client))
        rested = threading.Event()

        def still() -> bool:
            before = scene.looks
            rested.wait(0.1)
            return scene.looks == before

        until(still, 10, "it goes on looking")


def test_the_number_of_observer_watchers_is_bounded() -> None:
    scene = Scene()
    with watched(scene) as listener:
        clients = [Client(listener.port) for _ in range(WATCHERS_AT_MOST)]
        for each in clients:
            next(watch(each))
        assert ask(listener.port).status == 503
        for each in clients:
            each.close()


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("Basic YW55Ym9keTphYmM=", "abc"),
        ("Basic YW55Ym9keTphOmI=", "a:b"),
        ("Basic !!!", ""),
        ("Digest x", ""),
        ("", ""),
    ],
)
def test_a_password_is_a_token(header: str, token: str) -> None:
    assert bearer_of(header) == token


def test_browsers_are_asked_for_a_token_where_the_page_is() -> None:
    assert is_observed("/ui")
    assert is_observed("/ui/live/stream")
    assert not is_observed("/uix")
    assert asking_for_token(HttpRefusal(401, "no")).headers[0][0] == "WWW-Authenticate"
    assert asking_for_token(HttpRefusal(403, "no")).headers == ()


def test_only_two_functions_put_text_into_the_page() -> None:
    """Both make it harmless (tests/real/test_observer_page.py), so no part of the page can forget it."""
    script = (PAGE / "observer.js").read_text()
    doors = script[script.index("function harmless(") : script.index("function of(")]
    rest = script.replace(doors, "")
    ways = r"textContent|innerHTML|outerHTML|innerText|insertAdjacent|setAttribute|append|createElement|document\.write"
    assert set(re.findall(ways, rest)) == set()
    assert len(re.findall(r"document\.title = harmless\(", rest)) == rest.count("document.title") == 1
    assert len(re.findall(r"replaceChildren\(\.\.\.(build\(\)|made)\)", rest)) == rest.count("replaceChildren")
    for other in ("shares.js", "record.js"):
        assert set(re.findall(rf"{ways}|document\.title|replaceChildren", (PAGE / other).read_text())) == set()
