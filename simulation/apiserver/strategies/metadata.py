"""The metadata of objects: fields of clients, fields of the server, and rules on a write.

Pure. A write that breaks a rule raises StatusError.
"""

from __future__ import annotations

from typing import Any

from config.values.name_rules import dns_label, dns_subdomain, label_value, path_segment, qualified_name
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.status import Json, bad_request, conflict, forbidden_field, invalid, invalid_value

_SERVERS_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
NOT_IN_NEW = frozenset(_SERVERS_OWN) | {"resourceVersion"}
"""Fields that a client cannot set in a new object."""
_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion")
_MAPS_OF_TEXTS = ("annotations", "labels")
_NEVER_KEPT = ("managedFields", "selfLink")
ANNOTATION_BYTES_AT_MOST = 256 * 1024
_NOTHING: Json = {}


def typed(resource_kind: str, api_version: str, value: Json) -> Json:
    """The object with its own top and metadata, and the type that the path asks for.

    Raises StatusError (400).
    """
    own = without_nulls(value)
    for field, expected, text in (("apiVersion", api_version, "API version"), ("kind", resource_kind, "kind")):
        found = own.get(field)
        if found and found != expected:
            raise bad_request(f"the {text} in the data ({found}) does not match the expected {text} ({expected})")
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
    return {**own, "kind": resource_kind, "apiVersion": api_version, "metadata": metadata}


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


def strip_new(metadata: Json) -> None:
    """Remove the fields in `NOT_IN_NEW`. Raises StatusError (400)."""
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    for name in [name for name in metadata if name in NOT_IN_NEW]:
        del metadata[name]


def is_same(new: Json, old: Json) -> bool:
    """Whether nothing in the metadata differs; in Python, 1 is equal to true."""
    return new == old and new.get("ownerReferences") is old.get("ownerReferences")


def check_version(resource: ServedResource, name: str, old: Json, new: Json, *, patched: bool) -> None:
    """Check the preconditions in the metadata `new`. Raises StatusError (409, 422).

    A wrong UID is a conflict in a whole object; in a patch (`patched`) it is a field that cannot change.
    """
    uid = new.get("uid")
    if uid and uid != old["uid"]:
        if patched:
            raise invalid(resource, name, [invalid_value("metadata.uid", uid, "field is immutable")])
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['uid']}"
        raise conflict(resource, name, why)
    version = new.get("resourceVersion")
    if version and version != old["resourceVersion"]:
        raise conflict(resource, name)


def keep_old(old: Json, new: Json) -> None:
    """Restore the fields that a write cannot change."""
    for field in _SERVERS_OWN:
        if field in old:
            new[field] = old[field]
        elif field in new:
            del new[field]
    new["resourceVersion"] = old["resourceVersion"]


def check_finalizers(resource: ServedResource, name: str, old: Json, new: Json) -> None:
    """Check that an object that is being deleted gets no new finalizers. Raises StatusError (422)."""
    if "deletionTimestamp" in old:
        added = [one for one in new.get("finalizers") or () if one not in (old.get("finalizers") or ())]
        if added:
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            raise invalid(resource, name, [forbidden_field("metadata.finalizers", why)])


def check_spelling(resource: ServedResource, name: str) -> None:
    """Check the name of a new object. Raises StatusError (422)."""
    plain = name.replace(":", ".") if resource.signer_names else name
    spelling = path_segment if resource.path_names else dns_label if resource.label_names else dns_subdomain
    fault = spelling(plain)
    if fault is not None:
        raise invalid(resource, name, [invalid_value("metadata.name", name, " ".join(fault))])


def check_metadata(resource: ServedResource, metadata: Json, before: Json = _NOTHING) -> None:
    """Check labels and annotations; those unchanged from `before` are valid. Raises StatusError (422)."""
    if metadata.get("labels") == before.get("labels") and metadata.get("annotations") == before.get("annotations"):
        return
    causes = []
    labels = _texts(metadata, "labels")
    for key, value in labels.items():
        for refusal in (qualified_name(key), label_value(value)):
            if refusal is not None:
                causes.append(invalid_value("metadata.labels", f"{key}={value}", " ".join(refusal)))
    annotations = _texts(metadata, "annotations")
    total_bytes = 0
    for key, value in annotations.items():
        refusal = qualified_name(key.lower())
        if refusal is not None:
            causes.append(invalid_value("metadata.annotations", key, " ".join(refusal)))
        total_bytes += len(key.encode()) + len(value.encode())
    if total_bytes > ANNOTATION_BYTES_AT_MOST:
        text = f"Too long: may not be more than {ANNOTATION_BYTES_AT_MOST} bytes"
        causes.append(("FieldValueTooLong", text, "metadata.annotations"))
    if causes:
        raise invalid(resource, metadata.get("name", ""), causes)


def _texts(metadata: Json, field: str) -> dict[str, str]:
    found: Any = metadata.get(field) or {}
    if not isinstance(found, dict) or not all(isinstance(part, str) for part in found.values()):
        raise bad_request(f"metadata.{field} is not a map of strings")
    return found
