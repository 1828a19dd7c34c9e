"""A new version of an existing object: PUT, and what PATCH comes to in the end.

Every change goes through here: preconditions, what only the server may change, the split between an object and its
parts, the rules of the kind, generation, the end of an object whose last finalizer is gone. A change that changes
nothing makes no new version.
"""

from __future__ import annotations

from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.garbage.ownership import check_owners
from simulation.apiserver.metadata import check_metadata, check_name, check_namespace, keep_old, typed
from simulation.apiserver.requests import ObjectAnswer, ResourceCall
from simulation.apiserver.status import Json, invalid, invalid_value, not_found
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context, tried
from simulation.apiserver.verbs.create import create_value


def update(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    value = typed(resource.kind, resource.api_version, call.object_body())
    value = context.rules(resource).stored_of(resource, value)
    check_namespace(resource, call.namespace, value["metadata"])
    old = context.collection(resource).get((call.namespace, call.name))
    if old is None:
        if not resource.create_on_update or call.target.sub is not None:
            raise not_found(resource, call.name)
        check_name(call.name, value["metadata"])
        value["metadata"].pop("resourceVersion", None)
        return context.answer(call, create_value(context, call, value), 201)
    if not value["metadata"].get("resourceVersion") and not resource.blind_update:
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource, call.name, [cause])
    return context.answer(call, change(context, call, old, value))


def change(context: Context, call: ResourceCall, old: Version, new: Json) -> Version:
    """Store `new`, whose top and metadata may be changed, in place of `old`. Raises StatusError."""
    resource, before = call.resource, old.object
    rules = context.rules(resource)
    metadata: Json = new["metadata"]
    is_other = keep_old(resource, call.name, before["metadata"], metadata, patched=call.request.method == "PATCH")
    if call.target.subresource == "status":
        status = {"status": new["status"]} if "status" in new else {}
        new = {**_without_status(before), "metadata": metadata, **status}
    is_status = call.target.subresource == "status" and not is_other and not call.query
    if not (is_status and rules.knows_change_of_status(old, new.get("status"))):
        # The rules of the kind rely on the types of the fields.
        rules.check(call, new)
    if call.target.subresource:
        rules.change_status(call, before, new)
    else:
        if "status" in resource.subresources:
            kept = {"status": before["status"]} if "status" in before else {}
            new.pop("status", None)
            new.update(kept)
        rules.change(call, before, new)
    if new == before:
        return old
    if is_other:
        check_metadata(resource, metadata, before["metadata"])
        if context.core.collects_garbage and metadata.get("ownerReferences") != before["metadata"].get(
            "ownerReferences"
        ):
            check_owners(resource, metadata)
    check_node_object(call, before, new)
    if rules.has_generation and new.get("spec") != before.get("spec"):
        metadata["generation"] = metadata.get("generation", 0) + 1
    if call.dry_run:
        return tried(new)
    if _is_over(metadata):
        last = context.core.store.remove(resource.store_key, *old.key)
        rules.removed(last)
        return last
    version = context.core.store.put(resource.store_key, new)
    rules.changed(old, version)
    return version


def _is_over(metadata: Json) -> bool:
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


def _without_status(value: Json) -> Json:
    return {name: part for name, part in value.items() if name != "status"}
