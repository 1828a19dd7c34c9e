"""An actor that stands still: which one, since when somebody waits for it, and by when health must have named it.

One that nobody wants anything of does not stand still, it rests, and nobody can tell the difference. From the first
message on that it does not take, health has as long as the actor's own limit says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from actors.kernel import ActorSystem
from actors.kernel.inspection import walk

SECOND_NS = 10**9


@dataclass(slots=True)
class Frozen:
    """See the module. Times in ns; `wanted_ns` None: nobody waits for it."""

    path: str
    limit_ns: int
    wanted_ns: int | None = None

    def must_be_known(self, now_ns: int) -> bool:
        """Whether health must name it by now."""
        return self.wanted_ns is not None and now_ns > self.wanted_ns + self.limit_ns + SECOND_NS

    @classmethod
    def one_of(cls, system: ActorSystem, path: str, draw: int) -> Self | None:
        """The actor of that path (`/node/storage`), or else the one that `draw` chooses of those that health looks
        after; None where there is no such actor.
        """
        cells = [cell for cell in walk(system.root) if cell.actor_class.health_limit_ns is not None]
        cells = [cell for cell in cells if cell.path == path] if path else cells
        if not cells:
            return None
        cell = cells[draw % len(cells)]
        return cls(cell.path, cell.actor_class.health_limit_ns or 0)
