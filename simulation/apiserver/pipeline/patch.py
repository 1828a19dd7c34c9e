"""Patches: what the object before becomes by a patch of any type."""

from __future__ import annotations

from typing import Any

from config.patches import PatchError, apply_json_patch, apply_strategic, merge_patch
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.apply import apply, last_applied, lists_of
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.requests.bodies import APPLY, JSON_PATCH, MERGE, PATCH_TYPES, STRATEGIC, media_of
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.go_types import json_type
from simulation.apiserver.status import Json, StatusError, bad_request, unsupported_media_type

CUSTOM_PATCH_TYPES = tuple(media for media in PATCH_TYPES if media != STRATEGIC)
"""A definition does not say how a strategic merge patch merges lists."""

_REJECTED = "the server rejected our request due to an error in our request"
"""All that a kube-apiserver says of a JSON patch that does not fit."""


def patch(this: Write) -> None:
    """Apply the patch in the body. Raises StatusError (400, 422)."""
    if this.call.verb == "patch" and this.old is not None and this.before is not None:
        this.value = patched(this.call, this.before, last_applied(this.context, this.call, this.old))


def check_media(resource: ServedResource, media: str) -> None:
    """Check that the resource takes that kind of patch. Raises StatusError (415)."""
    if media not in PATCH_TYPES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if resource.is_defined and media not in CUSTOM_PATCH_TYPES:
        raise unsupported_media_type(CUSTOM_PATCH_TYPES)


def patched(call: ResourceCall, before: Json, last: Json | None = None) -> Json:
    """The object that the patch in the body makes. Raises StatusError.

    `last`: what its manager applied before.
    """
    document, media = call.body(), media_of(call.request.content_type)
    if media != JSON_PATCH and not isinstance(document, dict):
        before_it = "error decoding patch: " if media == MERGE else ""
        wanted = "Go value of type map[string]interface {}"
        raise bad_request(f"{before_it}json: cannot unmarshal {json_type(document)} into {wanted}")
    try:
        made = _made(call.resource, before, document, media, last)
    except PatchError as error:
        if media == JSON_PATCH and isinstance(document, list):
            raise StatusError(422, "Invalid", _REJECTED, {}) from None
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    if not isinstance(made, dict):
        raise bad_request("the patched object is not an object")
    return made


def _made(resource: ServedResource, before: Json, document: Any, media: str, last: Json | None) -> Any:
    """Raises PatchError."""
    if media == JSON_PATCH:
        return apply_json_patch(before, document)
    if media == MERGE:
        return merge_patch(before, document)
    if media == APPLY:
        return apply(resource, before, document, last)
    return apply_strategic(before, document, lists_of(resource))
