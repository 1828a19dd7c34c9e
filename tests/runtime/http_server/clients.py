"""A listener for a test, certificates for it, and clients that speak bytes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from runtime.http_server.listener import Handler, HttpListener
from runtime.io.event_loop import LoopThread

PATIENCE_S = 60.0


@contextmanager
def listening(handler: Handler, **options: Any) -> Iterator[HttpListener]:
    """On loopback, at any port."""
    with closing(LoopThread("test")) as loop:
        listener = HttpListener(loop, handler, host="127.0.0.1", port=0, **options)
        listener.start()
        try:
            yield listener
        finally:
            listener.close()


@dataclass
class Said:
    """An answer as it came: status, head and body."""

    status: int
    head: str
    body: str


class Client:
    """One connection."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")

    def send(self, data: bytes | str) -> None:
        self.socket.sendall(data.encode() if isinstance(data, str) else data)

    def rest(self) -> bytes:
        """Everything until the other side ends."""
        parts = []
        try:
            while part := self.socket.recv(65536):
                parts.append(part)
        except (ConnectionResetError, ssl.SSLEOFError):
            pass
        return b"".join(parts)

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count and (part := self.socket.recv(count - len(data))):
            data += part
        return data

    def until(self, end: bytes) -> bytes:
        """What is said up to `end`. Raises AssertionError when the other side ends before."""
        data = b""
        while not data.endswith(end):
            part = self.socket.recv(1)
            assert part, f"it ends after {data!r}"
            data += part
        return data

    def close(self) -> None:
        self.socket.close()


def ask(
    port: int,
    target: str = "/",
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    body: str = "",
    host: str = "node",
    **headers: str,
) -> Said:
    """One request on a connection of its own."""
    with closing(Client(port, tls)) as client:
        headers = {"Connection": "close", **headers}
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        client.send("\r\n".join([*lines, "", body]))
        return said(client.rest())


def said(answer: bytes) -> Said:
    head, _, body = answer.decode("latin-1").partition("\r\n\r\n")
    return Said(int(head.split(" ")[1]) if head else 0, head, body)
