"""Plugins at sockets below a directory: which are seen, and when, and what they are told."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from runtime.plugin_registration.capability import PluginInfo
from runtime.plugin_registration.local import LocalPluginSockets
from runtime.plugins.errors import PluginError
from tests.csi_driver.process import NAME, DriverProcess
from tests.real.waiting import until


@pytest.fixture
def place() -> Iterator[Path]:
    """Short, because paths of sockets are."""
    with tempfile.TemporaryDirectory(prefix="p-") as directory:
        yield Path(directory)


def listen(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    return listening


def test_sockets_are_seen_however_deep_but_not_behind_a_dot(place: Path):
    registry = place / "registry"
    sockets = LocalPluginSockets(str(registry))
    assert sockets.sockets() == {}
    assert registry.stat().st_mode & 0o777 == 0o750
    (registry / "file").touch()
    listening = [listen(registry / name) for name in ("a.sock", ".b.sock", "deep/er/c.sock", ".d/e.sock")]
    assert list(sockets.sockets()) == [str(registry / "a.sock"), str(registry / "deep/er/c.sock")]
    for each in listening:
        each.close()


def test_another_socket_at_the_same_path_is_another(place: Path):
    path = place / "a.sock"
    sockets = LocalPluginSockets(str(place))
    first = listen(path)
    before = sockets.sockets()
    assert sockets.sockets() == before
    path.unlink()
    second = listen(path)
    assert sockets.sockets()[str(path)] != before[str(path)]
    for each in (first, second):
        each.close()


def test_sockets_in_later_directories_are_noticed(place: Path):
    changed = Event()
    registry = place / "registry"
    watch = LocalPluginSockets(str(registry)).watch(changed.set)
    try:
        assert watch.renew() == ""
        listening = listen(registry / "later/a.sock")
        assert changed.wait(120)
        until(lambda: _quiet(changed), 10, "it goes on telling")
        assert watch.renew() == "", "before each look, which finds the socket, or is told of it afterwards"
        os.unlink(registry / "later/a.sock")
        assert changed.wait(120)
        listening.close()
    finally:
        watch.close()
    assert watch.renew() == "the watch is closed"


def _quiet(changed: Event) -> bool:
    """Nothing was told for a while."""
    changed.clear()
    return not changed.wait(0.3)


# (spec 8.8.1)
def test_a_plugin_says_who_it_is_and_hears_what_became_of_it(place: Path):
    driver = DriverProcess(place / "d", place / "r")
    driver.start()
    try:
        sockets = LocalPluginSockets(str(place / "r"))
        until(lambda: sockets.sockets(), 10, "it does not register")
        (path,) = sockets.sockets()
        assert sockets.ask(path) == PluginInfo("CSIPlugin", NAME, driver.endpoint, ("1.0.0",))
        sockets.notify(path, registered=False, error="no room")
        sockets.notify(path, registered=True, error="")
        assert driver.calls("NotifyRegistrationStatus") == [
            {"method": "NotifyRegistrationStatus", "error": "no room"},
            {"method": "NotifyRegistrationStatus", "plugin_registered": True},
        ]
        driver.order(GetInfo={"hang": True})
        with pytest.raises(PluginError, match="DEADLINE_EXCEEDED"):
            sockets.ask(path)
    finally:
        driver.take_down()


def test_nobody_behind_a_socket(place: Path):
    listen(place / "a.sock").close()
    with pytest.raises(PluginError, match=r"a\.sock: the socket is there, but nobody listens"):
        LocalPluginSockets(str(place)).notify(str(place / "a.sock"), registered=True, error="")
