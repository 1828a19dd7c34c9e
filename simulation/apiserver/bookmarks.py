"""Bookmarks: once a minute each watch that wants them is told how far it has come. One timer for all watches.

The timer runs only while somebody watches.
"""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.core import Core
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.store import BOOKMARK, Version, Watcher


class Bookmarks:
    """See the module. `make` makes the bookmark of a resource at a revision."""

    def __init__(self, core: Core, make: Callable[[ServedResource, int], Version]) -> None:
        self._core = core
        self._make = make
        self._watchers: dict[Watcher, ServedResource] = {}
        self._armed = False

    def add(self, watcher: Watcher, resource: ServedResource) -> None:
        """Tell this one from now on, until it ends."""
        self._watchers[watcher] = resource
        self._arm()

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            self._core.after(self._core.options.bookmark_every_ns, self._tell_all)

    def _tell_all(self) -> None:
        self._armed = False
        made: dict[ServedResource, Version] = {}
        for watcher in [watcher for watcher in self._watchers if watcher.ended]:
            del self._watchers[watcher]
        for watcher, resource in tuple(self._watchers.items()):
            version = made.get(resource)
            if version is None:
                version = made[resource] = self._make(resource, self._core.store.revision)
            watcher.send(BOOKMARK, version)
        if self._watchers:
            self._arm()
