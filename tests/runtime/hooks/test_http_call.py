"""The httpGet hook against real servers on this machine (spec 3.11)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from runtime.hooks.capability import HookAnswer
from runtime.hooks.http_call import NetworkHookCaller
from runtime.io.event_loop import LoopThread
from tests.ports import free_port


class Server:
    """A server that keeps what it is asked: (path, headers)."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str]]] = []
        self.status = 200
        self.location = ""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.heard.append((self.path, dict(self.headers.items())))
                self.send_response(server.status if self.path != "/end" else 200)
                if server.location:
                    self.send_header("Location", server.location)
                self.end_headers()
                self.wfile.write(b"x" * 20_000)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        made.http.shutdown()
        thread.join()
        made.http.server_close()


def get(url: str, *headers: tuple[str, str]) -> HookAnswer:
    with closing(LoopThread("test")) as loop:
        return NetworkHookCaller(loop).get("id", url, headers).result(120)


@pytest.mark.parametrize("status", [200, 404, 500])
# (spec 3.11.2)
def test_a_hook_succeeds_with_any_http_status(server: Server, status: int) -> None:
    server.status = status
    assert get(f"http://127.0.0.1:{server.port}/echo?msg=postStart", ("X-Own", "1")) == HookAnswer()
    [(path, headers)] = server.heard
    assert path == "/echo?msg=postStart"
    assert headers["User-Agent"].startswith("kube-lifecycle/")
    assert (headers["Accept"], headers["X-Own"]) == ("*/*", "1")


def test_headers_of_the_pod_win_and_host_is_one_of_them(server: Server) -> None:
    get(f"http://127.0.0.1:{server.port}/", ("Host", "example.org"), ("User-Agent", "mine"), ("Accept", ""))
    [(_, headers)] = server.heard
    assert (headers["Host"], headers["User-Agent"], headers.get("Accept")) == ("example.org", "mine", None)


# (spec 3.11.3)
def test_a_server_without_tls_is_asked_again_without_credentials(server: Server) -> None:
    answer = get(f"https://127.0.0.1:{server.port}/bye", ("Authorization", "Bearer secret"), ("X-Own", "1"))
    assert answer.error == ""
    assert "server gave HTTP response to HTTPS client" in answer.fell_back
    path, headers = server.heard[-1]
    assert (path, headers.get("Authorization"), headers["X-Own"]) == ("/bye", None, "1")


def test_a_hook_to_a_closed_port_fails() -> None:
    port = free_port()
    answer = get(f"http://127.0.0.1:{port}/")
    assert answer.fell_back == ""
    assert str(port) in answer.error


# (spec 3.11.2)
def test_a_redirect_is_followed_on_its_host_only(server: Server) -> None:
    server.status, server.location = 302, "/end"
    get(f"http://127.0.0.1:{server.port}/begin")
    assert [path for path, _ in server.heard] == ["/begin", "/end"]
    server.heard.clear()
    server.location = "http://nowhere.invalid/"
    assert get(f"http://127.0.0.1:{server.port}/begin") == HookAnswer()
    assert [path for path, _ in server.heard] == ["/begin"]


def test_a_circle_of_redirects_is_a_failure(server: Server) -> None:
    server.status, server.location = 302, "/again"
    assert "redirects" in get(f"http://127.0.0.1:{server.port}/again").error


def test_a_hook_call_can_be_cancelled() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, closing(LoopThread("test")) as loop:
        pending = NetworkHookCaller(loop).get("id", f"http://127.0.0.1:{silent.getsockname()[1]}/", ())
        assert pending.cancel()
