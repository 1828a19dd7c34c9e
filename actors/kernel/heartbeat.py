"""Heartbeats: who has nothing to do is asked whether it lives, so that health can tell rest from standing still.

Health looks at the oldest message that waits. An actor that nobody wants anything of has none, however dead it is; so
somebody asks around now and then (`Actor.ask_around`, once a minute or so), and what is asked waits like any other
message. Whoever has handled anything since the last time has shown that it lives, and is not asked. Of classes with
`rests_unasked`, of which there are many actors, none is ever asked, nor anybody below them: their number costs nothing.

So an actor that stands still is named within its `health_limit_ns` after somebody wanted something of it, and within
two rounds more when nobody does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.kernel.message import Heartbeat

if TYPE_CHECKING:
    from actors.kernel.cell import Cell

BEAT = Heartbeat()


def ask_around(above: Cell) -> None:
    """One round, of all below that cell."""
    for cell in above.child_cells():
        kind = cell.actor_class
        if kind.rests_unasked:
            continue
        if kind.health_limit_ns is not None:
            if cell.handled == cell.handled_when_asked:
                cell.post(BEAT, None)
            cell.handled_when_asked = cell.handled
        ask_around(cell)


def is_asked(cell: Cell) -> bool:
    """Whether a round above all of them would come by this one."""
    here: Cell | None = cell
    while here is not None:
        if here.actor_class.rests_unasked:
            return False
        here = here.parent
    return cell.actor_class.health_limit_ns is not None
