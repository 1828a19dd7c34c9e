"""Bodies of what is asked and not stored: bindings, evictions, token requests, reviews, options of a deletion.

Each has the type that the path asks for, and its known fields have their types: what reads it afterwards relies on
that. What can fail is the body (400).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config import objects
from config.documents.codec import DocumentError, from_builtins
from config.objects import ApiStruct, ConfigMap, DeleteOptions, SubjectAccessReview
from simulation.apiserver.metadata import without_nulls
from simulation.apiserver.requests import Call
from simulation.apiserver.status import Json, bad_request

# Kinds whose fields are among those of another; for what has only metadata any object will do.
_LIKE: Mapping[str, type[ApiStruct]] = {
    "LocalSubjectAccessReview": SubjectAccessReview,
    "SelfSubjectAccessReview": SubjectAccessReview,
    "SelfSubjectReview": ConfigMap,
    "SelfSubjectRulesReview": ConfigMap,
}


def asked_body(call: Call) -> Json:
    """The body of a request to a part of an object, or to a resource that is not stored. Raises StatusError (400)."""
    sub = call.target.sub
    kind = call.resource.kind if sub is None else sub.kind
    api_version = call.resource.api_version if sub is None else sub.api_version
    value = without_nulls(call.object_body())
    for field, expected in (("kind", kind), ("apiVersion", api_version)):
        if value.setdefault(field, expected) != expected:
            raise bad_request(f"the {field} in the data ({value[field]}) is not the expected one ({expected})")
    _check(kind, value)
    return value


def asked_options(call: Call) -> Json:
    """The DeleteOptions in the body; empty without one. Raises StatusError (400)."""
    text = call.request.body
    if isinstance(text, bytes) and not text.strip():
        return {}
    value = call.body()
    if not isinstance(value, dict) or value.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request("the body of a DELETE is a DeleteOptions object")
    try:
        from_builtins(value, DeleteOptions)
    except DocumentError as error:
        raise bad_request(f"the body cannot be handled as DeleteOptions: {error}") from None
    return without_nulls(value)


def _check(kind: str, value: Json) -> None:
    struct: Any = _LIKE.get(kind) or getattr(objects, kind)
    shown = {name: part for name, part in value.items() if name not in ("kind", "apiVersion", "status")}
    if struct is ConfigMap and not isinstance(shown.pop("spec", {}), dict):
        raise bad_request(f"the body cannot be handled as a {kind}: spec is no object")
    try:
        from_builtins(shown, struct)
    except DocumentError as error:
        raise bad_request(f"the body cannot be handled as a {kind}: {error}") from None
