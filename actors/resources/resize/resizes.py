"""The resizes of pods: a part of `ResourceManagerActor` (spec 10.16).

`PendingResizes` decides about a pod that requests other resources, and its worker gets the decision. The worker reports
the resources that the runtime was told. A grant is on disk before its worker hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.kernel import Actor, ActorRef, SoleMessage, handles
from actors.messages.admission import ResizeDecided, ResizePod, ResourcesActuated
from actors.model.allocation import Allocation
from actors.resources.admission import Snapshot
from actors.resources.book_keeper import BookKeeper
from actors.resources.resize.pending import PERIODIC_RETRY, POD_RESIZED, RETRY_NS, PendingResizes

SECOND_NS = 1_000_000_000


class RetryResizes(SoleMessage, frozen=True):
    """To itself: try the pending resizes again."""


class Resizes:
    """See the module. `snapshots`: makes what admission decides on, None until the node is known."""

    def __init__(
        self,
        manager: Actor,
        keeper: BookKeeper,
        pending: PendingResizes,
        snapshots: Callable[[], Callable[[], Snapshot] | None],
        end_victims: Callable[[Iterable[Allocation], str], None],
    ) -> None:
        self._manager = manager
        self._keeper = keeper
        self._pending = pending
        self._snapshots = snapshots
        self._end_victims = end_victims
        self._untold: list[tuple[int, ActorRef, ResizeDecided]] = []
        """Granted resizes, each with the version that must be on disk before its worker is told."""

    @handles(ResizePod)
    def resize_pod(self, message: ResizePod) -> None:
        self._pending.want(message, self._manager.wall_ns() // SECOND_NS)
        self.try_all(POD_RESIZED)

    @handles(RetryResizes)
    def retry_resizes(self, _: RetryResizes) -> None:
        self.try_all(PERIODIC_RETRY)

    @handles(ResourcesActuated)
    def resources_actuated(self, message: ResourcesActuated) -> None:
        if self._keeper.book is not None and self._keeper.book.actuate(message.uid, message.resources):
            self._keeper.changed()
            self._keeper.save_later()

    def try_all(self, trigger: str) -> None:
        """Try all pending resizes. Grants are on disk before their workers hear of them."""
        book = self._keeper.book
        if not self._pending or book is None or (snapshot := self._snapshots()) is None:
            return
        for outcome in self._pending.try_all(book, snapshot, trigger):
            if outcome.granted:
                self._keeper.changed()
                self._untold.append((self._keeper.version, outcome.worker, outcome.decided))
            else:
                outcome.worker.tell(outcome.decided)
            if outcome.victims:
                self._end_victims(outcome.victims, outcome.short_of)
        if self._pending:
            self._manager.after(RETRY_NS, RetryResizes(), key="resizes")
        self._keeper.save()

    def saved(self, version: int) -> None:
        """This version of the book is on the disk: tell of the grants that it has."""
        for _, worker, decided in [each for each in self._untold if each[0] <= version]:
            worker.tell(decided)
        self._untold = [each for each in self._untold if each[0] > version]

    def forget(self, uid: str) -> None:
        """The pod has ended."""
        self._pending.forget(uid)
