"""POST, PUT and PATCH: new objects, and new versions of those that exist.

All three make a whole object, which `create_value` or `change` stores. `change` checks preconditions and guards what
only the server may change. It keeps an object and its subresources apart, applies the rules of the kind, and counts the
generation. It ends an object whose last finalizer is gone. A change that changes nothing makes no new version.

Server-side apply merges by the rules of a strategic merge patch, and creates what does not exist. Fields that the same
manager applies no longer go; two managers of one field do not conflict: the last one wins.
"""

from __future__ import annotations

from config.patches import PatchError, apply_json_patch, apply_strategic, make_strategic, merge_patch, schema_for
from config.values.name_rules import dns_label, dns_subdomain, path_segment
from simulation.apiserver.admission import mutate, validate
from simulation.apiserver.authorization import check_node_object
from simulation.apiserver.core import Core
from simulation.apiserver.custom.shapes import merged_lists
from simulation.apiserver.garbage.ownership import check_owners
from simulation.apiserver.metadata import check_metadata, check_name, check_namespace, keep_old, strip_new, typed
from simulation.apiserver.requests import (
    APPLY,
    JSON_PATCH,
    MERGE,
    PATCH_TYPES,
    STRATEGIC,
    ObjectAnswer,
    ResourceCall,
    media_of,
)
from simulation.apiserver.resources import NAMESPACES, ServedResource
from simulation.apiserver.status import (
    Json,
    StatusError,
    already_exists,
    bad_request,
    forbidden,
    invalid,
    invalid_value,
    not_found,
    required,
    unsupported_media_type,
)
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.context import Context

CUSTOM_PATCH_TYPES = tuple(media for media in PATCH_TYPES if media != STRATEGIC)
"""A definition does not say how a strategic merge patch merges lists."""
APPLIED_AT_MOST = 10_000
"""The number of remembered applied objects, the newest ones."""
_LONGEST_GENERATED = 63


# --- the verbs --------------------------------------------------------------------------------------------------------


