"""The metadata of objects: fields of clients, fields of the server, and rules on a write.

Pure. A write that breaks a rule raises StatusError.
"""

from __future__ import annotations

from typing import Any

from simulation.apiserver.kinds.table import ServedResource, find
from simulation.apiserver.schemas.messages import message_kinds
from simulation.apiserver.status import Json, bad_request, conflict

_SERVERS_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
}
"""Where a kube-apiserver keeps the types of a group, if not with all the others."""
NOT_IN_NEW = frozenset(_SERVERS_OWN) - {"generation"} | {"resourceVersion"}
"""Fields that a client cannot set in a new object."""
_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion")
_LEFT_OUT_WHEN_EMPTY = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_MAPS_OF_TEXTS = ("annotations", "labels")
_NEVER_KEPT = ("managedFields", "selfLink")


def typed(resource: ServedResource, value: Json) -> Json:
    """The object with its own top and metadata, and the type that the path asks for.

    Raises StatusError (400).
    """
    own = without_nulls(value)
    check_type(resource, own)
    metadata = own.get("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("the metadata of the object is not an object")
    metadata = {name: part for name, part in metadata.items() if part is not None and name not in _NEVER_KEPT}
    for name in _MAPS_OF_TEXTS:
        if metadata.get(name):
            metadata[name] = nulls_as_texts(metadata[name])
    for name in _TEXTS:
        if not isinstance(metadata.get(name, ""), str):
            raise bad_request(f"metadata.{name} is not text")
    for name in _LEFT_OUT_WHEN_EMPTY:
        if name in metadata and metadata[name] in ({}, [], ""):
            del metadata[name]
    return {**own, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}


def check_type(resource: ServedResource, value: Json) -> None:
    """Check that the object is of that kind and version, as far as it says. Raises StatusError (400)."""
    kind, version = value.get("kind") or resource.kind, value.get("apiVersion") or resource.api_version
    if (kind, version) == (resource.kind, resource.api_version):
        return
    if resource.is_defined or (kind == resource.kind and _shows_the_same(resource, str(version))):
        what, found, expected = ("kind", kind, resource.kind)
        if kind == resource.kind:
            what, found, expected = ("API version", version, resource.api_version)
        raise bad_request(f"the {what} in the data ({found}) does not match the expected {what} ({expected})")
    short = str(version).rpartition("/")[2]
    if f"{version}/{kind}" in message_kinds() or kind == "Status":
        inside = resource.group.partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({inside}.{resource.kind}): unknown conversion"
    else:
        scheme = _SCHEMES.get(resource.group, "pkg/api/legacyscheme/scheme.go:30")
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
    raise bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')


def _shows_the_same(resource: ServedResource, api_version: str) -> bool:
    """Whether that version of the resource shows the same stored objects."""
    group, _, version = api_version.rpartition("/")
    other = find(group, version, resource.plural)
    return other is not None and other.store_key == resource.store_key


def nulls_as_texts(texts: Any) -> Any:
    """A map of texts in which null is the empty text, as Go reads it."""
    if not isinstance(texts, dict) or None not in texts.values():
        return texts
    return {name: "" if text is None else text for name, text in texts.items()}


def without_nulls(value: Json) -> Json:
    """A copy without the fields that are null."""
    return {name: part for name, part in value.items() if part is not None}


def check_name(name: str, metadata: Json) -> None:
    """Use the name of the path; a different one in the object is an error."""
    if metadata.setdefault("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")


def check_namespace(resource: ServedResource, namespace: str, metadata: Json) -> None:
    """Use the namespace of the path; a different one in the object is an error."""
    if metadata.get("namespace") == namespace and namespace:
        return
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    metadata["namespace"] = metadata.get("namespace") or namespace
    if metadata["namespace"] != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def strip_new(metadata: Json, *, dry_run: bool = False) -> None:
    """Remove the fields in `NOT_IN_NEW`. Raises StatusError (400).

    A dry run does not come to the store, which refuses a resourceVersion.
    """
    if metadata.get("resourceVersion") and not dry_run:
        raise bad_request("resourceVersion should not be set on objects to be created")
    for name in [name for name in metadata if name in NOT_IN_NEW]:
        if name != "resourceVersion" or not metadata[name]:
            del metadata[name]


def is_same(new: Json, old: Json) -> bool:
    """Whether nothing in the metadata differs; in Python, 1 is equal to true."""
    return new == old and new.get("ownerReferences") is old.get("ownerReferences")


def check_version(resource: ServedResource, name: str, old: Json, new: Json, *, patched: bool) -> None:
    """Check the preconditions in the metadata `new`. Raises StatusError (409).

    A wrong UID is a conflict in a whole object; in a patch (`patched`) it is a field that cannot change, which
    `pipeline.validate` says.
    """
    uid = new.get("uid")
    if uid and uid != old["uid"] and not patched:
        key = "/".join(filter(None, ("/registry", resource.plural, old.get("namespace", ""), name)))
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['uid']}"
        )
        raise conflict(resource, name, why)
    version = new.get("resourceVersion")
    if version and version != old["resourceVersion"]:
        raise conflict(resource, name)


def keep_old(old: Json, new: Json) -> None:
    """Restore the fields that a write cannot change. A wrong UID stays, and is refused later."""
    if not new.get("uid"):
        new["uid"] = old["uid"]
    for field in _SERVERS_OWN[1:]:
        if field in old:
            new[field] = old[field]
        elif field in new:
            del new[field]
    new["resourceVersion"] = old["resourceVersion"]
