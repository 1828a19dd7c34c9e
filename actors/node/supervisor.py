"""`NodeSupervisor`: the root of a node's actors.

It starts them, knows them by name, and keeps them alive.

`actors.node.wiring` gives the arguments of each. A failed actor restarts alone and keeps its mailbox. Others do not
notice, because each asks again for what it may have missed. Pod workers are children of the sync loop. Once a minute
every idle actor is asked whether it lives, so that health can name one that hangs.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ChildFailed, Message, handles
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.wiring.known_actors import Wiring
from actors.node.wiring.pods import start_pods, start_sources
from actors.node.wiring.references import start_references
from actors.node.wiring.reports import start_certificates, start_reports
from actors.node.wiring.resources import (
    start_device_plugins,
    start_resources,
    start_shortages,
    start_watchers,
)
from actors.node.wiring.runtime import start_runtime

HEARTBEAT_NS = 60_000_000_000


class AskAround(Message, frozen=True):
    """To itself: time to ask idle actors whether they live."""


class NodeSupervisor(Actor):
    """See the module. Its children are named as in `docs/explanation/architecture.md`."""

    health_limit_ns: ClassVar[int | None] = 2 * HEARTBEAT_NS

    def __init__(self, plan: NodePlan, capabilities: NodeCapabilities) -> None:
        super().__init__()
        self._plan = plan
        self._capabilities = capabilities

    def on_start(self) -> None:
        self.every(HEARTBEAT_NS, AskAround())
        if self.children:
            return  # this actor was restarted; its children never noticed
        node = Wiring(self, self._plan, self._capabilities)
        start_device_plugins(node)
        start_reports(node)
        start_pods(node, began_ns=self.now_ns())
        start_runtime(node)
        start_shortages(node)
        start_references(node)
        start_resources(node)
        start_watchers(node)
        start_certificates(node)
        start_sources(node)

    @handles(AskAround)
    def ask_who_rests(self, _: AskAround) -> None:
        """Work: all actors but those of pods."""
        self.ask_around()

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """Work: constant."""
        if message.parked:
            self.log.error("%s keeps failing and is tried once a minute: %s", message.name, message.cause)
