"""Manifests over HTTP from a real server on the loopback, and the thread they are fetched on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from runtime.io.event_loop import LoopThread
from runtime.manifests.http import HttpManifests, is_same_server
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


# (spec 1.1.2)
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


SECRETS = {"Authorization": ["Bearer word"], "X-Token": ["word"], "Cookie": ["a=word"], "User-Agent": ["word"]}


@contextmanager
def redirecting(*, to: str = "") -> Iterator[tuple[HTTPServer, list[dict[str, str]]]]:
    """A server that redirects its path `/old`, and the headers of each request to it."""
    asked: list[dict[str, str]] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(dict(self.headers))
            self.send_response(302 if self.path.endswith("/old") else 200)
            self.send_header("Location", to)
            self.end_headers()
            self.wfile.write(b"manifest")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, asked
    finally:
        server.shutdown()
        server.server_close()


def shows(asked: list[dict[str, str]]) -> list[bool]:
    """For each request, whether it has any of the secrets."""
    return [any("word" in value for value in each.values()) for each in asked]


def test_another_server_gets_no_header_that_is_configured(loop: LoopThread) -> None:
    """Neither does the first one, when the other sends the agent back."""
    with ExitStack() as servers:
        back, told_again = servers.enter_context(redirecting())
        other, told = servers.enter_context(redirecting(to=f"http://127.0.0.1:{back.server_port}/new"))
        first, asked = servers.enter_context(redirecting(to=f"http://127.0.0.1:{other.server_port}/old"))
        url = f"http://me:word@127.0.0.1:{first.server_port}/old"
        answer = HttpManifests(loop).get(url, SECRETS).result(120)
    assert answer.body == b"manifest"
    assert (shows(asked), shows(told), shows(told_again)) == ([True], [False], [False])
    assert told[0]["User-Agent"] == "actorlet"


def test_another_path_of_the_same_server_gets_the_headers_that_are_configured(loop: LoopThread) -> None:
    with redirecting(to="/new") as (server, asked):
        HttpManifests(loop).get(f"http://127.0.0.1:{server.server_port}/old", SECRETS).result(120)
    assert shows(asked) == [True, True]


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("http://a/x", "http://a/y", True),
        ("http://a/x", "http://a:80/y", True),
        ("http://A/x", "http://a/y", True),
        ("http://me:word@a/x", "http://a/y", True),
        ("http://a/x", "https://a/y", True),
        ("http://a:8080/x", "https://a/y", False),
        ("https://a/x", "http://a/y", False),
        ("https://a/x", "https://a:8443/y", False),
        ("https://a/x", "https://a.evil.example/y", False),
        ("https://a.example/x", "https://b.a.example/y", False),
        ("https://a.example/x", "https://a.example./y", False),
        ("https://a/x", "https://a@evil.example/y", False),
        ("http://10.0.0.1/x", "http://[::ffff:10.0.0.1]/y", False),
    ],
)
def test_which_servers_are_the_same(url: str, other: str, same: bool) -> None:
    assert is_same_server(url, other) is same


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
