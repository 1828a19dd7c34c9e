"""Ports for programs that cannot report which one they took.

Nobody else gets these numbers meanwhile.

A port that was bound to 0, closed and handed on is a race: the kernel may give it to any connection. So these lie below
the kernel's own range, and other tests of this machine that ask here are kept off by a lock until this process ends.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 12_000
_LOCKS = Path(tempfile.gettempdir()) / f"actorlet-ports-{os.getuid()}"
_HELD: list[int] = []


def free_port() -> int:
    """A TCP port that is free on all addresses now, and given to nobody else while this process lives."""
    above = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    ports = list(range(_FIRST, above)) or list(range(61_000, 65_535))
    random.shuffle(ports)
    for port in ports:
        if _lock(port):
            if _is_free(port):
                return port
            os.close(_HELD.pop())
    raise RuntimeError(f"no port from {min(ports)} to {max(ports)} is free")


def free_ports(count: int) -> tuple[int, ...]:
    return tuple(free_port() for _ in range(count))


def _lock(port: int) -> bool:
    _LOCKS.mkdir(mode=0o700, exist_ok=True)
    file = os.open(_LOCKS / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    _HELD.append(file)
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET6) as every:
        every.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            every.bind(("::", port))
        except OSError:
            return False
    return True
