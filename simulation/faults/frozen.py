"""An actor that stands still: which one, since when somebody waits for it, and by when health must have named it.

From the first message on that it does not take, health has as long as the actor's own limit says. Where nobody wants
anything of it, the node itself has to ask, and has two rounds of asking for that. Only a worker of a pod may rest.
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
    """See the module. Times in ns; `asked_by_ns`: by when the node has asked it, None: it may rest; `wanted_ns` None:
    nobody waits for it.
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
        """Whether the first thing that waits for it is the question whether it lives."""
        return type(self._cell.mailbox.waiting()[0].message) is Heartbeat

    def thaw(self) -> None:
        """Nobody need name it any more."""
        self.thawed = True
        self.wanted_ns = self.asked_by_ns = None

    def must_be_known(self, now_ns: int) -> bool:
        """Whether health must name it by now."""
        since_ns = self.asked_by_ns if self.wanted_ns is None else self.wanted_ns
        return since_ns is not None and now_ns > since_ns + self.limit_ns + SECOND_NS

    @classmethod
    def one_of(cls, system: ActorSystem, path: str, draw: int) -> Self | None:
        """The actor of that path (`/node/storage`), or else the one that `draw` chooses of those that health looks
        after; None where there is no such actor.
        """
        cells = [cell for cell in system.root.walk() if cell.actor_class.health_limit_ns is not None]
        cells = [cell for cell in cells if cell.path == path] if path else cells
        if not cells:
            return None
        cell = cells[draw % len(cells)]
        asked_by_ns = system.dispatcher.now_ns() + 2 * HEARTBEAT_NS if is_asked(cell) else None
        return cls(cell, cell.actor_class.health_limit_ns or 0, asked_by_ns)
