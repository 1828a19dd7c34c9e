"""Which new pods start now: a few at a time.

Those of higher priority come first, then those that came first.

If all pods of a burst started together, all would become Ready at its end. So only some have a turn, as many as keep
the machine and the runtime busy (`actors.sync.start_window`). A turn ends when the pod runs, or waits for something
else: a pull, a hook, an init container, a volume, another try. It ends after a second at the latest, or after twice the
time of a start where that is longer. Where others were quick, it ends sooner. So a pod that hangs holds up nobody for
long.

Static and critical pods, pods that have begun and pods that are to end never wait. Nor does any pod in a simulated
world, unless its plan says so.

`StartTurns` decides and is pure. `PodTurns` acts on it for the sync loop.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from actors.events.history_words import turn_wait
from actors.kernel import Actor, Message, handles
from actors.messages.history import HistoryEntry, HistoryKind, NoteHistory, PodWait
from actors.messages.pods import Operation, PodChanged, RuntimeStateObserved, StartGoesOn, StartOver
from actors.pod.services import PodServices
from actors.pod_rules.lifecycle import PodStage
from actors.sync.start_window import SECOND_NS, StartWindow
from actors.sync.state import PodEntry, SyncState, has_begun
from config.objects import Pod
from config.pods.identity import is_critical

TURN_NS = SECOND_NS
"""The longest turn at first, and the shortest wait for one that `explain` shows."""


class _Place(NamedTuple):
    """A place in the line: the least comes first."""

    negated_priority: int
    number: int
    came_ns: int


class _Turn(NamedTuple):
    """The turn of a pod.

    `began_ns`: when it began; `at_once`: how many starts were under way then, late ones too, at most `most`.
    """

    began_ns: int
    at_once: int


class StartTurns:
    """The line of pods that wait, and the turns of those that start, by UID.

    At most `most` pods have a turn at a time.
    """

    def __init__(self, most: int) -> None:
        self._window = StartWindow(most)
        self._turns: dict[str, _Turn] = {}
        self._late: dict[str, _Turn] = {}
        """Those whose turn is over, and that have not started yet."""
        self._places: dict[str, _Place] = {}
        self._line: list[tuple[_Place, str]] = []
        """A heap of those that wait, and of some that wait no more."""
        self._came = 0
        self._shown: set[str] = set()

    def __contains__(self, uid: str) -> bool:
        """Whether the pod waits."""
        return uid in self._places

    def join(self, uid: str, priority: int, now_ns: int) -> None:
        """Wait behind the pods of this priority; a pod in the line keeps its place."""
        if uid not in self._places:
            if not self._places and not self._turns:
                self._window.pods_come(now_ns)
            self._came += 1
            place = self._places[uid] = _Place(-priority, self._came, now_ns)
            heapq.heappush(self._line, (place, uid))

    @property
    def at_once(self) -> int:
        """How many may have a turn at a time now."""
        return self._window.places

    def forget(self) -> None:
        """Forget how long starts take. Those that are late teach nothing either."""
        self._window.forget()
        self._late.clear()

    def started(self, uid: str, now_ns: int) -> None:
        """The pod runs: end its turn, and learn how long it took."""
        turn = self._turns.get(uid) or self._late.get(uid)
        self.leave(uid)
        if turn is not None:
            self._window.ended(now_ns - turn.began_ns, turn.at_once, now_ns, bool(self._places))

    def goes_on(self, now_ns: int) -> None:
        """A start is slow, and does not hang."""
        self._window.goes_on(now_ns)

    def leave(self, uid: str) -> None:
        """End the pod's turn, or its wait."""
        self._turns.pop(uid, None)
        self._late.pop(uid, None)
        self._places.pop(uid, None)
        self._shown.discard(uid)

    def next(self, now_ns: int) -> str | None:
        """Give the first in the line a turn, if one is free. Returns its UID."""
        self._end_late_turns(now_ns)
        if len(self._turns) >= self.at_once:
            return None
        while self._line:
            place, uid = heapq.heappop(self._line)
            if self._places.get(uid) is place:
                self.leave(uid)
                self._turns[uid] = _Turn(now_ns, min(self.at_once + len(self._late), self._window.most))
                return uid
        return None

    def _end_late_turns(self, now_ns: int) -> None:
        turn_ns = self._window.turn_ns
        late = {uid: turn for uid, turn in self._turns.items() if now_ns - turn.began_ns >= turn_ns}
        for uid in late:
            del self._turns[uid]
        self._late.update(late)
        if late and self._places:
            self._window.late(len(late), now_ns)

    def next_in_ns(self, now_ns: int) -> int | None:
        """When the oldest turn ends at the latest; None if nobody waits."""
        if not self._places:
            return None
        first_ns = min((each.began_ns for each in self._turns.values()), default=now_ns)
        return max(first_ns + self._window.turn_ns - now_ns, 0)

    def to_show(self, now_ns: int) -> dict[str, int]:
        """The pods that have waited for a second and were not shown yet, with the number of those before each."""
        line = sorted(self._places.items(), key=lambda each: each[1])
        late = {
            uid: before
            for before, (uid, place) in enumerate(line)
            if now_ns - place.came_ns >= TURN_NS and uid not in self._shown
        }
        self._shown.update(late)
        return late


