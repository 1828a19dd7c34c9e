"""The rules for writes of a kind: generic ones, from the table of kinds and the structs of `config`.

A kind with rules of its own is a subclass of `KindRules`. Objects passed as `value` or `new` may be changed at the top
and in their metadata; everything deeper, and `old`, is shared and must be replaced instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from config.documents.codec import DocumentError, from_builtins, unknown_fields
from config.objects import ApiStruct
from simulation.apiserver.core import Core
from simulation.apiserver.documents.openapi_schemas import struct_of
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, forbidden_field, invalid
from simulation.apiserver.store import Version

_DIRECTIVES = ("Ignore", "Warn", "Strict")


class KindRules:
    """Without a resource there are neither defaults nor a struct."""

    has_generation = False

    def __init__(self, core: Core, resource: ServedResource | None = None) -> None:
        self.core = core
        self._resource = resource
        self._struct = None if resource is None else struct_of(resource)

    def check(self, call: ResourceCall, value: Json) -> None:
        """Types of fields and unknown fields. Raises StatusError (400)."""
        read = self.read(call.resource, value)
        if getattr(read, "unknown", None) is not None:
            assert read is not None
            tell_of_unknown(call, [path.removeprefix("$.") for path in unknown_fields(read)])

    def prepare(self, call: ResourceCall, value: Json) -> None:
        """Defaults and admission of a new object. Raises StatusError."""
        resource = call.resource
        for name, default in resource.defaults.items():
            if isinstance(default, Mapping):
                value[name] = {**default, **(value.get(name) or {})}
            else:
                value[name] = value.get(name) or default
        if resource.first_status is not None:
            value["status"] = dict(resource.first_status)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        """Defaults, admission and validation of a change by the main resource. Raises StatusError."""
        if not call.resource.fixed:
            return
        before, after = old.get("spec") or {}, new.get("spec") or {}
        kind = call.resource.singular
        causes = [
            forbidden_field(f"spec.{field}", f"{kind} updates may not change what was set")
            for field in call.resource.fixed
            if before.get(field) and before[field] != after.get(field)
        ]
        if causes:
            raise invalid(call.resource, call.name, causes)
        new["spec"] = after

    def change_status(self, call: ResourceCall, old: Json, new: Json) -> None:
        """A change through the subresource `call.target.subresource`.

        Everything except status and metadata stays as in `old`.
        """

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        """Whether an object that differs from `old` only in this status needs no check of its fields."""
        return False

    def created(self, version: Version) -> None:
        """A new object is stored."""

    def changed(self, old: Version, new: Version) -> None:
        """A new version of an object is stored."""

    def removed(self, last: Version) -> None:
        """An object is gone."""

    def grace(self, old: Version, options: Json) -> int:
        """Seconds that the object stays after a DELETE; 0 for none."""
        return 0

    def is_told_first(self, old: Version) -> bool:
        """Whether watchers get a deletion with a grace of 0 before the object is removed at once."""
        return False

    # --- the shape of objects ---------------------------------------------------------------------------------------

    def seen_in(self, resource: ServedResource, version: Version) -> Version:
        """A stored version in the shape of that resource, which may be one of several for the same objects."""
        return version

    def stored_of(self, resource: ServedResource, value: Json) -> Json:
        """An object that a client sent to that resource, in its stored shape."""
        return value

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        """The object as a struct; None without one. Raises StatusError (400) when a field has the wrong type."""
        if self._struct is None:
            return None
        try:
            return from_builtins(value, self._struct)
        except DocumentError as error:
            raise undecodable(resource, error) from None


def undecodable(resource: ServedResource, error: DocumentError, above: str = "") -> StatusError:
    """The refusal of an object with a field of the wrong type. `above`: the path of the decoded part."""
    kind, path = resource.kind, above + error.path.removeprefix("$.")
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {path}: {error.reason}')


def tell_of_unknown(call: ResourceCall, paths: Sequence[str]) -> None:
    """Warn of unknown fields, or refuse them, as `fieldValidation` says. Raises StatusError (400)."""
    directive = call.query.get("fieldValidation", "Warn")
    if directive not in _DIRECTIVES:
        raise bad_request(f'fieldValidation: Unsupported value: "{directive}": supported values: Ignore, Strict, Warn')
    if not paths or directive == "Ignore":
        return
    texts = [f'unknown field "{path}"' for path in paths]
    if directive == "Strict":
        kind, version = call.resource.kind, call.resource.version
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {", ".join(texts)}'
        )
    call.warnings.extend(texts)


def faults_as_invalid(resource: ServedResource, name: str, faults: Sequence[DocumentError]) -> StatusError:
    """A 422 with one cause per fault of a document."""
    causes = []
    for fault in faults:
        text = f"{fault.reason}; {fault.hint}" if fault.hint else fault.reason
        kind = "Required" if "required" in fault.reason.lower() else "Invalid"
        causes.append((f"FieldValue{kind}", f"{kind} value: {text}", fault.path.removeprefix("$.")))
    return invalid(resource, name, causes)
