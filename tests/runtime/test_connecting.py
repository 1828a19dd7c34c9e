"""Opening connections by hand: to addresses and names, refused or not, and without waiting for who has vanished."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from runtime.connecting import connected, reset_on_close


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def opened(host: str, port: int) -> socket.socket:
    return asyncio.run(connected(host, port))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_addresses_and_names_are_connected_to(server: socket.socket, host: str) -> None:
    with opened(host, server.getsockname()[1]) as line:
        assert line.getpeername() == server.getsockname()
        assert not line.getblocking()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_where_nobody_listens_it_is_refused(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(OSError, match=r"refused|No route|unreachable") as failure:
        opened(host, port)
    assert failure.value.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)


def test_a_name_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(OSError, match=r"known|resolution|Name"):
        opened("no-such-host.invalid", 80)


def test_an_end_that_is_not_waited_for_reaches_the_other_side_as_a_reset(server: socket.socket) -> None:
    with opened("127.0.0.1", server.getsockname()[1]) as line:
        other, _ = server.accept()
        line.send(b"hello")
        reset_on_close(line)
        assert struct.unpack("ii", line.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)) == (1, 0)
        began = time.monotonic()
    assert time.monotonic() - began < 0.5
    with other, pytest.raises(ConnectionResetError):
        b"".join(iter(lambda: other.recv(100), b""))
