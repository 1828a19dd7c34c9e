"""GET: one object, a collection, or a watch of it.

All pages of a list carry the revision of the first, so a watch from there misses no change between two pages. With
sendInitialEvents a watch first sends the objects, then a bookmark that marks their end, then the changes.
"""

from __future__ import annotations

import base64
from itertools import islice

import msgspec

from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.requests import ListAnswer, ObjectAnswer, ResourceCall, WatchAnswer
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, bad_request, expired, forbidden_field, invalid, too_large_version
from simulation.apiserver.store import BOOKMARK, Collection, Key, Version, Watcher
from simulation.apiserver.verbs.context import Context

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


def read(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Read one object. Raises StatusError."""
    _check_version(context, call)
    return context.answer(call, context.find(call))


def _check_version(context: Context, call: ResourceCall) -> int | None:
    """The requested resourceVersion; None for any. Raises StatusError (400, 504)."""
    asked, revision = _number(call, "resourceVersion"), context.core.store.revision
    if asked is not None and asked > revision:
        raise too_large_version(asked, revision)
    return asked


def _number(call: ResourceCall, name: str) -> int | None:
    """A number of the query; None where there is none, or 0. Raises StatusError (400)."""
    text = call.query.get(name, "")
    if text and not text.isdecimal():
        raise bad_request(f'Invalid value: "{text}": {name} is not a number')
    return int(text or 0) or None


# --- lists ----------------------------------------------------------------------------------------------------------


class _Place(msgspec.Struct):
    """The beginning of the next page."""

    rv: int
    start: Key


def list_objects(context: Context, call: ResourceCall) -> ListAnswer:
    """List objects. Raises StatusError: 400, 410 when a page is too late, 422."""
    query, collection = call.query, context.collection(call.resource)
    asked, match, token = _check_version(context, call), query.get("resourceVersionMatch"), query.get("continue")
    if match and (not query.get("resourceVersion") or token):
        why = "forbidden when continue is provided" if token else "forbidden unless resourceVersion is provided"
        cause = forbidden_field("resourceVersionMatch", f"resourceVersionMatch is {why}")
        raise invalid(call.resource, "", [cause])
    if match not in (None, "", "NotOlderThan", "Exact"):
        why = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan"'
        raise invalid(call.resource, "", [("FieldValueNotSupported", why, "resourceVersionMatch")])
    if match == "Exact" and asked is None:
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        raise invalid(call.resource, "", [forbidden_field("resourceVersionMatch", why)])
    if query.get("sendInitialEvents") in ("true", "1"):
        cause = forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise invalid(call.resource, "", [cause])
    if asked is not None and token:
        raise bad_request("specifying resource version is not allowed when using continue")
    if asked is not None and match == "Exact" and collection.changed_after(asked):
        raise expired(f"The resourceVersion for the provided list is too old: {asked}")
    revision, after = _resume(collection, token) if token else (context.core.store.revision, None)
    limit = _number(call, "limit")
    found = collection.select(call.namespace, call.selection(), after)
    versions = tuple(islice(found, limit))
    rest = sum(1 for _ in found)
    shown = tuple(map(context.shape(call.resource), versions))
    continue_ = _token(revision, versions[-1].key) if rest else ""
    remaining = rest if not (query.get("labelSelector") or query.get("fieldSelector")) else None
    return ListAnswer(call.resource, shown, revision, continue_, remaining, warnings=tuple(call.warnings))


def _token(revision: int, last: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(_Place(revision, last))).decode().rstrip("=")


def _resume(collection: Collection, token: str) -> tuple[int, Key]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        place = msgspec.json.decode(raw, type=_Place)
    except (ValueError, msgspec.DecodeError):
        raise bad_request("continue key is not valid") from None
    if place.rv < collection.forgotten:
        raise expired(CONTINUE_TOO_OLD)
    return place.rv, place.start


# --- watches --------------------------------------------------------------------------------------------------------


def watch(context: Context, call: ResourceCall) -> WatchAnswer:
    """Watch objects. Raises StatusError: 400, 410 when it begins too early, 504 when too late."""
    query, core = call.query, context.core
    since = _number(call, "resourceVersion")
    initial = query.get("sendInitialEvents", "")
    if initial == "true":
        if query.get("resourceVersionMatch") != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid(call.resource, "", [forbidden_field("resourceVersionMatch", why)])
        since = None
    elif initial == "false" and since is None:
        since = core.store.revision
    seconds = _number(call, "timeoutSeconds")
    lasts_ns = core.between(*core.options.watch_lasts_ns) if seconds is None else seconds * SECOND_NS
    watcher = core.store.watch(call.resource.store_key, call.namespace, call.selection(), since)
    bookmarks = call.flag("allowWatchBookmarks")

    def end() -> None:
        if bookmarks:
            watcher.send(BOOKMARK, _bookmark(call.resource, core.store.revision))
        watcher.end()

    watcher.timer = core.after(lasts_ns, end)
    if bookmarks:
        if initial == "true":
            watcher.send(BOOKMARK, _bookmark(call.resource, core.store.revision, {INITIAL_EVENTS_END: "true"}))
        context.bookmarks.add(watcher, call.resource)
    return WatchAnswer(call.resource, watcher, context.shape(call.resource))


def _bookmark(resource: ServedResource, revision: int, annotations: Json | None = None) -> Version:
    """An object of that kind with a resourceVersion alone."""
    metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
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
