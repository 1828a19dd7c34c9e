"""A new version of an object that is there: PUT, and what PATCH comes to in the end.

Owns what every change goes through: preconditions, what only the server may change, the split between an object and its
parts, the rules of the kind, generation, the end of an object whose last finalizer is gone. A change that changes
nothing makes no new version.
"""

from __future__ import annotations

from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.metadata import check_metadata, check_name, check_namespace, keep_old, typed
from simulation.apiserver.ownership import check_owners
from simulation.apiserver.requests import Call, ObjectAnswer
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, invalid, invalid_value, not_found
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context, tried
from simulation.apiserver.verbs.create import create_value
from simulation.apiserver.verbs.field_validation import check_fields


def update(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    rules = context.rules(resource)
    value = rules.stored_of(resource, typed(resource.kind, resource.api_version, call.object_body()))
    check_namespace(resource, call.namespace, value["metadata"])
    old = context.core.store.get(resource.store_key, call.namespace, call.name)
    if old is None:
        if not rules.create_on_update or call.target.sub is not None:
            raise not_found(resource, call.name)
        check_name(call.name, value["metadata"])
        value["metadata"].pop("resourceVersion", None)
        return context.answer(call, create_value(context, call, value), 201)
    if not value["metadata"].get("resourceVersion") and not rules.unconditional_update:
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource, call.name, [cause])
    return context.answer(call, change(context, call, old, value))


def change(context: Context, call: Call, old: Version, new: Json) -> Version:
    """Store `new`, whose top and metadata are the server's own, in place of `old`. Raises StatusError."""
    resource = call.resource
    rules = context.kinds[resource.store_key]
    before = old.object
    metadata: Json = new["metadata"]
    is_other = keep_old(resource, call.name, before["metadata"], metadata, patched=call.request.method == "PATCH")
    if not is_other:
        metadata = new["metadata"] = before["metadata"].copy()
    part = call.target.subresource
    is_known = False
    if part == "status":
        new = _with_status(before, new)
        is_known = not (is_other or call.query) and rules.knows_change_of_status(old, new.get("status"))
    if not is_known:
        # First of all: the rules of the kind rely on the types of the fields.
        check_fields(call, rules, new)
    if part:
        rules.change_status(call, before, new)
    else:
        if rules.has_status:
            _keep(before, new, "status")
        rules.change(call, before, new)
    if new == before:
        return old
    if is_other:
        _check_other(context, resource, metadata, before["metadata"])
    if call.request.user.node:
        check_node_object(call, before, new)
    if rules.has_generation and new.get("spec") != before.get("spec"):
        metadata["generation"] = metadata.get("generation", 0) + 1
    if _is_over(metadata) and not call.dry_run:
        last = context.core.store.remove(resource.store_key, call.namespace, call.name)
        rules.removed(last)
        return last
    if call.dry_run:
        return tried(new)
    version = context.core.store.put(resource.store_key, new)
    rules.changed(old, version)
    return version


def _check_other(context: Context, resource: ServedResource, metadata: Json, before: Json) -> None:
    """What a write may decide in the metadata. Raises StatusError."""
    check_metadata(resource, metadata, before)
    if context.core.collects_garbage and metadata.get("ownerReferences") != before.get("ownerReferences"):
        check_owners(resource, metadata)


def _is_over(metadata: Json) -> bool:
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


def _with_status(old: Json, new: Json) -> Json:
    """`old` with the metadata and the status of `new`."""
    changed = {**old, "metadata": new["metadata"]}
    if "status" in new:
        changed["status"] = new["status"]
    else:
        changed.pop("status", None)
    return changed


def _keep(old: Json, new: Json, part: str) -> None:
    """`part` as it was."""
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)
