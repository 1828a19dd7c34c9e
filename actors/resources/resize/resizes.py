"""The resizes of pods: a part of `ResourceManagerActor` (spec 10.16).

`PendingResizes` decides about a pod that requests other resources, and its worker gets the decision. The worker reports
the resources that the runtime was told. A grant is on disk before its worker hears of it.

Each try begins with a question to the sync loop: which pods are there? A pod that is yet to be admitted, because it
waits for its turn or for its first look at the runtime, keeps its room. Nobody grows into it. An answer decides no
resize that was asked for after its question, since it may lack a pod that came in between. Questions are numbered,
because one is repeated when its answer is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.kernel import Actor, ActorRef, SoleMessage, handles
from actors.messages.admission import ResizePod, ResourcesActuated
from actors.messages.eviction import PodsHere, WantPods
from actors.model.allocation import Allocation
from actors.resources.admission import Snapshot
from actors.resources.book_keeper import BookKeeper
from actors.resources.resize.newcomers import allocations_of, newcomers
from actors.resources.resize.pending import PERIODIC_RETRY, POD_RESIZED, RETRY_NS, Outcome, PendingResizes

SECOND_NS = 1_000_000_000
SOON_NS = 10 * SECOND_NS
"""Until the next try, when nothing may tell that it is due.

An answer of the sync loop may be lost, and a newcomer may go before it is admitted.
"""


class RetryResizes(SoleMessage, frozen=True):
    """To itself: try the pending resizes again."""


class Resizes:
    """See the module.

    `snapshots`: makes what admission decides on, None until the node is known. `tell_shares`: tells a worker which CPUs
    its pod has.
    """

    def __init__(
        self,
        manager: Actor,
        sync_loop: ActorRef,
        keeper: BookKeeper,
        pending: PendingResizes,
        snapshots: Callable[[], Callable[[], Snapshot] | None],
        end_victims: Callable[[Iterable[Allocation], str], None],
        tell_shares: Callable[[str, ActorRef], None],
    ) -> None:
        self._tell_shares = tell_shares
        self._manager = manager
        self._sync_loop = sync_loop
        self._trigger = PERIODIC_RETRY
        """Of the try that waits for the answer of the sync loop."""
        self._asks = False
        """Whether the answer to the newest question is awaited."""
        self._number = 0
        """Of the newest question. Numbers also rise from one life of the manager to the next."""
        self._decided_by: dict[str, int] = {}
        """By the UID of a pod that asked lately: the first question whose answer may decide."""
        self._keeper = keeper
        self._pending = pending
        self._snapshots = snapshots
        self._end_victims = end_victims
        self._untold: list[tuple[int, Outcome]] = []
        """Granted resizes, each with the version that must be on disk before its worker is told."""

    @handles(ResizePod)
    def resize_pod(self, message: ResizePod) -> None:
        """Work: constant."""
        is_new = self._pending.want(message, self._manager.wall_ns() // SECOND_NS)
        if is_new:
            self._decided_by[message.pod.metadata.uid] = self._next_number()
        self.try_all(POD_RESIZED)

    @handles(RetryResizes)
    def retry_resizes(self, _: RetryResizes) -> None:
        """Work: constant."""
        self._asks = False  # a question or answer is late, or was lost
        self.try_all(PERIODIC_RETRY)

    @handles(ResourcesActuated)
    def resources_actuated(self, message: ResourcesActuated) -> None:
        """Work: constant."""
        if self._keeper.book is not None and self._keeper.book.actuate(message.uid, message.record):
            self._keeper.changed()
            self._keeper.save_later()

    def try_all(self, trigger: str) -> None:
        """Try all pending resizes, once the sync loop has told which pods are there."""
        if not self._pending or self._keeper.book is None or self._snapshots() is None:
            return
        self._trigger = trigger
        if not self._asks:
            self._asks = True
            self._number = self._next_number()
            self._sync_loop.tell(WantPods(self._manager.ref, self._number))
            self._manager.after(SOON_NS, RetryResizes(), key="resizes")

    def _next_number(self) -> int:
        return max(self._number + 1, self._manager.now_ns())

    @handles(PodsHere)
    def pods_told(self, message: PodsHere) -> None:
        """Grants are on disk before their workers hear of them.

        Work: all pods, and the containers of those with a pending resize.
        """
        if not self._asks:
            return  # the newest question has its answer
        self._asks = message.number != self._number
        late = {uid: number for uid, number in self._decided_by.items() if number > message.number}
        self._decided_by = late
        book = self._keeper.book
        if not self._pending or book is None or (snapshot := self._snapshots()) is None:
            return
        new = newcomers(message.pods, book)
        with book.with_more(allocations_of(new)):
            outcomes = list(self._pending.try_all(book, snapshot, self._trigger, without=late))
        for outcome in outcomes:
            if outcome.granted:
                self._keeper.changed()
                self._untold.append((self._keeper.version, outcome))
            else:
                outcome.worker.tell(outcome.decided)
            if outcome.victims:
                self._end_victims(outcome.victims, outcome.short_of)
        if self._asks:
            pass  # the timer of the newest question is set
        elif self._pending:
            self._manager.after(SOON_NS if new else RETRY_NS, RetryResizes(), key="resizes")
        else:
            self._manager.cancel_timer("resizes")
        if late:
            self.try_all(POD_RESIZED)
        self._keeper.save()

    def saved(self, version: int) -> None:
        """This version of the book is on the disk: tell of the grants that it has."""
        for _, outcome in [each for each in self._untold if each[0] <= version]:
            self._tell_shares(outcome.uid, outcome.worker)
            outcome.worker.tell(outcome.decided)
        self._untold = [each for each in self._untold if each[0] > version]

    def forget(self, uid: str) -> None:
        """The pod has ended."""
        self._pending.forget(uid)
        self._untold = [each for each in self._untold if each[1].uid != uid]
