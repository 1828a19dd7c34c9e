"""Holding the machine up, over a real D-Bus, against a stand-in of logind (spec 9.7)."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jeepney import DBusAddress, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import Proxy, open_dbus_connection

from runtime.node_shutdown.capability import Hold, MachineShutdownError
from runtime.node_shutdown.logind import DROP_IN, Logind
from tests.real.system_bus import LOGIND_MANAGER, LOGIND_PATH, PrivateBus, StandInLogind
from tests.real.waiting import until

SECOND_NS = 1_000_000_000


@pytest.fixture
def logind(bus: PrivateBus, tmp_path: Path) -> Iterator[StandInLogind]:
    stand_in = StandInLogind(bus.address, tmp_path)
    yield stand_in
    stand_in.close()


class Holding:
    """A holder, and what it was told: True, False, or why nothing more comes."""

    def __init__(self, machine: Logind, least_s: float, wanted_s: float | None = None) -> None:
        self.told: queue.Queue[Any] = queue.Queue()
        wanted_ns = int((wanted_s or least_s) * SECOND_NS)
        pending = machine.hold(int(least_s * SECOND_NS), wanted_ns, self.told.put, self.told.put)
        self.hold: Hold = pending.result(120)


# (spec 9.7.1)
def test_a_lock_is_held_until_it_is_released(bus, loop, logind, tmp_path):
    machine = Logind(loop, bus.address, str(tmp_path))
    holding = Holding(machine, 5)
    assert logind.locks == [("shutdown", "actorlet", "delay")]
    assert (holding.hold.delay_ns, holding.hold.going_down) == (5 * SECOND_NS, False)
    assert list(tmp_path.iterdir()) == [], "what is enough already is left as it is"
    assert logind.held == 1
    logind.begin()
    assert holding.told.get(timeout=120) is True
    assert logind.held == 1
    holding.hold.release()
    logind.await_released(10)  # the bus may still have its copy for a moment
    logind.call_off()
    assert holding.told.get(timeout=120) is False, "it is told all the same"
    again = Holding(machine, 5)
    assert logind.held == 1
    logind.begin()
    assert again.told.get(timeout=120) is True
    assert holding.told.empty(), "who was replaced is told no more"


# (spec 9.7.1)
def test_a_delay_that_is_too_short_is_raised(bus, loop, logind, tmp_path):
    holding = Holding(Logind(loop, bus.address, str(tmp_path)), 30, 33)
    assert holding.hold.delay_ns == 33 * SECOND_NS
    assert "[Login]\nInhibitDelayMaxSec=33\n" in (tmp_path / DROP_IN).read_text()
    assert logind.asked("KillUnit") == [("systemd-logind.service", "all", 1)]


def test_a_delay_that_cannot_be_raised_is_told_and_used(bus, loop, logind, tmp_path):
    logind.drop_ins = tmp_path / "elsewhere"  # what we write is not what counts
    logind.drop_ins.mkdir()
    (logind.drop_ins / DROP_IN).write_text("[Login]\nInhibitDelayMaxSec=7\n")
    holding = Holding(Logind(loop, bus.address, str(tmp_path)), 30)
    assert holding.hold.delay_ns == 7 * SECOND_NS
    assert logind.held == 1
    (tmp_path / "file").write_text("")
    nowhere = Holding(Logind(loop, bus.address, str(tmp_path / "file" / "below")), 30)
    assert nowhere.hold.delay_ns == 7 * SECOND_NS


def test_a_shutdown_that_another_user_of_the_bus_tells_is_not_believed(bus, loop, logind, tmp_path):
    """A kubelet believes anybody whom the bus lets send it: see the table of differences."""
    holding = Holding(Logind(loop, bus.address, str(tmp_path)), 5)
    with open_dbus_connection(bus.address) as stranger:
        stranger.send(
            new_signal(DBusAddress(LOGIND_PATH, interface=LOGIND_MANAGER), "PrepareForShutdown", "b", (True,))
        )
        Proxy(message_bus, stranger).GetId()  # answered after the signal was passed on
    logind.call_off()
    assert holding.told.get(timeout=120) is False, "the first that it hears is logind's own word"
    assert holding.told.empty()
    assert logind.held == 1


def test_an_agent_started_during_a_shutdown_hears_of_it(bus, loop, logind, tmp_path):
    machine = Logind(loop, bus.address, str(tmp_path))
    Holding(machine, 5)
    logind.begin()
    late = Holding(machine, 5)
    assert late.hold.going_down
    assert logind.held == 1, "a new lock is not to be had now"
    late.hold.release()
    assert logind.held == 0


def test_a_bus_that_goes_away_takes_no_lock_with_it(bus, loop, logind, tmp_path):
    machine = Logind(loop, bus.address, str(tmp_path))
    holding = Holding(machine, 5)
    bus.stop()
    assert "bus" in holding.told.get(timeout=120)
    assert logind.held == 1
    with pytest.raises(MachineShutdownError, match="cannot be reached"):
        Holding(machine, 5)
    bus.start()
    back = StandInLogind(bus.address, tmp_path)
    again = Holding(machine, 5)
    assert (logind.held, back.held) == (0, 1)
    again.hold.close()
    until(lambda: back.held == 0, 5, lambda: "the lock is held")
    back.close()


def test_a_bus_without_a_logind_says_so(bus, loop, tmp_path):
    with pytest.raises(MachineShutdownError, match=r"org\.freedesktop\.login1"):
        Holding(Logind(loop, bus.address, str(tmp_path)), 5)
