"""Static pod manifests on the disk of this machine: `runtime.manifests.files`, with inotify."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from runtime.manifests.files import LIMIT_BYTES, ManifestFile, ManifestReading

_MEANS_NOTHING = frozenset({"opened", "closed_no_write"})


class LocalManifests:
    """`ManifestDirectory`."""

    def read(self, path: str) -> ManifestReading:
        path = path.rstrip("/") or "/"
        try:
            mode = os.stat(path).st_mode
            if not stat.S_ISDIR(mode):
                return ManifestReading((_read_file(path),))
            names = sorted(name for name in os.listdir(path) if not name.startswith("."))
        except FileNotFoundError:
            return ManifestReading(missing=True)
        except OSError as failure:
            return ManifestReading(problem=_reason(failure))
        files = (_read_entry(os.path.join(path, name)) for name in names)
        return ManifestReading(tuple(file for file in files if file is not None))

    def watch(self, path: str, on_change: Callable[[], None]) -> LocalManifestWatch:
        return LocalManifestWatch(path, on_change)


def _read_entry(path: str) -> ManifestFile | None:
    """One entry of a directory; None for what is no manifest or has gone meanwhile."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not os.path.lexists(path):
            return None
        return ManifestFile(path, None, "the link leads nowhere")
    except OSError as failure:
        return ManifestFile(path, None, _reason(failure))
    return None if stat.S_ISDIR(mode) else _read_file(path)


def _read_file(path: str) -> ManifestFile:
    try:
        # Without O_NONBLOCK a pipe that somebody has put there would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ManifestFile(path, None, "it is neither a file nor a directory")
            content = file.read(LIMIT_BYTES + 1)
    except OSError as failure:
        return ManifestFile(path, None, _reason(failure))
    if len(content) > LIMIT_BYTES:
        return ManifestFile(path, None, f"it is larger than {LIMIT_BYTES // 1024 // 1024} MiB")
    return ManifestFile(path, content)


def _reason(failure: OSError) -> str:
    return failure.strerror or str(failure)


class LocalManifestWatch(FileSystemEventHandler):
    """One inotify watch that sits on the directory of the path, or on the nearest one above it that exists.

    inotify follows what it was set on, not a name: when the directory is replaced, the watch is moved by the `renew`
    that precedes the next reading. Only events that can change that reading are passed on.
    """

    def __init__(self, path: str, on_change: Callable[[], None]) -> None:
        self._path = os.path.abspath(path)
        self._on_change = on_change
        self._lock = threading.Lock()
        self._observer: BaseObserver | None = None
        self._watch: ObservedWatch | None = None
        self._sits_on: tuple[str, int, int] | None = None
        self._wanted = ""
        self._closed = False

    def renew(self) -> str:
        with self._lock:
            if self._closed:
                return "the watch is closed"
            try:
                return self._renew()
            except OSError as failure:
                self._sits_on = None
                return f"cannot be watched: {_reason(failure)}"

    def close(self) -> None:
        with self._lock:
            self._closed = True
            observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()

    def _renew(self) -> str:
        directory, wanted = _where_to_look(self._path)
        info = os.stat(directory)
        place = (directory, info.st_dev, info.st_ino)
        if place == self._sits_on:
            return ""
        if self._observer is None:
            observer = Observer()
            observer.daemon = True
            observer.start()
            self._observer = observer
        if self._watch is not None:
            self._observer.unschedule(self._watch)
            self._watch = None
        self._wanted = wanted
        self._watch = self._observer.schedule(self, directory, recursive=False)
        self._sits_on = place
        return ""

    def on_any_event(self, event: FileSystemEvent) -> None:
        """On the observer's thread."""
        if event.event_type in _MEANS_NOTHING or self._closed:
            return
        gone = event.event_type in ("deleted", "moved")
        if any(self._matters(os.fsdecode(path), gone) for path in (event.src_path, event.dest_path) if path):
            self._on_change()

    def _matters(self, path: str, gone: bool) -> bool:
        sits_on = self._sits_on
        if sits_on is not None and path == sits_on[0]:
            return gone  # the directory itself; it is also "modified" with each entry that comes or goes
        name = os.path.basename(path)
        return name == self._wanted if self._wanted else not name.startswith(".")


def _where_to_look(path: str) -> tuple[str, str]:
    """The directory to watch for `path`, without links, and the one name in it that matters; empty: all of them."""
    if os.path.isdir(path):
        return os.path.realpath(path), ""
    directory, name = os.path.split(path)
    while not os.path.isdir(directory):
        directory, name = os.path.split(directory)
    return os.path.realpath(directory), name
