"""POST to a collection: a new object."""

from __future__ import annotations

from config.values.name_rules import dns_label, dns_subdomain
from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.core import Core
from simulation.apiserver.garbage.ownership import check_owners
from simulation.apiserver.metadata import check_metadata, check_namespace, strip_new, typed
from simulation.apiserver.requests import ObjectAnswer, ResourceCall
from simulation.apiserver.resources import NAMESPACES, ServedResource
from simulation.apiserver.status import (
    Json,
    StatusError,
    already_exists,
    forbidden,
    invalid,
    invalid_value,
    not_found,
    required,
)
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context, tried

_LONGEST_GENERATED = 63


def create(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    value = typed(resource.kind, resource.api_version, call.object_body())
    return context.answer(call, create_value(context, call, context.rules(resource).stored_of(resource, value)), 201)


def create_value(context: Context, call: ResourceCall, value: Json) -> Version:
    """Store a typed object, whose top and metadata may be changed. Raises StatusError."""
    resource, namespace, core = call.resource, call.namespace, context.core
    rules, metadata = context.rules(resource), value["metadata"]
    check_namespace(resource, namespace, metadata)
    strip_new(metadata)
    name = _named(resource, core, metadata)
    if resource.namespaced:
        home = core.store.get(NAMESPACES.store_key, "", namespace)
        if home is None or "deletionTimestamp" in home.object["metadata"]:
            raise _refused_by_namespace(call, name, home)
    metadata["uid"] = core.new_uid()
    metadata["creationTimestamp"] = core.timestamp()
    if rules.has_generation:
        metadata["generation"] = 1
    check_metadata(resource, metadata)
    if core.collects_garbage:
        check_owners(resource, metadata)
    rules.check(call, value)
    rules.prepare(call, value)
    check_node_object(call, None, value)
    collection, key = context.collection(resource), (namespace, name)
    if collection.get(key) is not None:
        raise already_exists(resource, name)
    if call.dry_run:
        return tried(value)
    version = collection.put(key, value)
    rules.created(version)
    return version


def _named(resource: ServedResource, core: Core, metadata: Json) -> str:
    """The name of a new object, generated where it has none. Raises StatusError (422)."""
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            raise invalid(resource, "", [required("metadata.name", "name or generateName is required")])
        metadata["name"] = metadata["generateName"][: _LONGEST_GENERATED - 5] + core.suffix()
    name: str = metadata["name"]
    fault = (dns_label if resource.label_names else dns_subdomain)(name)
    if fault is not None:
        raise invalid(resource, name, [invalid_value("metadata.name", name, " ".join(fault))])
    return name


def _refused_by_namespace(call: ResourceCall, name: str, home: Version | None) -> StatusError:
    """The namespace of a new object does not exist, or is being deleted."""
    if home is None:
        return not_found(NAMESPACES, call.namespace)
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {call.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return forbidden(call.resource, name, why, [cause])
