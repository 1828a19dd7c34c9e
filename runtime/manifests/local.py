"""Static pod manifests on the disk of this machine. See `runtime.manifests.files`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from watchdog.events import FileSystemEvent

from runtime.files.watch import FileWatch
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

    def watch(self, path: str, on_change: Callable[[str], None]) -> LocalManifestWatch:
        return LocalManifestWatch(path, on_change)


def _read_entry(path: str) -> ManifestFile | None:
    """One entry of a directory; None for an entry that is no manifest or was removed meanwhile."""
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
        # Without O_NONBLOCK, opening a named pipe would block for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return ManifestFile(path, None, "it is neither a file nor a directory")
            # A link may lead to an older file than before.
            touched_ns = max(status.st_ctime_ns, os.lstat(path).st_ctime_ns)
            content = file.read(LIMIT_BYTES + 1)
    except OSError as failure:
        return ManifestFile(path, None, _reason(failure))
    if len(content) > LIMIT_BYTES:
        return ManifestFile(path, None, f"it is larger than {LIMIT_BYTES // 1024 // 1024} MiB")
    return ManifestFile(path, content, touched_ns=touched_ns)


def _reason(failure: OSError) -> str:
    return failure.strerror or str(failure)


class LocalManifestWatch:
    """Watches the directory of the path, or the nearest existing one above it.

    `renew` precedes each reading and moves the watch. Only events that can change that reading are passed on.
    """

    def __init__(self, path: str, on_change: Callable[[str], None]) -> None:
        self._path = os.path.abspath(path)
        self._on_change = on_change
        self._watch = FileWatch(self._changed)
        self._directory = self._wanted = ""

    def renew(self) -> str:
        if self._watch.closed:
            return "the watch is closed"
        try:
            self._directory, self._wanted = _where_to_look(self._path)
            self._watch.move_to(self._directory)
        except OSError as failure:
            return f"cannot be watched: {_reason(failure)}"
        return ""

    def close(self) -> None:
        self._watch.close()

    def _changed(self, event: FileSystemEvent) -> None:
        """A file has changed. Runs on the observer's thread."""
        if event.event_type in _MEANS_NOTHING:
            return
        gone = event.event_type in ("deleted", "moved")
        if any(self._matters(os.fsdecode(path), gone) for path in (event.src_path, event.dest_path) if path):
            removed = event.event_type == "deleted" and not event.is_directory
            self._on_change(os.path.basename(os.fsdecode(event.src_path)) if removed else "")

    def _matters(self, path: str, gone: bool) -> bool:
        if path == self._directory:
            return gone  # the directory itself; it is also "modified" with each entry that comes or goes
        name = os.path.basename(path)
        return name == self._wanted if self._wanted else not name.startswith(".")


def _where_to_look(path: str) -> tuple[str, str]:
    """The directory to watch for `path`, without links, and the one name in it that matters.

    Empty: every name.
    """
    if os.path.isdir(path):
        return os.path.realpath(path), ""
    directory, name = os.path.split(path)
    while not os.path.isdir(directory):
        directory, name = os.path.split(directory)
    return os.path.realpath(directory), name
