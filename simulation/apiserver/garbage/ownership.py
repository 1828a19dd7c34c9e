"""Who owns an object, and what becomes of it when its owners go: the rules of garbage collection, as data. Pure.

An owner is named by kind, name and UID in the metadata of what it owns. A deletion says by its policy what becomes of
those: in the background they go after the owner; in the foreground they go first, and the owner waits with a finalizer;
or they are orphaned first, which is another finalizer. `garbage_collector` does what is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, invalid, invalid_value, required

BACKGROUND, FOREGROUND, ORPHAN = "Background", "Foreground", "Orphan"
POLICIES = (BACKGROUND, FOREGROUND, ORPHAN)
WAITS, ORPHANS = "foregroundDeletion", "orphan"
"""Finalizers: until its dependents are gone, until they have forgotten it."""
_NAMED = ("apiVersion", "kind", "name", "uid")


class Owner(NamedTuple):
    """One reference to an owner. `blocks`: the owner, where it waits for its dependents, waits for this one as well."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


def owners_of(metadata: Json) -> tuple[Owner, ...]:
    """Those that an object names."""
    return tuple(
        Owner(one["apiVersion"], one["kind"], one["name"], one["uid"], one.get("blockOwnerDeletion") is True)
        for one in metadata.get("ownerReferences") or ()
    )


def without_owners(metadata: Json, uids: Iterable[str]) -> Json:
    """Metadata in which those owners are not named any more."""
    gone = set(uids)
    left = [one for one in metadata.get("ownerReferences") or () if one["uid"] not in gone]
    return _with(metadata, "ownerReferences", left)


def blocking_nobody(metadata: Json) -> Json:
    """Metadata whose owners need not wait."""
    named = metadata.get("ownerReferences") or ()
    return {**metadata, "ownerReferences": [{**one, "blockOwnerDeletion": False} for one in named]}


def without_finalizer(metadata: Json, finalizer: str) -> Json:
    return _with(metadata, "finalizers", [one for one in metadata.get("finalizers") or () if one != finalizer])


def _with(metadata: Json, field: str, items: list[Any]) -> Json:
    """Metadata with these items, or without the field."""
    changed = {name: part for name, part in metadata.items() if name != field}
    return {**changed, field: items} if items else changed


def waits(metadata: Json) -> bool:
    """It is to go once its dependents have."""
    return "deletionTimestamp" in metadata and WAITS in (metadata.get("finalizers") or ())


def orphans(metadata: Json) -> bool:
    """It is to go once its dependents have forgotten it."""
    return "deletionTimestamp" in metadata and ORPHANS in (metadata.get("finalizers") or ())


# --- what an owner's deletion asks for --------------------------------------------------------------------------------


def policy_of(finalizers: Sequence[str], options: Json) -> str:
    """Of a DELETE with these options, of an object with these finalizers: they count where the options say nothing."""
    if options.get("propagationPolicy"):
        return str(options["propagationPolicy"])
    if options.get("orphanDependents") is not None:
        return ORPHAN if options["orphanDependents"] else BACKGROUND
    return ORPHAN if ORPHANS in finalizers else FOREGROUND if WAITS in finalizers else BACKGROUND


def finalizers_for(policy: str, finalizers: Sequence[str]) -> list[str]:
    """What an object waits for that is deleted by this policy."""
    others = [one for one in finalizers if one not in (ORPHANS, WAITS)]
    return others + {ORPHAN: [ORPHANS], FOREGROUND: [WAITS]}.get(policy, [])


def check_policy(options: Json) -> None:
    """Raises StatusError (422)."""
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    causes = []
    if policy and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", policy, why))
    if policy and policy not in POLICIES:
        known = ", ".join(f'"{one}"' for one in POLICIES)
        text = f'Unsupported value: "{policy}": supported values: {known}'
        causes.append(("FieldValueNotSupported", text, "propagationPolicy"))
    if causes:
        raise invalid(_OPTIONS, "", causes)


_OPTIONS = ServedResource("meta.k8s.io", "v1", "DeleteOptions", "", "DeleteOptions", False)
"""As errors name it; nobody serves it."""


# --- what is decided of a dependent -----------------------------------------------------------------------------------


class State(Enum):
    """Of one owner, as the store has it."""

    SOLID = "solid"
    GONE = "gone"
    WAITING = "waiting"
    """It is there until its dependents have gone."""


class DependentVerdict(msgspec.Struct, frozen=True):
    """What is to become of a dependent: `forget` these owners, or `delete` by this policy; else nothing.

    `unblock`: its owners are not to wait for it any more, before it is deleted.
    """

    forget: tuple[str, ...] = ()
    delete: str = ""
    unblock: bool = False


def verdict(
    owners: Sequence[Owner], state: Callable[[Owner], State], finalizers: Sequence[str], dependents: Sequence[Json]
) -> DependentVerdict:
    """Of an object with these owners and finalizers, and dependents of its own (their metadata).

    One owner that is there suffices; the others are forgotten, lest one of them waits for ever. A dependent that waits
    for its own dependents may stand in a circle, where each would wait for the next: there nobody blocks anybody.
    """
    states = {owner.uid: state(owner) for owner in owners}
    if State.SOLID in states.values():
        return DependentVerdict(forget=tuple(uid for uid, found in states.items() if found is not State.SOLID))
    if State.WAITING in states.values() and dependents:
        return DependentVerdict(delete=FOREGROUND, unblock=any(map(waits, dependents)))
    return DependentVerdict(delete=policy_of(finalizers, {}))


# --- what may be written ----------------------------------------------------------------------------------------------


def check_owners(resource: ServedResource, metadata: Json) -> None:
    """Raises StatusError (422)."""
    field, named = "metadata.ownerReferences", metadata.get("ownerReferences", [])
    if not isinstance(named, list) or not all(isinstance(one, dict) for one in named):
        raise invalid(
            resource, metadata.get("name", ""), [invalid_value(field, str(named), "must be a list of objects")]
        )
    causes = []
    for place, one in enumerate(named):
        for part in _NAMED:
            if not one.get(part) or not isinstance(one[part], str):
                causes.append(required(f"{field}[{place}].{part}"))
        if one.get("kind") == "Event" and one.get("apiVersion") in ("v1", "events.k8s.io/v1"):
            causes.append(invalid_value(f"{field}[{place}]", "Event", "is disallowed from being an owner"))
    if sum(one.get("controller") is True for one in named) > 1:
        causes.append(invalid_value(field, len(named), "only one reference can have controller set to true"))
    if causes:
        raise invalid(resource, metadata.get("name", ""), causes)
