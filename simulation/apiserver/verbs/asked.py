"""Request bodies that are not stored.

They are bindings, evictions, token requests, reviews, and options of a deletion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config import objects
from config.documents.codec import DocumentError, from_builtins
from config.objects import ApiStruct, ConfigMap, SubjectAccessReview
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, bad_request
from simulation.apiserver.strategies.metadata import without_nulls

# Kinds whose fields are among those of another; for what has only metadata any object will do.
_LIKE: Mapping[str, type[ApiStruct]] = {
    "LocalSubjectAccessReview": SubjectAccessReview,
    "SelfSubjectAccessReview": SubjectAccessReview,
    "SelfSubjectReview": ConfigMap,
    "SelfSubjectRulesReview": ConfigMap,
}


def asked_body(call: ResourceCall) -> Json:
    """The typed body of a request to a subresource, or to a resource that is not stored.

    Raises StatusError (400).
    """
    asked = call.target.sub or call.resource
    return _checked(asked.kind, asked.api_version, call.object_body())


def asked_options(call: ResourceCall) -> Json:
    """The DeleteOptions in the body; empty without one. Raises StatusError (400)."""
    body = call.request.body
    if isinstance(body, bytes) and not body.strip():
        return {}
    value = call.object_body()
    return _checked("DeleteOptions", value.get("apiVersion") or "v1", value)


def _checked(kind: str, api_version: str, body: Json) -> Json:
    value = without_nulls(body)
    for field, expected in (("kind", kind), ("apiVersion", api_version)):
        if value.setdefault(field, expected) != expected:
            raise bad_request(f"the {field} in the data ({value[field]}) is not the expected one ({expected})")
    struct: Any = _LIKE.get(kind) or getattr(objects, kind)
    shown = {name: part for name, part in value.items() if name not in ("kind", "apiVersion", "status")}
    if struct is ConfigMap and not isinstance(shown.pop("spec", {}), dict):
        raise bad_request(f"the body cannot be handled as a {kind}: spec is not an object")
    try:
        from_builtins(shown, struct)
    except DocumentError as error:
        raise bad_request(f"the body cannot be handled as a {kind}: {error}") from None
    return value
