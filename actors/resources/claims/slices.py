"""`ResourceSlicesActor`: takes away what drivers of this node offered that are not here (spec 10.12).

A scheduler goes by ResourceSlices. When the agent starts, no driver has registered, so those of the node go; a driver
that comes publishes them anew. Those of a driver that goes get 30 s, since drivers restart. A driver whose connection
breaks has gone, too, even if its sockets stay where they are.
"""

from __future__ import annotations

from typing import Any, ClassVar

from actors.kernel import Actor, Message, handles, part
from actors.messages.resource_claims import DraDriversChanged
from actors.resources.claims.connections import DriverConnections
from config.api.resources import RESOURCE_SLICES
from runtime.api import Api, delete_all
from runtime.dra.capability import DraDrivers

SECOND_NS = 1_000_000_000
GRACE_NS = 30 * SECOND_NS
CALL_NS = 30 * SECOND_NS
FIRST_PAUSE_NS = SECOND_NS
LONGEST_PAUSE_NS = 300 * SECOND_NS


class RemoveSlices(Message, frozen=True):
    """To itself: it is time to take away the slices of this driver; "": those of the whole node."""

    driver: str
    failures: int = 0


class SlicesRemoved(Message, frozen=True):
    """To itself: the call has ended."""

    driver: str
    failures: int
    error: str


class ResourceSlicesActor(Actor):
    """See the module. `node`: the name of this node."""

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS
    connections = part(DriverConnections)

    def __init__(self, api: Api, node: str, drivers: DraDrivers) -> None:
        super().__init__()
        self._api = api
        self._node = node
        self._registered: frozenset[str] = frozenset()
        self._here: frozenset[str] = frozenset()
        self.connections = DriverConnections(self, drivers, self._look)

    def on_start(self) -> None:
        self.ref.tell(RemoveSlices(""))

    def on_stop(self) -> None:
        self.connections.close()

    def on_failure(self, *_: Any) -> None:
        self.connections.close()

    @handles(DraDriversChanged)
    def drivers_changed(self, message: DraDriversChanged) -> None:
        """Work: the drivers of this node."""
        self._registered = frozenset(message.names)
        self.connections.follow(self._registered)
        self._look()

    def _look(self) -> None:
        before, self._here = self._here, self._registered - self.connections.broken()
        for driver in sorted(before - self._here):
            self.after(GRACE_NS, RemoveSlices(driver), key=driver)
        for driver in sorted(self._here - before):
            self.cancel_timer(driver)

    @handles(RemoveSlices)
    def remove(self, message: RemoveSlices) -> None:
        """Work: the drivers of this node."""
        driver, failures = message.driver, message.failures
        if driver and driver in self._here:
            return
        # Drivers that are here by now, as after a first try that failed, have published theirs anew.
        whose = [f"spec.driver={driver}"] if driver else [f"spec.driver!={each}" for each in sorted(self._here)]
        fields = ",".join((f"spec.nodeName={self._node}", *whose))
        api, call = self._api, delete_all(RESOURCE_SLICES, "", field_selector=fields)
        self.attempt(
            lambda: api.call(call, timeout_ns=CALL_NS), lambda _, error: SlicesRemoved(driver, failures, error)
        )

    @handles(SlicesRemoved)
    def removed(self, message: SlicesRemoved) -> None:
        """Work: constant."""
        if not message.error:
            return
        whose = f"driver {message.driver}" if message.driver else "this node"
        if not message.failures:
            self.log.warning("ResourceSlices of %s cannot be taken away: %s", whose, message.error)
        pause_ns = min(FIRST_PAUSE_NS << min(message.failures, 20), LONGEST_PAUSE_NS)
        self.after(pause_ns, RemoveSlices(message.driver, message.failures + 1), key=message.driver)
