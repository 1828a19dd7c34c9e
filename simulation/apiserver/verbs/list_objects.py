"""GET of a collection: what is selected, in pages if asked for.

All pages carry the revision of the first, so that a watch from there misses nothing that changed between two pages.
When the changes since then are forgotten, the rest of the pages is refused as expired.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import islice

import msgspec

from simulation.apiserver.requests import Call, ListAnswer
from simulation.apiserver.status import bad_request, expired, forbidden_field, invalid, too_large_version
from simulation.apiserver.store import Collection, Key
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.read import version_number

CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


class _Place(msgspec.Struct):
    """Where the next page begins."""

    rv: int
    start: tuple[str, str]


def list_objects(context: Context, call: Call) -> ListAnswer:
    """Raises StatusError."""
    query = call.query
    if causes := _odd_options(query):
        raise invalid(call.resource, "", causes)
    collection = context.collection(call.resource)
    revision, after = context.core.store.revision, None
    if query.get("continue"):
        if version_number(query.get("resourceVersion", "")) is not None:
            raise bad_request("specifying resource version is not allowed when using continue")
        revision, after = _resume(collection, query["continue"])
    else:
        _check_version(call, collection, revision)
    limit = query.get("limit", "") or "0"
    if not limit.isdecimal():
        raise bad_request(f'Invalid value: "{limit}": limit is no number')
    selection = call.selection()
    found = collection.select(call.namespace, selection, after)
    versions = tuple(islice(found, int(limit)) if int(limit) else found)
    continue_, remaining = "", None
    if int(limit) and len(versions) == int(limit):
        rest = sum(1 for _ in found)
        if rest:
            last = versions[-1]
            continue_ = _token(revision, last.key)
            remaining = rest if not (query.get("labelSelector") or query.get("fieldSelector")) else None
    shape = context.shape(call.resource)
    return ListAnswer(
        call.resource, tuple(map(shape, versions)), revision, continue_, remaining, warnings=tuple(call.warnings)
    )


def _odd_options(query: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What a list cannot be asked for together."""
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    field, causes = "resourceVersionMatch", []
    if match and not version:
        causes.append(forbidden_field(field, f"{field} is forbidden unless resourceVersion is provided"))
    if match and query.get("continue"):
        causes.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
    if match not in ("", "NotOlderThan", "Exact"):
        why = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan"'
        causes.append(("FieldValueNotSupported", why, field))
    if match == "Exact" and version == "0":
        causes.append(forbidden_field(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if query.get("sendInitialEvents") in ("true", "1"):
        causes.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _check_version(call: Call, collection: Collection, revision: int) -> None:
    asked = version_number(call.query.get("resourceVersion", ""))
    match = call.query.get("resourceVersionMatch", "")
    if asked is None:
        return
    if asked > revision:
        raise too_large_version(asked, revision)
    if match == "Exact" and collection.changed_after(asked):
        raise expired(f"The resourceVersion for the provided list is too old: {asked}")


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
