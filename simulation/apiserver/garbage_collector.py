"""The garbage collector of the embedded API server: what is owned goes with its owners, or forgets them.

It follows every object in the store but events, knows who names whom as owner, and looks at an object again when
something has happened that concerns it: a moment later, so that deletions have an order that others can see, and some
at a time, so that they come to the server in between. What is to be done is decided by `ownership` and done as any
client would, by the verbs of the server. Which kinds there are is asked each time: an owner of a kind that nobody
serves is left alone, with what it owns, and looked for again now and then.

Everything happens under the lock of the server. What it refuses is left as it is until the object changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from simulation.apiserver.ownership import (
    ORPHANS,
    WAITS,
    Owner,
    State,
    blocking_nobody,
    orphans,
    owners_of,
    verdict,
    waits,
    without_finalizer,
    without_owners,
)
from simulation.apiserver.requests import Call, Request, Target, User, call_to
from simulation.apiserver.resources import EVENTS, ServedResource
from simulation.apiserver.selection import EVERYTHING
from simulation.apiserver.status import Json, StatusError
from simulation.apiserver.store import DELETED, Version, Watcher
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.create import create_value
from simulation.apiserver.verbs.delete import delete_object
from simulation.apiserver.verbs.update import change

LOG = logging.getLogger("actorlet.apiserver.garbage-collector")

NAME = "garbage-collector-controller"
LOOKS_AFTER_NS = 100 * 10**6
LOOKS_A_TURN = 100
AGAIN_NS = 30 * 10**9
"""Until an owner of an unknown kind is looked for again."""
_USER = User("system:serviceaccount:kube-system:generic-garbage-collector", ("system:masters",))


class Place(NamedTuple):
    """Where an object is stored."""

    key: str
    namespace: str
    name: str


class _UnknownKindError(Exception):
    """An owner of a kind that nobody serves: it may be there or not."""


class _WrongScopeError(Exception):
    """An owner in a namespace, of an object that is in none."""


class GarbageCollector:
    """See the module. `served`: what there is now. Begins with `start`."""

    def __init__(self, context: Context, served: Callable[[], Iterable[ServedResource]]) -> None:
        self._context = context
        self._core = context.core
        self._served = served
        self._uids: dict[Place, str] = {}
        self._places: dict[str, Place] = {}
        self._owners: dict[Place, tuple[Owner, ...]] = {}
        self._dependents: dict[str, dict[Place, None]] = {}
        """By the uid of an owner, be it there or not."""
        self._to_look: dict[Place, None] = {}
        self._unknown: dict[Place, None] = {}
        """Dependents of owners of unknown kinds."""
        self._turn_is_due = False
        self._watchers: list[Watcher] = []
        self._follows = False

    def start(self) -> None:
        """Follow all there is and all that comes, collections that are not there yet included."""
        self._follows = True
        self._core.store.follow_collections(self._follow)

    def _follow(self, key: str) -> None:
        if key != EVENTS.store_key and self._follows:
            watcher = self._core.store.watch(key, "", EVERYTHING, None)
            self._watchers.append(watcher)
            watcher.start(lambda kind, version: self._told(key, kind, version), lambda _: self._begin_anew(watcher))

    def _begin_anew(self, ended: Watcher) -> None:
        """A watch was cut: what has happened since is not known, so that all is read again."""
        if ended not in self._watchers:
            return
        self._follows = False
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher.end()
        self._uids.clear()
        self._places.clear()
        self._owners.clear()
        self._dependents.clear()
        self._core.after(0, self.start)

    # --- what is told by the store; called under its lock -------------------------------------------------------------

    def _told(self, key: str, kind: str, version: Version) -> None:
        place, metadata = Place(key, version.namespace, version.name), version.object["metadata"]
        if kind == DELETED:
            self._gone(place)
            return
        uid = metadata.get("uid", "")
        if self._uids.get(place) != uid:
            self._gone(place)
            self._uids[place] = uid
            self._places[uid] = place
        owners = owners_of(metadata) if "ownerReferences" in metadata else ()
        before = self._owners.get(place, ())
        if owners != before:
            self._name_owners(place, before, owners)
            self._look_at(place)
        if waits(metadata) or orphans(metadata):
            self._look_at(place)

    def _gone(self, place: Place) -> None:
        uid = self._uids.pop(place, None)
        if uid is None:
            return
        self._places.pop(uid, None)
        self._name_owners(place, self._owners.get(place, ()), ())
        for dependent in self._dependents.get(uid, ()):
            self._look_at(dependent)

    def _name_owners(self, place: Place, before: tuple[Owner, ...], now: tuple[Owner, ...]) -> None:
        for owner in before:
            those = self._dependents.get(owner.uid)
            if those is not None:
                those.pop(place, None)
                if not those:
                    del self._dependents[owner.uid]
            # It may have waited for this one.
            if owner.uid in self._places:
                self._look_at(self._places[owner.uid])
        for owner in now:
            self._dependents.setdefault(owner.uid, {})[place] = None
        if now:
            self._owners[place] = now
        else:
            self._owners.pop(place, None)
            self._unknown.pop(place, None)

    # --- turns --------------------------------------------------------------------------------------------------------

    def _look_at(self, place: Place) -> None:
        self._to_look[place] = None
        self._take_turn_in(LOOKS_AFTER_NS)

    def _take_turn_in(self, ns: int) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._core.after(ns, self._take_turn)

    def _take_turn(self) -> None:
        self._turn_is_due = False
        places = tuple(islice(self._to_look, LOOKS_A_TURN))
        if len(self._to_look) > len(places):
            self._take_turn_in(0)
        for place in places:
            del self._to_look[place]
            version = self._core.store.get(*place)
            if version is not None:
                try:
                    self._look(place, version)
                except (StatusError, _UnknownKindError) as refusal:
                    LOG.debug("%s: %s", place, refusal)
                except Exception:
                    LOG.exception("%s %s/%s could not be looked at", *place)

    def _look(self, place: Place, version: Version) -> None:
        """Raises StatusError."""
        metadata = version.object["metadata"]
        if orphans(metadata):
            for its_place, dependent in self._dependents_of(version.uid):
                self._change(its_place, dependent, without_owners(dependent.object["metadata"], (version.uid,)))
            self._change(place, version, without_finalizer(metadata, ORPHANS))
        elif waits(metadata):
            self._wait(place, version)
        elif "deletionTimestamp" not in metadata and place in self._owners:
            self._judge(place, version)

    def _wait(self, place: Place, version: Version) -> None:
        """For the dependents that block; the others go as well, and nobody waits for them."""
        blocked = False
        for its_place, dependent in self._dependents_of(version.uid):
            blocked |= any(owner.uid == version.uid and owner.blocks for owner in self._owners[its_place])
            if "deletionTimestamp" not in dependent.object["metadata"]:
                self._look_at(its_place)
        if not blocked:
            self._change(place, version, without_finalizer(version.object["metadata"], WAITS))

    def _dependents_of(self, uid: str) -> Iterator[tuple[Place, Version]]:
        for place in tuple(self._dependents.get(uid, ())):
            version = self._core.store.get(*place)
            if version is not None:
                yield place, version

    # --- dependents ---------------------------------------------------------------------------------------------------

    def _judge(self, place: Place, version: Version) -> None:
        metadata = version.object["metadata"]
        dependents = [dependent.object["metadata"] for _, dependent in self._dependents_of(version.uid)]
        try:
            found = verdict(
                self._owners[place],
                lambda owner: self._state_of(owner, place, version),
                metadata.get("finalizers") or (),
                dependents,
            )
        except _UnknownKindError:
            self._look_again(place)
            return
        except _WrongScopeError:
            return
        if found.forget:
            self._change(place, version, without_owners(metadata, found.forget))
        if found.unblock:
            version = self._change(place, version, blocking_nobody(metadata))
        if found.delete:
            options = {"propagationPolicy": found.delete, "preconditions": {"uid": version.uid}}
            delete_object(self._context, self._call("DELETE", "delete", place), version, options)

    def _look_again(self, place: Place) -> None:
        if not self._unknown:
            self._core.after(AGAIN_NS, self._look_at_unknown)
        self._unknown[place] = None

    def _look_at_unknown(self) -> None:
        unknown, self._unknown = self._unknown, {}
        for place in unknown:
            self._look_at(place)

    def _state_of(self, owner: Owner, place: Place, version: Version) -> State:
        """Raises _UnknownKindError, _WrongScopeError."""
        resource = self._resource(owner.api_version, owner.kind)
        if resource.namespaced and not place.namespace:
            self._tell_of_scope(owner, version)
            raise _WrongScopeError
        found = self._core.store.get(resource.store_key, place.namespace if resource.namespaced else "", owner.name)
        if found is None or found.uid != owner.uid:
            if owner.uid in self._places:
                self._tell_of_scope(owner, version)  # it is there, but not where an owner could be
            return State.GONE
        return State.WAITING if waits(found.object["metadata"]) else State.SOLID

    def _tell_of_scope(self, owner: Owner, version: Version) -> None:
        core, value, namespace = self._core, version.object, version.namespace
        named = f"[{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}]"
        now = core.timestamp()
        event: Json = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": f"{version.name}.{core.wall_ns():x}", "namespace": namespace or "default"},
            "involvedObject": {
                "apiVersion": value["apiVersion"],
                "kind": value["kind"],
                "name": version.name,
                "uid": version.uid,
                **({"namespace": namespace} if namespace else {}),
            },
            "type": "Warning",
            "reason": "OwnerRefInvalidNamespace",
            "message": f'ownerRef {named} does not exist in namespace "{namespace}"',
            "source": {"component": NAME},
            "reportingComponent": NAME,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        call = call_to(Target(EVENTS, namespace or "default", ""), Request("POST", "", user=_USER), "create", {})
        try:
            create_value(self._context, call, event)
        except StatusError as refusal:
            LOG.debug("no event of %s: %s", version.name, refusal)

    # --- as a client --------------------------------------------------------------------------------------------------

    def _change(self, place: Place, version: Version, metadata: Json) -> Version:
        """Raises StatusError."""
        call = self._call("PATCH", "patch", place)
        return change(self._context, call, version, {**version.object, "metadata": metadata})

    def _call(self, method: str, verb: str, place: Place) -> Call:
        """On what is stored there, in any resource that shows it. Raises _UnknownKindError."""
        resource = next((one for one in self._served() if one.store_key == place.key and one.stored), None)
        if resource is None:
            raise _UnknownKindError
        return call_to(Target(resource, place.namespace, place.name), Request(method, "", user=_USER), verb, {})

    def _resource(self, api_version: str, kind: str) -> ServedResource:
        """Raises _UnknownKindError."""
        for resource in self._served():
            if resource.kind == kind and resource.api_version == api_version and resource.stored:
                return resource
        raise _UnknownKindError
