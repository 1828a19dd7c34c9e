"""The rules of garbage collection: owners of an object, and what happens to it when they are deleted.

Pure.

An object's metadata names its owners by kind, name and UID. The policy of a deletion decides about dependents:

- background: they are deleted after the owner;
- foreground: they are deleted first, and a finalizer keeps the owner until then;
- orphan: they first drop the reference to the owner, which has another finalizer.

`garbage_collector` carries these decisions out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.rules.causes import not_supported
from simulation.apiserver.status import Json, invalid, invalid_value

BACKGROUND, FOREGROUND, ORPHAN = "Background", "Foreground", "Orphan"
POLICIES = (BACKGROUND, FOREGROUND, ORPHAN)
WAITS, ORPHANS = "foregroundDeletion", "orphan"
"""Finalizers of a deletion that involves dependents.

The first waits until the dependents are gone, the second until they have dropped the reference.
"""


class Owner(NamedTuple):
    """One reference to an owner. `blocks`: a foreground deletion of the owner waits for this dependent."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


def owners_of(metadata: Json) -> tuple[Owner, ...]:
    """The owners that an object names."""
    return tuple(
        Owner(one["apiVersion"], one["kind"], one["name"], one["uid"], one.get("blockOwnerDeletion") is True)
        for one in metadata.get("ownerReferences") or ()
    )


def without_owners(metadata: Json, uids: Iterable[str]) -> Json:
    """The metadata without the references to those owners."""
    gone = set(uids)
    left = [one for one in metadata.get("ownerReferences") or () if one["uid"] not in gone]
    return _with(metadata, "ownerReferences", left)


def blocking_nobody(metadata: Json) -> Json:
    """The metadata; no foreground deletion waits for this object any more."""
    named = metadata.get("ownerReferences") or ()
    return {**metadata, "ownerReferences": [{**one, "blockOwnerDeletion": False} for one in named]}


def without_finalizer(metadata: Json, finalizer: str) -> Json:
    return _with(metadata, "finalizers", [one for one in metadata.get("finalizers") or () if one != finalizer])


def _with(metadata: Json, field: str, items: list[Any]) -> Json:
    """Metadata with these items, or without the field."""
    changed = {name: part for name, part in metadata.items() if name != field}
    return {**changed, field: items} if items else changed


def waits(metadata: Json) -> bool:
    """Whether the object is deleted in the foreground, and waits for its dependents."""
    return "deletionTimestamp" in metadata and WAITS in (metadata.get("finalizers") or ())


def orphans(metadata: Json) -> bool:
    """Whether the object is deleted, and waits until its dependents are orphaned."""
    return "deletionTimestamp" in metadata and ORPHANS in (metadata.get("finalizers") or ())


# --- what an owner's deletion asks for --------------------------------------------------------------------------------


def policy_of(finalizers: Sequence[str], options: Json, usual: str = BACKGROUND) -> str:
    """The policy of a DELETE with these options.

    Without an option, the object's finalizers decide, and without these the `usual` policy of its kind.
    """
    if options.get("propagationPolicy"):
        return str(options["propagationPolicy"])
    if options.get("orphanDependents") is not None:
        return ORPHAN if options["orphanDependents"] else BACKGROUND
    return ORPHAN if ORPHANS in finalizers else FOREGROUND if WAITS in finalizers else usual


def finalizers_for(policy: str, finalizers: Sequence[str]) -> list[str]:
    """The finalizers of an object that is deleted by this policy."""
    others = [one for one in finalizers if one not in (ORPHANS, WAITS)]
    return others + {ORPHAN: [ORPHANS], FOREGROUND: [WAITS]}.get(policy, [])


def check_policy(options: Json) -> None:
    """Check a deletion policy. Raises StatusError (422)."""
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    causes = []
    if policy and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", policy, why))
    if policy and policy not in POLICIES:
        causes.append(not_supported("propagationPolicy", policy, (FOREGROUND, BACKGROUND, ORPHAN, "nil")))
    if causes:
        raise invalid(_OPTIONS, "", causes)


_OPTIONS = ServedResource("meta.k8s.io", "v1", "DeleteOptions", "", "DeleteOptions", False)
"""The resource as errors name it; no server has it."""


# --- the decision about a dependent -----------------------------------------------------------------------------------


class State(Enum):
    """The state of one owner in the store."""

    SOLID = "solid"
    GONE = "gone"
    WAITING = "waiting"
    """It exists until its dependents have gone."""


class DependentVerdict(msgspec.Struct, frozen=True):
    """The decision about a dependent.

    Drop the references in `forget`, or `delete` it by this policy, or do nothing.

    `unblock`: before the deletion, its owners stop waiting for it.
    """

    forget: tuple[str, ...] = ()
    delete: str = ""
    unblock: bool = False


def verdict(
    owners: Sequence[Owner], state: Callable[[Owner], State], finalizers: Sequence[str], dependents: Sequence[Json]
) -> DependentVerdict:
    """Decide about an object from its owners, its finalizers and its dependents.

    Of the dependents, their metadata.

    One existing owner keeps the object; references to the others are dropped, so that no owner waits for ever. A
    dependent that waits for its own dependents may be part of a cycle. Then no object of the cycle blocks another.
    """
    states = {owner.uid: state(owner) for owner in owners}
    if State.SOLID in states.values():
        return DependentVerdict(forget=tuple(uid for uid, found in states.items() if found is not State.SOLID))
    if State.WAITING in states.values() and dependents:
        return DependentVerdict(delete=FOREGROUND, unblock=any(map(waits, dependents)))
    return DependentVerdict(delete=policy_of(finalizers, {}))
