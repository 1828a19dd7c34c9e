"""Watches files and directories with watchdog. One observer thread serves all watches of the process.

The kernel watches what was there when the watch was set, not a name. A directory may be replaced, so the owner of a
`FileWatch` calls `move_to` before each look at the path.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

LOG = logging.getLogger("actorlet.file-watch")


class FileWatch(FileSystemEventHandler):
    """Calls `on_event` on the observer's thread, until `close`.

    It must return soon, and must not move the watch.

    `kinds`: which events; None: all.
    """

    def __init__(
        self,
        on_event: Callable[[FileSystemEvent], None],
        *,
        recursive: bool = False,
        kinds: tuple[type[FileSystemEvent], ...] | None = None,
    ) -> None:
        self._on_event = on_event
        self._recursive = recursive
        self._kinds = kinds
        self._lock = threading.Lock()
        self._watch: ObservedWatch | None = None
        self._place: tuple[str, int, int] | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def move_to(self, path: str) -> None:
        """Watch the file or directory that is at `path` now. Raises OSError."""
        path = os.path.realpath(path)
        with self._lock:
            info = os.stat(path)
            place = (path, info.st_dev, info.st_ino)
            if self._closed or place == self._place:
                return
            self._end()
            self._watch = _OBSERVER.add(self, path, recursive=self._recursive, kinds=self._kinds)
            self._place = place

    def close(self) -> None:
        """Report no more."""
        with self._lock:
            self._closed = True
            self._end()

    def _end(self) -> None:
        watch, self._watch, self._place = self._watch, None, None
        if watch is not None:
            _OBSERVER.remove(self, watch)

    def on_any_event(self, event: FileSystemEvent) -> None:
        if self._closed:
            return
        try:
            self._on_event(event)
        except Exception:  # it would end the observer, for everybody
            LOG.exception("%s: the change could not be reported", os.fsdecode(event.src_path))


class _SharedObserver:
    """The observer of the process. It runs while there are watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observer: BaseObserver | None = None
        self._handlers: dict[ObservedWatch, list[FileWatch]] = {}

    def add(
        self, handler: FileWatch, path: str, *, recursive: bool, kinds: tuple[type[FileSystemEvent], ...] | None
    ) -> ObservedWatch:
        """Add a watch. Raises OSError."""
        with self._lock:
            if self._observer is None:
                observer = Observer()
                observer.daemon = True
                observer.start()
                self._observer = observer
            kinds_list = None if kinds is None else list(kinds)
            watch = ObservedWatch(path, recursive=recursive, event_filter=kinds_list)
            handlers = self._handlers.setdefault(watch, [])
            if handlers:  # set it anew for all: the path may lead to another directory now
                self._observer.unschedule(watch)
            handlers.append(handler)
            try:
                for each in handlers:
                    self._observer.schedule(each, path, recursive=recursive, event_filter=kinds_list)
            except OSError:
                del self._handlers[watch]
                self._stop_if_idle()
                raise
            return watch

    def remove(self, handler: FileWatch, watch: ObservedWatch) -> None:
        with self._lock:
            handlers = self._handlers.get(watch, [])
            if handler not in handlers or self._observer is None:
                return  # it could not be set anew
            handlers.remove(handler)
            self._observer.remove_handler_for_watch(handler, watch)
            if not handlers:
                del self._handlers[watch]
                self._observer.unschedule(watch)
                self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if not self._handlers and self._observer is not None:
            self._observer.stop()
            self._observer = None


_OBSERVER = _SharedObserver()
