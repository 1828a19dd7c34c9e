"""GET: one object, or a collection.

All pages of a list show the moment of the first. So a watch from there misses no change between two pages.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import ListAnswer, ObjectAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.requests.options import whole_number
from simulation.apiserver.status import StatusError, bad_request, expired, too_large_version
from simulation.apiserver.store.store import ExpiredError, Version, place_of
from simulation.apiserver.verbs.pages import Page, first_page, read_token, token

_DIGITS_AT_MOST = 19
VERSION_TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def read(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Read one object. Raises StatusError."""
    check_not_newer(context, version_of(call))
    return context.answer(call, context.find(call))


def version_of(call: ResourceCall) -> int | None:
    """The resourceVersion of the query; None where there is none, or 0. Raises StatusError (400)."""
    text = call.query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > _DIGITS_AT_MOST:
        fault = "value out of range" if text.isdecimal() else "invalid syntax"
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {fault}'
        raise bad_request(f"invalid resource version: {why}")
    return int(text) or None


def check_not_newer(context: Context, version: int | None) -> None:
    """Raises StatusError (504) for a version that is still to come."""
    if version is not None and version > context.core.store.revision:
        raise too_large_version(version, context.core.store.revision)


# --- lists ----------------------------------------------------------------------------------------------------------


class Listed(msgspec.Struct, frozen=True):
    """One page of a list: stored versions. `continue_` is empty on the last one."""

    versions: tuple[Version, ...]
    revision: int
    continue_: str = ""
    remaining: int | None = None


def list_objects(context: Context, call: ResourceCall) -> ListAnswer:
    """List objects. Raises StatusError: 400, 410 when that moment is gone, 504."""
    return answer_of(context, call, listed(context, call))


def answer_of(context: Context, call: ResourceCall, page: Listed) -> ListAnswer:
    """A page as its resource shows it. May raise ConversionWantedError."""
    context.strategy(call.resource).ready(call.resource, page.versions)
    shown = tuple(map(context.shape(call.resource), page.versions))
    return ListAnswer(
        call.resource, shown, page.revision, page.continue_, page.remaining, warnings=tuple(call.warnings)
    )


def listed(context: Context, call: ResourceCall) -> Listed:
    """The objects that a query selects. Raises StatusError."""
    query, core, collection = call.query, context.core, context.collection(call.resource)
    selection = call.selection()
    page = _page(context, call)
    limit = whole_number("limit", query)
    if limit is not None and (limit <= 0 or _takes_any(call)):
        limit = None
    if limit is not None or page.at is not None:
        core.moments.pass_by(core.wall_ns(), core.store.revision)
    try:
        if page.at is not None and page.at < core.moments.gone_before:
            raise ExpiredError
        found = collection.select(call.namespace, selection, page.start, at=page.at)
    except ExpiredError:
        raise _too_old(page) from None
    revision = core.store.revision if page.at is None else page.at
    versions = tuple(islice(found, limit))
    rest = sum(1 for _ in found)
    return Listed(
        versions,
        revision,
        token(revision, place_of(versions[-1].key, call.namespace)) if rest else "",
        rest if selection.everything else None,
    )


def _takes_any(call: ResourceCall) -> bool:
    """Whether any moment will do. A kube-apiserver answers from its cache then, and ignores the limit."""
    return call.query.get("resourceVersion") == "0" and not call.query.get("continue")


def _page(context: Context, call: ResourceCall) -> Page:
    query = call.query
    if query.get("continue"):
        page = read_token(query["continue"])
        if query.get("resourceVersion", "0") not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        check_not_newer(context, page.at)
        return page
    version = version_of(call)
    check_not_newer(context, version)
    return first_page(version, query.get("resourceVersionMatch", ""), has_limit=(whole_number("limit", query) or 0) > 0)


def _too_old(page: Page) -> StatusError:
    return expired(CONTINUE_TOO_OLD, continue_=page.token_for_now()) if page.start else expired(VERSION_TOO_OLD)
