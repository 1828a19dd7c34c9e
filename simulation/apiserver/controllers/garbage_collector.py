"""The garbage collector of the embedded API server.

When its owners are gone, an object is deleted, or loses its references to them.

It follows every collection but events. A deletion, or a change of owners or finalizers, triggers a look at all objects
that have owners or wait for dependents. The look comes a moment later, so that deletions have a visible order.
`ownership` decides, and the verbs of the server carry it out, as for any client. An owner whose kind nobody serves is
left alone with its dependents, and looked for again now and then. Everything happens under the lock of the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from simulation.apiserver.kinds.table import EVENTS, ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.removal import remove
from simulation.apiserver.pipeline.write import write_value
from simulation.apiserver.requests.calls import ApiRequest, ApiUser, ResourceCall, Target, call_to
from simulation.apiserver.status import Json, StatusError
from simulation.apiserver.store.selection import EVERYTHING
from simulation.apiserver.store.store import DELETED, Version, Watcher
from simulation.apiserver.strategies import ownership
from simulation.apiserver.strategies.events import event_about

LOG = logging.getLogger("actorlet.apiserver.garbage-collector")

NAME = "garbage-collector-controller"
LOOKS_AFTER_NS = 100 * 10**6
AGAIN_NS = 30 * 10**9
"""The delay before an owner of an unknown kind is looked up again."""
_MANAGER = "kube-controller-manager"
"""Whose fields its changes are, as in a cluster."""
_USER = ApiUser("system:serviceaccount:kube-system:generic-garbage-collector", ("system:masters",))


class ObjectPlace(NamedTuple):
    """The place of an object in the store."""

    key: str
    namespace: str
    name: str


class _UnknownKindError(Exception):
    """The kind of an owner is not served: the owner may exist or not."""


class _WrongScopeError(Exception):
    """An owner in a namespace, of an object that is in none."""


class GarbageCollector:
    """See the module. `served`: the resources of the server at this time. Begins with `start`."""

    def __init__(self, context: Context, served: Callable[[], Iterable[ServedResource]]) -> None:
        self._context = context
        self._core = context.core
        self._served = served
        self._uids: dict[str, ObjectPlace] = {}
        """Where the object of each UID is."""
        self._dependents: dict[str, dict[ObjectPlace, None]] = {}
        """By the UID of an owner, whether it exists or not."""
        self._owners: dict[ObjectPlace, tuple[ownership.Owner, ...]] = {}
        self._waiting: dict[ObjectPlace, None] = {}
        """Objects that wait for their dependents, or for these to forget them."""
        self._looks_at_ns: int | None = None

    def start(self) -> None:
        """Follow all collections, present and future."""
        self._core.store.follow_collections(self._follow)

    def _follow(self, key: str) -> None:
        if key != EVENTS.store_key:
            watcher = self._core.store.watch(key, "", EVERYTHING, None)
            # A watch that is cut begins anew with all objects.
            watcher.start(
                lambda kind, version: self._told(key, kind, version), lambda _: self._begin_anew(key, watcher)
            )

    def _begin_anew(self, key: str, ended: Watcher) -> None:
        for uid in [uid for uid, place in self._uids.items() if place.key == key]:
            self._forget(self._uids.pop(uid))
        self._core.after(0, lambda: self._follow(key))
        self._look_in(LOOKS_AFTER_NS)

    def _told(self, key: str, kind: str, version: Version) -> None:
        place, metadata = ObjectPlace(key, version.namespace, version.name), version.object["metadata"]
        before = self._owners.get(place, ())
        owners = ownership.owners_of(metadata) if kind != DELETED else ()
        is_waiting = kind != DELETED and (ownership.waits(metadata) or ownership.orphans(metadata))
        if kind == DELETED:
            self._uids.pop(version.uid, None)
        else:
            self._uids[version.uid] = place
        if owners != before:
            self._forget(place)
            for owner in owners:
                self._dependents.setdefault(owner.uid, {})[place] = None
            if owners:
                self._owners[place] = owners
        if is_waiting:
            self._waiting[place] = None
        else:
            self._waiting.pop(place, None)
        if is_waiting or owners != before or (kind == DELETED and version.uid in self._dependents):
            self._look_in(LOOKS_AFTER_NS)

    def _forget(self, place: ObjectPlace) -> None:
        """The object names no owner any more."""
        for owner in self._owners.pop(place, ()):
            those = self._dependents.get(owner.uid, {})
            those.pop(place, None)
            if not those:
                self._dependents.pop(owner.uid, None)

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look_in(self, ns: int) -> None:
        """Look at everything in `ns` ns, unless it is looked at before."""
        due_ns = self._core.now_ns() + ns
        if self._looks_at_ns is None or due_ns < self._looks_at_ns:
            self._looks_at_ns = due_ns
            self._core.after(ns, lambda: self._look_at_all(due_ns))

    def _look_at_all(self, due_ns: int) -> None:
        if due_ns != self._looks_at_ns:
            return
        self._looks_at_ns = None
        # Dependents come after their owners; so those of an owner that is deleted now have their turn in the next look.
        for place in (*self._waiting, *reversed(self._owners)):
            version = self._core.store.get(*place)
            if version is None:
                continue
            try:
                self._look(place, version)
            except _UnknownKindError:
                self._look_in(AGAIN_NS)
            except (StatusError, _WrongScopeError) as refusal:
                LOG.debug("%s: %s", place, refusal)
            except Exception:
                LOG.exception("%s %s/%s could not be looked at", *place)

    def _look(self, place: ObjectPlace, version: Version) -> None:
        """Judge one object. Raises StatusError, _UnknownKindError, _WrongScopeError."""
        metadata = version.object["metadata"]
        if ownership.orphans(metadata):
            for its_place, dependent in self._dependents_of(version.uid):
                self._change(
                    its_place, dependent, ownership.without_owners(dependent.object["metadata"], (version.uid,))
                )
            self._change(place, version, ownership.without_finalizer(metadata, ownership.ORPHANS))
        elif ownership.waits(metadata):
            # Only dependents that block are waited for; the others go by themselves.
            blocking = (owner for its_place, _ in self._dependents_of(version.uid) for owner in self._owners[its_place])
            if not any(owner.uid == version.uid and owner.blocks for owner in blocking):
                self._change(place, version, ownership.without_finalizer(metadata, ownership.WAITS))
        elif "deletionTimestamp" not in metadata and place in self._owners:
            self._judge(place, version)

    def _dependents_of(self, uid: str) -> list[tuple[ObjectPlace, Version]]:
        found = ((place, self._core.store.get(*place)) for place in self._dependents.get(uid, ()))
        return [(place, version) for place, version in found if version is not None]

    def _judge(self, place: ObjectPlace, version: Version) -> None:
        metadata = version.object["metadata"]
        dependents = [dependent.object["metadata"] for _, dependent in self._dependents_of(version.uid)]
        finalizers, owners = metadata.get("finalizers") or (), self._owners[place]
        found = ownership.verdict(owners, lambda owner: self._state_of(owner, place, version), finalizers, dependents)
        if found.forget:
            self._change(place, version, ownership.without_owners(metadata, found.forget))
        if found.unblock:
            version = self._change(place, version, ownership.blocking_nobody(metadata))
        if found.delete:
            options = {"propagationPolicy": found.delete, "preconditions": {"uid": version.uid}}
            remove(self._context, self._call("DELETE", "delete", place), version, options)

    def _state_of(self, owner: ownership.Owner, place: ObjectPlace, version: Version) -> ownership.State:
        """The state of an owner. Raises _UnknownKindError, _WrongScopeError."""
        named = (owner.api_version, owner.kind)
        resource = next((one for one in self._served() if (one.api_version, one.kind) == named and one.stored), None)
        if resource is None:
            raise _UnknownKindError
        if resource.namespaced and not place.namespace:
            self._tell_of_scope(owner, version)
            raise _WrongScopeError
        found = self._core.store.get(resource.store_key, place.namespace if resource.namespaced else "", owner.name)
        if found is None or found.uid != owner.uid:
            if owner.uid in self._uids:
                self._tell_of_scope(owner, version)  # It exists, but not where an owner could be.
            return ownership.State.GONE
        return ownership.State.WAITING if ownership.waits(found.object["metadata"]) else ownership.State.SOLID

    def _tell_of_scope(self, owner: ownership.Owner, version: Version) -> None:
        core, value, namespace = self._core, version.object, version.namespace
        named = f"[{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}]"
        message = f'ownerRef {named} does not exist in namespace "{namespace}"'
        said = {"type": "Warning", "reason": "OwnerRefInvalidNamespace", "message": message}
        event = event_about(value, f"{version.name}.{version.uid}", NAME, core.timestamp(), **said)
        home = event["metadata"]["namespace"]
        call = call_to(Target(EVENTS, home, ""), _request("POST"), "create", {})
        try:
            write_value(self._context, call, None, event)
        except StatusError as refusal:
            LOG.debug("no new event of %s: %s", version.name, refusal)

    # --- as a client --------------------------------------------------------------------------------------------------

    def _change(self, place: ObjectPlace, version: Version, metadata: Json) -> Version:
        """Change one object. Raises StatusError."""
        call = self._call("PATCH", "patch", place)
        shown = self._context.shown(call.resource, version).object
        return write_value(self._context, call, version, {**shown, "metadata": metadata})

    def _call(self, method: str, verb: str, place: ObjectPlace) -> ResourceCall:
        """A call to the object at that place, if possible in the stored version. Raises _UnknownKindError."""
        found = [one for one in self._served() if one.store_key == place.key and one.stored]
        if not found:
            raise _UnknownKindError
        resource = next((one for one in found if one.stores), found[0])
        return call_to(Target(resource, place.namespace, place.name), _request(method), verb, {})


def _request(method: str) -> ApiRequest:
    return ApiRequest(method, "", user=_USER, user_agent=_MANAGER)
