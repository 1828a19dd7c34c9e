"""Reads as an API server that lags behind answers them.

Only reads that allow any version (`resourceVersion=0`) may be old: the first lists of informers are such reads. A read
without a version is answered as of now by every server. Watches go on where the client was; whoever holds their events
back is `watch_gate`.
"""

from __future__ import annotations

import msgspec

from simulation.apiserver.requests.answers import Answer, ListAnswer, ObjectAnswer, refused
from simulation.apiserver.requests.calls import ApiRequest, Query, ResourceCall
from simulation.apiserver.requests.options import EXACT, begins_with_all
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import not_found
from simulation.apiserver.store.store import ADDED, Version

_OF_VERSIONS = ("resourceVersion", "resourceVersionMatch", "limit", "sendInitialEvents", "watch")


def may_be_old(call: ResourceCall) -> bool:
    """Whether the request allows any version."""
    return call.verb in ("get", "list", "watch") and not call.target.subresource and _any_version(call)


def _any_version(call: ResourceCall) -> bool:
    return call.query.get("resourceVersion") == "0" and not call.query.get("continue")


def answer_as_of(server: ApiServer, asked: ApiRequest, call: ResourceCall, revision: int) -> Answer:
    """The answer to such a request as of the revision. A watch begins with its `first_events`."""
    if call.verb == "watch":
        query = _with(asked.query, resourceVersion=str(revision), watch="true")
        return server.handle(msgspec.structs.replace(asked, query=query))
    if call.verb == "list":
        return server.handle(msgspec.structs.replace(asked, query=_exact(asked.query, revision)))
    path = asked.path.rstrip("/").rpartition("/")[0]
    query = _exact((("fieldSelector", f"metadata.name={call.name}"),), revision)
    found = server.handle(msgspec.structs.replace(asked, path=path, query=query))
    if not isinstance(found, ListAnswer):
        return found
    if not found.versions:
        return refused(not_found(call.resource, call.name))
    return ObjectAnswer(found.resource, found.versions[0])


def first_events(server: ApiServer, asked: ApiRequest, call: ResourceCall, revision: int) -> list[tuple[str, Version]]:
    """What a watch from any version begins with: all objects as of the revision."""
    if not begins_with_all(call.query):
        return []
    listed = server.handle(msgspec.structs.replace(asked, query=_exact(asked.query, revision)))
    return [(ADDED, version) for version in listed.versions] if isinstance(listed, ListAnswer) else []


def _exact(query: Query, revision: int) -> Query:
    left = tuple((name, value) for name, value in query if name not in (*_OF_VERSIONS, "allowWatchBookmarks"))
    return (*left, ("resourceVersion", str(revision)), ("resourceVersionMatch", EXACT))


def _with(query: Query, **words: str) -> Query:
    left = tuple((name, value) for name, value in query if name not in _OF_VERSIONS)
    return (*left, *words.items())
