"""Manifests over HTTP from a real server on the loopback, and the thread they are fetched on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from runtime.io.event_loop import LoopThread
from runtime.manifests.http import HttpManifests
from runtime.manifests.url import LIMIT_BYTES, ManifestFetchError


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = 200, ",".join(self.headers.get_all("X-Key") or ()).encode()
        if self.path == "/missing":
            status, body = 404, b"no"
        elif self.path == "/huge":
            body = bytes(LIMIT_BYTES + 1)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


def test_an_answer_has_status_and_body_and_headers_have_several_values(loop: LoopThread, url: str):
    server = HttpManifests(loop)
    answer = server.get(url, {"X-Key": ("a", "b")}).result(120)
    assert (answer.status, answer.body) == (200, b"a,b")
    assert server.get(f"{url}/missing", {}).result(120).status == 404


def test_a_failed_manifest_fetch_has_a_reason(loop: LoopThread, url: str):
    server = HttpManifests(loop)
    with pytest.raises(ManifestFetchError, match="larger than 10 MiB"):
        server.get(f"{url}/huge", {}).result(120)
    with pytest.raises(ManifestFetchError, match="127"):
        server.get("http://127.0.0.1:1/", {}).result(120)
    with pytest.raises(ManifestFetchError):
        server.get("not a url", {}).result(120)


async def name_of_thread() -> str:
    return threading.current_thread().name


def names_of_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_no_thread_before_the_first_coroutine_and_one_for_all():
    loop = LoopThread("lazy")
    assert "lazy" not in names_of_threads()
    assert {loop.submit(name_of_thread()).result(120) for _ in range(3)} == {"lazy"}
    loop.close()
    assert "lazy" not in names_of_threads()


def test_closing_cancels_what_hangs_and_refuses_more():
    loop = LoopThread()
    hanging = loop.submit(asyncio.sleep(3600))
    loop.close()
    assert hanging.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        loop.submit(name_of_thread())


def test_a_redirect_is_followed_and_an_address_may_name_a_user(loop: LoopThread) -> None:
    asked: list[tuple[str, str | None]] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Authorization"]))
            self.send_response(302 if self.path == "/old" else 200)
            self.send_header("Location", "/new")
            self.end_headers()
            self.wfile.write(b"manifest")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        answer = HttpManifests(loop).get(f"http://me:word@127.0.0.1:{server.server_port}/old", {}).result(120)
    finally:
        server.shutdown()
        server.server_close()
    assert (answer.status, answer.body) == (200, b"manifest")
    assert asked[0] == ("/old", "Basic bWU6d29yZA==")
    assert asked[1][0] == "/new"


def test_the_proxy_of_the_environment_is_taken(loop: LoopThread, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Proxy-Authorization"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"by proxy")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:word@127.0.0.1:{server.server_port}")
    try:
        answer = HttpManifests(loop).get("http://manifests.example/pods?x=1", {}).result(120)
    finally:
        server.shutdown()
        server.server_close()
    assert answer.body == b"by proxy"
    assert asked == [("http://manifests.example/pods?x=1", "Basic bWU6d29yZA==")]
