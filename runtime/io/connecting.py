"""Opening a TCP connection from a loop for the price of the system calls, and closing it without waiting.

Thousands of probes open a connection each: what is done here in a few calls costs several times that through asyncio's
way of connecting. No connection lingers (SO_LINGER with a time, as other agents have it): its end would be waited for
by whoever closes it, and that is the loop with all others on it.

Names are what pods say (the host of a probe or a hook), and a look-up may hang for half a minute: they have threads of
their own, few, so that nobody but other pods waits for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
from functools import lru_cache, partial
from typing import Any, TypeAlias

from runtime.io.daemon_threads import DaemonThreads

Address: TypeAlias = tuple[Any, ...]
"""As sockets of its family have it."""
NAMES_AT_ONCE = 4
_NAMES = DaemonThreads(NAMES_AT_ONCE, "names-of-pods")
"""Of the process: the name servers are the machine's. No thread is made before the first name."""
_AT_ONCE = struct.pack("ii", 1, 0)


async def connected(host: str, port: int) -> socket.socket:
    """A connection, on the loop; raises OSError. A name is looked up, and the first of its addresses is taken that
    answers.
    """
    loop = asyncio.get_running_loop()
    family = _family(host)
    if family is not None:
        return await _connected(loop, family, (host, port))
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await loop.run_in_executor(_NAMES, ask)
    failure: OSError = OSError(f"no address is known of {host}")
    for known in found:
        try:
            return await _connected(loop, known[0], known[4])
        except OSError as error:
            failure = error
    raise failure


async def _connected(loop: asyncio.AbstractEventLoop, family: int, address: Address) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        try:
            opened.connect(address)  # to this machine, where pods are, this mostly is all
        except BlockingIOError:
            await loop.sock_connect(opened, address)
    except BaseException:
        opened.close()
        raise
    return opened


def reset_on_close(connection: socket.socket) -> None:
    """Its end is a reset: to somebody who does not answer nothing is said for minutes on end."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)


@lru_cache(maxsize=2_048)
def _family(host: str) -> int | None:
    try:
        return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        return None
