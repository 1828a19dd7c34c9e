"""Opens TCP connections for probes and hooks.

A node opens thousands of them, so `connected` makes few calls; asyncio's own way costs several times as much. A kubelet
sets SO_LINGER to a second, so that its threads wait for the other side when they close. Sockets here have no
SO_LINGER: the other side sees the same orderly end, and the loop does not wait.

Hosts come from pods, and looking up a name may hang for half a minute. Names have a few threads of their own, so that
only other pods wait for them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from functools import partial
from typing import Any, TypeAlias

from config.caches import KIB, kept
from runtime.io.daemon_threads import DaemonThreads

Address: TypeAlias = tuple[Any, ...]
"""An address as its family writes it."""

NAMES_AT_ONCE = 4
_NAMES = DaemonThreads(NAMES_AT_ONCE, "names-of-pods")
"""The resolver threads of the whole process. No thread starts before the first name."""
KEPT_BYTES = 256 * KIB
"""For the families of hosts that are addresses."""
RECEIVE_BYTES = 32 * KIB
"""Size of the kernel's buffer, which takes twice as much. A pod cannot enlarge it by sending faster."""
_BYTES_RECEIVED = slice(128, 136)
"""The offset of `tcpi_bytes_received` in the kernel's `struct tcp_info`."""


async def connected(host: str, port: int) -> socket.socket:
    """Connect, on the loop. Of several addresses of a name, the first that answers is used.

    Raises OSError.
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
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        try:
            opened.connect(address)  # a pod on this machine mostly answers at once
        except BlockingIOError:
            await loop.sock_connect(opened, address)
    except BaseException:
        opened.close()
        raise
    return opened


def bytes_received(connection: socket.socket) -> int:
    """All bytes that have come over `connection`, as the kernel counts them. Raises OSError."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.stop)
    return int.from_bytes(told[_BYTES_RECEIVED], sys.byteorder)


@kept(KEPT_BYTES)
def _family(host: str) -> int | None:
    try:
        return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        return None
