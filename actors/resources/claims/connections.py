"""A part of `ResourceSlicesActor`: which drivers have lost all their connections (spec 10.12).

A driver that dies without taking its sockets along stays registered. Its connection breaks, as a kubelet sees it too. A
driver that was never connected is not broken until a connection fails.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import Actor, Message, handles
from runtime.dra.capability import DraDriver, DraDrivers, WatchingConnection

_Socket = tuple[str, str]
"""Name of the driver, and its endpoint."""


class ConnectionChanged(Message, frozen=True):
    """To itself: a socket of this driver is connected or not.

    `life`: counts the sockets that were followed.
    """

    driver: str
    endpoint: str
    life: int
    connected: bool


class DriverConnections:
    """See the module. `on_change` is called when another driver is broken, or one is no more."""

    def __init__(self, actor: Actor, drivers: DraDrivers, on_change: Callable[[], None]) -> None:
        self._actor = actor
        self._drivers = drivers
        self._on_change = on_change
        self._watched: dict[_Socket, tuple[DraDriver, WatchingConnection, int]] = {}
        self._connected: dict[_Socket, bool] = {}
        self._life = 0

    def broken(self) -> frozenset[str]:
        """Drivers none of whose sockets is connected."""
        names = {name for name, _ in self._watched}
        return frozenset(names - {name for name, endpoint in self._watched if self._connected[name, endpoint]})

    def follow(self, names: frozenset[str]) -> None:
        """Follow the sockets of these drivers, and no others."""
        wanted = {(name, each.endpoint): each for name in sorted(names) for each in self._drivers.sockets(name)}
        for key, (driver, watching, _) in list(self._watched.items()):
            if wanted.get(key) is not driver:
                watching.close()
                del self._watched[key], self._connected[key]
        for key, driver in wanted.items():
            if key not in self._watched:
                self._watch(key, driver)

    def close(self) -> None:
        """Follow nobody."""
        self.follow(frozenset())

    def _watch(self, key: _Socket, driver: DraDriver) -> None:
        self._life += 1
        ref, life = self._actor.ref, self._life
        self._connected[key] = True
        watching = driver.watch_connection(lambda connected: ref.tell(ConnectionChanged(*key, life, connected)))
        self._watched[key] = (driver, watching, life)

    @handles(ConnectionChanged)
    def changed(self, message: ConnectionChanged) -> None:
        """Work: the drivers of this node."""
        key = (message.driver, message.endpoint)
        watched = self._watched.get(key)
        if watched is None or watched[2] != message.life or self._connected[key] == message.connected:
            return
        self._connected[key] = message.connected
        self._on_change()
