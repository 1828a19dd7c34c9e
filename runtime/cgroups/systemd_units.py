"""Slices of the machine's systemd, over the system bus: started, changed, stopped.

Each call blocks until it is done.

systemd does the work as a job and reports its end. One connection serves all calls. It is opened by the first call, and
again after it was lost, on the loop's thread. Callers run on lanes of their own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from runtime.cgroups.slices import Property
from runtime.io.event_loop import LoopThread
from runtime.io.system_bus import BusConnection, BusError, open_bus

SYSTEMD = "org.freedesktop.systemd1"
SYSTEMD_PATH = "/org/freedesktop/systemd1"
MANAGER = "org.freedesktop.systemd1.Manager"
JOB_REMOVED = "JobRemoved"
DONE = ("done", "skipped")
EXISTS = f"{SYSTEMD}.UnitExists"
NO_SUCH_UNIT = (f"{SYSTEMD}.NoSuchUnit", f"{SYSTEMD}.UnitNotLoaded")
JOB_S = 20.0
CALL_S = 45.0
"""All of one of ours: connecting, asking, waiting for the job."""

T = TypeVar("T")


class SystemdError(Exception):
    """Systemd refused a call or did not answer; the text names the call and the reason."""


class NoSuchUnitError(SystemdError):
    """Systemd does not know the unit, or no longer."""


class SystemdUnits(Protocol):
    """See the module. Raises SystemdError."""

    def version(self) -> int:
        """The version of systemd, such as 252."""

    def start(self, unit: str, properties: Sequence[Property]) -> bool:
        """Start a transient unit. False: there is one of that name already, and it is as it was."""

    def change(self, unit: str, properties: Sequence[Property]) -> None:
        """Set properties of a unit, until the machine goes down. Raises NoSuchUnitError."""

    def stop(self, unit: str) -> None:
        """Stop a unit, if there is one."""


class BusSystemdUnits:
    """`SystemdUnits` at `address`."""

    def __init__(self, loop: LoopThread, address: str) -> None:
        self._loop = loop
        self._address = address
        # What follows is touched on the loop's thread only.
        self._bus: BusConnection | None = None
        self._connecting: asyncio.Lock | None = None
        self._version = 0
        self._asking = 0
        self._jobs: dict[str, asyncio.Future[str]] = {}
        """By path. One may have ended before it is known that it was ours."""

    def version(self) -> int:
        return self._wait(self._ask_version(), "which version it is")

    def start(self, unit: str, properties: Sequence[Property]) -> bool:
        return self._wait(self._start(unit, properties), f"to start {unit}")

    def change(self, unit: str, properties: Sequence[Property]) -> None:
        self._wait(self._change(unit, properties), f"to change {unit}")

    def stop(self, unit: str) -> None:
        self._wait(self._stop(unit), f"to stop {unit}")

    def _wait(self, call: Coroutine[Any, Any, T], what: str) -> T:
        answer = self._loop.submit(call)
        try:
            return answer.result(CALL_S)
        except BusError as error:
            kind = NoSuchUnitError if error.name in NO_SUCH_UNIT else SystemdError
            raise kind(f"systemd was asked {what}: {error}") from None
        except TimeoutError:
            answer.cancel()
            raise SystemdError(f"systemd was asked {what}, and has not done it within {CALL_S:.0f} s") from None

    # --- on the loop ------------------------------------------------------------------------------------------------

    async def _ask_version(self) -> int:
        await self._connected()
        return self._version

    async def _start(self, unit: str, properties: Sequence[Property]) -> bool:
        try:
            await self._job(unit, "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "replace", list(properties), [])
        except BusError as error:
            if error.name != EXISTS:
                raise
            return False
        return True

    async def _change(self, unit: str, properties: Sequence[Property]) -> None:
        bus = await self._connected()
        await bus.call(SYSTEMD, SYSTEMD_PATH, MANAGER, "SetUnitProperties", "sba(sv)", unit, True, list(properties))

    async def _stop(self, unit: str) -> None:
        try:
            await self._job(unit, "StopUnit", "ss", unit, "replace")
        except BusError as error:
            if error.name not in NO_SUCH_UNIT:
                raise

    async def _job(self, unit: str, member: str, signature: str, *body: Any) -> None:
        bus = await self._connected()
        self._asking += 1
        try:
            (job,) = await bus.call(SYSTEMD, SYSTEMD_PATH, MANAGER, member, signature, *body)
            try:
                async with asyncio.timeout(JOB_S):
                    result = await self._job_of(job)
            except TimeoutError:
                raise BusError(f"its job on {unit} has not ended within {JOB_S:.0f} s") from None
            finally:
                self._jobs.pop(job, None)
        finally:
            self._asking -= 1
            if not self._asking:
                self._jobs.clear()  # of others
        if result not in DONE:
            raise BusError(f"its job on {unit} has ended as {result}")

    def _job_of(self, path: str) -> asyncio.Future[str]:
        if path not in self._jobs:
            self._jobs[path] = asyncio.get_running_loop().create_future()
        return self._jobs[path]

    def _heard(self, interface: str, member: str, body: Sequence[Any]) -> None:
        if interface == MANAGER and member == JOB_REMOVED and self._asking and len(body) == 4:
            _, path, _, result = body
            job = self._job_of(path)
            if not job.done():
                job.set_result(result)

    def _lost(self, why: str) -> None:
        for job in self._jobs.values():
            if not job.done():
                job.set_exception(BusError(f"the bus is gone: {why}"))
        self._jobs.clear()

    async def _connected(self) -> BusConnection:
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._bus is None or not self._bus.is_open:
                self._bus = await self._connect()
            return self._bus

    async def _connect(self) -> BusConnection:
        bus = await open_bus(self._address, self._heard, self._lost)
        try:
            await bus.listen(SYSTEMD, SYSTEMD_PATH, MANAGER, JOB_REMOVED)
            await bus.call(SYSTEMD, SYSTEMD_PATH, MANAGER, "Subscribe")
            self._version = version_of(str(await bus.get(SYSTEMD, SYSTEMD_PATH, MANAGER, "Version")))
        except BaseException:
            bus.close()
            raise
        return bus


def version_of(text: str) -> int:
    """The number in systemd's own words: 252.22-1~deb12u1, v245, systemd 239. 0: there is none."""
    found = re.search(r"\d+", text)
    return int(found.group()) if found else 0
