"""Plugins of this machine: sockets below a directory, which speak `pluginregistration.v1`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
)

from runtime.files.directories import make_directories
from runtime.files.watch import FileWatch
from runtime.plugin_registration.capability import PluginInfo
from runtime.plugin_registration.v1 import registration_pb2 as wire
from runtime.plugins.socket import DIAL_NS, NS_PER_SECOND, PluginSocket

DIRECTORY_MODE = 0o750
INFO_NS = NS_PER_SECOND
NOTIFY_NS = 5 * NS_PER_SECOND

_COMING_AND_GOING = (
    *(FileCreatedEvent, FileDeletedEvent, FileMovedEvent),
    *(DirCreatedEvent, DirDeletedEvent, DirMovedEvent),
)
_SERVICE = "/pluginregistration.Registration"


class LocalPluginSockets:
    """`PluginSockets` below `directory`, which is made."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def sockets(self) -> dict[str, str]:
        _make(self._directory)
        found: dict[str, str] = {}
        for directory, below, files in os.walk(self._directory):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for name in sorted(files):
                path = os.path.join(directory, name)
                if not name.startswith(".") and (identity := _identity(path)):
                    found[path] = identity
        return found

    def watch(self, on_change: Callable[[], None]) -> LocalPluginWatch:
        return LocalPluginWatch(self._directory, on_change)

    def ask(self, socket: str) -> PluginInfo:
        line = PluginSocket(socket)
        try:
            line.dial(DIAL_NS)
            answer: Any = line.ask(f"{_SERVICE}/GetInfo", wire.InfoRequest(), wire.PluginInfo, timeout_ns=INFO_NS)
        finally:
            line.close()
        return PluginInfo(answer.type, answer.name, answer.endpoint, tuple(answer.supported_versions))

    def notify(self, socket: str, *, registered: bool, error: str) -> None:
        line = PluginSocket(socket)
        status = wire.RegistrationStatus(plugin_registered=registered, error=error)
        try:
            path = f"{_SERVICE}/NotifyRegistrationStatus"
            line.ask(path, status, wire.RegistrationStatusResponse, timeout_ns=NOTIFY_NS)
        finally:
            line.close()


class LocalPluginWatch:
    """The directory is there whenever it is watched."""

    def __init__(self, directory: str, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._on_change = on_change
        self._watch = FileWatch(self._changed, recursive=True, kinds=_COMING_AND_GOING)

    def renew(self) -> str:
        if self._watch.closed:
            return "the watch is closed"
        try:
            _make(self._directory)
        except OSError as failure:
            return f"{self._directory} cannot be made: {failure.strerror or failure}"
        try:
            self._watch.move_to(self._directory)
        except OSError as failure:
            return f"{self._directory} cannot be watched: {failure.strerror or failure}"
        return ""

    def close(self) -> None:
        self._watch.close()

    def _changed(self, _: FileSystemEvent) -> None:
        self._on_change()


def _make(directory: str) -> None:
    make_directories(directory, DIRECTORY_MODE)


def _identity(path: str) -> str:
    """Empty for what is no socket, or has gone."""
    try:
        info = os.lstat(path)
    except OSError:
        return ""
    return f"{info.st_dev}.{info.st_ino}.{info.st_ctime_ns}" if stat.S_ISSOCK(info.st_mode) else ""
