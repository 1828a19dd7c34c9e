"""Plugins of this machine: sockets below a directory, watched with inotify, spoken to with `pluginregistration.v1`."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from runtime.plugin_registration.capability import PluginInfo
from runtime.plugin_registration.v1 import registration_pb2 as wire
from runtime.plugin_socket import DIAL_NS, NS_PER_SECOND, PluginSocket

DIRECTORY_MODE = 0o750
INFO_NS = NS_PER_SECOND
NOTIFY_NS = 5 * NS_PER_SECOND

_SERVICE = "/pluginregistration.Registration"
_MEANS_NOTHING = frozenset({"opened", "closed", "closed_no_write", "modified"})


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


class LocalPluginWatch(FileSystemEventHandler):
    """One recursive inotify watch, moved when the directory is another than before."""

    def __init__(self, directory: str, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._on_change = on_change
        self._lock = threading.Lock()
        self._observer: BaseObserver | None = None
        self._watch: ObservedWatch | None = None
        self._sits_on: tuple[int, int] | None = None
        self._closed = False

    def renew(self) -> str:
        with self._lock:
            if self._closed:
                return "the watch is closed"
            try:
                self._renew()
            except OSError as failure:
                self._sits_on = None
                return f"{self._directory} cannot be watched: {failure.strerror or failure}"
            return ""

    def close(self) -> None:
        with self._lock:
            self._closed = True
            observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()

    def _renew(self) -> None:
        _make(self._directory)
        info = os.stat(self._directory)
        if self._sits_on == (info.st_dev, info.st_ino):
            return
        if self._observer is None:
            self._observer = Observer()
            self._observer.daemon = True
            self._observer.start()
        if self._watch is not None:
            self._observer.unschedule(self._watch)
            self._watch = None
        self._watch = self._observer.schedule(self, os.path.realpath(self._directory), recursive=True)
        self._sits_on = (info.st_dev, info.st_ino)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """On the observer's thread."""
        if event.event_type not in _MEANS_NOTHING and not self._closed:
            self._on_change()


def _make(directory: str) -> None:
    os.makedirs(directory, mode=DIRECTORY_MODE, exist_ok=True)


def _identity(path: str) -> str:
    """Empty for what is no socket, or has gone."""
    try:
        info = os.lstat(path)
    except OSError:
        return ""
    return f"{info.st_dev}.{info.st_ino}.{info.st_ctime_ns}" if stat.S_ISSOCK(info.st_mode) else ""
