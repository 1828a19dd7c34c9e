"""An actor that stands still: which one, since when, and by when health must have named it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from actors.kernel import ActorSystem
from actors.kernel.inspection import walk

SECOND_NS = 10**9
FIRST_MESSAGE_NS = 60 * SECOND_NS
"""By then somebody has told it something: an actor that nobody wants anything of does not stand still, it rests."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """See the module. Times in ns."""

    path: str
    since_ns: int
    known_by_ns: int

    @classmethod
    def one_of(cls, system: ActorSystem, path: str, draw: int, now_ns: int) -> Self | None:
        """The actor of that path (`/node/storage`), or else the one that `draw` chooses of those that health looks
        after; None where there is no such actor.
        """
        cells = [cell for cell in walk(system.root) if cell.actor_class.health_limit_ns is not None]
        cells = [cell for cell in cells if cell.path == path] if path else cells
        if not cells:
            return None
        cell = cells[draw % len(cells)]
        return cls(cell.path, now_ns, now_ns + FIRST_MESSAGE_NS + (cell.actor_class.health_limit_ns or 0))
