"""Drivers for dynamic resource allocation of a simulated host, without sockets and with knobs.

A driver prepares claims as it is told, and knows what is prepared. The world tells it what a claim has; without that
each claim gets a device of its own name. `SimulatedPlugins` has the sockets at which drivers introduce themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors.kernel import Promise
from config.values.name_rules import dns_label, dns_subdomain
from runtime.cri.errors import StatusCode
from runtime.dra.capability import ClaimDevice, ClaimRef, DeviceHealth, Prepared
from runtime.dra.registered import RegisteredDrivers
from runtime.plugins.errors import PluginError

PREPARE, UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"
DRIVER_CHARACTERS_AT_MOST = 63
OFFERED_AT_MOST = 4096
"""Devices of one driver on one node."""
WRITE = "write gpu.vendor.example=4"
Reads = Callable[[ClaimRef], tuple[ClaimDevice, ...]]


def drivers_in(written: str | Mapping[str, Any]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Driver -> its devices as a ResourceSlice has them.

    `written`: a text such as "gpu.vendor.example=4,nic.vendor.example=2", or driver -> number or list of devices.
    Raises ValueError with what to write.
    """
    if isinstance(written, str):
        parts = (each.strip().partition("=") for each in written.split(",") if each.strip())
        written = {name: int(count) if count.isdecimal() and len(count) < 9 else -1 for name, _, count in parts}
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for name, devices in written.items():
        if dns_subdomain(name) or len(name) > DRIVER_CHARACTERS_AT_MOST:
            raise ValueError(f"{name!r} is no name of a driver: {WRITE}")
        if isinstance(devices, int):
            devices = [{"name": f"device-{number}"} for number in range(devices)] if devices >= 0 else None
        if devices is None or len(devices) > OFFERED_AT_MOST:
            raise ValueError(f"driver {name}: a number of devices up to {OFFERED_AT_MOST} is missing; {WRITE}")
        wrong = next((each for each in devices if dns_label(str(each.get("name", "")))), None)
        if wrong is not None:
            raise ValueError(f"driver {name}: a device needs a name such as gpu-0, and there is {wrong}")
        found[name] = tuple(devices)
    return found


