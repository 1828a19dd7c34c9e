"""What systemd is told, over real sockets."""

from __future__ import annotations

import logging
import os
import socket
from configparser import ConfigParser
from pathlib import Path

import pytest

from runtime.files.lock_file import LockFile, LockFileError
from runtime.host.service_manager import READY, notify, watchdog_interval_seconds


@pytest.mark.parametrize("abstract", [False, True])
# (spec 11.8.1)
def test_systemd_is_told_at_the_socket_it_names(tmp_path: Path, abstract: bool) -> None:
    name = f"{tmp_path}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name if abstract else name)
        systemd.settimeout(120)
        assert notify(READY, {"NOTIFY_SOCKET": "@" + name if abstract else name})
        assert systemd.recv(100) == b"READY=1"


def test_nothing_is_told_where_nobody_asks() -> None:
    assert notify(READY, {}) is False


def test_a_deaf_systemd_is_a_warning_and_no_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert notify(READY, {"NOTIFY_SOCKET": f"{tmp_path}/nobody"}) is False
    assert "systemd cannot be told READY=1" in caplog.text


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "1000000"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
# (spec 11.8.1)
def test_the_watchdog_is_fed_twice_in_its_time(environment: dict[str, str], expected: float | None) -> None:
    assert watchdog_interval_seconds(environment) == expected


# (spec 12.3.3)
def test_a_lock_file_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first, second = LockFile(str(tmp_path / "lock")), LockFile(str(tmp_path / "lock"))
    assert first.try_acquire()
    assert not second.try_acquire()
    first.close()
    assert second.try_acquire()
    second.close()


def test_a_lock_file_that_cannot_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(LockFileError, match=r"--lock-file: .*: No such file or directory"):
        LockFile(str(tmp_path / "missing/lock")).try_acquire()


def test_the_unit_file_lets_a_start_take_as_long_as_an_approval() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read(Path(__file__).parents[3] / "deploy" / "actorlet.service")
    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["TimeoutStartSec"] == "infinity"
