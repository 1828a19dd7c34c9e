"""What a kind may decide about its objects while the verbs do the rest; and what is decided where nobody does.

A kind is a subclass of `KindRules`. Objects that a method gets as `value` or `new` are its own at the top and in their
metadata (it may set fields there); everything deeper, and `old`, is shared and must be replaced, not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.documents.codec import DocumentError, from_builtins
from config.objects import ApiStruct
from config.values.name_rules import Refusal, dns_subdomain
from simulation.apiserver.core import Core
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, invalid, invalid_value
from simulation.apiserver.store import Version


class KindRules:
    """See the module. `struct`: what the objects decode to, for checks; None when this program knows no such kind."""

    struct: type[ApiStruct] | None = None
    has_status = False
    has_generation = False
    create_on_update = False
    """Whether PUT of an object that is not there makes it."""
    unconditional_update = True
    """Whether PUT without a resourceVersion is let through."""
    answers_with_object = False
    """Whether DELETE answers with the object that is gone, not with a Status."""
    name_fault: Callable[[str], Refusal] = staticmethod(dns_subdomain)
    """What is wrong with a name."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def prepare(self, call: Call, value: Json) -> None:
        """Defaults and admission of a new object. Raises StatusError."""

    def change(self, call: Call, old: Json, new: Json) -> None:
        """Defaults, admission and validation of a change by the main resource. Raises StatusError."""

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        """A change of the part `call.target.subresource`; all but status and metadata are those of `old` already."""

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        """Whether an object that is as `old` was but for its status has no unknown field, and none of a wrong type."""
        return False

    def created(self, version: Version) -> None:
        """An object is there, and the caller will be told."""

    def changed(self, old: Version, new: Version) -> None:
        """An object has another version."""

    def grace(self, old: Version, options: Json) -> int:
        """How many seconds the object stays after a DELETE; 0 for none."""
        return 0

    def is_told_first(self, old: Version) -> bool:
        """Whether an object that goes at once is marked with a grace of 0 before, so that who watches it knows."""
        return False

    def removed(self, last: Version) -> None:
        """An object is gone."""

    # --- the shape of objects ---------------------------------------------------------------------------------------

    def seen_in(self, resource: ServedResource, version: Version) -> Version:
        """How a stored version looks in that resource, which may be one of several that show the same objects."""
        return version

    def stored_of(self, resource: ServedResource, value: Json) -> Json:
        """How what was sent to that resource is stored."""
        return value

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        """The object as a struct. Raises StatusError (400) when a field has the wrong type."""
        struct = self.struct
        if struct is None:
            return None
        try:
            return from_builtins(value, struct)
        except DocumentError as error:
            kind, version = resource.kind, resource.version
            raise bad_request(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error.path.removeprefix("$.")}: '
                f"{error.reason}"
            ) from None


def refused_name(resource: ServedResource, name: str, fault: tuple[str, str]) -> StatusError:
    """A 422 for a name with that fault."""
    return invalid(resource, name, [invalid_value("metadata.name", name, " ".join(fault))])


def with_default(value: Json, **defaults: Any) -> Json:
    """`value` with what is absent (or null) in it."""
    missing = {name: default for name, default in defaults.items() if value.get(name) is None}
    return {**value, **missing} if missing else value


def faults_as_invalid(resource: ServedResource, name: str, faults: tuple[DocumentError, ...]) -> StatusError:
    """A 422 with one cause per fault of a document."""
    causes = []
    for fault in faults:
        text = f"{fault.reason}; {fault.hint}" if fault.hint else fault.reason
        is_missing = "required" in fault.reason.lower()
        reason = "FieldValueRequired" if is_missing else "FieldValueInvalid"
        word = "Required value" if is_missing else "Invalid value"
        causes.append((reason, f"{word}: {text}", fault.path.removeprefix("$.")))
    return invalid(resource, name, causes)
