"""Server-side apply: an object is merged with the fields of its manager.

It merges by the rules of a strategic merge patch, and creates what does not exist. Fields that the same manager applies
no longer go; two managers of one field do not conflict: the last one wins.
"""

from __future__ import annotations

from config.patches import Schema, apply_strategic, make_strategic, schema_for
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.shapes import merged_lists
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version

APPLIED_AT_MOST = 10_000
"""The number of remembered applied objects, the newest ones."""


def apply(resource: ServedResource, before: Json, document: Json, last: Json | None) -> Json:
    """The object with the applied fields. `last`: what the manager applied before. Raises PatchError."""
    schema = lists_of(resource)
    if last is not None:
        before = apply_strategic(before, make_strategic(last, document, schema), schema)
    return apply_strategic(before, document, schema)


def lists_of(resource: ServedResource) -> Schema:
    """How the lists of a kind are merged."""
    described = resource.described
    return schema_for(resource.api_version, resource.kind) if described is None else merged_lists(described)


def last_applied(context: Context, call: ResourceCall, old: Version) -> Json | None:
    """What the manager of the request has applied last to that object, or to this part of it."""
    return context.applied.get(_key(call, old))


def remember(context: Context, call: ResourceCall, version: Version) -> None:
    """Remember what the request has applied."""
    key = _key(call, version)
    context.applied.pop(key, None)
    context.applied[key] = call.object_body()
    if len(context.applied) > APPLIED_AT_MOST:
        del context.applied[next(iter(context.applied))]


def _key(call: ResourceCall, version: Version) -> tuple[str, str, str]:
    return version.uid, call.query.get("fieldManager", ""), call.target.subresource
