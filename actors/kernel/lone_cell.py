"""The cell of a world with one thread: the same turns as in `cell`, without a lock.

Where every turn is taken on one thread, nobody can come in between. A lock costs more there than the handler of an
ordinary message, so the way of every message and of every wait, `post`, `run` and `resume`, is written down a second
time without one; on all other ways the lock is one that lets its thread in each time. No time passes in a turn either,
so `run` handles nearly every message without a call, and does not measure how long that took.

Nearly every message comes to an actor that lives, waits for nothing and has nothing else to do. Such a cell is
`AT_REST`, and `HAS_MAIL` until its next turn is over; what else happens to it takes it out of these two states. So one
look tells `post` and `run` that theirs is the plain case.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from contextlib import AbstractContextManager
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from actors.kernel import waiting
from actors.kernel.actor_timers import Timer
from actors.kernel.cell import ALIVE, AT_REST, COALESCED, EDGE, HAS_MAIL, IDLE, IN_QUEUE, TAKEN, Cell
from actors.kernel.effects import EffectEnded
from actors.kernel.handling import drive, failed, handle, made_by_effect, resume
from actors.kernel.mailbox import PLAIN_NATURES, Item, Mailbox, coalescing_key
from actors.kernel.promise import AskFuture
from actors.kernel.suspension import Task

if TYPE_CHECKING:
    from actors.kernel.system import ActorSystem

OPEN_LOCK = threading.RLock()
_plain_nature = PLAIN_NATURES.get


class LoneCell(Cell):
    """See the module. The dispatcher that runs it clears `clock.cell` when it goes on to something else."""

    __slots__ = ("_clock", "_rest")

    def __init__(self, system: ActorSystem, *place: Any) -> None:
        super().__init__(system, *place)
        clock = system.dispatcher.clock
        assert clock is not None, "or it would not be alone"
        self._clock = clock
        self._rest = IDLE if self.linger_ns or type(self.mailbox) is not Mailbox else AT_REST
        """How it is when nothing is to be done."""

    def _new_lock(self) -> AbstractContextManager[object]:
        return OPEN_LOCK

    def post(self, message: Any, reply_to: AskFuture[Any] | None = None, key: Hashable | None = None) -> None:
        """See `Cell.post`."""
        clock = self._clock
        sender_cell = clock.cell
        sender = EDGE if sender_cell is None else sender_cell.path
        mailbox = self.mailbox
        state = self.turn_state
        if state is AT_REST:
            nature = _plain_nature(type(message))
            if nature is not None:  # as `Mailbox.post` does where nothing waits
                if nature.keyed and key is None and reply_to is None:
                    key = coalescing_key(message)
                mailbox.only = Item(message, reply_to, sender, clock.now_ns, key, nature)
                mailbox.length = 1
                self.turn_state = HAS_MAIL
                self.dispatcher.enqueue(self)
                return
        posted = mailbox.post(message, reply_to, sender, clock.now_ns, key)
        if posted is COALESCED and self.lingers and self.task is None:
            return  # it waits already, and it is known for how long
        if state is IDLE or state is AT_REST:
            # Who is alive and waits for nothing has work now: the mailbox is not empty.
            plain = self.task is None and self.life is ALIVE
            if (plain or self.has_work()) and (not self.linger_ns or not self._lets_wait(reply_to)):
                self.turn_state = HAS_MAIL if plain else IN_QUEUE
                self.dispatcher.enqueue(self)
        if posted not in TAKEN:
            self._not_taken(posted, message, reply_to, sender, clock.now_ns)

    def needs_turn(self) -> bool:
        """See `Cell.needs_turn`. Something has happened to it: it is no plain case any more."""
        state = self.turn_state
        if state is HAS_MAIL:
            self.turn_state = IN_QUEUE
        elif (state is IDLE or state is AT_REST) and self.has_work():
            self.turn_state = IN_QUEUE
            return True
        return False

    def _has_lingered(self) -> None:
        """See `Cell._has_lingered`."""
        self.lingers = False
        if self.turn_state is IDLE and self.has_work():
            self.turn_state = HAS_MAIL if self.task is None and self.life is ALIVE else IN_QUEUE
            self.dispatcher.enqueue(self)

    def resume(self, token: object, result: Any) -> None:
        """See `Cell.resume`."""
        task = self.task
        if task is not None and task.token is token:
            task.come(result)
            if self.turn_state is IDLE:
                self.turn_state = IN_QUEUE
                self.dispatcher.enqueue(self)

    def task_ended(self) -> None:
        """See `Cell.task_ended`."""
        self.task = None
        self.forced = False
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def run(self, turns: int = 1) -> None:
        """One turn, whatever `turns`: between any two the seed draws who is next."""
        clock = self._clock
        clock.cell = self
        mailbox = self.mailbox
        try:
            if self.turn_state is HAS_MAIL:
                # `Mailbox.take`, `handling.handle` and `Item.label`, mostly without their calls: what changes there
                # changes here.
                item = mailbox.only
                if item is None:
                    item = mailbox.take()
                else:
                    mailbox.only = None
                    mailbox.length = 0
                if item is not None and ((key := item.key) is None or type(key) is not Timer or key.claim()):
                    message = item.message
                    handler = self.handlers.get(type(message))
                    if handler is None and type(message) is EffectEnded:
                        message = item.message = made_by_effect(self, message)
                        handler = self.handlers.get(type(message))
                    if handler is not None:
                        try:
                            result = handler(self.actor, message)
                        except BaseException as failure:
                            failed(self, item, failure)
                        else:
                            if result is not None and type(result) is CoroutineType:
                                task = self.task = Task(result, item, type(message).__name__, clock.now_ns)
                                drive(self, task, None, None)
                            else:
                                self.handled += 1
                                if item.reply_to is not None:
                                    item.reply_to.set(result)
                                trace = self.dispatcher.trace
                                if trace is not None:
                                    nature = item.nature
                                    if not nature.keyed:
                                        label = nature.name
                                    elif type(key) is tuple:
                                        label = f"{nature.name}({key[1]})"
                                    else:
                                        label = item.label()
                                    trace(clock.now_ns, self.path, label, "ok")
                    elif message is not None:
                        handle(self, item)  # nothing that this actor understands
            else:
                self._turn()
        finally:
            # What `has_work` says of who is alive and waits for nothing, without its call.
            if self.task is None and self.life is ALIVE and not self.stop_requested:
                if mailbox.length:
                    self.turn_state = HAS_MAIL
                    self.dispatcher.enqueue(self)
                else:
                    self.turn_state = self._rest
            elif self.has_work():
                self.turn_state = IN_QUEUE
                self.dispatcher.enqueue(self)
            else:
                self.turn_state = IDLE

    def _turn(self) -> None:
        """As `Cell.run` takes one: there may be more to do than to handle a message."""
        task = self.task
        if task is not None:
            if task.resumed and not self.stop_requested:
                resume(self, task)
            else:
                waiting.take_turn(self, task)
        elif self.life is not ALIVE or self.stop_requested:
            self._turn_of_life()
        else:
            item = self.mailbox.take()
            if item is not None and (type(item.key) is not Timer or item.key.claim()):
                handle(self, item)
