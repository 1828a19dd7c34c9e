"""POST to a collection: a new object."""

from __future__ import annotations

from typing import Any

from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import refused_name
from simulation.apiserver.metadata import NOT_IN_NEW, check_metadata, check_namespace, strip_new, typed
from simulation.apiserver.ownership import check_owners
from simulation.apiserver.requests import Call, ObjectAnswer
from simulation.apiserver.resources import NAMESPACES, ServedResource
from simulation.apiserver.status import Json, StatusError, already_exists, forbidden, invalid, not_found, required
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context, tried
from simulation.apiserver.verbs.field_validation import check_fields

_LONGEST_GENERATED = 63


def create(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    body = call.request.body
    value = typed(resource.kind, resource.api_version, body if type(body) is dict else call.object_body())
    if resource.storage:
        value = context.rules(resource).stored_of(resource, value)
    return context.answer(call, create_value(context, call, value), 201)


def create_value(context: Context, call: Call, value: Json) -> Version:
    """Store an object that is typed already. Its top and its metadata are the server's own. Raises StatusError."""
    resource, namespace, core = call.resource, call.namespace, context.core
    collections = core.store.of
    rules = context.kinds[resource.store_key]
    metadata: dict[str, Any] = value["metadata"]
    if not namespace or metadata.get("namespace") != namespace:
        check_namespace(resource, namespace, metadata)
    if not NOT_IN_NEW.isdisjoint(metadata):
        strip_new(metadata)
    name = metadata.get("name") or _generated_name(resource, core, metadata)
    fault = rules.name_fault(name)
    if fault is not None:
        raise refused_name(resource, name, fault)
    if resource.namespaced:
        home = collections["namespaces"].get(("", namespace))
        if home is None or "deletionTimestamp" in home.object["metadata"]:
            raise _refused_by_namespace(call, name, home)
    metadata["uid"] = core.new_uid()
    metadata["creationTimestamp"] = core.timestamp()
    if rules.has_generation:
        metadata["generation"] = 1
    if "labels" in metadata or "annotations" in metadata:
        check_metadata(resource, metadata)
    if core.collects_garbage and "ownerReferences" in metadata:
        check_owners(resource, metadata)
    check_fields(call, rules, value)
    rules.prepare(call, value)
    if call.request.user.node:
        check_node_object(call, None, value)
    collection = collections[resource.store_key]
    key = (namespace, name)
    if collection.get(key) is not None:
        raise already_exists(resource, name)
    if call.dry_run:
        return tried(value)
    version = collection.put(key, value)
    rules.created(version)
    return version


def _generated_name(resource: ServedResource, core: Core, metadata: Json) -> str:
    """The name of an object that has none. Raises StatusError (422) when it does not say how it is to begin."""
    if not metadata.get("generateName"):
        raise invalid(resource, "", [required("metadata.name", "name or generateName is required")])
    name: str = metadata["generateName"][: _LONGEST_GENERATED - 5] + core.suffix()
    metadata["name"] = name
    return name


def _refused_by_namespace(call: Call, name: str, home: Version | None) -> StatusError:
    """The namespace of a new object is not there, or on its way out."""
    if home is None:
        return not_found(NAMESPACES, call.namespace)
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {call.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return forbidden(call.resource, name, why, [cause])
