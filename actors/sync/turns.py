"""Which new pods start now: a few at a time.

Those of higher priority come first, then those that came first.

If all pods of a burst started together, all would become Ready at its end. So only some have a turn, as many as keep
the machine busy. A turn ends when the pod runs, or waits for something else: a pull, a hook, an init container, another
try. It ends after a second in any case, so a pod that hangs holds up nobody for longer.

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
from actors.messages.pods import Operation, PodChanged, StartOver
from actors.pod.services import PodServices
from actors.pod_rules.lifecycle import PodStage
from actors.sync.state import PodEntry, SyncState
from config.objects import Pod
from config.pods.identity import is_critical

TURN_NS = 1_000_000_000
"""The longest turn, and the shortest wait for one that `explain` shows."""
PENDING = "Pending"


def starts_at_once(cpus: int) -> int:
    """How many pods get a turn at a time on a machine with so many CPUs; 0: unknown.

    With 32 for each CPU, 300 pods and 1,000 pods took no more CPU time than all at once (one measurement, two CPUs).
    With 8 and 16 they took 40 to 65 % more: threads then sleep and wake up for each answer instead of for many.
    """
    return 32 * min(max(cpus, 1), 8)


class _Place(NamedTuple):
    """A place in the line: the least comes first."""

    negated_priority: int
    number: int
    came_ns: int


class StartTurns:
    """The line of pods that wait, and the turns of those that start, by UID.

    At most `at_once` pods have a turn at a time.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._began_ns: dict[str, int] = {}
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
            self._came += 1
            place = self._places[uid] = _Place(-priority, self._came, now_ns)
            heapq.heappush(self._line, (place, uid))

    def leave(self, uid: str) -> None:
        """End the pod's turn, or its wait."""
        self._began_ns.pop(uid, None)
        self._places.pop(uid, None)
        self._shown.discard(uid)

    def next(self, now_ns: int) -> str | None:
        """Give the first in the line a turn, if one is free. Returns its UID."""
        for late in [uid for uid, began_ns in self._began_ns.items() if now_ns - began_ns >= TURN_NS]:
            del self._began_ns[late]
        if len(self._began_ns) >= self.at_once:
            return None
        while self._line:
            place, uid = heapq.heappop(self._line)
            if self._places.get(uid) is place:
                self.leave(uid)
                self._began_ns[uid] = now_ns
                return uid
        return None

    def next_in_ns(self, now_ns: int) -> int | None:
        """When the oldest turn ends at the latest; None if nobody waits."""
        if not self._places:
            return None
        return max(min(self._began_ns.values(), default=now_ns) + TURN_NS - now_ns, 0)

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
        self.at_once = services.node.starts_at_once
        """0: all pods start at once."""
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._start = start
        self._attempt = attempt
        self._turns = StartTurns(self.at_once)

    def __contains__(self, uid: str) -> bool:
        """Whether the pod waits for its turn."""
        return uid in self._turns

    def waits(self, uid: str, entry: PodEntry, pod: Pod) -> bool:
        """Whether a pod without a worker has to wait. If so, it is started later."""
        if entry.lives or entry.is_to_be_deleted() or is_critical(pod) or has_begun(pod) or self._is_in_runtime(uid):
            self._turns.leave(uid)
            return False
        self._turns.join(uid, pod.spec.priority or 0, self._sync_loop.now_ns())
        self._go_on()
        return True

    def leave(self, uid: str) -> None:
        """The pod has gone."""
        if self.at_once:
            self._turns.leave(uid)
            self._go_on()

    @handles(StartOver)
    def start_over(self, message: StartOver) -> None:
        self.leave(message.uid)

    @handles(TurnsOver)
    def turns_over(self, _: TurnsOver) -> None:
        self._go_on()
        for uid, before in self._turns.to_show(self._sync_loop.now_ns()).items():
            entry = self._state.entries.get(uid)
            if entry is not None and entry.pod is not None:
                self._services.historian.tell(_waits(entry.pod, before, self.at_once, self._sync_loop.wall_ns()))

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

    def _is_in_runtime(self, uid: str) -> bool:
        return any(each.uid == uid for each in self._state.unknown or ())


def has_begun(pod: Pod) -> bool:
    """Whether the API shows that a node has taken the pod."""
    status = pod.status
    return status is not None and (status.phase or PENDING, status.start_time) != (PENDING, None)


def _waits(pod: Pod, before: int, at_once: int, wall_ns: int) -> NoteHistory:
    why = turn_wait(before, at_once)
    entry = HistoryEntry(HistoryKind.WAIT, f"the pod waits for its turn: {why}", "", wall_ns, wall_ns)
    wait = PodWait("the pod", "", why, "it is started then")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, PodStage.WAITING.value, wall_ns, (entry,), (wait,))
