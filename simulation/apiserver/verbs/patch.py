"""PATCH: a JSON patch, a merge patch, a strategic merge patch, or an object to be applied.

The server reads nothing twice: the patched object goes the way of every change. Server-side apply merges what is
applied into what is there, by the same rules as a strategic merge patch, and makes the object when it is not there.
What the same manager applied before is remembered, so that what it applies no longer goes; two managers of one field do
not conflict: the last one wins.
"""

from __future__ import annotations

from typing import Any

from config.patches import (
    PatchError,
    Schema,
    apply_json_patch,
    apply_strategic,
    is_bare,
    make_strategic,
    merge_patch,
    schema_for,
)
from simulation.apiserver.custom.merging import merged_lists
from simulation.apiserver.metadata import check_name, typed
from simulation.apiserver.requests import APPLY, PATCH_TYPES, Call, ObjectAnswer, media_of
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, not_found, unsupported_media_type
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.create import create_value
from simulation.apiserver.verbs.update import change

STRATEGIC = "application/strategic-merge-patch+json"
CUSTOM_PATCH_TYPES = tuple(media for media in PATCH_TYPES if media != STRATEGIC)
"""A strategic merge patch needs to be told how lists merge in words that a definition has not."""
APPLIED_AT_MOST = 10_000
"""So many applied objects are remembered, the newest ones."""


def patch(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    resource, media = call.resource, media_of(call.request.content_type)
    accepted = PATCH_TYPES if resource.custom is None else CUSTOM_PATCH_TYPES
    if media not in accepted:
        raise unsupported_media_type(media, accepted)
    document = call.body()
    rules = context.kinds[resource.store_key]
    old = context.core.store.of[resource.store_key].get((call.namespace, call.name))
    if old is None:
        if media != APPLY or call.target.sub is not None:
            raise not_found(resource, call.name)
        return context.answer(call, _create_applied(context, call, document), 201)
    try:
        if media == APPLY and isinstance(document, dict):
            patched = _applied(context, call, old, document)
        else:
            before = (rules.seen_in(resource, old) if resource.storage else old).object
            text = call.request.body
            bare = isinstance(text, bytes) and is_bare(text)
            patched = _patched(call, media, before, document, bare=bare)
    except PatchError as error:
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    value = typed(resource.kind, resource.api_version, patched)
    if resource.storage:
        value = rules.stored_of(resource, value)
    version = change(context, call, old, value)
    if media == APPLY:
        _remember(context, call, version, document)
    return context.answer(call, version)


def _applied(context: Context, call: Call, old: Version, document: Json) -> Json:
    before = context.rules(call.resource).seen_in(call.resource, old).object
    last = context.applied.get((old.uid, call.query.get("fieldManager", "")))
    if last is not None:
        before = _patched(call, STRATEGIC, before, make_strategic(last, document, _schema(call.resource)))
    return _patched(call, STRATEGIC, before, document)


def _remember(context: Context, call: Call, version: Version, document: Json) -> None:
    if call.dry_run:
        return
    applied, key = context.applied, (version.uid, call.query.get("fieldManager", ""))
    applied.pop(key, None)
    applied[key] = document
    if len(applied) > APPLIED_AT_MOST:
        del applied[next(iter(applied))]


def _patched(call: Call, media: str, old: Json, document: Any, *, bare: bool = False) -> Json:
    if media == "application/json-patch+json":
        patched = apply_json_patch(old, document)
    elif not isinstance(document, dict):
        raise bad_request("the body of the patch is not an object")
    elif media == "application/merge-patch+json":
        patched = merge_patch(old, document)
    else:
        resource = call.resource
        schema = schema_for(resource.api_version, resource.kind) if resource.custom is None else _schema(resource)
        patched = apply_strategic(old, document, schema, bare=bare)
    if not isinstance(patched, dict):
        raise bad_request("the patched object is not an object")
    return patched


def _schema(resource: ServedResource) -> Schema:
    """Which lists are merged, and by what."""
    custom = resource.custom
    return schema_for(resource.api_version, resource.kind) if custom is None else merged_lists(custom)


def _create_applied(context: Context, call: Call, document: Any) -> Version:
    if not isinstance(document, dict):
        raise bad_request("the body of the request is not an object")
    value = typed(call.resource.kind, call.resource.api_version, document)
    check_name(call.name, value["metadata"])
    version = create_value(context, call, context.rules(call.resource).stored_of(call.resource, value))
    _remember(context, call, version, document)
    return version
