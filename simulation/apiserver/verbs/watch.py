"""GET of a collection as a stream: a watch.

A watch from no version, or with sendInitialEvents, first sends the objects, then a bookmark that marks their end (if
it takes bookmarks), then the changes.
"""

from __future__ import annotations

from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import WatchAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.requests.options import begins_with_all, whole_number
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import BOOKMARK, Version, Watcher
from simulation.apiserver.verbs.read import check_not_newer, version_of

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(context: Context, call: ResourceCall) -> WatchAnswer:
    """Watch objects. Raises StatusError: 400, 410 when it begins too early, 504 when too late."""
    core, initial = context.core, begins_with_all(call.query)
    since = None if initial else version_of(call) or core.store.revision
    seconds = whole_number("timeoutSeconds", call.query)
    lasts_ns = seconds * SECOND_NS if seconds else core.between(*core.options.watch_lasts_ns)
    if initial:
        check_not_newer(context, version_of(call))
    watcher = core.store.watch(call.resource.store_key, call.namespace, call.selection(), since)
    bookmarks = call.flag("allowWatchBookmarks")

    def end() -> None:
        if bookmarks:
            watcher.send(BOOKMARK, _bookmark(call.resource, core.store.revision))
        watcher.end()

    watcher.timer = core.after(lasts_ns, end)
    if bookmarks:
        if initial:
            watcher.send(BOOKMARK, _bookmark(call.resource, core.store.revision, {INITIAL_EVENTS_END: "true"}))
        context.bookmarks.add(watcher, call.resource)
    return WatchAnswer(call.resource, watcher, context.shape(call.resource))


def _bookmark(resource: ServedResource, revision: int, annotations: Json | None = None) -> Version:
    """An object of that kind with a resourceVersion alone."""
    metadata: Json = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    value: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return Version(("", ""), value, revision)


class Bookmarks:
    """Sends watches a bookmark once a minute. One timer serves all; it runs while there is a watch."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._watchers: dict[Watcher, ServedResource] = {}
        self._is_armed = False

    def add(self, watcher: Watcher, resource: ServedResource) -> None:
        """Send bookmarks to this watch from now on, until it ends."""
        self._watchers[watcher] = resource
        if not self._is_armed:
            self._is_armed = True
            self._core.after(self._core.options.bookmark_every_ns, self._tell_all)

    def _tell_all(self) -> None:
        self._is_armed = False
        watchers, self._watchers = self._watchers, {}
        for watcher, resource in watchers.items():
            if not watcher.ended:
                watcher.send(BOOKMARK, _bookmark(resource, self._core.store.revision))
                self.add(watcher, resource)
