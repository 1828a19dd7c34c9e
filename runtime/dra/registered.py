"""`RegisteredDrivers`: the drivers of this node by name, each at one socket or more.

A rolling update has two sockets of one driver for a while. The newest counts, and the older one again when the newest
goes: a kubelet does it so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.dra.capability import DraDriver

Connect = Callable[[str, str, str], DraDriver]
"""`connect(name, endpoint, service)`: the driver at a socket."""


class RegisteredDrivers:
    """`DraDrivers`. Who registers them is one actor; any lane may look one up."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._drivers: dict[str, list[DraDriver]] = {}

    def register(self, name: str, endpoint: str, service: str) -> DraDriver:
        # A fresh connection even at the same socket: another version of the driver may be behind it now.
        driver = self._connect(name, endpoint, service)
        with self._lock:
            others = [each for each in self._drivers.get(name, ()) if each.endpoint != endpoint]
            self._drivers[name] = [*others, driver]
        # An old connection is not closed: a call may be on its way there. It goes with the last of them.
        return driver

    def unregister(self, name: str, endpoint: str) -> None:
        with self._lock:
            left = [each for each in self._drivers.get(name, ()) if each.endpoint != endpoint]
            if left:
                self._drivers[name] = left
            else:
                self._drivers.pop(name, None)

    def find(self, name: str) -> DraDriver | None:
        with self._lock:
            found = self._drivers.get(name)
            return found[-1] if found else None

    def sockets(self, name: str) -> tuple[DraDriver, ...]:
        with self._lock:
            return tuple(self._drivers.get(name, ()))

    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._drivers))
