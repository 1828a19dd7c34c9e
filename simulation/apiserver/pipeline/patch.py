"""Patches: what the object before becomes by a patch of any type."""

from __future__ import annotations

from typing import Any

from config.patches import PatchError, Schema, apply_json_patch, apply_strategic, merge_patch, schema_for
from simulation.apiserver.fields.managers import Managed, shown
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.apply import apply
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.requests.bodies import APPLY, JSON_PATCH, MERGE, PATCH_TYPES, STRATEGIC, media_of
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.go_types import json_type
from simulation.apiserver.schemas.shapes import merged_lists
from simulation.apiserver.status import Json, StatusError, bad_request, unsupported_media_type

CUSTOM_PATCH_TYPES = tuple(media for media in PATCH_TYPES if media != STRATEGIC)
"""A definition does not say how a strategic merge patch merges lists."""

_REJECTED = "the server rejected our request due to an error in our request"
"""All that a kube-apiserver says of a JSON patch that does not fit."""


def patch(this: Write) -> None:
    """Apply the patch in the body. Raises StatusError (400, 409, 422)."""
    if this.call.verb != "patch":
        return
    if media_of(this.call.request.content_type) == APPLY:
        apply(this)
    elif this.old is not None and this.before is not None:
        this.value = patched(this.call, _with_managed(this.call, this.before, this.old.managed))


def _with_managed(call: ResourceCall, before: Json, managed: Managed) -> Json:
    """The object before, with its managed fields if the patch speaks of them."""
    if not managed or not _speaks_of_managed(call.body()):
        return before
    return {**before, "metadata": {**before["metadata"], "managedFields": shown(managed)}}


def _speaks_of_managed(document: Any) -> bool:
    if isinstance(document, dict):
        return isinstance(document.get("metadata"), dict) and "managedFields" in document["metadata"]
    if not isinstance(document, list):
        return False
    ways = [operation.get(name) for operation in document if isinstance(operation, dict) for name in ("path", "from")]
    return any(way in ("", "/metadata") or str(way).startswith("/metadata/managedFields") for way in ways)


def lists_of(resource: ServedResource) -> Schema:
    """How the lists of a kind are merged."""
    described = resource.described
    return schema_for(resource.api_version, resource.kind) if described is None else merged_lists(described)


def check_media(resource: ServedResource, media: str) -> None:
    """Check that the resource takes that kind of patch. Raises StatusError (415)."""
    if media not in PATCH_TYPES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if resource.is_defined and media not in CUSTOM_PATCH_TYPES:
        raise unsupported_media_type(CUSTOM_PATCH_TYPES)


def patched(call: ResourceCall, before: Json) -> Json:
    """The object that the patch in the body makes, unless it is an apply. Raises StatusError."""
    document, media = call.body(), media_of(call.request.content_type)
    if media != JSON_PATCH and not isinstance(document, dict):
        before_it = "error decoding patch: " if media == MERGE else ""
        wanted = "Go value of type map[string]interface {}"
        raise bad_request(f"{before_it}json: cannot unmarshal {json_type(document)} into {wanted}")
    try:
        made = _made(call.resource, before, document, media)
    except PatchError as error:
        if media == JSON_PATCH and isinstance(document, list):
            raise StatusError(422, "Invalid", _REJECTED, {}) from None
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    if not isinstance(made, dict):
        raise bad_request("the patched object is not an object")
    return made


def _made(resource: ServedResource, before: Json, document: Any, media: str) -> Any:
    """Raises PatchError."""
    if media == JSON_PATCH:
        return apply_json_patch(before, document)
    if media == MERGE:
        return merge_patch(before, document)
    return apply_strategic(before, document, lists_of(resource))
