"""A part of `ObjectCacheActor`: what an island node remembers of ConfigMaps and Secrets.

The island is `actors/island`. Each object that the cache sees is told to the island. When the API
server does not answer, the island is asked for what it remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.cluster.object_entries import Value
from actors.kernel import Actor, ActorRef, handles
from actors.messages.island import IslandStarted, ObjectSeen, Recall, Recalled, kind_of
from actors.messages.references import ObjectRef
from actors.start.environment import CONFIG_MAP, SECRET
from config.objects import ConfigMap, Secret
from runtime.api import ApiError


class IslandObjects:
    """See the module. `island` None: this node is none.

    It calls `on_recalled` with each object that is remembered. `all_seen`: what the cache has seen.
    """

    def __init__(
        self,
        cache: Actor,
        island: ActorRef | None,
        on_recalled: Callable[[ObjectRef, Value], None],
        all_seen: Callable[[], Iterable[tuple[ObjectRef, Value | None]]],
    ) -> None:
        self._cache = cache
        self._island = island
        self._on_recalled = on_recalled
        self._all_seen = all_seen
        self._remembered: dict[ObjectRef, Value] = {}
        """What the island remembers, once it was asked."""

    def remembered(self, ref: ObjectRef) -> Value | None:
        """The object as the island has it."""
        return self._remembered.get(ref)

    def keep(self, ref: ObjectRef, value: Value | None) -> None:
        """Tell the island of the object. None: it is gone, or nobody needs it."""
        if self._island is not None:
            self._island.tell(ObjectSeen(ref.kind, ref.namespace, ref.name, value))

    def ask_after(self, error: ApiError | None) -> None:
        """Ask the island, if the API server has not answered."""
        if self._island is not None and error is not None and error.outcome_unknown:
            self._island.tell(Recall(self._cache.ref, (CONFIG_MAP, SECRET)))

    @handles(Recalled)
    def recalled(self, message: Recalled) -> None:
        """Work: each remembered object."""
        for value in message.objects:
            if isinstance(value, ConfigMap | Secret):
                ref = ObjectRef(kind_of(value), value.metadata.namespace, value.metadata.name)
                self._remembered[ref] = value
                self._on_recalled(ref, value)

    @handles(IslandStarted)
    def island_started(self, _: IslandStarted) -> None:
        """Work: the objects of the cache."""
        for ref, value in self._all_seen():
            self.keep(ref, value)