class SimulatedDraDriver:
    """`DraDriver`. `prepared`: UIDs of claims that are ready; `calls`: methods with UIDs, in their order.

    `hangs`: methods that never answer; `fails`: method -> why it fails; a UID -> why that claim fails. `slow`: it does
    what it is asked, and answers when `answer` is called.
    """

    def __init__(self, name: str, endpoint: str = "") -> None:
        self.name = name
        self.endpoint = endpoint or f"/plugins/{name}/dra.sock"
        self.alive = True
        self.prepared: dict[str, ClaimRef] = {}
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.hangs: set[str] = set()
        self.fails: dict[str, str] = {}
        self.slow = False
        self.reads: Reads | None = None
        """What it is to make ready for a claim. Raises LookupError while that is not known."""
        self._late: list[tuple[Promise[Any], Any]] = []
        self._watchers: list[SimulatedHealth] = []
        self._connections: list[SimulatedConnection] = []

    # --- what the world does ----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End; what is prepared stays so, and its sockets stay where they are."""
        self.alive = False
        self._tell_connected()
        watchers, self._watchers = self._watchers, []
        for each in watchers:
            each.on_end("it was killed")

    def start(self) -> None:
        """Come back."""
        self.alive = True
        self._tell_connected()

    def _tell_connected(self) -> None:
        for each in list(self._connections):
            each.on_change(self.alive)

    def answer(self) -> None:
        """Answer what it was asked while it was slow, and be slow no more."""
        self.slow = False
        late, self._late = self._late, []
        for promise, answers in late:
            promise.set_result(answers)

    def say_health(self, *devices: DeviceHealth) -> None:
        """Tell of the health of devices."""
        for each in list(self._watchers):
            each.on_news(devices)

    # --- DraDriver --------------------------------------------------------------------------------------------------

    def prepare(self, claims: Sequence[ClaimRef]) -> Any:
        self._check(PREPARE, claims)
        answers: dict[str, Prepared] = {}
        for claim in claims:
            if claim.uid in self.fails:
                answers[claim.uid] = Prepared(error=self.fails[claim.uid])
                continue
            try:
                answers[claim.uid] = Prepared(self._devices_of(claim))
            except LookupError as fault:
                answers[claim.uid] = Prepared(error=str(fault))
                continue
            self.prepared[claim.uid] = claim
        return self._given(PREPARE, answers)

    def _devices_of(self, claim: ClaimRef) -> tuple[ClaimDevice, ...]:
        if self.reads is not None:
            return self.reads(claim)
        return (ClaimDevice("pool", claim.name, cdi=(f"{self.name}/device={claim.uid}",)),)

    def unprepare(self, claims: Sequence[ClaimRef]) -> Any:
        self._check(UNPREPARE, claims)
        answers: dict[str, str] = {}
        for claim in claims:
            answers[claim.uid] = self.fails.get(claim.uid, "")
            if not answers[claim.uid]:
                self.prepared.pop(claim.uid, None)
        return self._given(UNPREPARE, answers)

    def watch_health(
        self, on_news: Callable[[tuple[DeviceHealth, ...]], None], on_end: Callable[[str], None]
    ) -> SimulatedHealth:
        watching = SimulatedHealth(self, on_news, on_end)
        self._watchers.append(watching)
        return watching

    def watch_connection(self, on_change: Callable[[bool], None]) -> SimulatedConnection:
        connection = SimulatedConnection(self, on_change)
        self._connections.append(connection)
        on_change(self.alive)
        return connection

    def close(self) -> None:
        """The agent is gone; the driver does not mind."""

    def leave(self) -> None:
        """The agent is gone, and with it its connections."""
        self._connections.clear()

    def forget(self, watching: SimulatedHealth | SimulatedConnection) -> None:
        """Tell it no more."""
        if isinstance(watching, SimulatedHealth) and watching in self._watchers:
            self._watchers.remove(watching)
        if isinstance(watching, SimulatedConnection) and watching in self._connections:
            self._connections.remove(watching)

    def _given(self, method: str, answers: Any) -> Any:
        if method in self.hangs:
            return Promise[Any]()
        if not self.slow:
            return answers
        promise: Promise[Any] = Promise()
        self._late.append((promise, answers))
        return promise

    def _check(self, method: str, claims: Sequence[ClaimRef]) -> None:
        if not self.alive:
            raise PluginError(StatusCode.UNAVAILABLE, "there is no such socket; is the plugin running?", method)
        self.calls.append((method, tuple(each.uid for each in claims)))
        if method in self.fails:
            raise PluginError(StatusCode.UNKNOWN, self.fails[method], method)


class SimulatedHealth:
    """`WatchingHealth` of a simulated driver."""

    def __init__(
        self,
        driver: SimulatedDraDriver,
        on_news: Callable[[tuple[DeviceHealth, ...]], None],
        on_end: Callable[[str], None],
    ) -> None:
        self._driver = driver
        self.on_news, self.on_end = on_news, on_end

    def close(self) -> None:
        self._driver.forget(self)


class SimulatedConnection:
    """`WatchingConnection` of a simulated driver."""

    def __init__(self, driver: SimulatedDraDriver, on_change: Callable[[bool], None]) -> None:
        self._driver = driver
        self.on_change = on_change

    def close(self) -> None:
        self._driver.forget(self)


class SimulatedDraDrivers(RegisteredDrivers):
    """`DraDrivers` of a simulated host: those that were added, at the endpoints that they have."""

    def __init__(self) -> None:
        super().__init__(self._at)
        self._by_endpoint: dict[str, SimulatedDraDriver] = {}

    def add(self, name: str, instance: str = "") -> SimulatedDraDriver:
        """A driver that runs. It is not registered yet."""
        driver = SimulatedDraDriver(name, f"/plugins/{name}/dra{instance}.sock")
        self._by_endpoint[driver.endpoint] = driver
        return driver

    def forget(self) -> None:
        """The agent has died, and what it knew of drivers with it."""
        for name in self.names():
            for driver in self._by_endpoint.values():
                self.unregister(name, driver.endpoint)
                driver.leave()

    def running(self) -> Mapping[str, SimulatedDraDriver]:
        """All that were added, by their endpoints."""
        return dict(self._by_endpoint)

    def _at(self, name: str, endpoint: str, service: str) -> SimulatedDraDriver:
        try:
            return self._by_endpoint[endpoint]
        except KeyError:
            raise PluginError(StatusCode.UNAVAILABLE, f"{endpoint}: there is no such socket", "dial") from None
