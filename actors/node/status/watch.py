"""`NodeWatchActor`: follows this node's Node object for the actor that writes it.

Others change it, too: people cordon and label, controllers mark a silent node. The actor reports what it sees
(`NodeSeen`), and when it loses the watch.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from actors.cluster.list_watch import Follower
from actors.kernel import ActorRef, handles
from actors.messages.node import NodeSeen, SayNodeAgain
from config.api.resources import NODES
from config.objects import Node
from runtime.api import Api, ApiError

KEY = "node"
SECOND_NS = 1_000_000_000


class NodeWatchActor(Follower):
    """See the module. `owner` gets the reports; `name` is the node's."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, api: Api, name: str, owner: ActorRef) -> None:
        super().__init__(api)
        self._name = name
        self._owner = owner

    def on_start(self) -> None:
        self._owner.tell(NodeSeen(None, live=False))  # after a restart, earlier reports may be out of date
        self._follow()

    @handles(SayNodeAgain)
    def say_again(self, _: SayNodeAgain) -> None:
        """Work: constant."""
        self._follow()

    def _follow(self) -> None:
        self.follow(KEY, NODES, field_selector=f"metadata.name={self._name}")

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        nodes: list[Node] = [node for node in objects if node.metadata.name == self._name]
        self._owner.tell(NodeSeen(nodes[0] if nodes else None))

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        if value.metadata.name == self._name:
            self._owner.tell(NodeSeen(None if event_type == "DELETED" else value))

    def failing(self, key: Hashable, error: ApiError) -> None:
        self._owner.tell(NodeSeen(None, live=False))
