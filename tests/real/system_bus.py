"""A system bus of the tests' own, with stand-ins for systemd and its logind.

The bus is a real dbus-daemon in a private directory. A stand-in is a thread with a connection of its own that answers
calls and writes down what it was asked.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, Proxy, open_dbus_connection

from runtime.node_shutdown.logind import DROP_IN
from tests.real.waiting import until

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/>
    <allow send_destination="*"/><allow receive_sender="*"/>
  </policy>
</busconfig>
"""
LOGIND = "org.freedesktop.login1"
LOGIND_PATH = "/org/freedesktop/login1"
LOGIND_MANAGER = "org.freedesktop.login1.Manager"
SYSTEMD = "org.freedesktop.systemd1"
SYSTEMD_PATH = "/org/freedesktop/systemd1"
SYSTEMD_MANAGER = "org.freedesktop.systemd1.Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"
START_S = 120.0

Answer = tuple[str, tuple[Any, ...]]
"""Signature and body."""
NOTHING: Answer = ("", ())


class PrivateBus:
    """A dbus-daemon that can be stopped and started again at the same address."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="bus-"))
        self.socket = self.directory / "socket"
        self.address = f"unix:path={self.socket}"
        self._config = self.directory / "bus.conf"
        self._config.write_text(CONFIG.format(socket=self.socket))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        command = ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--nopidfile", "--print-address=1"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "dbus-daemon has not started"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


class BusSaysNoError(Exception):
    """What a stand-in answers with an error: its name on the bus, and a text."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class StandIn:
    """Answers calls from its own thread. `calls`: what it was asked, (member, arguments), oldest first."""

    def __init__(self, address: str, *names: str) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.answers: dict[str, Callable[..., Answer]] = {}
        """By member."""
        self.properties: dict[str, Callable[[], tuple[str, Any]]] = {}
        self._connection: DBusConnection = open_dbus_connection(address, enable_fds=True)
        for name in names:
            Proxy(message_bus, self._connection).RequestName(name)
        self._sending = threading.Lock()
        self._ends = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ends = True
        self._thread.join()
        self._connection.close()

    def emit(self, path: str, interface: str, member: str, signature: str, *body: Any) -> None:
        self._send(new_signal(DBusAddress(path, interface=interface), member, signature, body))

    def asked(self, member: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of that method."""
        return [arguments for name, arguments in self.calls if name == member]

    def _send(self, message: Any) -> None:
        with self._sending:
            self._connection.send(message)

    def _serve(self) -> None:
        while not self._ends:
            try:
                message = self._connection.receive(timeout=0.05)
            except TimeoutError:
                continue
            except (OSError, RuntimeError):
                return  # the bus has gone
            if message.header.message_type is MessageType.method_call:
                self._answer(message)

    def _answer(self, message: Any) -> None:
        member, body = message.header.fields[HeaderFields.member], tuple(message.body)
        if message.header.fields.get(HeaderFields.interface) == PROPERTIES:
            self._send(new_method_return(message, "v", (self.properties[body[1]](),)))
            return
        self.calls.append((member, body))
        try:
            signature, answer = self.answers[member](*body)
        except BusSaysNoError as error:
            self._send(new_error(message, error.name, "s", (str(error),)))
            return
        self._send(new_method_return(message, signature or None, answer))


class StandInLogind(StandIn):
    """Logind, and as much of systemd as it takes to make logind read its files.

    `delay_s`: InhibitDelayMaxSec.

    `locks`: (what, who, mode) of each that it gave.
    """

    def __init__(self, address: str, drop_ins: Path, delay_s: float = 5.0) -> None:
        self.drop_ins = drop_ins
        self.delay_s = delay_s
        self.going_down = False
        self.locks: list[tuple[str, str, str]] = []
        self._pipes: list[int] = []
        self._opened: list[int] = []
        super().__init__(address, LOGIND, SYSTEMD)
        self.properties = {
            "InhibitDelayMaxUSec": lambda: ("t", int(self.delay_s * 1_000_000)),
            "PreparingForShutdown": lambda: ("b", self.going_down),
        }
        self.answers = {"Inhibit": self._inhibit, "KillUnit": self._kill_unit}

    def close(self) -> None:
        super().close()
        for pipe in (*self._pipes, *self._opened):
            os.close(pipe)

    # --- what happens to the machine

    def begin(self) -> float:
        """Somebody shuts it down; the time (monotonic, s)."""
        self.going_down = True
        at = time.monotonic()
        self.emit(LOGIND_PATH, LOGIND_MANAGER, "PrepareForShutdown", "b", True)
        return at

    def call_off(self) -> None:
        self.going_down = False
        self.emit(LOGIND_PATH, LOGIND_MANAGER, "PrepareForShutdown", "b", False)

    @property
    def held(self) -> int:
        """How many locks there are now: one is gone when nobody has its other end open."""
        self._forget_dead_ends()
        return len(self._pipes)

    def await_released(self, limit_s: float) -> float:
        """When the last lock went (monotonic, s)."""
        until(lambda: not self.held, limit_s, lambda: f"{self.held} locks are held still")
        return time.monotonic()

    # --- what is asked of it

    def _inhibit(self, what: str, who: str, why: str, mode: str) -> Answer:
        assert why
        if self.going_down:
            raise BusSaysNoError(f"{LOGIND}.OperationInProgress", "The operation is already running")
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        self.locks.append((what, who, mode))
        self._pipes.append(ours)
        self._opened.append(theirs)
        return "h", (theirs,)

    def _send(self, message: Any) -> None:
        super()._send(message)
        while self._opened:  # who got it has it now
            os.close(self._opened.pop())

    def _kill_unit(self, unit: str, whom: str, number: int) -> Answer:
        assert (unit, whom, number) == ("systemd-logind.service", "all", 1)
        found = re.search(r"(?ms)^\[Login\]$.*^InhibitDelayMaxSec=(\d+)$", (self.drop_ins / DROP_IN).read_text())
        if found is not None:
            self.delay_s = float(found.group(1))
        return NOTHING

    def _forget_dead_ends(self) -> None:
        poll = select.poll()
        for pipe in self._pipes:
            poll.register(pipe, select.POLLIN)
        for pipe, _ in poll.poll(0):
            self._pipes.remove(pipe)
            os.close(pipe)


class StandInSystemd(StandIn):
    """Stands in for systemd, as far as slices go.

    It makes and removes their directories in `tree`: one for each of its controllers (v1) or one for all (v2). It
    remembers its calls.

    `early`: a job is told to have ended before its caller knows which it is, as happens to quick ones.
    """

    def __init__(self, address: str, tree: Path, tops: tuple[str, ...] = ("",), version: str = "252.22-1") -> None:
        self.tree = tree
        self.tops = tops
        self.units: dict[str, dict[str, tuple[str, Any]]] = {}
        self.result = "done"
        self.early = False
        self._jobs = 0
        super().__init__(address, SYSTEMD)
        self.properties = {"Version": lambda: ("s", version)}
        self.answers = {
            "Subscribe": lambda: NOTHING,
            "StartTransientUnit": self._start,
            "SetUnitProperties": self._change,
            "StopUnit": self._stop,
        }

    def values(self, unit: str) -> dict[str, Any]:
        """What a unit was told, without signatures."""
        return {name: value for name, (_, value) in self.units[unit].items()}

    def _start(self, unit: str, mode: str, properties: list[Any], auxiliary: list[Any]) -> Answer:
        assert (mode, auxiliary) == ("replace", [])
        if unit in self.units:
            raise BusSaysNoError(f"{SYSTEMD}.UnitExists", f"Unit {unit} was already loaded")
        if self.result == "done":
            self.units[unit] = dict(properties)
            for path in self._paths(unit):
                path.mkdir(parents=True, exist_ok=True)
        return self._job(unit)

    def _change(self, unit: str, runtime: bool, properties: list[Any]) -> Answer:
        assert runtime
        self._check(unit)
        self.units[unit] |= dict(properties)
        return NOTHING

    def _stop(self, unit: str, mode: str) -> Answer:
        assert mode == "replace"
        self._check(unit)
        del self.units[unit]
        for path in self._paths(unit):
            shutil.rmtree(path, ignore_errors=True)
        return self._job(unit)

    def _check(self, unit: str) -> None:
        if unit not in self.units:
            raise BusSaysNoError(f"{SYSTEMD}.NoSuchUnit", f"Unit {unit} not loaded.")

    def _job(self, unit: str) -> Answer:
        self._jobs += 1
        number, path = self._jobs, f"{SYSTEMD_PATH}/job/{self._jobs}"
        done = ("JobRemoved", "uoss", number, path, unit, self.result)
        if self.early:
            self.emit(SYSTEMD_PATH, SYSTEMD_MANAGER, *done)
        else:
            threading.Timer(0.05, self.emit, (SYSTEMD_PATH, SYSTEMD_MANAGER, *done)).start()
        return "o", (path,)

    def _paths(self, unit: str) -> list[Path]:
        steps = unit.removesuffix(".slice").split("-")
        below = [f"{'-'.join(steps[: depth + 1])}.slice" for depth in range(len(steps))]
        return [self.tree.joinpath(top, *below) for top in self.tops]
