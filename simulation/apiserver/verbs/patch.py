"""PATCH: a JSON patch, a merge patch, a strategic merge patch, or an object to be applied.

The patched object goes the way of every change. Server-side apply merges what is applied by the rules of a strategic
merge patch, and creates the object when it does not exist. What the same manager applied before is remembered, so that
fields it applies no longer go; two managers of one field do not conflict: the last one wins.
"""

from __future__ import annotations

from typing import Any

from config.patches import (
    PatchError,
    Schema,
    apply_json_patch,
    apply_strategic,
    make_strategic,
    merge_patch,
    schema_for,
)
from simulation.apiserver.custom.shapes import merged_lists
from simulation.apiserver.metadata import check_name, typed
from simulation.apiserver.requests import (
    APPLY,
    JSON_PATCH,
    MERGE,
    PATCH_TYPES,
    STRATEGIC,
    ObjectAnswer,
    ResourceCall,
    media_of,
)
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, not_found, unsupported_media_type
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.create import create_value
from simulation.apiserver.verbs.update import change

CUSTOM_PATCH_TYPES = tuple(media for media in PATCH_TYPES if media != STRATEGIC)
"""A definition does not say how a strategic merge patch merges lists."""
APPLIED_AT_MOST = 10_000
"""So many applied objects are remembered, the newest ones."""


def patch(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    resource, media = call.resource, media_of(call.request.content_type)
    accepted = PATCH_TYPES if resource.custom is None else CUSTOM_PATCH_TYPES
    if media not in accepted:
        raise unsupported_media_type(media, accepted)
    rules = context.rules(resource)
    old = context.collection(resource).get((call.namespace, call.name))
    if old is None and (media != APPLY or call.target.sub is not None):
        raise not_found(resource, call.name)
    before = {} if old is None else rules.seen_in(resource, old).object
    last = None if old is None else context.applied.get((old.uid, call.query.get("fieldManager", "")))
    patched = call.object_body() if old is None else merged(call, before, media, last)
    value = rules.stored_of(resource, typed(resource.kind, resource.api_version, patched))
    if old is None:
        check_name(call.name, value["metadata"])
        version = create_value(context, call, value)
    else:
        version = change(context, call, old, value)
    if media == APPLY and not call.dry_run:
        _remember(context, (version.uid, call.query.get("fieldManager", "")), call.object_body())
    return context.answer(call, version, 201 if old is None else 200)


def merged(call: ResourceCall, before: Json, media: str, last: Json | None = None) -> Json:
    """The object that the patch in the body makes. `last`: what its manager applied before. Raises StatusError."""
    document = call.body()
    try:
        patched = _patched(call, before, media, document, last)
    except PatchError as error:
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    if not isinstance(patched, dict):
        raise bad_request("the patched object is not an object")
    return patched


def _patched(call: ResourceCall, before: Json, media: str, document: Any, last: Json | None) -> Any:
    """Raises PatchError, StatusError."""
    if media_of(call.request.content_type) == JSON_PATCH:
        return apply_json_patch(before, document)
    if not isinstance(document, dict):
        raise bad_request("the body of the patch is not an object")
    if media == MERGE:
        return merge_patch(before, document)
    schema = _schema(call.resource)
    if media == APPLY and last is not None:
        before = apply_strategic(before, make_strategic(last, document, schema), schema)
    return apply_strategic(before, document, schema)


def _schema(resource: ServedResource) -> Schema:
    """Which lists are merged, and by what."""
    custom = resource.custom
    return schema_for(resource.api_version, resource.kind) if custom is None else merged_lists(custom)


def _remember(context: Context, key: tuple[str, str], document: Json) -> None:
    context.applied.pop(key, None)
    context.applied[key] = document
    if len(context.applied) > APPLIED_AT_MOST:
        del context.applied[next(iter(context.applied))]
