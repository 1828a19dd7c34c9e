"""Waiting without a thread: what a handler's `await` hands to the kernel.

`Suspension` is the one thing the kernel knows how to wait for: a `Pending`, a time, or both. Everything else that can
be awaited in a handler is made of it. `gather` waits for several at once.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from actors.kernel.promise import Pending, Promise

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from actors.kernel.mailbox import Item

T = TypeVar("T")


class Suspension(msgspec.Struct, Generic[T], eq=False):
    """Await this in a handler: ends with the pending's result, or with a timeout.

    `timeout_ns` with a pending raises `DeadlineExceededError`; without one it is a sleep. `what` names it to people.
    """

    pending: Pending[T] | None
    timeout_ns: int | None = None
    what: str = ""

    def __await__(self) -> Generator[Suspension[T], Any, T]:
        pending: Any = self.pending
        if type(pending) is Promise and pending._done and pending._exception is None:
            return pending._value  # type: ignore[return-value]  # nearly always: as below, without its calls
        if pending is not None and pending.done():
            return pending.result()  # type: ignore[no-any-return]  # there already: the kernel need not be asked
        result: T = yield self
        return result


class Task(msgspec.Struct, eq=False):
    """A handler that has begun: its coroutine and what it waits for. At most one per actor.

    `token` is the identity of the wait at hand, None while there is none: whatever comes for another wait, or for
    another task, comes too late. `item` is None for `on_start` and `on_stop`.
    """

    coroutine: Coroutine[Any, Any, Any]
    item: Item | None
    label: str
    started_ns: int
    token: object | None = None
    resumed: bool = False
    come_with: Any = None
    interrupted_by: Any = None
    shields: int = 0
    waiting_for: str = ""
    timer: Any = None

    def come(self, result: Any) -> None:
        """What is waited for is there. Under the cell's lock."""
        self.token = None
        self.come_with = result
        self.resumed = True

    def take_what_came(self) -> Any:
        result, self.come_with = self.come_with, None
        self.resumed = False
        return result


class Outcome(msgspec.Struct, Generic[T], eq=False):
    """How one of several effects ended: `value`, or `error` when it is not None."""

    value: T | None
    error: BaseException | None


def outcome_of(pending: Pending[T]) -> Outcome[T]:
    """The outcome of a pending that is done, cancellation included."""
    done: Any = pending
    if type(done) is Promise and done._done:  # nearly always: what follows, without its call
        return Outcome(done._value, done._exception)
    try:
        return Outcome(done.result(), None)
    except BaseException as error:  # concurrent futures raise CancelledError from result()
        return Outcome(None, error)


def all_done(pendings: Sequence[Pending[Any]]) -> Promise[None]:
    """A promise kept when every one of `pendings` has ended, well or badly."""
    promise: Promise[None] = Promise()
    if not pendings:
        promise.set_result(None)
        return promise
    # Effects end on any thread: whoever takes the first one out is the last, and there is one such.
    left = [True] + [False] * (len(pendings) - 1)

    def one_ended(_: Any) -> None:
        if left.pop():
            promise.set_result(None)

    for pending in pendings:
        pending.add_done_callback(one_ended)
    return promise
