"""Which actors are late, and the heartbeats that tell an idle actor from a dead one.

Health looks at the oldest waiting message. An actor that gets no messages has none, even when it is dead. So the node
calls `Actor.ask_around` about once a minute. Each idle actor then gets a `Heartbeat`, which waits like any other
message. Actors that have handled a message since the last round are alive and get none. Classes with many actors set
`rests_unasked`: they and the actors below them never get heartbeats.

A dead actor is reported within its `health_limit_ns` after the next message to it. Without messages, it is reported
within two rounds more.
"""

from __future__ import annotations

import msgspec

from actors.kernel.cell import Cell
from actors.kernel.lifecycle import ActorLife
from actors.kernel.message import Heartbeat


class LateActor(msgspec.Struct, frozen=True):
    """An actor whose oldest message has waited, or whose handler has run, for longer than its limit."""

    path: str
    age_ns: int
    limit_ns: int
    doing: str


def late_actors(root: Cell) -> tuple[LateActor, ...]:
    """Every actor that is over its limit: its oldest message waits, or its handler holds a thread.

    An actor that stops waits for those below it. While one of them is late, only that one is reported.
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
    """Send one round of heartbeats to the actors below `cell`."""
    for cell in above.child_cells():
        if cell.actor_class.rests_unasked:
            continue
        if cell.actor_class.health_limit_ns is not None:
            if cell.handled == cell.handled_when_asked:
                cell.post(Heartbeat())
            cell.handled_when_asked = cell.handled
        ask_around(cell)


def is_asked(cell: Cell) -> bool:
    """Whether heartbeats from the root reach this actor."""
    here: Cell | None = cell
    while here is not None:
        if here.actor_class.rests_unasked:
            return False
        here = here.parent
    return cell.actor_class.health_limit_ns is not None
