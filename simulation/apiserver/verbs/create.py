"""POST to a collection: a new object."""

from __future__ import annotations

from typing import Any

from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.kinds.rules import check_name
from simulation.apiserver.metadata import check_metadata, check_namespace, strip_new, typed
from simulation.apiserver.ownership import check_owners
from simulation.apiserver.requests import Call, ObjectAnswer
from simulation.apiserver.resources import NAMESPACES
from simulation.apiserver.status import Json, already_exists, forbidden, invalid, not_found, required
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.field_validation import check_fields

_LONGEST_GENERATED = 63


def create(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    value = typed(resource.kind, resource.api_version, call.object_body())
    if resource.storage:
        value = context.rules(resource).stored_of(resource, value)
    return context.answer(call, create_value(context, call, value), 201)


def create_value(context: Context, call: Call, value: Json) -> Version:
    """Store an object that is typed already. Its top and its metadata are the server's own. Raises StatusError."""
    resource, core = call.resource, context.core
    rules = context.kinds[resource.store_key]
    metadata: dict[str, Any] = value["metadata"]
    check_namespace(resource, call.namespace, metadata)
    strip_new(metadata)
    name = metadata.get("name")
    if not name and metadata.get("generateName"):
        name = metadata["name"] = metadata["generateName"][: _LONGEST_GENERATED - 5] + core.suffix()
    if not name:
        raise invalid(resource, "", [required("metadata.name", "name or generateName is required")])
    check_name(rules, resource, name)
    if resource.namespaced:
        _check_namespace_lives(context, call, name)
    metadata["uid"] = core.new_uid()
    metadata["creationTimestamp"] = core.timestamp()
    if rules.has_generation:
        metadata["generation"] = 1
    if "labels" in metadata or "annotations" in metadata:
        check_metadata(resource, metadata)
    if core.options.garbage_collection and "ownerReferences" in metadata:
        check_owners(resource, metadata)
    check_fields(call, rules, value)
    rules.prepare(call, value)
    if call.user.node:
        check_node_object(call, None, value)
    if core.store.get(resource.store_key, metadata.get("namespace", ""), name) is not None:
        raise already_exists(resource, name)
    version = context.put(call, value)
    if not call.dry_run:
        rules.created(version)
    return version


def _check_namespace_lives(context: Context, call: Call, name: str) -> None:
    namespace = context.core.store.get("namespaces", "", call.namespace)
    if namespace is None:
        raise not_found(NAMESPACES, call.namespace)
    if "deletionTimestamp" in namespace.object["metadata"]:
        why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {call.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(call.resource, name, why, [cause])
