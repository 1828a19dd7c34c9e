"""Managed fields: whoever writes an object owns the fields that he sets.

The manager is the `fieldManager` of the request, or the program as its User-Agent says. What defaults set is owned,
too; what plugins, webhooks and the server itself set is not, since they come later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from config.caches import KIB, MIB, KeptBytes
from simulation.apiserver.fields.comparison import Comparison, compared, compared_as_they_are
from simulation.apiserver.fields.managers import (
    Entry,
    Managed,
    Manager,
    after_update,
    clears,
    differ,
    last_of_each,
    read_managed,
    updater,
)
from simulation.apiserver.fields.resets import changeable, reset
from simulation.apiserver.fields.resources import type_of
from simulation.apiserver.fields.sets import NONE, Fields
from simulation.apiserver.fields.shapes import Shape, shape_of
from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.requests.bodies import APPLY
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, forbidden_field, invalid, invalid_value, required
from simulation.apiserver.store.store import Version

MANAGER_BYTES_AT_MOST = 128
SHAPES_BYTES, SHAPE_BYTES = 2 * MIB, 16 * KIB
PART_BYTES = 96
"""About what a part of a shape takes, with the field that it stands for."""
_NOTHING: Json = {}
"""An object before it is made."""


def manage(this: Write) -> None:
    """Find who owns which fields after this write, unless an apply has done so."""
    if this.managed is not None:
        return
    known, before = _known(this), this.before
    kind = type_of(this.call.resource)
    if kind is None or (before is not None and not known):
        # Nobody has owned anything, and it stays so until the first apply.
        this.managed = known
        return
    manager = updater(manager_of(this.call), this.call.resource.api_version, this.call.target.subresource)
    now = this.context.core.timestamp()
    if before is None and not known:
        fields = _fields_of_new(this, kind, manager)
        this.managed = (Entry(manager, manager.api_version, fields, now),) if fields else ()
    else:
        changes = Changed(this, _NOTHING if before is None else before, this.value)
        this.managed = after_update(known, changes, manager, now)


_of_shapes: KeptBytes[tuple[FieldType, str, str, Shape], Fields] = KeptBytes(SHAPES_BYTES, SHAPE_BYTES)


def _fields_of_new(this: Write, kind: FieldType, manager: Manager) -> Fields:
    """What the manager of a new object owns."""
    key = (kind, this.call.resource.group_resource, manager.subresource, shape_of(this.value, kind))
    try:
        return _of_shapes[key]
    except KeyError:
        made = after_update((), Changed(this, _NOTHING, this.value), manager, "")
    return _of_shapes.keep(key, made[0].fields if made else NONE, PART_BYTES * len(key[-1]))


def _known(this: Write) -> Managed:
    """The owners before, or those that a client has put in their place."""
    known, sent = () if this.old is None else last_of_each(this.old.managed), this.sent_managed
    if sent is None or this.call.target.subresource:
        return known
    if clears(sent):
        return ()
    try:
        read = read_managed(sent)
    except ValueError:
        return known
    return read if read and differ(read, known) else known


class Changed:
    """What a write changes, in the fields of each version.

    Fields that such a request never changes are not among them. `as_they_are`: empty maps are there, even where Go
    leaves them out.
    """

    def __init__(self, this: Write, before: Json, after: Json, *, as_they_are: bool = False) -> None:
        self._this = this
        self._compared = compared_as_they_are if as_they_are else compared
        self._before = before
        self._after = after
        self._found: dict[str, Comparison | None] = {}

    def __call__(self, api_version: str) -> Comparison | None:
        if api_version not in self._found:
            self._found[api_version] = self._find(api_version)
        return self._found[api_version]

    def _find(self, api_version: str) -> Comparison | None:
        call = self._this.call
        if api_version == call.resource.api_version:
            return _of_part(call, self._compared(self._before, self._after, _sure_type(call.resource)))
        other = _version_of(self._this.context, call.resource, api_version)
        if other is None:
            return None
        before, after = (_shown(self._this, other, value) for value in (self._before, self._after))
        return _of_part(call, compared(before, after, _sure_type(other)))


def _of_part(call: ResourceCall, found: Comparison) -> Comparison:
    resource, part = call.resource, call.target.subresource
    found = found.ignoring(reset(resource, part))
    return Comparison(*(changeable(resource, part, fields) for fields in (found.added, found.changed, found.removed)))


def _sure_type(resource: ServedResource) -> FieldType:
    found = type_of(resource)
    assert found is not None
    return found


def _version_of(context: Context, resource: ServedResource, api_version: str) -> ServedResource | None:
    """The resource that shows the same objects in that version."""
    group, _, version = api_version.rpartition("/")
    found = context.find_resource(group, version, resource.plural)
    return None if found is None or found.store_key != resource.store_key or type_of(found) is None else found


def _shown(this: Write, resource: ServedResource, value: Json) -> Json:
    """An object of the request in another version."""
    stored = this.strategy.stored(this.call.resource, value)
    return this.strategy.shown(resource, Version(("", ""), stored, 0)).object


# --- managers -------------------------------------------------------------------------------------------------------


def manager_of(call: ResourceCall) -> str:
    """The name of the manager; empty for one that does not tell it."""
    return call.query.get("fieldManager") or _program(call.request.user_agent)


def _program(user_agent: str) -> str:
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode()[:MANAGER_BYTES_AT_MOST].decode(errors="ignore")


@dataclass(frozen=True)
class _Options:
    """The options of a request, as refusals name them."""

    kind: str
    group: str = "meta.k8s.io"
    kind_group: str = "meta.k8s.io"
    plural: str = ""
    group_resource: str = ""


def check_manager(call: ResourceCall, media: str = "") -> None:
    """Check the options of managers in the query. Raises StatusError (422)."""
    causes = list(_faults(call, media))
    if causes:
        raise invalid(_Options(f"{call.verb.capitalize()}Options"), "", causes)


def _faults(call: ResourceCall, media: str) -> Sequence[tuple[str, str, str]]:
    name, causes = call.query.get("fieldManager", ""), []
    if media == APPLY and not name:
        causes.append(required("fieldManager", "is required for apply patch"))
    elif media and media != APPLY and "force" in call.query:
        causes.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if len(name.encode()) > MANAGER_BYTES_AT_MOST:
        text = f"Too long: may not be more than {MANAGER_BYTES_AT_MOST} bytes"
        causes.append(("FieldValueTooLong", text, "fieldManager"))
    for place, letter in enumerate(name):
        if not letter.isprintable():
            at = len(name[:place].encode())
            why = f"invalid character U+{ord(letter):04X} (at position {at})"
            causes.append(invalid_value("fieldManager", name, why))
    return causes
