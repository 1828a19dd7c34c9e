"""PATCH: a JSON patch, a merge patch, a strategic merge patch, or an object to be applied.

The server reads nothing twice: the patched object goes the way of every change. Server-side apply merges what is
applied into what is there, by the same rules as a strategic merge patch, and makes the object when it is not there; who
owns which field is not kept, so a field that is no longer applied stays.
"""

from __future__ import annotations

from typing import Any

from config.patches import PatchError, apply_json_patch, apply_strategic, merge_patch, schema_for
from simulation.apiserver.kinds.events import shape_of
from simulation.apiserver.metadata import typed
from simulation.apiserver.requests import APPLY, PATCH_TYPES, Call, ObjectAnswer
from simulation.apiserver.status import Json, StatusError, bad_request, not_found, unsupported_media_type
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.create import create_value
from simulation.apiserver.verbs.update import change


def patch(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    media = call.request.content_type.partition(";")[0].strip().lower()
    if media not in PATCH_TYPES:
        raise unsupported_media_type(media, PATCH_TYPES)
    document = call.body()
    old = context.core.store.get(call.resource.store_key, call.namespace, call.name)
    if old is None:
        if media != APPLY or call.target.sub is not None:
            raise not_found(call.resource, call.name)
        return context.answer(call, _create_applied(context, call, document), 201)
    patched = _patched(call, media, shape_of(call.resource)(old), document)
    value = typed(call.resource.kind, call.resource.api_version, patched)
    return context.answer(call, change(context, call, old, context.read_object(call, value)))


def _patched(call: Call, media: str, old: Version, document: Any) -> Json:
    resource = call.resource
    try:
        if media == "application/json-patch+json":
            patched = apply_json_patch(old.object, document)
        elif not isinstance(document, dict):
            raise bad_request("the body of the patch is not an object")
        elif media == "application/merge-patch+json":
            patched = merge_patch(old.object, document)
        else:
            schema = schema_for(resource.api_version, resource.kind)
            patched = apply_strategic(old.object, document, schema)
    except PatchError as error:
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    if not isinstance(patched, dict):
        raise bad_request("the patched object is not an object")
    return patched


def _create_applied(context: Context, call: Call, document: Any) -> Version:
    if not isinstance(document, dict):
        raise bad_request("the body of the request is not an object")
    value = typed(call.resource.kind, call.resource.api_version, document)
    value["metadata"].setdefault("name", call.name)
    return create_value(context, call, context.read_object(call, value))
