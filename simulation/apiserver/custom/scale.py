"""The part `scale` of a custom resource: how many replicas it wants and has, in the shape that all such parts have.

What can fail is what is asked (400, 409, 415, 422).
"""

from __future__ import annotations

from typing import Any

from config.patches import PatchError, apply_json_patch, merge_patch
from simulation.apiserver.custom.json_paths import names_of, parse_path
from simulation.apiserver.requests import PATCH_TYPES, Answer, Call, JsonAnswer, Target, call_to, media_of
from simulation.apiserver.status import (
    Json,
    StatusError,
    bad_request,
    internal_error,
    invalid,
    invalid_value,
    unsupported_media_type,
)
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.update import change

_KIND = {"kind": "Scale", "apiVersion": "autoscaling/v1"}
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale(context: Context, call: Call) -> Answer:
    """Raises StatusError."""
    custom = call.resource.custom
    assert custom is not None
    assert custom.scale is not None
    paths = custom.scale
    old = context.find(call)
    shown = context.shape(call.resource)(old).object
    before = scale_of(shown, paths)
    if call.verb == "get":
        return JsonAnswer(before)
    wanted = _asked(call, before)
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    if type(replicas) is not int:
        raise bad_request("Scale: spec.replicas is no number")
    if replicas < 0:
        raise invalid(
            call.resource, call.name, [invalid_value("spec.replicas", replicas, "should be a non-negative integer")]
        )
    new = _with(shown, names_of(parse_path(paths["specReplicasPath"])) or (), replicas)
    asked: Json = wanted.get("metadata") or {}
    fixed = {name: asked[name] for name in ("uid", "resourceVersion") if asked.get(name)}
    new["metadata"] = {**shown["metadata"], "resourceVersion": "", **fixed}
    rules = context.rules(call.resource)
    target = Target(call.resource, call.namespace, call.name)
    whole = call_to(target, call.request, "update", call.query, call.dry_run)
    version: Version = change(context, whole, old, rules.stored_of(call.resource, new))
    return JsonAnswer(scale_of(context.shape(call.resource)(version).object, paths), warnings=tuple(whole.warnings))


def scale_of(value: Json, paths: Any) -> Json:
    """The Scale of an object. Raises StatusError (500) where it does not say how many replicas it wants."""
    replicas = _at(value, paths["specReplicasPath"])
    if replicas is None:
        raise internal_error(f'the spec replicas field "{paths["specReplicasPath"]}" does not exist')
    status: Json = {"replicas": _at(value, paths["statusReplicasPath"]) or 0}
    selector = _at(value, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else None
    if selector:
        status["selector"] = selector
    metadata = {name: value["metadata"][name] for name in _METADATA if name in value["metadata"]}
    return {**_KIND, "metadata": metadata, "spec": {"replicas": replicas}, "status": status}


def _asked(call: Call, before: Json) -> Json:
    """The Scale that is wanted. Raises StatusError."""
    document = call.body()
    if call.verb != "patch":
        return _scale(document)
    media = media_of(call.request.content_type)
    if media not in PATCH_TYPES:
        raise unsupported_media_type(media, PATCH_TYPES)
    try:
        # A Scale has no lists, so every way to merge is the same.
        patched = apply_json_patch(before, document) if media == PATCH_TYPES[0] else merge_patch(before, document)
    except PatchError as error:
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    return _scale(patched)


def _scale(document: Any) -> Json:
    if not isinstance(document, dict) or not isinstance(document.get("spec") or {}, dict):
        raise bad_request("the body of the request is no Scale")
    if document.get("kind", "Scale") != "Scale":
        raise bad_request(f"the kind in the data ({document['kind']}) does not match the expected kind (Scale)")
    return document


def _at(value: Json, path: str) -> Any:
    found: Any = value
    for name in names_of(parse_path(path)) or ():
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _with(value: Json, names: tuple[str, ...], replicas: int) -> Json:
    """A copy with that at the end of the path."""
    if len(names) == 1:
        return {**value, names[0]: replicas}
    return {**value, names[0]: _with(value.get(names[0]) or {}, names[1:], replicas)}
