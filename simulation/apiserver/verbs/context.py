"""The environment of verbs: the core, the rules of the kinds, and the forms of stored objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from simulation.apiserver.authentication import Authenticator
from simulation.apiserver.authorization import Authorizer
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ObjectAnswer, ResourceCall
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, not_found
from simulation.apiserver.store import Collection, Version, Watcher


class FollowsWatches(Protocol):
    """Sends bookmarks to watches."""

    def add(self, watcher: Watcher, resource: ServedResource) -> None: ...


@dataclass(frozen=True, slots=True)
class Context:
    """See the module. `kinds`: store key -> rules."""

    core: Core
    kinds: Mapping[str, KindRules]
    bookmarks: FollowsWatches
    authenticator: Authenticator
    authorizer: Authorizer
    applied: dict[tuple[str, str], Json] = field(default_factory=dict)
    """What server-side apply has applied last, by UID and field manager."""

    def rules(self, resource: ServedResource) -> KindRules:
        return self.kinds[resource.store_key]

    def collection(self, resource: ServedResource) -> Collection:
        return self.core.store.of[resource.store_key]

    def find(self, call: ResourceCall) -> Version:
        """The object that the call names. Raises StatusError (404)."""
        found = self.collection(call.resource).get((call.namespace, call.name))
        if found is None:
            raise not_found(call.resource, call.name)
        return found

    def answer(self, call: ResourceCall, version: Version, code: int = 200) -> ObjectAnswer:
        shown = self.rules(call.resource).seen_in(call.resource, version)
        return ObjectAnswer(call.resource, shown, code, tuple(call.warnings))

    def shape(self, resource: ServedResource) -> Callable[[Version], Version]:
        """How stored versions look in that resource."""
        return partial(self.rules(resource).seen_in, resource)
