"""Opening connections by hand: to addresses and names, refused or accepted.

A peer that has vanished holds nothing up.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from config.api.resources import PODS
from runtime.api import ApiError, list_objects
from runtime.api.client import DECODED_ASIDE_BYTES, _read
from runtime.io.connecting import connected
from runtime.io.event_loop import LoopThread
from tests.ports import free_port


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
def test_connecting_to_a_closed_port_is_refused(host: str) -> None:
    port = free_port()
    with pytest.raises(OSError, match=r"refused|No route|unreachable") as failure:
        opened(host, port)
    assert failure.value.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)


def test_a_name_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(OSError, match=r"known|resolution|Name"):
        opened("no-such-host.invalid", 80)


def test_unresolvable_host_names_hold_up_no_other_connection(
    server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example the hosts of a dozen probes whose name server is gone.

    The node still finds its API server, and reads.
    """
    found, answers = socket.getaddrinfo, threading.Event()

    def look_up(host: str, *args: Any, **kwargs: Any) -> Any:
        if host == "hangs.example":
            answers.wait(60)
        return found("127.0.0.1", *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    port = server.getsockname()[1]
    call = list_objects(PODS)
    large = b"[" + b" " * DECODED_ASIDE_BYTES + b"]"
    with closing(LoopThread("test")) as loop:
        try:
            hanging = [loop.submit(connected("hangs.example", port)) for _ in range(12)]
            found_api = loop.submit(_look_up_as_the_node("api.example"))
            assert found_api.result(120)
            # On the threads for the node's own names nothing is read either.
            own = [loop.submit(_look_up_as_the_node("hangs.example")) for _ in range(12)]
            with pytest.raises(ApiError, match="not"):
                loop.submit(_read(call, 200, large)).result(120)
            assert not any(each.done() for each in (*hanging, *own))
        finally:
            answers.set()


async def _look_up_as_the_node(name: str) -> Any:
    return await asyncio.get_running_loop().getaddrinfo(name, 443)
