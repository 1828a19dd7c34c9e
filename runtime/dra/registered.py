"""`RegisteredDrivers`: the drivers of this node by name, each at one socket or more.

A rolling update has two sockets of one driver for a while. The newest counts, and the older one again when the newest
goes: a kubelet does it so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.dra.capability import DraDriver, WatchingConnection

Connect = Callable[[str, str, str], DraDriver]
"""`connect(name, endpoint, service)`: the driver at a socket."""


class RegisteredDrivers:
    """`DraDrivers`. Who registers them is one actor; any lane may look one up."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._drivers: dict[str, list[DraDriver]] = {}
        self._numbers: dict[DraDriver, int] = {}
        """Driver -> its registration, counted over all."""
        self._registered = 0

    def register(self, name: str, endpoint: str, service: str) -> DraDriver:
        # A fresh connection even at the same socket: another version of the driver may be behind it now.
        driver = self._connect(name, endpoint, service)
        with self._lock:
            before = self._drivers.get(name, [])
            self._drivers[name] = [*(each for each in before if each.endpoint != endpoint), driver]
            self._registered += 1
            self._numbers = {each: self._numbers[each] for each in self._all() if each in self._numbers}
            self._numbers[driver] = self._registered
        _close(before, endpoint)
        return driver

    def unregister(self, name: str, endpoint: str) -> None:
        with self._lock:
            before = self._drivers.get(name, [])
            left = [each for each in before if each.endpoint != endpoint]
            if left:
                self._drivers[name] = left
            else:
                self._drivers.pop(name, None)
        _close(before, endpoint)

    def find(self, name: str) -> DraDriver | None:
        with self._lock:
            found = self._drivers.get(name)
            return found[-1] if found else None

    def _all(self) -> list[DraDriver]:
        return [each for drivers in self._drivers.values() for each in drivers]

    def sockets(self, name: str) -> tuple[tuple[str, int], ...]:
        with self._lock:
            return tuple((each.endpoint, self._numbers[each]) for each in self._drivers.get(name, ()))

    def watch_connection(
        self, name: str, endpoint: str, on_change: Callable[[bool], None]
    ) -> WatchingConnection | None:
        with self._lock:
            found = next((each for each in self._drivers.get(name, ()) if each.endpoint == endpoint), None)
        return None if found is None else found.watch_connection(on_change)

    def names(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(sorted(self._drivers))


def _close(drivers: list[DraDriver], endpoint: str) -> None:
    """An old connection that stays would connect to the next driver at that socket."""
    for each in drivers:
        if each.endpoint == endpoint:
            each.close()