class TurnsOver(Message, frozen=True):
    """SyncLoopActor to itself: a turn has lasted long enough."""


class PodTurns:
    """See the module. `attempt` acts for a pod, `start` gives it its worker."""

    def __init__(
        self,
        sync_loop: Actor,
        state: SyncState,
        services: PodServices,
        start: Callable[[str, PodEntry], None],
        attempt: Callable[[PodChanged, Callable[[], None]], None],
    ) -> None:
        self.most = services.node.starts_at_once
        """0: all pods start at once."""
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._start = start
        self._attempt = attempt
        self._turns = StartTurns(self.most)
        self._runtime = ("", "", False)
        """Its name, its version, and whether it is away."""

    def __contains__(self, uid: str) -> bool:
        """Whether the pod waits for its turn."""
        return uid in self._turns

    def waits(self, uid: str, entry: PodEntry, pod: Pod) -> bool:
        """Whether a pod without a worker has to wait. If so, it is started later."""
        if (
            entry.lives
            or entry.is_to_be_deleted()
            or is_critical(pod)
            or has_begun(pod)
            or self._state.is_in_runtime(uid)
        ):
            self._turns.leave(uid)
            return False
        self._turns.join(uid, pod.spec.priority or 0, self._sync_loop.now_ns())
        self._go_on()
        return True

    def leave(self, uid: str) -> None:
        """The pod has gone."""
        if self.most:
            self._turns.leave(uid)
            self._go_on()

    @handles(StartOver)
    def start_over(self, message: StartOver) -> None:
        """Work: the pods whose turn has come."""
        if message.started:
            self._turns.started(message.uid, self._sync_loop.now_ns())
        self.leave(message.uid)

    @handles(StartGoesOn)
    def start_goes_on(self, _: StartGoesOn) -> None:
        """Work: constant."""
        self._turns.goes_on(self._sync_loop.now_ns())

    def runtime_observed(self, state: RuntimeStateObserved) -> None:
        """Another runtime, or one that was away, may start pods faster or slower."""
        before, self._runtime = self._runtime, (state.runtime_name, state.runtime_version, bool(state.error))
        if before != self._runtime:
            self._turns.forget()

    @handles(TurnsOver)
    def turns_over(self, _: TurnsOver) -> None:
        """Work: the pods that wait for their turn."""
        self._go_on()
        for uid, before in self._turns.to_show(self._sync_loop.now_ns()).items():
            entry = self._state.entries.get(uid)
            if entry is not None and entry.pod is not None:
                self._services.historian.tell(_waits(entry.pod, before, self._turns.at_once, self._sync_loop.wall_ns()))

    def _go_on(self) -> None:
        """Start the pods whose turn it is."""
        now_ns = self._sync_loop.now_ns()
        while (uid := self._turns.next(now_ns)) is not None:
            entry = self._state.entries.get(uid)
            if entry is None or entry.worker is not None or entry.ended or entry.pod is None:
                self._turns.leave(uid)
                continue
            self._attempt(PodChanged(Operation.ADD, entry.pod, entry.source), partial(self._start, uid, entry))
        in_ns = self._turns.next_in_ns(now_ns)
        if in_ns is not None:
            self._sync_loop.after(in_ns, TurnsOver())


def _waits(pod: Pod, before: int, at_once: int, wall_ns: int) -> NoteHistory:
    why = turn_wait(before, at_once)
    entry = HistoryEntry(HistoryKind.WAIT, f"the pod waits for its turn: {why}", "", wall_ns, wall_ns)
    wait = PodWait("the pod", "", why, "it is started then")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, PodStage.WAITING.value, wall_ns, (entry,), (wait,))
