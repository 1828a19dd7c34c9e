"""Server-side apply: a configuration becomes part of an object, by the owners of its fields.

What the applier has applied before and leaves out now goes, unless somebody else owns it. A field that somebody else
has set to another value is a conflict. `kubectl` takes over from its older ways: what the annotation of a client-side
apply says is no conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from simulation.apiserver.fields.comparison import Comparison, as_written, compared, owned
from simulation.apiserver.fields.managers import (
    NOBODYS,
    Changes,
    Entry,
    Managed,
    Manager,
    entry_of,
    in_order,
    without_changed,
)
from simulation.apiserver.fields.merging import ConfigurationError, check_configuration, merged, taken_out
from simulation.apiserver.fields.sets import (
    LEAF,
    NONE,
    Fields,
    Path,
    common,
    has,
    paths,
    shown_path,
    united,
    without,
)
from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.status import Json, StatusError

KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HERE = "."

ChangesOf: TypeAlias = Callable[[Json, Json], Changes]
"""(object before, object after) -> what has changed, in each version."""


class Conflict(msgspec.Struct, frozen=True):
    """A field that somebody else owns."""

    manager: Manager
    path: Path


class ConflictsError(Exception):
    """Somebody else owns fields that an apply would change."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


class Applied(msgspec.Struct, frozen=True):
    """What an apply makes: the object, itself where nothing differs, and its owners."""

    value: Json
    managed: Managed


class Apply(msgspec.Struct, frozen=True):
    """One request.

    `allowed`: the fields of a set that it may change. `changes_of`: see `ChangesOf`, of those alone.
    """

    kind: FieldType
    api_version: str
    manager: Manager
    force: bool
    now: str
    allowed: Callable[[Fields], Fields]
    changes_of: ChangesOf


def applied(asked: Apply, live: Json, configuration: Json, managed: Managed) -> Applied:
    """Apply a configuration. Raises ConfigurationError, ConflictsError."""
    check_configuration(configuration, asked.kind)
    try:
        done = _applied(asked, live, configuration, managed, force=asked.force)
    except ConflictsError as error:
        if asked.manager.name != KUBECTL:
            raise
        mine = _of_client_side_apply(asked, live)
        left = tuple(one for one in error.conflicts if not has(mine, one.path))
        if left:
            raise ConflictsError(left) from None
        done = _applied(asked, live, configuration, managed, force=True)
    if asked.manager.name == KUBECTL:
        return msgspec.structs.replace(done, value=_with_annotation(done.value, configuration))
    return done


def _applied(asked: Apply, live: Json, configuration: Json, managed: Managed, *, force: bool) -> Applied:
    last = entry_of(managed, asked.manager)
    own = asked.allowed(owned(configuration, asked.kind))
    others = tuple(entry for entry in managed if entry is not last)
    gone = NONE if last is None else _given_up(asked, last, own, others)
    # Owners are of what Go writes. What is stored need not have all that.
    written = as_written(live, asked.kind)
    wanted = taken_out(merged(written, configuration, asked.kind), gone, asked.kind)
    changes = asked.changes_of(written, wanted)
    if not force:
        _check_conflicts(others, changes)
    if wanted == written:
        # The time is that of the last change of the object.
        value, time = live, None if last is None else last.time
    else:
        value, time = taken_out(merged(live, configuration, asked.kind), gone, asked.kind), asked.now
    others, own = without_changed(others, changes), without(own, NOBODYS)
    entries = [*others, Entry(asked.manager, asked.api_version, own, time)] if own else others
    return Applied(value, in_order(entries))


def _given_up(asked: Apply, last: Entry, own: Fields, others: Managed) -> Fields:
    """What the applier alone has owned, and does not want any more."""
    kept = own
    for entry in others:
        kept = united(kept, entry.fields)
    return without(with_declared(last.fields, asked.kind), with_declared(kept, asked.kind))


def with_declared(fields: Fields, kind: FieldType) -> Fields:
    """The set with each declared field that has some field of the set below it."""
    made: Fields = {}
    for step, node in fields.items():
        if not node or step == _HERE:
            made[step] = node
            continue
        name = step[2:] if step.startswith("f:") else None
        below = kind.below(name) if name is not None else kind.items
        node = node if below is None else with_declared(node, below)
        made[step] = {_HERE: LEAF, **node} if name is not None and name in kind.fields else node
    return made


def _check_conflicts(others: Managed, changes: Changes) -> None:
    found: list[Conflict] = []
    for entry in sorted(others, key=lambda one: one.manager.key):
        own = changes(entry.api_version)
        if own is not None:
            found += [Conflict(entry.manager, path) for path in paths(common(entry.fields, own.set()))]
    if found:
        raise ConflictsError(tuple(found))


# --- what clients did before ----------------------------------------------------------------------------------------


def _of_client_side_apply(asked: Apply, live: Json) -> Fields:
    """The fields that the annotation says, as far as the object still has them."""
    text = (live.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return NONE
    try:
        last = msgspec.json.decode(text)
        if not isinstance(last, dict) or last.get("apiVersion") != asked.api_version:
            return NONE
        check_configuration(last, asked.kind)
    except (msgspec.DecodeError, ConfigurationError):
        return NONE
    differs: Comparison = compared(last, live, asked.kind)
    fields = owned(last, asked.kind)
    for changed in (differs.changed, differs.added, differs.removed):
        fields = without(fields, changed)
    return fields


def _with_annotation(value: Json, configuration: Json) -> Json:
    """The object whose annotation of a client-side apply says what is applied, if it has one."""
    metadata: Json = value.get("metadata") or {}
    annotations: Mapping[str, Any] = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return value
    said = dict(configuration)
    of_said: Json = dict(said.get("metadata") or {})
    if of_said.get("annotations"):
        kept = {name: text for name, text in of_said["annotations"].items() if name != LAST_APPLIED}
        of_said["annotations"] = kept
        said["metadata"] = of_said
    text = msgspec.json.encode(said, order="sorted").decode() + "\n"
    if annotations[LAST_APPLIED] == text:
        return value
    return {**value, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}}


# --- refusals -------------------------------------------------------------------------------------------------------


def refusal(conflicts: tuple[Conflict, ...]) -> StatusError:
    """The 409 for conflicts, in the words of a kube-apiserver."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {one.manager}", "field": shown_path(one.path)}
        for one in conflicts
    ]
    if len(conflicts) == 1:
        one = conflicts[0]
        text = f"Apply failed with 1 conflict: conflict with {one.manager}: {shown_path(one.path)}"
    else:
        lines: list[str] = []
        for manager in dict.fromkeys(one.manager for one in conflicts):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {shown_path(one.path)}" for one in conflicts if one.manager == manager]
        text = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", text, {"causes": causes})
