"""Hostile servers on real sockets of loopback.

A container can put them behind the port of its probe or hook.

A server counts what it could send: that is what its attack has cost the node. It stops by itself at `GIVEN_UP_BYTES`,
so that an attack without bound ends, and shows. Small buffers of the kernel keep the count close to what was read.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import struct
import subprocess
from pathlib import Path

import msgspec

from runtime.io.event_loop import LoopThread

GIVEN_UP_BYTES = 24 * 1024 * 1024
BUFFER_BYTES = 16 * 1024
_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Attack(msgspec.Struct, frozen=True):
    """After the request: `begin`, and then `endless` again and again.

    `drip`: byte by byte. `close`: the connection is closed after `begin`. `at_once`: without waiting for a request.
    """

    begin: bytes = b""
    endless: bytes = b""
    drip: bool = False
    close: bool = False
    at_once: bool = False


def _big(size: int = 60_000) -> bytes:
    return b"X: " + b"y" * size + b"\r\n"


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


_SETTINGS = _frame(4, 0, 0, b"")
_HEADERS = _frame(1, 4, 1, b"\x88\x5f\x10application/grpc")  # :status 200, content-type
_MESSAGE_LENGTH = 1 << 30

HTTP_ATTACKS: dict[str, Attack] = {
    "100 Continue": Attack(endless=b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "early hints with large heads": Attack(endless=b"HTTP/1.1 103 Early Hints\r\n" + _big() + b"\r\n"),
    "blank chunks": Attack(_CHUNKED, b"\r\n" * 5_000),
    "tiny chunks": Attack(_CHUNKED, b"1\r\nx\r\n" * 2_000),
    "chunk extensions": Attack(_CHUNKED + b"1;", b"x=y;" * 4_000),
    "a chunk of 16 EiB": Attack(_CHUNKED + b"ffffffffffffffff\r\n", b"x" * 16_384),
    "a chunk length without end": Attack(_CHUNKED, b"0" * 16_384),
    "trailers": Attack(_CHUNKED + b"0\r\n", b"X: y\r\n" * 3_000),
    "header lines": Attack(_OK, b"X: y\r\n" * 3_000),
    "header lines of three bytes": Attack(_OK, b"a:\n" * 5_000),
    "one header": Attack(_OK + b"X: ", b"y" * 16_384),
    "folded lines": Attack(_OK + b"X: y\r\n", b" z\r\n" * 4_000),
    "a reason without end": Attack(b"HTTP/1.1 200 ", b"x" * 16_384),
    "a body without end": Attack(_OK + b"\r\n", b"x" * 16_384),
    "a body of 16 EiB": Attack(_OK + b"Content-Length: 18446744073709551615\r\n\r\n", b"x" * 16_384),
    "a packed body": Attack(_OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"\0" * (4 << 20), compresslevel=9)),
    "redirects": Attack(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", close=True),
    "redirects with large heads": Attack(
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n" + _big() + b"\r\n", close=True
    ),
    "a redirect of 60 kB": Attack(b"HTTP/1.1 302 Found\r\nLocation: /" + b"a" * 60_000 + b"\r\n\r\n", b"x" * 16_384),
    "an upgrade": Attack(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"z" * 16_384
    ),
    "garbage": Attack(endless=bytes(range(256)) * 64),
    "zeros before the request": Attack(endless=b"\0" * 16_384, at_once=True),
    "a status of many digits": Attack(b"HTTP/1.1 2" + b"0" * 9_000 + b" OK\r\n\r\n", close=True),
    "an answer of HTTP/2": Attack(_SETTINGS, _SETTINGS * 1_000),
    "a drip of the head": Attack(begin=_OK, endless=b"X: y\r\n", drip=True),
    "a drip of the body": Attack(begin=_OK + b"\r\n", endless=b"x", drip=True),
    "silence": Attack(),
    "an end at once": Attack(close=True, at_once=True),
}
"""What each means for a probe stands in its test."""

TLS_ATTACKS: dict[str, Attack] = {
    "HTTP in the clear": Attack(_OK + b"Content-Length: 0\r\n\r\n", close=True),
    "garbage for TLS": Attack(endless=bytes(range(255, -1, -1)) * 64, at_once=True),
    "empty records": Attack(endless=b"\x16\x03\x03\x00\x00" * 3_000),
    "changes of the cipher": Attack(endless=b"\x14\x03\x03\x00\x01\x01" * 2_500),
    "warnings": Attack(endless=b"\x15\x03\x03\x00\x02\x01\x5a" * 2_000),
    "a handshake message of 16 MiB": Attack(b"\x16\x03\x03\x40\x00\x02\xff\xff\xff" + b"\0" * 16_380, b"\0" * 16_384),
    "silence for TLS": Attack(),
}

GRPC_ATTACKS: dict[str, Attack] = {
    "settings": Attack(endless=_SETTINGS * 1_500),
    "pings": Attack(_SETTINGS, _frame(6, 0, 0, b"12345678") * 800),
    "continuations": Attack(_SETTINGS + _frame(1, 0, 1, b"\x88"), _frame(9, 0, 1, b"\x40\x01a\x01b" * 400)),
    "header blocks": Attack(_SETTINGS, _frame(1, 4, 1, b"\x40\x01a\x7f\x80\x01" + b"b" * 255) * 60),
    "a message of 1 GiB": Attack(
        _SETTINGS + _HEADERS + _frame(0, 0, 1, b"\0" + _MESSAGE_LENGTH.to_bytes(4, "big")),
        _frame(0, 0, 1, b"x" * 16_000),
    ),
    "empty data": Attack(_SETTINGS + _HEADERS, _frame(0, 0, 1, b"") * 1_500),
    "window updates": Attack(_SETTINGS, _frame(8, 0, 0, b"\0\0\0\1") * 1_000),
    "resets": Attack(_SETTINGS, _frame(3, 0, 1, b"\0\0\0\7") * 1_000),
    "garbage for gRPC": Attack(endless=bytes(range(256)) * 64),
    "HTTP/1.1 for gRPC": Attack(_CHUNKED, b"1\r\nx\r\n" * 2_000),
    "silence for gRPC": Attack(),
}


class HostileServer:
    """One port.

    `sent`: bytes that found their way out; `asked`: connections; `open`: those that are open now.
    """

    def __init__(self, loop: LoopThread, attack: Attack, tls: ssl.SSLContext | None = None) -> None:
        self._attack = attack
        self.sent = self.asked = self.open = 0
        self.most_open = 0
        self.port: int = loop.submit(self._serve(tls)).result(120)

    async def _serve(self, tls: ssl.SSLContext | None) -> int:
        listening = socket.create_server(("127.0.0.1", 0), backlog=1_024)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._server = await asyncio.start_server(self._talk, sock=listening, ssl=tls)
        port: int = listening.getsockname()[1]
        return port

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        attack = self._attack
        self.asked += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        writer.transport.set_write_buffer_limits(1)  # not 0: over TLS asyncio would never write
        try:
            if not attack.at_once:
                await reader.read(1)
            await self._say(writer, attack.begin)
            while attack.endless and self.sent < GIVEN_UP_BYTES:
                await self._say(writer, attack.endless)
            if not attack.close:
                while await reader.read(4_096):
                    pass
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            self.open -= 1
            with contextlib.suppress(RuntimeError):  # the loop has ended
                writer.close()

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if not self._attack.drip:
            writer.write(data)
            await writer.drain()
            self.sent += len(data)
            return
        for each in struct.unpack(f"{len(data)}c", data):
            writer.write(each)
            await writer.drain()
            self.sent += 1
            await asyncio.sleep(0.001)  # the attack is to be slow


def own_certificate(folder: Path) -> ssl.SSLContext:
    """A context for a server that has signed for itself."""
    key, certificate = folder / "key", folder / "certificate"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    names = ["-subj", "/CN=nobody", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls
