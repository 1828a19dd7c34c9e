"""The environment of the pipeline and the verbs: core, strategies, and followers of writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from simulation.apiserver.access.authentication import Authenticator
from simulation.apiserver.access.authorization import Authorizer
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.answers import ObjectAnswer
from simulation.apiserver.requests.calls import Find, ResourceCall
from simulation.apiserver.status import not_found
from simulation.apiserver.store.store import Collection, Version, Watcher
from simulation.apiserver.strategies.strategy import Strategy


class FollowsWatches(Protocol):
    """Sends bookmarks to watches."""

    def add(self, watcher: Watcher, resource: ServedResource) -> None: ...


class Follower:
    """Is told of each write of a kind, after it is stored and its watchers know. It may write at once."""

    def created(self, version: Version) -> None:
        """A new object is stored."""

    def changed(self, old: Version, new: Version) -> None:
        """A new version of an object is stored."""

    def removed(self, last: Version) -> None:
        """An object is gone."""


_NOBODY = Follower()


@dataclass(frozen=True, slots=True)
class Context:
    """See the module. `strategies` and `followers` are by store key."""

    core: Core
    bookmarks: FollowsWatches
    authenticator: Authenticator
    authorizer: Authorizer
    find_resource: Find
    """The resource of that group, version and plural, built-in or custom."""
    strategies: dict[str, Strategy]
    followers: dict[str, Follower] = field(default_factory=dict)

    def strategy(self, resource: ServedResource) -> Strategy:
        return self.strategies[resource.store_key]

    def follower(self, resource: ServedResource) -> Follower:
        return self.followers.get(resource.store_key, _NOBODY)

    def collection(self, resource: ServedResource) -> Collection:
        return self.core.store.of[resource.store_key]

    def find(self, call: ResourceCall) -> Version:
        """The object that the call names. Raises StatusError (404)."""
        found = self.collection(call.resource).get((call.namespace, call.name))
        if found is None:
            raise not_found(call.resource, call.name)
        return found

    def shown(self, resource: ServedResource, version: Version) -> Version:
        """A stored version as that resource shows it."""
        return self.strategies[resource.store_key].shown(resource, version)

    def shape(self, resource: ServedResource) -> Callable[[Version], Version]:
        """`shown` of that resource."""
        return partial(self.strategies[resource.store_key].shown, resource)

    def answer(self, call: ResourceCall, version: Version, code: int = 200) -> ObjectAnswer:
        return ObjectAnswer(call.resource, self.shown(call.resource, version), code, tuple(call.warnings))
