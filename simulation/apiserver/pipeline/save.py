"""The end of a write: nothing where nothing changes, else a new version, or the end of an object.

An object that is being deleted ends with its last finalizer.
"""

from __future__ import annotations

from simulation.apiserver.fields.managers import Managed, differ
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.status import Json, already_exists
from simulation.apiserver.store.store import Version


def save(this: Write) -> Version:
    """The stored version, or what it would be. Raises StatusError (409)."""
    old, call, value = this.old, this.call, this.value
    managed = this.managed or ()
    if old is not None and value == this.before and not differ(managed, old.managed):
        return old
    if not this.is_stored:
        value = this.strategy.stored(call.resource, value)
    if old is None:
        return _create(this, value)
    if call.dry_run:
        return Version(old.key, value, 0, managed=managed)
    if this.strategy.is_over(value):
        last = this.context.collection(call.resource).remove(old.key).gone()
        this.context.follower(call.resource).removed(last)
        # Watchers get the last stored version, and who took the last finalizer gets what he has made.
        return Version(old.key, value, old.revision, managed=managed)
    return save_change(this.context, call.resource, old, value, managed)


def save_change(
    context: Context, resource: ServedResource, old: Version, value: Json, managed: Managed | None = None
) -> Version:
    """Store a version whose metadata nobody shares, and tell who follows the kind.

    `managed`: the owners of its fields; None: those before.
    """
    version = context.collection(resource).put(old.key, value, managed)
    context.follower(resource).changed(old, version)
    return version


def _create(this: Write, value: Json) -> Version:
    """Raises StatusError (409)."""
    call, key = this.call, (this.call.namespace, value["metadata"]["name"])
    collection = this.context.collection(call.resource)
    if collection.get(key) is not None:
        raise already_exists(call.resource, key[1])
    if call.dry_run:
        return Version(key, value, 0, managed=this.managed or ())
    version = collection.put(key, value, this.managed or ())
    this.context.follower(call.resource).created(version)
    return version
