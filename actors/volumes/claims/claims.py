"""`ClaimsActor`: resolves the claims of all pods on this node.

Each pod that has claims has a `ClaimResolverActor`.

It keeps what all pods share: the Node object, which lists attached volumes, and the CSIDriver objects, which say what
drivers want to be told. It follows the CSIDriver objects from the first question on; questions wait for the first list.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec

from actors.cluster.list_watch import Follower
from actors.kernel import ActorRef, Message, handles
from actors.messages.claims import ForgetClaims, ResolveClaims
from actors.messages.island import IslandStarted, Recall, Recalled, SetSeen
from actors.messages.plugins import AskDriverAgain, DriversChanged
from actors.messages.pods import FollowNode, NodeObserved
from actors.volumes.claims.resolver import (
    ClaimResolverActor,
    ClusterFactsChanged,
    DriversCame,
    ResolvePod,
)
from actors.volumes.claims.walk import NOTHING_REMEMBERED, ClusterFacts, place_of
from config.api.resources import CSI_DRIVERS
from config.frozen_map import FrozenMap
from config.objects import CSIDriver, PersistentVolume, PersistentVolumeClaim
from runtime.api import Api, ApiError

SECOND_NS = 1_000_000_000
DRIVERS = "drivers"
REMEMBERED = (CSIDriver.__name__, PersistentVolumeClaim.__name__, PersistentVolume.__name__)
SHORTEST_RECOUNT_NS = 10 * SECOND_NS


class RecountDriver(Message, frozen=True):
    """To itself: time to ask a driver again for its volume limit on this node."""

    name: str


class ClaimsActor(Follower):
    """See the module.

    `plugins`: the actor that asks drivers again, or None. `controller_attaches`: see `ClaimWalk`. `island`: who
    remembers claims, volumes and drivers; None: nobody.
    """

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(
        self,
        api: Api,
        tokens: ActorRef,
        node_status: ActorRef,
        node_name: str,
        sync_frequency_ns: int,
        plugins: ActorRef | None = None,
        controller_attaches: bool = True,
        island: ActorRef | None = None,
    ) -> None:
        super().__init__(api)
        self._island = island
        self._tokens = tokens
        self._node_status = node_status
        self._node_name = node_name
        self._sync_frequency_ns = sync_frequency_ns
        self._plugins = plugins
        self._controller_attaches = controller_attaches
        self._drivers: dict[str, CSIDriver] = {}
        self._listed = False
        """The API server has told the drivers."""
        self._facts = ClusterFacts()
        self._held: dict[str, ResolveClaims] = {}
        self._registered: frozenset[str] = frozenset()

    def on_start(self) -> None:
        self._node_status.tell(FollowNode(self.ref))
        if self.children:  # this actor was restarted
            self.follow(DRIVERS, CSI_DRIVERS)

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ResolveClaims)
    def resolve_claims(self, message: ResolveClaims) -> None:
        if not self.follows(DRIVERS):
            self.follow(DRIVERS, CSI_DRIVERS)
        if self._facts.drivers is None and not self._facts.trouble:
            self._held[message.pod.metadata.uid] = message
        else:
            self._pass_on(message)

    def _pass_on(self, message: ResolveClaims) -> None:
        uid = message.pod.metadata.uid
        child = self.children.get(uid)
        if child is None:
            child = self.spawn(
                ClaimResolverActor,
                self._api,
                self._tokens,
                self._node_name,
                self._sync_frequency_ns,
                self._plugins,
                self._controller_attaches,
                self._island,
                name=uid,
            )
        child.tell(ResolvePod(message, self._facts))

    @handles(ForgetClaims)
    def forget_claims(self, message: ForgetClaims) -> None:
        self._held.pop(message.uid, None)
        child = self.children.get(message.uid)
        if child is not None:
            child.stop(block=False)

    # --- what is the same for all -----------------------------------------------------------------------------------

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        self._learn(node=message.node)

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        self._drivers = {each.metadata.name: each for each in objects}
        self._drivers_known()

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        if event_type == "DELETED":
            self._drivers.pop(value.metadata.name, None)
        else:
            self._drivers[value.metadata.name] = value
        self._drivers_known()

    def failing(self, key: Hashable, error: ApiError) -> None:
        if self._facts.drivers is None:
            self._learn(trouble=f"CSIDriver objects cannot be read: {error}")
            if self._island is not None and error.outcome_unknown:
                self._island.tell(Recall(self.ref, REMEMBERED))

    @handles(Recalled)
    def recalled(self, message: Recalled) -> None:
        """Without the API server, drivers, claims and volumes are as they were."""
        if self._facts.drivers is not None:
            return
        drivers = {each.metadata.name: each for each in message.objects if isinstance(each, CSIDriver)}
        claims = [each for each in message.objects if isinstance(each, PersistentVolumeClaim | PersistentVolume)]
        remembered = FrozenMap((place_of(each), each) for each in claims)
        self._learn(drivers=FrozenMap(drivers), trouble="", remembered=remembered)

    @handles(IslandStarted)
    def island_started(self, _: IslandStarted) -> None:
        self._tell_island()

    def _tell_island(self) -> None:
        if self._island is not None and self._listed:
            self._island.tell(SetSeen(CSIDriver.__name__, tuple(self._drivers.values())))

    def _drivers_known(self) -> None:
        self._listed = True
        self._tell_island()
        self._learn(drivers=FrozenMap(self._drivers), trouble="", remembered=NOTHING_REMEMBERED)
        for name in sorted(self._drivers):
            self._recount_later(name)

    @handles(DriversChanged)
    def drivers_changed(self, message: DriversChanged) -> None:
        before, self._registered = self._registered, frozenset(message.names)
        if message.names and not self.follows(DRIVERS):
            self.follow(DRIVERS, CSI_DRIVERS)
        came = self._registered - before
        if came:
            for child in self.children.values():
                child.tell(DriversCame(came))
            for name in sorted(came):
                self._recount_later(name)

    def _recount_later(self, name: str) -> None:
        driver = self._drivers.get(name)
        seconds = driver.spec.node_allocatable_update_period_seconds if driver is not None else None
        if seconds and name in self._registered:
            self.after(max(seconds * SECOND_NS, SHORTEST_RECOUNT_NS), RecountDriver(name), key=("count", name))
        else:
            self.cancel_timer(("count", name))

    @handles(RecountDriver)
    def recount_driver(self, message: RecountDriver) -> None:
        if self._plugins is not None:
            self._plugins.tell(AskDriverAgain(message.name))
        self._recount_later(message.name)

    def _learn(self, **news: Any) -> None:
        self._facts = msgspec.structs.replace(self._facts, **news)
        for child in self.children.values():
            child.tell(ClusterFactsChanged(self._facts))
        if self._facts.drivers is not None or self._facts.trouble:
            held, self._held = self._held, {}
            for message in held.values():
                self._pass_on(message)
