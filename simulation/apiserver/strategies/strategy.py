"""What is special about a kind, by its place in the pipeline of writes.

`Strategy` does what most kinds need, from the table of kinds and the structs of `config`. A kind with rules of its own
is a subclass that overrides the method of that place. Each method of a place gets the request, the object before as the
resource of the request shows it (None for a new object), and the object so far. It may change the object's top and its
metadata; everything deeper, and the object before, is shared and must be replaced instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from config.documents.codec import DocumentError, from_builtins, unknown_fields
from config.objects import ApiStruct
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.defaults import default_rules, with_defaults
from simulation.apiserver.kinds.structs import struct_of
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.bodies import APPLY, STRATEGIC, YAML, media_of
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.status import NOTHING, Json, StatusError, bad_request, invalid
from simulation.apiserver.store.store import Version
from simulation.apiserver.versions.conversions import conversion_of


class Strategy:
    """Without a resource there is no struct."""

    keeps_unknown = False
    """Whether fields that nobody knows stay, for a newer agent."""

    def __init__(self, core: Core, resource: ServedResource | None = None) -> None:
        self.core = core
        self._struct = None if resource is None else struct_of(resource)

    # --- the places of the pipeline, in their order -------------------------------------------------------------------

    def decode(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Types of fields, and unknown fields. Raises StatusError (400)."""
        read = self.read(call.resource, value)
        unknown = () if read is None or getattr(read, "unknown", None) is None else unknown_fields(read)
        paths = [path.removeprefix("$.") for path in unknown]
        tell_of_unknown(call, paths)
        for path in () if self.keeps_unknown else paths:
            _drop(value, re.split(r"[.\[\]]+", path.removesuffix("]")))

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        """Whether an object that differs from `old` only in this status needs no `decode`."""
        return False

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Values for what the object leaves out."""
        rules = default_rules(call.resource.api_version, call.resource.kind)
        if rules:
            value.update(with_defaults(value, rules))

    def prune(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Remove what is not stored. Raises StatusError (400)."""

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Set what only the server sets, and take back what this request may not change.

        A main resource and its parts (`call.target.subresource`) change different fields of the same object.
        """
        resource, part = call.resource, call.target.subresource
        if before is None:
            if resource.first_status is not None:
                value["status"] = dict(resource.first_status)
            elif "status" in resource.subresources and not resource.keeps_first_status:
                value.pop("status", None)
        elif part == "status":
            changed = {"metadata": _metadata_of_status(resource, before, value), "status": value.get("status")}
            value.clear()
            value.update({**before, **changed})
        elif not part and "status" in resource.subresources:
            value["status"] = before.get("status")
        if "status" in value and value["status"] is None:
            del value["status"]

    def causes(
        self, call: ResourceCall, before: Json | None, value: Json, of_rules: Sequence[Cause]
    ) -> Sequence[Cause]:
        """All faults of the object but for those of its metadata: `of_rules` are those that the rules find."""
        return of_rules

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """Refuse what the rules of the kind let pass. Raises StatusError (422)."""

    # --- deletion -----------------------------------------------------------------------------------------------------

    def is_over(self, value: Json) -> bool:
        """Whether an object that is being deleted ends now: nothing keeps it any longer."""
        metadata = value["metadata"]
        return (
            "deletionTimestamp" in metadata
            and not metadata.get("finalizers")
            and not metadata.get("deletionGracePeriodSeconds")
        )

    def grace(self, old: Version, options: Json) -> int:
        """Seconds that the object stays after a DELETE; 0 for none."""
        return 0

    def holders(self, old: Version) -> tuple[str, ...]:
        """Finalizers that a deletion adds."""
        return ()

    def is_told_first(self, old: Version) -> bool:
        """Whether watchers get a deletion with a grace of 0 before the object is removed at once."""
        return False

    # --- the shape of objects -----------------------------------------------------------------------------------------

    def ready(self, resource: ServedResource, versions: Sequence[Version]) -> None:
        """Make ready to show all these. May raise ConversionWantedError."""

    def shown(self, resource: ServedResource, version: Version) -> Version:
        """A stored version in the shape of that resource, which may be one of several for the same objects."""
        conversion = conversion_of(resource)
        return version if conversion is None else twin_of(version, resource, conversion.from_stored)

    def stored(self, resource: ServedResource, value: Json) -> Json:
        """An object in the shape of that resource, in its stored shape."""
        conversion = conversion_of(resource)
        return value if conversion is None else conversion.to_stored(value)

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        """The object as a struct; None without one. Raises StatusError (400) when a field has the wrong type."""
        if self._struct is None:
            return None
        try:
            return from_builtins(self.stored(resource, value), self._struct)
        except DocumentError as error:
            raise undecodable(resource, error) from None


class _Twin(Version, eq=False, kw_only=True):
    """A version as one resource shows it."""

    resource: ServedResource


def twin_of(version: Version, resource: ServedResource, shape: Callable[[Json], Json]) -> Version:
    """The version as that resource shows it. It is made once, if no other resource shows it in between."""
    twin = version.twin
    if not isinstance(twin, _Twin) or twin.resource is not resource:
        shown = shape(version.object)
        twin = _Twin(version.key, shown, version.revision, managed=version.managed, resource=resource)
        version.twin = twin
    return twin


def _drop(value: Any, way: Sequence[str]) -> None:
    """Take a field out of an object, which gets copies of what it shares."""
    first, *rest = way
    place: Any = int(first) if isinstance(value, list) and first.isdecimal() else first
    try:
        if not rest:
            value.pop(place, None)
            return
        value[place] = value[place].copy()
        _drop(value[place], rest)
    except (AttributeError, KeyError, IndexError, TypeError):
        return  # A name with a dot in it.


def _metadata_of_status(resource: ServedResource, before: Json, value: Json) -> Json:
    """The metadata after a change of the status: it may not change all of them."""
    was: Json = before["metadata"]
    if resource.is_defined or "*" in resource.fixed_by_status:
        return dict(was)
    metadata: Json = value["metadata"]
    for field in resource.fixed_by_status:
        if field in was:
            metadata[field] = was[field]
        else:
            metadata.pop(field, None)
    return metadata


def undecodable(resource: ServedResource, error: DocumentError, above: str = "") -> StatusError:
    """The refusal of an object with a field of the wrong type. `above`: the path of the decoded part."""
    return bad_request(f"{cannot_handle(resource)}: {above}{error.path.removeprefix('$.')}: {error.reason}")


def cannot_handle(resource: ServedResource) -> str:
    """The beginning of what is said of an object that cannot be read."""
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


_IN_YAML = "yaml: unmarshal errors:"


def tell_of_unknown(call: ResourceCall, paths: Sequence[str]) -> None:
    """Warn of unknown fields and repeated keys, or refuse them, as `fieldValidation` says.

    Raises StatusError (400).
    """
    directive = call.query.get("fieldValidation") or "Warn"
    if directive == "Ignore":
        return
    repeated, unknown = call.repeated_keys(), [f'unknown field "{path}"' for path in paths]
    media = media_of(call.request.content_type)
    # The text of a custom resource is read strictly before its schema is known.
    is_first = media in (YAML, APPLY) or call.resource.is_defined
    texts = [*repeated, *unknown] if is_first else [*unknown, *repeated]
    if not texts:
        return
    if directive == "Strict":
        if repeated and media == APPLY:
            lines = "".join(f"\n  {line}" for line in repeated)
            raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {_IN_YAML}{lines}")
        if repeated and media == YAML:
            texts = ["".join((_IN_YAML, *(f"\n  {line}" for line in repeated))), *unknown]
        why = f"strict decoding error: {', '.join(texts)}"
        if call.verb == "patch" and media != APPLY:
            raise invalid_patch(call, why)
        raise bad_request(f"{cannot_handle(call.resource)}: {why}")
    call.warnings.extend(texts)


def invalid_patch(call: ResourceCall, why: str) -> StatusError:
    """The refusal of a patch.

    A real server shows the patched object for a merge patch; here it is the patch.
    """
    body = call.body()
    text = _as_go_shows(body) if media_of(call.request.content_type) == STRATEGIC else causes.shown(body)
    return invalid(NOTHING, "", [causes.invalid("patch", text, why)])


def _as_go_shows(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_as_go_shows(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_as_go_shows, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
