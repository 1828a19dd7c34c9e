"""The cast: small named actors, each with one habit, used by all suites of the kernel."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, ClassVar

from actors.kernel import (
    Actor,
    ActorRef,
    ActorStopped,
    ChildFailed,
    Interrupted,
    MailboxOverflowed,
    Message,
    Promise,
    RestartStrategy,
    SoleMessage,
    handles,
)

MS = 1_000_000
SECOND = 1_000 * MS

QUICK = RestartStrategy(name="quick", initial_ns=2 * MS, max_ns=8 * MS, jitter=0.0, parked_retry_ns=20 * MS)
"""Restarts within milliseconds, so that a suite on real threads need not wait for them."""


class Say(Message, frozen=True):
    text: str


class Fail(Message, frozen=True):
    kind: type[BaseException] = ValueError
    times: int = 1


class Unknown(Message, frozen=True):
    """Nobody in the cast handles this."""


class Tick(Message, frozen=True):
    number: int = 0


class Latest(Message, frozen=True):
    """Only the newest of a key counts; `seen` says how many were merged into it."""

    key: str
    version: int
    seen: int = 1

    def coalesce_key(self) -> Hashable | None:
        return self.key

    def merged(self, waiting: Latest) -> Latest:
        return Latest(self.key, self.version, self.seen + waiting.seen)


class Look(SoleMessage, frozen=True):
    version: int


class Interrupt(Message, frozen=True):
    interrupts: ClassVar[bool] = True
    text: str = ""


class Ended(Message, frozen=True):
    """An effect of a puppet has ended."""

    name: str
    error: str = ""


class Do(Message, frozen=True):
    """Have a puppet do something at once."""

    what: Callable[[Any], Any]


class Later(Message, frozen=True):
    """Have a puppet do something that waits."""

    what: Callable[[Any], Awaitable[Any]]


class Puppet(Actor):
    """Does what it is told and notes what it hears.

    Several incarnations and actors may share one notebook.
    """

    mailbox_capacity: ClassVar[int] = 10_000

    def __init__(self, notes: list[Any] | None = None, at_start: Callable[[Any], Any] | None = None) -> None:
        super().__init__()
        self.notes: list[Any] = [] if notes is None else notes
        self.at_start = at_start

    def on_start(self) -> Any:
        return None if self.at_start is None else self.at_start(self)

    @handles(Do)
    def do(self, message: Do) -> Any:
        return message.what(self)

    @handles(Later)
    async def later(self, message: Later) -> Any:
        return await message.what(self)

    @handles(Say)
    def say(self, message: Say) -> str:
        self.notes.append(message.text)
        return message.text

    @handles(Tick, Latest, Look, Interrupt, Ended, ActorStopped, ChildFailed, MailboxOverflowed)
    def heard(self, message: Message) -> None:
        self.notes.append(message)


async def a_moment(puppet: Puppet) -> None:
    """For `at_start`: messages told at once wait behind it, and meet in the mailbox."""
    await puppet.sleep(5 * MS)


class Crash(Actor):
    """Fails when told to; answers how often it was made."""

    def __init__(self, made: list[str]) -> None:
        super().__init__()
        made.append(self.path)
        self.made = made

    @handles(Fail)
    def fail(self, message: Fail) -> None:
        raise message.kind("as told")

    @handles(Say)
    def say(self, message: Say) -> int:
        return len(self.made)


class FailsToStart(Actor):
    """Cannot be constructed, or cannot start, the first `times` times."""

    def __init__(self, attempts: list[int], times: int, where: str = "constructor") -> None:
        super().__init__()
        attempts.append(len(attempts))
        self.fails = len(attempts) <= times
        self.where = where
        if self.fails and where == "constructor":
            raise RuntimeError(f"attempt {len(attempts)}")

    def on_start(self) -> Any:
        if self.where == "async on_start":
            return self.start_later()
        if self.fails and self.where == "on_start":
            raise RuntimeError("in on_start")
        return None

    async def start_later(self) -> None:
        await self.sleep(MS)
        if self.fails:
            raise RuntimeError("in async on_start")

    @handles(Say)
    def say(self, message: Say) -> str:
        return message.text


class Hang(Actor):
    """Waits, without a thread, for what never comes."""

    health_limit_ns: ClassVar[int | None] = 50 * MS
    stop_grace_ns: ClassVar[int] = 20 * MS

    def __init__(self, stubborn: bool = False) -> None:
        super().__init__()
        self.stubborn = stubborn

    @handles(Say)
    async def hang(self, message: Say) -> None:
        while True:
            try:
                await self.wait(Promise[None](), what="what never comes")
            except Interrupted:
                if not self.stubborn:
                    raise


class Block(Actor):
    """Holds its thread until it is let go."""

    health_limit_ns: ClassVar[int | None] = 50 * MS

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate

    @handles(Say)
    def block(self, message: Say) -> None:
        assert self.gate.wait(60), "the test forgot to open the gate"


class Flood(Actor):
    """Sends a target a flood of messages."""

    @handles(Do)
    def flood(self, message: Do) -> None:
        message.what(self)


class Counter(Actor):
    """Counts, and keeps the order of what it gets per sender."""

    mailbox_capacity: ClassVar[int] = 1_000

    def __init__(self, notes: list[Any]) -> None:
        super().__init__()
        self.notes = notes

    @handles(Tick)
    def tick(self, message: Tick) -> None:
        self.notes.append(message.number)

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        self.notes.append(message)


class Narrow(Puppet):
    """A puppet whose mailbox takes three messages."""

    mailbox_capacity: ClassVar[int] = 3


class Bounded(Puppet):
    """A puppet that has at most two effects in flight."""

    max_effects: ClassVar[int] = 2


class Watchful(Puppet):
    """A puppet that health asks about."""

    health_limit_ns: ClassVar[int | None] = 50 * MS


class Parent(Actor):
    """Has children of the class it is given, watches them, and notes their failures and deaths."""

    def __init__(self, notes: list[Any], children: tuple[tuple[str, type[Actor], tuple[Any, ...]], ...]) -> None:
        super().__init__()
        self.notes = notes
        self.wanted = children

    def on_start(self) -> None:
        self.notes.append("parent started")
        for name, actor_class, args in self.wanted:
            if name not in self.children:
                self.watch(self.spawn(actor_class, *args, name=name, strategy=QUICK))

    def on_stop(self) -> None:
        self.notes.append(f"{self.path} stopped")

    @handles(Say)
    def child(self, message: Say) -> ActorRef:
        return self.children[message.text]

    @handles(Fail)
    def fail(self, message: Fail) -> None:
        raise message.kind("as told")

    @handles(ChildFailed, ActorStopped)
    def heard(self, message: Message) -> None:
        self.notes.append(message)
