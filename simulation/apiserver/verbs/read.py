"""GET: one object, or a collection.

All pages of a list carry the revision of the first, so a watch from there misses no change between two pages.
"""

from __future__ import annotations

import base64
from itertools import islice

import msgspec

from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import ListAnswer, ObjectAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import bad_request, expired, forbidden_field, invalid, too_large_version
from simulation.apiserver.store.store import Collection, Key

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
    asked, revision = number(call, "resourceVersion"), context.core.store.revision
    if asked is not None and asked > revision:
        raise too_large_version(asked, revision)
    return asked


def number(call: ResourceCall, name: str) -> int | None:
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
    limit = number(call, "limit")
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