def create(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    return _store(context, call, None, call.object_body())


def update(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    return _store(context, call, _old(context, call, may_create=call.resource.create_on_update), call.object_body())


def patch(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    resource, media = call.resource, media_of(call.request.content_type)
    accepted = CUSTOM_PATCH_TYPES if resource.is_defined else PATCH_TYPES
    if media not in accepted:
        raise unsupported_media_type(media, accepted)
    old = _old(context, call, may_create=media == APPLY)
    manager = call.query.get("fieldManager", "")
    if old is None:
        answer = _store(context, call, None, call.object_body())
    else:
        before = context.rules(resource).seen_in(resource, old).object
        answer = _store(context, call, old, merged(call, before, media, context.applied.get((old.uid, manager))))
    if media == APPLY and not call.dry_run:
        key = answer.version.uid, manager
        context.applied.pop(key, None)
        context.applied[key] = call.object_body()
        if len(context.applied) > APPLIED_AT_MOST:
            del context.applied[next(iter(context.applied))]
    return answer


def _old(context: Context, call: ResourceCall, *, may_create: bool) -> Version | None:
    """The object before; None when it is to be created. Raises StatusError (404)."""
    if may_create and not call.target.subresource:
        return context.collection(call.resource).get((call.namespace, call.name))
    return context.find(call)


def _store(context: Context, call: ResourceCall, old: Version | None, value: Json) -> ObjectAnswer:
    """Raises StatusError."""
    resource = call.resource
    value = context.rules(resource).stored_of(resource, typed(resource.kind, resource.api_version, value))
    metadata = value["metadata"]
    if old is None:
        if call.name:
            check_name(call.name, metadata)
            metadata.pop("resourceVersion", None)
        return context.answer(call, create_value(context, call, value), 201)
    if call.verb == "update" and not (resource.blind_update or metadata.get("resourceVersion")):
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource, call.name, [cause])
    return context.answer(call, change(context, call, old, value))


# --- new objects ------------------------------------------------------------------------------------------------------


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
    admission = call.request.admission
    if admission is not None:
        admission.keep(metadata)
        name = metadata["name"]
    check_metadata(resource, metadata)
    if core.collects_garbage:
        check_owners(resource, metadata)
    rules.check(call, value)
    rules.prepare(call, value)
    if admission is not None and mutate(core.store, call, None, value):
        check_metadata(resource, metadata)
        rules.check(call, value)
        rules.prepare(call, value)
    check_node_object(call, None, value)
    collection, key = context.collection(resource), (namespace, name)
    if collection.get(key) is not None:
        raise already_exists(resource, name)
    if admission is not None:
        validate(core.store, call, None, value)
    if call.dry_run:
        return Version(key, value, 0)
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
    plain = name.replace(":", ".") if resource.signer_names else name
    spelling = path_segment if resource.path_names else dns_label if resource.label_names else dns_subdomain
    fault = spelling(plain)
    if fault is not None:
        raise invalid(resource, name, [invalid_value("metadata.name", name, " ".join(fault))])
    return name


def _refused_by_namespace(call: ResourceCall, name: str, home: Version | None) -> StatusError:
    """The namespace of a new object does not exist, or is being deleted."""
    if home is None:
        return not_found(NAMESPACES, call.namespace)
    why = f"namespace {call.namespace} is being terminated"
    cause = {"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"}
    text = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    return forbidden(call.resource, name, text, [cause])


# --- changes ----------------------------------------------------------------------------------------------------------


def change(context: Context, call: ResourceCall, old: Version, new: Json) -> Version:
    """Store `new`, whose top and metadata may be changed, in place of `old`. Raises StatusError."""
    resource, before, part = call.resource, old.object, call.target.subresource
    rules = context.rules(resource)
    metadata: Json = new["metadata"]
    is_other = keep_old(resource, call.name, before["metadata"], metadata, patched=call.request.method == "PATCH")
    if part == "status":
        new = {**before, "metadata": metadata, "status": new.get("status")}
    elif not part and "status" in resource.subresources:
        new["status"] = before.get("status")
    if "status" in new and new["status"] is None:
        del new["status"]
    is_status = part == "status" and not is_other and not call.query
    if not (is_status and rules.knows_change_of_status(old, new.get("status"))):
        # The rules of the kind rely on the types of the fields.
        rules.check(call, new)
    (rules.change_status if part else rules.change)(call, before, new)
    admission = call.request.admission
    if admission is not None and mutate(context.core.store, call, before, new):
        is_other = keep_old(resource, call.name, before["metadata"], metadata, patched=True)
        rules.check(call, new)
        (rules.change_status if part else rules.change)(call, before, new)
    if new == before:
        return old
    if is_other:
        check_metadata(resource, metadata, before["metadata"])
        owners = [each.get("ownerReferences") for each in (before["metadata"], metadata)]
        if context.core.collects_garbage and owners[0] != owners[1]:
            check_owners(resource, metadata)
    check_node_object(call, before, new)
    if admission is not None:
        validate(context.core.store, call, before, new)
    if rules.has_generation and new.get("spec") != before.get("spec"):
        metadata["generation"] = metadata.get("generation", 0) + 1
    if call.dry_run:
        return Version(old.key, new, 0)
    if _is_over(metadata):
        last = context.core.store.remove(resource.store_key, *old.key)
        rules.removed(last)
        return last
    version = context.collection(resource).put(old.key, new)
    rules.changed(old, version)
    return version


def _is_over(metadata: Json) -> bool:
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


# --- patches ----------------------------------------------------------------------------------------------------------


def merged(call: ResourceCall, before: Json, media: str, last: Json | None = None) -> Json:
    """The object that the patch in the body makes.

    `last`: what its manager applied before. Raises StatusError.
    """
    document, custom = call.body(), call.resource.custom
    if media != JSON_PATCH and not isinstance(document, dict):
        raise bad_request("the body of the patch is not an object")
    try:
        if media == JSON_PATCH:
            patched = apply_json_patch(before, document)
        elif media == MERGE:
            patched = merge_patch(before, document)
        else:
            schema = merged_lists(custom) if custom else schema_for(call.resource.api_version, call.resource.kind)
            if media == APPLY and last is not None:
                before = apply_strategic(before, make_strategic(last, document, schema), schema)
            patched = apply_strategic(before, document, schema)
    except PatchError as error:
        if error.malformed:
            raise bad_request(f"the patch cannot be read: {error}") from None
        raise StatusError(422, "Invalid", f"the patch cannot be applied: {error}", {}) from None
    if not isinstance(patched, dict):
        raise bad_request("the patched object is not an object")
    return patched
