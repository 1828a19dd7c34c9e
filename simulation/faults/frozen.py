"""A frozen actor: which one, since when a message waits for it, and when health must have reported it.

From the first waiting message on, health has the time of the actor's own limit. Without any message, the node sends
heartbeats, and health has two rounds of them. Only a pod's worker gets no heartbeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from actors.kernel import ActorSystem
from actors.kernel.health import is_asked
from actors.kernel.message import Heartbeat
from actors.node.supervisor import HEARTBEAT_NS

if TYPE_CHECKING:
    from actors.kernel.cell import Cell

SECOND_NS = 10**9


class Frozen(msgspec.Struct):
    """Times in ns.

    `asked_by_ns`: when the node has sent a heartbeat at the latest; None: it sends none. `wanted_ns`: since when a
    message waits; None: there is none.
    """

    _cell: Cell
    limit_ns: int
    asked_by_ns: int | None
    wanted_ns: int | None = None
    thawed: bool = False
    """It handles messages again, and may be late for a moment."""

    @property
    def path(self) -> str:
        return self._cell.path

    def is_asked(self) -> bool:
        """Whether the first waiting message is a heartbeat."""
        return type(self._cell.mailbox.waiting()[0].message) is Heartbeat

    def thaw(self) -> None:
        """End the freeze: health need not report it any more."""
        self.thawed = True
        self.wanted_ns = self.asked_by_ns = None

    def must_be_known(self, now_ns: int) -> bool:
        """Whether health must have reported it by now."""
        since_ns = self.asked_by_ns if self.wanted_ns is None else self.wanted_ns
        return since_ns is not None and now_ns > since_ns + self.limit_ns + SECOND_NS

    @classmethod
    def one_of(cls, system: ActorSystem, path: str, draw: int) -> Self | None:
        """The actor of that path (`/node/storage`), or one chosen by `draw`.

        The choice is among those that health watches.

        None where there is no such actor.
        """
        cells = [cell for cell in system.root.walk() if cell.actor_class.health_limit_ns is not None]
        cells = [cell for cell in cells if cell.path == path] if path else cells
        if not cells:
            return None
        cell = cells[draw % len(cells)]
        asked_by_ns = system.dispatcher.now_ns() + 2 * HEARTBEAT_NS if is_asked(cell) else None
        return cls(cell, cell.actor_class.health_limit_ns or 0, asked_by_ns)
