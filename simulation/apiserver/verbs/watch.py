"""GET of a collection with watch=true: the changes, as they come, and bookmarks in between.

A bookmark tells every watch that wants them, once a minute and before its end, how far it has come. With
sendInitialEvents the objects come first, then a bookmark that says so, then the changes (a "watch list").
"""

from __future__ import annotations

from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.requests import Call, WatchAnswer
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, bad_request, forbidden_field, invalid
from simulation.apiserver.store import BOOKMARK, Version
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.read import version_number

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(context: Context, call: Call) -> WatchAnswer:
    """Raises StatusError: 400, 410 when it begins too early, 504 when too late."""
    query, core = call.query, context.core
    text = query.get("resourceVersion", "")
    since = version_number(text)
    initial = query.get("sendInitialEvents", "")
    if initial == "true":
        if query.get("resourceVersionMatch") != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid(call.resource, "", [forbidden_field("resourceVersionMatch", why)])
        since = None
    elif initial == "false" and since is None:
        since = core.store.revision
    bookmarks = call.flag("allowWatchBookmarks")
    lasts_ns = _lasts_ns(core, query.get("timeoutSeconds", ""))
    selection = call.selection()
    watcher = core.store.watch(call.resource.store_key, call.namespace, selection, since, bookmarks=bookmarks)
    if initial == "true" and bookmarks:
        watcher.send(BOOKMARK, bookmark(call.resource, core.store.revision, {INITIAL_EVENTS_END: "true"}))

    def end() -> None:
        if bookmarks:
            watcher.send(BOOKMARK, bookmark(call.resource, core.store.revision))
        watcher.end()

    watcher.timer = core.after(lasts_ns, end)
    if bookmarks:
        context.bookmarks.add(watcher, call.resource)
    return WatchAnswer(call.resource, watcher, context.shape(call.resource))


def bookmark(resource: ServedResource, revision: int, annotations: Json | None = None) -> Version:
    """An object of that kind that has nothing but a resourceVersion."""
    metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    value: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return Version(("", ""), value, revision)


def _lasts_ns(core: Core, text: str) -> int:
    if text in ("", "0"):
        return core.between(*core.options.watch_lasts_ns)
    if not text.isdecimal():
        raise bad_request(f'Invalid value: "{text}": timeoutSeconds is no number')
    return int(text) * SECOND_NS
