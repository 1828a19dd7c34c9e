"""The capability of drivers for dynamic resource allocation.

`DraDriver` asks one, `DraDrivers` finds it by name.

Calls block, for up to 45 s each: actors run them on lanes. All may be repeated with the same arguments. Failures are
`PluginError`. The real ones are in `client.py`, simulated ones in `simulation.host.dra_drivers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

import msgspec

DRA_SERVICES = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""What a driver may say it speaks, the newest first."""
DEVICES_AT_MOST = 4096
"""Of one claim. The API has at most 32 results in a claim; a driver may add devices of its own."""
ID_CHARACTERS_AT_MOST = 1024
MESSAGE_CHARACTERS_AT_MOST = 1024
"""`ResourceHealthMessageMaxLength` of the API."""
BELIEVED_NS = 30 * 10**9
"""How long what a driver says of a device counts, when it does not say how long."""


class ClaimRef(msgspec.Struct, frozen=True, order=True):
    """A claim as drivers are asked for it."""

    namespace: str
    name: str
    uid: str


class ClaimDevice(msgspec.Struct, frozen=True):
    """A device that is ready for a claim.

    `requests`: of the claim, that it serves; (): all of them. `cdi`: names such as vendor.example/gpu=0. `share`: of a
    device that several claims share.
    """

    pool: str
    device: str
    requests: tuple[str, ...] = ()
    cdi: tuple[str, ...] = ()
    share: str = ""

    def serves(self, request: str) -> bool:
        """Whether it is for this request; "" stands for all."""
        return not request or not self.requests or request in self.requests


class Prepared(msgspec.Struct, frozen=True):
    """The answer for one claim. `error`: why it is not ready; "" for none."""

    devices: tuple[ClaimDevice, ...] = ()
    error: str = ""


class Health(Enum):
    """`ResourceHealthStatus` of the API."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


class DeviceHealth(msgspec.Struct, frozen=True):
    """What a driver says of a device. `seen_s`: when it found out, in seconds since 1970."""

    pool: str
    device: str
    health: Health
    seen_s: int = 0
    believed_ns: int = BELIEVED_NS
    message: str = ""


class WatchingHealth(Protocol):
    """What a driver says of its devices comes until it is closed."""

    def close(self) -> None:
        """Tell no more."""


class WatchingConnection(Protocol):
    """Whether a driver is connected is told until it is closed."""

    def close(self) -> None:
        """Tell no more."""


class DraDriver(Protocol):
    """One driver. `prepare` and `unprepare` raise PluginError."""

    @property
    def endpoint(self) -> str:
        """Its socket."""

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, Prepared]:
        """NodePrepareResources. By UID; one that is missing was not prepared."""

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """NodeUnprepareResources. By UID: why it failed, "" for done; one that is missing was not unprepared."""

    def watch_health(
        self, on_news: Callable[[tuple[DeviceHealth, ...]], None], on_end: Callable[[str], None]
    ) -> WatchingHealth:
        """NodeWatchResources. `on_end` is called once, with the reason. Both on any thread."""

    def watch_connection(self, on_change: Callable[[bool], None]) -> WatchingConnection:
        """Connect, again and again, and tell of each connection that is made (True), fails or breaks (False).

        On any thread.
        """

    def close(self) -> None:
        """Give up the connection, once no call to prepare or unprepare is under way."""


class DraDrivers(Protocol):
    """The drivers of this node. In a rolling update one has two sockets: the newest counts."""

    def register(self, name: str, endpoint: str, service: str) -> DraDriver:
        """Register the socket of the driver of that name.

        `service`: of those it speaks, such as "v1.DRAPlugin". Raises PluginError for a text that is no endpoint.
        """

    def unregister(self, name: str, endpoint: str) -> None:
        """Forget that socket of the driver."""

    def find(self, name: str) -> DraDriver | None:
        """The newest that is registered under the name; None: none is (yet)."""

    def sockets(self, name: str) -> tuple[tuple[str, int], ...]:
        """Endpoint and number of each registration under the name, the newest last."""

    def watch_connection(
        self, name: str, endpoint: str, on_change: Callable[[bool], None]
    ) -> WatchingConnection | None:
        """As `DraDriver.watch_connection`, of the driver at that socket; None: it is not registered."""

    def names(self) -> tuple[str, ...]:
        """The names of all registered drivers, sorted."""
