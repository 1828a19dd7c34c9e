"""`CsiNodeActor`: the only writer of this node's CSINode object (spec 8.8).

The object shows the node's storage drivers.

The Node owns the object. The actor creates it once the Node is known, even without drivers, because the scheduler
reads it. An object of an earlier Node of the same name is replaced. Until the first write succeeds the node is not
ready, because the scheduler would misplace pods; so a new node is registered before it is ready. After that, errors go
to the plugin that registers a driver.

Drivers listed by an earlier life of the agent stay until they are withdrawn. They are about to register again, and the
scheduler must not see them disappear.

The drivers' node IDs and topology labels belong on the Node too, so this actor sends them to the `NodeStatusActor`. A
standalone node has neither object, but its drivers work all the same.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, SoleMessage, handles
from actors.messages.node import NodeProblemObserved, NodeStatusStarted
from actors.messages.plugins import (
    CsiNodeStarted,
    DriverPublished,
    DriversOnNodeObserved,
    PublishDriver,
    WithdrawDriver,
)
from actors.messages.pods import FollowNode, NodeObserved
from actors.node_object.csi_node import collision, is_of_another_node, next_csi_node
from config.api.resources import CSI_NODES
from config.frozen_map import FrozenMap
from config.objects import CSINode
from runtime.api import Api, ApiError, create, delete, get, update
from runtime.csi.capability import NodeInfo

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000 * MILLISECOND_NS
CALL_NS = 10 * SECOND_NS
TRIES = 4
FIRST_PAUSE_NS = 10 * MILLISECOND_NS
PAUSE_FACTOR = 5
RETRY_NS = 10 * SECOND_NS
TROUBLE = "csi-node"
NOT_YET = "CSINode is not yet initialized"


class WriteCsiNode(SoleMessage, frozen=True):
    """To itself: the object may be out of date."""


class CsiNodeActor(Actor):
    """See the module.

    `api` None: a standalone node. `migrated`: in-tree kinds that drivers serve here. `plugins` reports drivers.
    """

    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(
        self, api: Api | None, node_name: str, node_status: ActorRef, migrated: tuple[str, ...], plugins: ActorRef
    ) -> None:
        super().__init__()
        self._api = api
        self._node_name = node_name
        self._node_status = node_status
        self._migrated = migrated
        self._plugins = plugins
        self._uid = ""
        self._labels: dict[str, str] = {}
        self._drivers: dict[str, NodeInfo] = {}
        self._withdrawn: set[str] = set()
        self._asking: list[PublishDriver] = []
        self._written = False
        self._failing = ""

    def on_start(self) -> None:
        self._tell_start()
        self._node_status.tell(FollowNode(self.ref))
        self._plugins.tell(CsiNodeStarted())

    @handles(NodeStatusStarted)
    def tell_again(self, _: NodeStatusStarted) -> None:
        if self._drivers or self._withdrawn:
            self._tell_node()
        self._tell_start()
        if self._failing and not self._written:
            self._tell_trouble()

    def _tell_start(self) -> None:
        if self._api is not None and not self._written:
            self._node_status.tell(NodeProblemObserved(TROUBLE, NOT_YET, starting=True))

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        meta = message.node.metadata
        self._labels = dict(meta.labels)
        if meta.uid != self._uid:
            self._uid, self._written = meta.uid, False
            if self._api is not None:
                self.ref.tell(WriteCsiNode())

    # --- drivers ----------------------------------------------------------------------------------------------------

    @handles(PublishDriver)
    def publish_driver(self, message: PublishDriver) -> None:
        error = collision(message.info, message.name, self._labels)
        if error:
            message.reader.tell(DriverPublished(message.tag, error))
            return
        self._drivers[message.name] = message.info
        self._withdrawn.discard(message.name)
        self._tell_node()
        if self._api is None:
            message.reader.tell(DriverPublished(message.tag))
            return
        self._asking.append(message)
        self.ref.tell(WriteCsiNode())

    @handles(WithdrawDriver)
    def withdraw_driver(self, message: WithdrawDriver) -> None:
        self._drivers.pop(message.name, None)
        self._withdrawn.add(message.name)
        self._tell_node()
        if self._api is not None:
            self.ref.tell(WriteCsiNode())

    def _tell_node(self) -> None:
        node_ids = {name: info.node_id for name, info in self._drivers.items()}
        labels = {key: value for info in self._drivers.values() for key, value in info.topology.items()}
        self._node_status.tell(
            DriversOnNodeObserved(FrozenMap(node_ids), FrozenMap(labels), tuple(sorted(self._withdrawn)))
        )

    # --- the object -------------------------------------------------------------------------------------------------

    @handles(WriteCsiNode)
    async def write(self, _: WriteCsiNode) -> None:
        if self._api is None or not self._uid:
            return  # `node_observed` triggers the write
        asking, self._asking = self._asking, []
        error = await self._write(self._api)
        for each in asking:
            each.reader.tell(DriverPublished(each.tag, error))
        if not error:
            self._well()
            return
        if error != self._failing:
            self.log.warning("%s", error)
            self._failing = error
        if not self._written:
            self._tell_trouble()
        self.after(RETRY_NS, WriteCsiNode(), key="write")

    def _tell_trouble(self) -> None:
        self._node_status.tell(NodeProblemObserved(TROUBLE, NOT_YET))

    def _well(self) -> None:
        if self._failing:
            self._failing = ""
            self.log.info("CSINode %s is written again", self._node_name)
        if not self._written:
            self._written = True
            self._node_status.tell(NodeProblemObserved(TROUBLE, ""))

    async def _write(self, api: Api) -> str:
        """Write with retries; return the error text, or ""."""
        error, pause_ns = "", FIRST_PAUSE_NS
        for attempt in range(TRIES):
            if attempt:
                await self.sleep(pause_ns)
                pause_ns *= PAUSE_FACTOR
            try:
                await self._try(api)
            except (ApiError, DeadlineExceededError) as failure:
                error = f"CSINode {self._node_name} cannot be written: {failure}"
            else:
                return ""
        return error

    async def _try(self, api: Api) -> None:
        """Try to write the object once. Raises ApiError."""
        name = self._node_name
        existing: CSINode | None = None
        try:
            existing = await self.wait(api.call(get(CSI_NODES, "", name), timeout_ns=CALL_NS), timeout_ns=2 * CALL_NS)
        except ApiError as failure:
            if not failure.not_found:
                raise
        if existing is not None and is_of_another_node(existing, self._uid):
            self.log.info("CSINode %s belonged to an earlier Node; it is made anew", name)
            gone = api.call(delete(CSI_NODES, "", name, uid=existing.metadata.uid), timeout_ns=CALL_NS)
            await self.wait(gone, timeout_ns=2 * CALL_NS)
            existing = None
        gone_drivers = frozenset(self._withdrawn)
        wanted = next_csi_node(existing, name, self._uid, self._drivers, gone_drivers, self._migrated)
        if existing is None:
            await self.wait(api.call(create(CSI_NODES, "", wanted), timeout_ns=CALL_NS), timeout_ns=2 * CALL_NS)
        elif msgspec.to_builtins(wanted) != msgspec.to_builtins(existing):
            await self.wait(api.call(update(CSI_NODES, "", wanted), timeout_ns=CALL_NS), timeout_ns=2 * CALL_NS)
