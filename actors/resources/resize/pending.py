"""The pending resizes of pods, and the outcome of each try (spec 10.16).

Pure; `ResourceManagerActor` acts on it.

A resize is pending until it is granted, until it becomes infeasible, or until the pod requests its current resources.
Each try goes through all of them in order, since one that shrinks makes room for the next. A pod hears only news.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress

import msgspec

from actors.kernel import ActorRef
from actors.messages.admission import ResizeDecided, ResizePod
from actors.model.allocation import Allocation, Book, allocation_of
from actors.model.pod_resources import PodResources, resources_of
from actors.resources.admission import Snapshot
from actors.resources.resize.changes import changes
from actors.resources.resize.infeasible import Infeasible, ResizeRules
from actors.resources.resize.order import Waiting, in_turn
from actors.resources.resize.verdicts import DEFERRED, INFEASIBLE, UNCHANGED, Deferred, Granted, resize_verdict
from actors.resources.verdict import Rejected
from config.objects import Pod
from config.values.quantity import QuantityError
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters

RETRY_NS = 180 * 1_000_000_000
POD_RESIZED, PODS_REMOVED, PERIODIC_RETRY = "pod_resized", "pods_removed", "periodic_retry"
"""The trigger of a try, as a label of a kubelet's metric."""


class Outcome(msgspec.Struct, frozen=True):
    """`worker` gets `decided`. `granted`: the book has changed and must be on disk first."""

    uid: str
    worker: ActorRef
    decided: ResizeDecided
    granted: bool = False
    victims: tuple[Allocation, ...] = ()
    short_of: str = ""


class _Pending(msgspec.Struct):
    worker: ActorRef
    pod: Pod
    since_s: int
    told: ResizeDecided | None = None
    counted: bool = False
    """Whether the metric knows of it."""


class PendingResizes:
    """`regive`: gives a pod other CPUs, or says why it has to wait for them."""

    def __init__(self, rules: ResizeRules, meters: Meters, regive: Callable[[Pod], Rejected | None]) -> None:
        self._rules = rules
        self._regive = regive
        self._meters = meters
        self._pending: dict[str, _Pending] = {}
        self._infeasible: set[str] = set()
        """UIDs of pods that never get what they ask for."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    def want(self, asked: ResizePod, now_s: int) -> bool:
        """A pod asks for other resources, or asks again. Returns whether this is news."""
        uid = asked.pod.metadata.uid
        known = self._pending.get(uid)
        since_s = known.since_s if known is not None else asked.pending_since_s
        is_new = known is None or known.pod.spec != asked.pod.spec
        counted = known is not None and known.counted and not is_new
        self._pending[uid] = _Pending(asked.worker, asked.pod, now_s if since_s is None else since_s, counted=counted)
        self._infeasible.discard(uid)
        return is_new

    def forget(self, uid: str) -> None:
        """The pod has ended."""
        self._pending.pop(uid, None)
        self._infeasible.discard(uid)
        self._count()

    def try_all(
        self, book: Book, snapshot: Callable[[], Snapshot], trigger: str, without: Container[str] = ()
    ) -> Iterator[Outcome]:
        """Try each in its turn, except pods of the UIDs in `without`; grants are in the book then."""
        for uid in self._in_turn(book):
            given = book.resources(uid)
            if given is None or uid in without:
                continue
            outcome = self._try(uid, self._pending[uid], given, book, snapshot, trigger)
            if outcome is not None:
                yield outcome
        self._count()

    def _in_turn(self, book: Book) -> list[str]:
        waiting, unread = [], []
        for uid, each in self._pending.items():
            has = book.get(uid)
            if has is None:
                continue  # its admission is under way; it asks again then
            try:
                waiting.append(Waiting(has, allocation_of(each.pod), each.since_s))
            except QuantityError:
                unread.append(uid)
        return unread + [each.wanted.uid for each in in_turn(waiting)]

    def _try(
        self,
        uid: str,
        pending: _Pending,
        given: PodResources,
        book: Book,
        snapshot: Callable[[], Snapshot],
        trigger: str,
    ) -> Outcome | None:
        self._count_changes(pending, given)
        generation = pending.pod.metadata.generation
        with book.without(uid):
            verdict = resize_verdict(pending.pod, given, self._rules, snapshot())
        if isinstance(verdict, Granted) and (refused := self._regive(pending.pod)) is not None:
            verdict = Deferred(refused.reason, refused.message)
        if isinstance(verdict, Granted):
            book.resize(verdict.wanted, pending.pod)
            if pending.told is not None:
                self._meters.count(names.RESIZES_DEFERRED_ACCEPTED, trigger)
            del self._pending[uid]
            given = book.resources(uid) or given
            return Outcome(uid, pending.worker, ResizeDecided(given, generation), granted=True)
        if isinstance(verdict, Deferred):
            decided = ResizeDecided(given, generation, verdict.reason, verdict.message)
            if decided == pending.told:
                return None
            pending.told = decided
            return Outcome(uid, pending.worker, decided, victims=verdict.victims, short_of=verdict.short_of)
        del self._pending[uid]
        if isinstance(verdict, Infeasible):
            self._infeasible.add(uid)
            self._meters.count(names.RESIZES_INFEASIBLE, verdict.detail)
            return Outcome(uid, pending.worker, ResizeDecided(given, generation, INFEASIBLE, verdict.message))
        assert verdict is UNCHANGED
        return Outcome(uid, pending.worker, ResizeDecided(given, generation))

    def _count_changes(self, pending: _Pending, given: PodResources) -> None:
        if pending.counted:
            return
        pending.counted = True
        with suppress(QuantityError):
            for each in changes(given, resources_of(pending.pod.spec)):
                self._meters.count(names.RESIZES_REQUESTED, each.resource, each.requirement, each.operation)

    def _count(self) -> None:
        deferred = sum(each.told is not None for each in self._pending.values())
        for reason, number in ((DEFERRED, deferred), (INFEASIBLE, len(self._infeasible))):
            self._meters.put(names.RESIZES_PENDING, number, reason.lower())
