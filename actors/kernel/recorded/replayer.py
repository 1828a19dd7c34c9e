"""`ReplayedDispatcher`: lets actors live through a record again. Theory of operation:

The same actors are made again. Then each step of the record is taken: its time is set, and an actor gets its turns, or
what came from outside comes again. Capabilities are answered from the record. So actors of the same code do the same,
and each call and message of a step is compared with the record's.

A difference is told to `differ`, and the replay goes on from what the record says. A call with other arguments gets the
recorded answer, and an actor without a reason for its recorded turn gets none. A call that the record does not have
gets the last answer to such a call, or never one. So the first difference is exact, and later ones may follow from it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pykka.messages import _ActorStop

from actors.kernel.context import context
from actors.kernel.dispatcher import Dispatcher, LaneReport, Runnable
from actors.kernel.errors import KernelError
from actors.kernel.incarnation import EffectEnded
from actors.kernel.promise import AskFuture, Pending, Promise
from actors.kernel.recorded.differences import Difference, DifferenceKind, aligned
from actors.kernel.recorded.edges import CANCEL, is_function
from actors.kernel.recorded.entries import (
    Began,
    Called,
    CalledBack,
    ClockSet,
    Closed,
    Deed,
    EffectDone,
    Ended,
    EndedAtOnce,
    Entry,
    Lost,
    MessageCame,
    Sent,
    Step,
    StopCame,
    TimersFired,
    Turn,
)
from actors.kernel.recorded.recorder import fire_due
from actors.kernel.recorded.replayed_edges import HandleSite, ReplayedEdge, ReplayedEffect, ReplayedLane
from actors.kernel.timers import TimerHandle, TimerHeap

T = TypeVar("T")


ASKED_TURNS = 100
"""So many turns are given to let an actor answer a question.

One that waits for something answers nobody.
"""


class NotRecordedError(KernelError):
    """A call that the record has no answer to."""


class Comparison(Protocol):
    """Compares what actors do with a record, in which some things may be written in short."""

    def same_call(self, recorded: Called, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Whether the arguments are those of the record."""

    def same_message(self, recorded: Sent, path: str, message: Any) -> bool:
        """Whether the message is that of the record."""

    def told_call(self, recorded: Called) -> str:
        """The recorded call for people."""

    def told_message(self, recorded: Sent) -> str:
        """The recorded message for people."""

    def told(self, what: Any) -> str:
        """Arguments or a message of today, for people."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken. `number` counts from 1."""

    number: int
    step: Step
    deeds: tuple[Deed, ...]


