"""A part of `ResourceSlicesActor`: which drivers have lost all their connections (spec 10.12).

A driver that dies without taking its sockets along stays registered. Its connection breaks, as a kubelet sees it too. A
driver that was never connected is not broken until a connection fails.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import Actor, Message, handles
from runtime.dra.capability import DraDrivers, WatchingConnection

_Socket = tuple[str, str]
"""Name of the driver, and its endpoint."""


class ConnectionChanged(Message, frozen=True):
    """To itself: a socket of this driver is connected or not.

    `number`: of the registration that was followed.
    """

    driver: str
    endpoint: str
    number: int
    connected: bool


class DriverConnections:
    """See the module. `on_change` is called when another driver is broken, or one is no more."""

    def __init__(self, actor: Actor, drivers: DraDrivers, on_change: Callable[[], None]) -> None:
        self._actor = actor
        self._drivers = drivers
        self._on_change = on_change
        self._watched: dict[_Socket, tuple[WatchingConnection, int]] = {}
        """With the number of its registration."""
        self._connected: dict[_Socket, bool] = {}

    def broken(self) -> frozenset[str]:
        """Drivers none of whose sockets is connected."""
        names = {name for name, _ in self._watched}
        return frozenset(names - {name for name, endpoint in self._watched if self._connected[name, endpoint]})

    def follow(self, names: frozenset[str]) -> None:
        """Follow the sockets of these drivers, and no others."""
        wanted = {
            (name, endpoint): number for name in sorted(names) for endpoint, number in self._drivers.sockets(name)
        }
        for key, (watching, number) in list(self._watched.items()):
            if wanted.get(key) != number:
                watching.close()
                del self._watched[key], self._connected[key]
        for key, number in wanted.items():
            if key not in self._watched:
                self._watch(key, number)

    def close(self) -> None:
        """Follow nobody."""
        self.follow(frozenset())

    def _watch(self, key: _Socket, number: int) -> None:
        ref = self._actor.ref
        watching = self._drivers.watch_connection(
            *key, lambda connected: ref.tell(ConnectionChanged(*key, number, connected))
        )
        if watching is not None:
            self._connected[key] = True
            self._watched[key] = (watching, number)

    @handles(ConnectionChanged)
    def changed(self, message: ConnectionChanged) -> None:
        """Work: the drivers of this node."""
        key = (message.driver, message.endpoint)
        watched = self._watched.get(key)
        if watched is None or watched[1] != message.number or self._connected[key] == message.connected:
            return
        self._connected[key] = message.connected
        self._on_change()
