"""Health: which actors are late, and the heartbeats that tell an idle actor from a dead one.

Health looks at the oldest waiting message. An actor that nobody talks to has none, however dead it is. So somebody
calls `Actor.ask_around` about once a minute: each idle actor gets a `Heartbeat`, which waits like any other message.
Actors that have handled anything since the last round are alive and are not asked. Classes with `rests_unasked`, of
which there are many actors, are never asked, nor is anybody below them.

A dead actor is named within its `health_limit_ns` after somebody talks to it, and within two rounds more when nobody
does.
"""

from __future__ import annotations

import msgspec

from actors.kernel.cell import Cell
from actors.kernel.lifecycle import ActorLife
from actors.kernel.message import Heartbeat


class LateActor(msgspec.Struct, frozen=True):
    """An actor whose oldest message, or whose handler, is older than its limit."""

    path: str
    age_ns: int
    limit_ns: int
    doing: str


def late_actors(root: Cell) -> tuple[LateActor, ...]:
    """Every actor whose oldest message, or whose handler's hold on a thread, is older than its own limit.

    An actor that stops waits for those below it: while one of them is late, only that one is named.
    """
    now_ns = root.dispatcher.now_ns()
    late: list[LateActor] = []
    for cell in root.walk():
        limit_ns = cell.actor_class.health_limit_ns
        with cell.lock:
            since_ns = (cell.mailbox.oldest_since_ns(), cell.slice_since_ns)
            task = cell.task
        age_ns = max((now_ns - since for since in since_ns if since is not None), default=0)
        if limit_ns is None or age_ns <= limit_ns:
            continue
        doing = cell.life.value if task is None else f"{task.label}, waiting for {task.waiting_for}"
        late.append(LateActor(cell.path, age_ns, limit_ns, doing))
    return tuple(
        each for each in late if each.doing != ActorLife.STOPPING.value or not _is_above_one_of(each.path, late)
    )


def _is_above_one_of(path: str, late: list[LateActor]) -> bool:
    return any(other.path.startswith(f"{path}/") for other in late)


def ask_around(above: Cell) -> None:
    """One round of heartbeats to the actors below that cell."""
    for cell in above.child_cells():
        if cell.actor_class.rests_unasked:
            continue
        if cell.actor_class.health_limit_ns is not None:
            if cell.handled == cell.handled_when_asked:
                cell.post(Heartbeat())
            cell.handled_when_asked = cell.handled
        ask_around(cell)


def is_asked(cell: Cell) -> bool:
    """Whether a round from the root reaches this actor."""
    here: Cell | None = cell
    while here is not None:
        if here.actor_class.rests_unasked:
            return False
        here = here.parent
    return cell.actor_class.health_limit_ns is not None