class ReplayedDispatcher(Dispatcher):
    """See the module. `entries` begin with `Began`.

    Make the actors, then call `step` until it returns None. `told_lost`: why the record ends before its process did.
    """

    single_threaded: ClassVar[bool] = True

    def __init__(self, entries: Iterable[Entry], compare: Comparison, differ: Callable[[Difference], object]) -> None:
        self._entries: Iterator[Entry] = iter(entries)
        began = next(self._entries, None)
        if not isinstance(began, Began):
            raise NotRecordedError("a record begins with the start of its actors")
        self.began = began
        self.chance = random.Random(f"chance {began.seed}")
        self._names = random.Random(f"names {began.seed}")
        self._compare = compare
        self._differ = differ
        self._now_ns = began.now_ns
        self._offset_ns = began.wall_ns - began.now_ns
        self._timers = TimerHeap()
        self._ready: dict[str, Runnable] = {}
        self._lanes: dict[str, ReplayedLane] = {}
        self._effects: dict[int, Promise[Any]] = {}
        self._callbacks: dict[int, Callable[..., object]] = {}
        self._last: dict[str, Called] = {}
        """The last call of each site: how such calls are answered."""
        self.root: Any = None
        """The cell at the top. Set it before the first step."""
        self.on_call: Callable[[Called, tuple[Any, ...]], object] = lambda *_: None
        """Told of each call that the record has, with the arguments of now."""
        self.on_message: Callable[[Any], object] = lambda _: None
        """Told of each message between actors."""
        self.tap = self._taps
        self.steps = 0
        self._is_asking = False
        self.actor = ""
        """Whose turn it is; empty for what comes from outside."""
        self.lost = ""
        self.is_complete = False
        """Whether the record has an end in order."""
        self._next: Entry | None = None
        self._calls: deque[Called | EndedAtOnce] = deque()
        self._sent: list[Sent] = []
        self._sends: list[tuple[str, Any]] = []
        self._take_deeds()

    # --- the course of it -------------------------------------------------------------------------------------------

    def step(self) -> Taken | None:
        """Take the next step of the record; None at its end."""
        if self.steps == 0 and self._next is not None:
            self._end_step()  # what was done while the actors were made
        head = self._next
        while isinstance(head, ClockSet):
            self._offset_ns = head.offset_ns
            head = next(self._entries, None)
        if head is None or isinstance(head, Lost | Closed | Began):
            self.lost = head.why if isinstance(head, Lost) else ""
            self.is_complete = isinstance(head, Closed)
            self._next = head
            return None
        assert isinstance(head, Step), f"{head} is no step"
        deeds = self._take_deeds()
        if self._next is None:  # the process was killed, perhaps in this step: a part of it may be missing
            return None
        self.steps += 1
        self._now_ns = head.now_ns
        self.actor = ""
        if self._takes(head):
            self._end_step()
        self.actor = ""
        return Taken(self.steps, head, deeds)

    def next_ns(self) -> int:
        """When the next step is due, in ns; the time of the last one at the end."""
        head: Any = self._next
        return getattr(head, "now_ns", self._now_ns)

    def stops_next(self) -> bool:
        """Whether the next step tells all actors to stop."""
        return isinstance(self._next, StopCame) and not self._next.path.strip("/")

    def _takes(self, step: Step) -> bool:
        """Take a step. False when it cannot be taken now."""
        if isinstance(step, Turn):
            cell = self._ready.pop(step.path, None)
            self.actor = step.path
            if cell is None:
                self._differs(DifferenceKind.NO_TURN, step.path, "a turn", "nothing to do")
                return False
            cell.run(step.turns)
        elif isinstance(step, TimersFired):
            fire_due(self._timers, self._now_ns)
        elif isinstance(step, EffectDone):
            self._end(step.number, step.failed, step.value)
        elif isinstance(step, CalledBack):
            fn = self._callbacks.get(step.number)
            if fn is not None:
                fn(*step.arguments)
        elif isinstance(step, MessageCame | StopCame):
            cell = self.find(step.path)
            if cell is None:
                self._differs(DifferenceKind.NO_ACTOR, step.path, "an actor", "none")
            elif isinstance(step, StopCame):
                cell.request_stop(None)
            else:
                cell.post(step.message, AskFuture() if step.asked else None)
        return True

    def _take_deeds(self) -> tuple[Deed, ...]:
        """Take what actors did in this step from the record, up to the next step."""
        deeds: list[Deed] = []
        self._next = None
        for entry in self._entries:
            if isinstance(entry, Called | EndedAtOnce | Sent):
                deeds.append(entry)
            else:
                self._next = entry
                break
        self._calls = deque(deed for deed in deeds if not isinstance(deed, Sent))
        self._sent = [deed for deed in deeds if isinstance(deed, Sent)]
        self._sends = []
        return tuple(deeds)

    def _end_step(self) -> None:
        for call in self._calls:
            if isinstance(call, Called):
                self._differs(DifferenceKind.CALL_LEFT_OUT, call.site, self._compare.told_call(call), "")
        compare = self._compare
        sends = self._sends
        for was, now in aligned(
            len(self._sent), len(sends), lambda one, other: compare.same_message(self._sent[one], *sends[other])
        ):
            if was is None and now is not None:
                path, message = sends[now]
                self._differs(DifferenceKind.MESSAGE_NEW, path, "", compare.told(message))
            elif now is None and was is not None:
                sent = self._sent[was]
                self._differs(DifferenceKind.MESSAGE_LEFT_OUT, sent.path, compare.told_message(sent), "")
            elif was is not None and now is not None:
                sent, (path, message) = self._sent[was], sends[now]
                self._differs(DifferenceKind.MESSAGE, path, compare.told_message(sent), compare.told(message))
        self._calls.clear()
        self._sent, self._sends = [], []

    def _differs(self, kind: DifferenceKind, what: str, expected: str, got: str) -> None:
        if not self._is_asking:
            self._differ(Difference(self.steps, self._now_ns, self.wall_ns(), self.actor, kind, what, expected, got))

    def find(self, path: str) -> Any:
        """The living cell at a path; None without one."""
        cell = self.root
        for name in path.strip("/").split("/"):
            if name:
                cell = (cell.child_cells_by_name or {}).get(name)
            if cell is None:
                return None
        return cell

    # --- calls of actors --------------------------------------------------------------------------------------------

    def is_next(self, site: str) -> bool:
        """Whether such a call is among those of this step."""
        return any(isinstance(call, Called) and call.site == site for call in self._calls)

    def answer(self, site: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Answer a call of an actor from the record. Raises what the call raised, or NotRecordedError."""
        found, ends = self._find_call(site, arguments, named)
        if found is None:
            self._differs(DifferenceKind.CALL_NEW, site, "", self._compare.told((arguments, named)))
            return self._usual_answer(site)
        if not self._compare.same_call(found, arguments, named):
            told = self._compare.told((arguments, named))
            self._differs(DifferenceKind.CALL, site, self._compare.told_call(found), told)
        self._last[site] = found
        self.on_call(found, arguments)
        number = found.first_callback
        for each in (*arguments, *named.values()):
            if is_function(each):
                self._callbacks[number] = each
                number += 1
        if found.ended is Ended.RAISED:
            raise found.value
        if found.ended is Ended.HANDLE:
            return ReplayedEdge(self, found.value)
        if found.ended is Ended.VALUE:
            if site == CANCEL and ends is not None:
                self._end(ends.number, ends.failed, ends.value)
            return found.value
        effect = self._effects[found.value] = ReplayedEffect(self, found.value)
        if ends is not None:
            self._end(ends.number, ends.failed, ends.value)
        return effect

    def _find_call(
        self, site: str, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Called | None, EndedAtOnce | None]:
        """The recorded call: the first of its site with the same arguments, or else the first of its site.

        Also the effect that it has ended: the record has that right behind it.
        """
        of_site = [call for call in self._calls if isinstance(call, Called) and call.site == site]
        if not of_site:
            return None, None
        same = (call for call in of_site if self._compare.same_call(call, arguments, named))
        found = next(same, of_site[0])
        place = next(place for place, call in enumerate(self._calls) if call is found)
        del self._calls[place]
        behind = self._calls[place] if place < len(self._calls) else None
        if not isinstance(behind, EndedAtOnce):
            return found, None
        del self._calls[place]
        return found, behind

    def _end(self, number: int, failed: bool, value: Any) -> None:
        effect = self._effects.pop(number, None)
        if effect is None:
            return
        if failed:
            effect.set_exception(value)
        else:
            effect.set_result(ReplayedEdge(self, value.site) if isinstance(value, HandleSite) else value)

    def _usual_answer(self, site: str) -> Any:
        last = self._last.get(site)
        if last is None or last.ended is Ended.PENDING or last.ended is Ended.HANDLE:
            return Promise()
        if last.ended is Ended.RAISED:
            raise last.value
        return last.value

    # --- the dispatcher's interface ---------------------------------------------------------------------------------

    def enqueue(self, cell: Runnable) -> None:
        self._ready[cell.path] = cell

    def now_ns(self) -> int:
        return self._now_ns

    def wall_ns(self) -> int:
        return self._now_ns + self._offset_ns

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        return self._timers.push(self._now_ns + max(0, after_ns), fn, every_ns)

    def new_uid(self) -> str:
        digits = f"{self._names.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def observe(self, what: str, look: Callable[[], T]) -> T:
        return self.answer(f"observed {what}", (), {})  # type: ignore[no-any-return]

    def lane(self, name: str, *, size: int, per_key: int) -> ReplayedLane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = ReplayedLane(self, name)
        return lane

    def lanes(self) -> tuple[LaneReport, ...]:
        return ()

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        """Let actors answer a question that the record does not have.

        They take turns beyond the record, in which no time passes and whose calls and messages go nowhere. So play no
        further afterwards.
        """
        self._is_asking = True
        for _ in range(ASKED_TURNS):
            if pending.done() or not self._ready:
                break
            self._ready.pop(next(reversed(self._ready))).run(1)
        self._is_asking = False
        self._calls.clear()
        self._sends = []
        return pending.done()

    def close(self) -> None:
        self._ready.clear()

    def _taps(self, cell: Any, message: Any, reply_to: Any, key: Hashable | None) -> bool:
        if context.cell is not None and not isinstance(message, EffectEnded):  # an end within the call is no message
            self.on_message(message)
            self._sends.append((cell.path, None if isinstance(message, _ActorStop) else message))
        return False
