"""The cell of a world with one thread: the same turns as in `cell`, without a lock.

Where every turn is taken on one thread, nobody can come in between. A lock costs more there than the handler of an
ordinary message, so the way of every message, `post` and `run`, is written down a second time without one; on all
other ways the lock is one that lets everybody in.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from actors.kernel.actor_timers import Timer
from actors.kernel.cell import ALIVE, AT_WORK, EDGE, IDLE, IN_QUEUE, TAKEN, Cell
from actors.kernel.context import context
from actors.kernel.handling import handle
from actors.kernel.promise import AskFuture

if TYPE_CHECKING:
    from actors.kernel.system import ActorSystem


class OpenLock:
    """A lock for one thread: it keeps nobody out."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


OPEN_LOCK = OpenLock()


class LoneCell(Cell):
    """See the module. The dispatcher that runs it clears `context.cell` when it goes on to something else."""

    __slots__ = ("_clock",)

    def __init__(self, system: ActorSystem, *place: Any) -> None:
        super().__init__(system, *place)
        clock = system.dispatcher.clock
        assert clock is not None, "or it would not be alone"
        self._clock = clock

    def _new_lock(self) -> OpenLock:
        return OPEN_LOCK

    def post(self, message: Any, reply_to: AskFuture[Any] | None = None, key: Hashable | None = None) -> None:
        """See `Cell.post`."""
        sender_cell = context.cell
        sender = EDGE if sender_cell is None else sender_cell.path
        now_ns = self._clock.now_ns
        posted = self.mailbox.post(message, reply_to, sender, now_ns, key)
        if (
            self.turn_state is IDLE
            # Who is alive and waits for nothing has work now: the mailbox is not empty.
            and ((self.life is ALIVE and self.task is None) or self.has_work())
            and (not self.linger_ns or not self._lets_wait(message, reply_to))
        ):
            self.turn_state = IN_QUEUE
            self.dispatcher.enqueue(self)
        if posted not in TAKEN:
            self._not_taken(posted, message, reply_to, sender, now_ns)

    def run(self, turns: int = 1) -> None:
        """One turn, whatever `turns`: between any two the seed draws who is next."""
        context.cell = self
        self.turn_state = AT_WORK
        try:
            if self.task is not None:
                self._turn_of_task(self.task)
            elif self.life is not ALIVE or self.stop_requested:
                self._turn_of_life()
            else:
                item = self.mailbox.take()
                if item is not None and (type(item.key) is not Timer or item.key.claim()):
                    handle(self, item)
        finally:
            # What `has_work` says of who is alive and waits for nothing, without its call.
            plain = self.task is None and self.life is ALIVE and not self.stop_requested
            if self.mailbox.length > 0 if plain else self.has_work():
                self.turn_state = IN_QUEUE
                self.dispatcher.enqueue(self)
            else:
                self.turn_state = IDLE
