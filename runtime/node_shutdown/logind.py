"""`MachineShutdown` by systemd-logind: its delay locks, over the system bus (spec 9.7).

Logind gives everybody who holds a lock the same time, `InhibitDelayMaxSec`. Where that is too short a drop-in of ours
raises it and logind is asked to read its files again: a signal, which systemd sends for us.

The lock is a descriptor of its own: it stays when the bus goes away, and goes with the agent. A new hold takes a new
lock before it gives up the old one; while the machine is already going down logind gives none, and the old one stays.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from runtime.files.directories import make_directories
from runtime.files.whole_file import write_whole
from runtime.io.event_loop import LoopThread
from runtime.io.system_bus import BusConnection, BusError, open_bus, raw_descriptor
from runtime.node_shutdown.capability import Hold, MachineShutdownError

LOGIND = "org.freedesktop.login1"
LOGIND_PATH = "/org/freedesktop/login1"
MANAGER = "org.freedesktop.login1.Manager"
SYSTEMD = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
LOGIND_UNIT = "systemd-logind.service"
SIGNAL = "PrepareForShutdown"
DROP_INS = "/etc/systemd/logind.conf.d"
DROP_IN = "99-kubelet.conf"
"""The name that kubelets use: one of them may have been here before, and may come again."""
CHECKS = 5
FIRST_CHECK_S = 0.1
SECOND_NS = 1_000_000_000
LOG = logging.getLogger("actorlet.logind")


def drop_in_text(delay_ns: int) -> str:
    """The text of the drop-in; whole seconds, rounded up."""
    seconds = -(-delay_ns // SECOND_NS)
    return (
        f"# Pods need so long to end: shutdownGracePeriod of the node agent.\n[Login]\nInhibitDelayMaxSec={seconds}\n"
    )


class Logind:
    """See the module. `drop_ins`: the directory of logind's drop-ins. One lock at a time."""

    def __init__(self, loop: LoopThread, address: str, drop_ins: str = DROP_INS, who: str = "actorlet") -> None:
        self._loop = loop
        self._address = address
        self._drop_ins = drop_ins
        self._who = who
        self._guard = threading.Lock()
        self._lock: int | None = None
        self._bus: BusConnection | None = None
        """Of the newest hold. On the loop's thread only."""

    def hold(
        self, least_ns: int, wanted_ns: int, on_change: Callable[[bool], None], on_lost: Callable[[str], None]
    ) -> Future[Hold]:
        return self._loop.submit(self._hold(least_ns, wanted_ns, on_change, on_lost))

    async def _hold(
        self, least_ns: int, wanted_ns: int, on_change: Callable[[bool], None], on_lost: Callable[[str], None]
    ) -> Hold:
        def heard(interface: str, member: str, body: Sequence[Any]) -> None:
            if member == SIGNAL and interface == MANAGER and body:
                on_change(bool(body[0]))

        try:
            bus = await open_bus(self._address, heard, on_lost)
        except BusError as error:
            raise MachineShutdownError(str(error)) from None
        try:
            # First of all: what is said from now on is heard, what was said before is asked for.
            await bus.listen(LOGIND, LOGIND_PATH, MANAGER, SIGNAL)
            delay_ns = await self._delay_ns(bus)
            if delay_ns < least_ns:
                delay_ns = await self._raise_delay(bus, delay_ns, least_ns, wanted_ns)
            going_down = bool(await bus.get(LOGIND, LOGIND_PATH, MANAGER, "PreparingForShutdown"))
            if not going_down:
                await self._take_lock(bus)
        except BusError as error:
            bus.close()
            raise MachineShutdownError(str(error)) from None
        except BaseException:
            bus.close()
            raise
        if self._bus is not None:
            self._bus.close()
        self._bus = bus
        return _LogindHold(self, self._loop, bus, delay_ns, going_down)

    async def _delay_ns(self, bus: BusConnection) -> int:
        return int(await bus.get(LOGIND, LOGIND_PATH, MANAGER, "InhibitDelayMaxUSec")) * 1_000

    async def _raise_delay(self, bus: BusConnection, delay_ns: int, least_ns: int, wanted_ns: int) -> int:
        """Write the drop-in, have logind read it, and look what came of it."""
        try:
            await asyncio.to_thread(_write, self._drop_ins, drop_in_text(wanted_ns))
            await bus.call(*SYSTEMD, "KillUnit", "ssi", LOGIND_UNIT, "all", int(signal.SIGHUP))
        except (OSError, BusError) as error:
            LOG.warning("InhibitDelayMaxSec of systemd-logind cannot be raised: %s", error)
            return delay_ns
        pause_s = FIRST_CHECK_S
        for _ in range(CHECKS):
            delay_ns = await self._delay_ns(bus)
            if delay_ns >= least_ns:
                break
            await asyncio.sleep(pause_s)
            pause_s *= 2
        return delay_ns

    async def _take_lock(self, bus: BusConnection) -> None:
        why = "pods of this node end in order"
        (answer,) = await bus.call(LOGIND, LOGIND_PATH, MANAGER, "Inhibit", "ssss", "shutdown", self._who, why, "delay")
        self._put(raw_descriptor(answer))

    def release(self) -> None:
        """Give up the lock, if there is one."""
        self._put(None)

    def _put(self, lock: int | None) -> None:
        with self._guard:
            before, self._lock = self._lock, lock
        if before is not None:
            os.close(before)


class _LogindHold:
    """`Hold` of one connection."""

    def __init__(self, logind: Logind, loop: LoopThread, bus: BusConnection, delay_ns: int, going_down: bool) -> None:
        self._logind = logind
        self._loop = loop
        self._bus = bus
        self.delay_ns = delay_ns
        self.going_down = going_down

    def release(self) -> None:
        self._logind.release()

    def close(self) -> None:
        self._logind.release()
        self._loop.post(self._bus.close)


def _write(directory: str, text: str) -> None:
    make_directories(directory, 0o755)
    write_whole(os.path.join(directory, DROP_IN), text.encode("ascii"), mode=0o644)
