"""`PlegActor` watches what the runtime runs and tells the workers of changed pods to look again.

It lists all sandboxes and containers, compares with the last list (`listing.py`), and tells the worker of each changed
pod. It never says *what* happened: the worker looks for itself, so a lost, repeated or late message does no harm. It
does pass on the states it saw, and a worker that has seen them already does not look. Most changes only echo what the
worker has just done.

If the runtime serves an event stream, each event is a hint. The end of a container is passed on at once, other events
are gathered for a second (`event_gatherer.py`), and the full list becomes a slow safety net. Without a stream, the
list is taken every second (spec 2.1, 2.5). The list repeats what events have told: no runtime promises that its status
shows an event at once, so a worker that looked too early looks again then.

A list may fail: the state is then unknown, never "nothing runs", and the next list comes after a second. The stream may
fail: it is opened again after a pause. A list that does not return is abandoned after its deadline; hints are passed on
meanwhile. This actor never waits for the status call of one pod.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from actors.kernel import (
    Actor,
    ActorRef,
    ActorStopped,
    DeadlineExceededError,
    MailboxOverflowed,
    Message,
    Pending,
    Promise,
    all_done,
    handles,
)
from actors.messages.counts import CountRunning, RunningCount
from actors.messages.node import RuntimeListed
from actors.messages.pods import (
    ContainersDied,
    LookAgain,
    PlegStarted,
    PodWorkerStarted,
    RuntimeTold,
    SyncLoopStarted,
    UnknownPodsObserved,
    WorkersKnown,
)
from actors.model.runtime_shown import Shown, both, nothing_is_left, shown_by
from actors.pleg.event_gatherer import STOPPED, EventGatherer, EventsGathered, PodEventSeen, can_wait
from actors.pleg.listing import NOTHING, ListingDifference, Picture, count_of, difference, picture_of, strangers
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import (
    ContainerEventResponse,
    GetEventsRequest,
    ListContainersRequest,
    ListContainersResponse,
    ListPodSandboxRequest,
    ListPodSandboxResponse,
)
from runtime.cri.verbs import GET_CONTAINER_EVENTS, LIST_CONTAINERS, LIST_POD_SANDBOX
from runtime.io.pending import Subscription
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters

SECOND_NS = 1_000_000_000
RELIST_NS = SECOND_NS
"""Between two lists when the runtime serves no events (spec 2.1)."""
RELIST_WITH_EVENTS_NS = 10 * SECOND_NS
"""Between two lists when it serves events.

The real kubelet waits 300 s and misses what a broken stream lost.
"""
LIST_TIMEOUT_NS = 120 * SECOND_NS
GIVE_UP_NS = LIST_TIMEOUT_NS + SECOND_NS
"""For a runtime client that does not keep its own deadline."""
EVERYBODY_NS = SECOND_NS
"""From the loss of a hint until all workers look. Lost hints come in groups; one look serves them all."""
STREAM_RETRY_NS = 5 * SECOND_NS
UID_CHARACTERS_SHOWN = 64
GATHERER = "events"
UNHEALTHY_NS = 180 * SECOND_NS
"""Age of the last good list at which the node becomes not ready (spec 2.1)."""


class Relist(Message, frozen=True):
    """To itself: time for the next list."""


class ListEnded(Message, frozen=True):
    """To itself: the list requested at that time has ended or timed out."""

    asked_at_ns: int


class OpenStream(Message, frozen=True):
    """To itself: open the runtime's event stream."""


class EventHint(Message, frozen=True):
    """To itself, from the stream's thread: something happened to this pod.

    Empty UID: the event names no pod. `shown`: the states in the event, or None.
    """

    uid: str
    shown: Shown | None = None

    def coalesce_key(self) -> str:
        return self.uid

    def merged(self, waiting: EventHint) -> EventHint:
        if self.shown is None or waiting.shown is None:
            return EventHint(self.uid)
        return EventHint(self.uid, both(self.shown, waiting.shown))


class EventStreamEnded(Message, frozen=True):
    """To itself: the stream has ended; `served` False when the runtime does not implement the verb."""

    served: bool
    reason: str


class EverybodyLooks(Message, frozen=True):
    """To itself: hints were lost; all workers must look again."""


class DescribePleg(Message, frozen=True):
    """Ask: how the watch of the runtime is.

    The answer is (ns since the last good list or -1, containers and sandboxes listed, whether events are followed).
    """


class PlegActor(Actor):
    """See the module.

    `sync_loop` hears of running pods without a worker, and of the first list even if there are none. `gc` hears of
    containers that died, `node_status` of each good list.
    """

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = UNHEALTHY_NS

    def __init__(
        self,
        cri: Cri,
        sync_loop: ActorRef,
        gc: ActorRef,
        node_status: ActorRef | None = None,
        meters: Meters = UNMEASURED,
    ) -> None:
        super().__init__()
        self._meters = meters
        self._cri = cri
        self._sync_loop = sync_loop
        self._gc = gc
        self._node_status = node_status
        self._workers: dict[str, ActorRef] = {}
        self._picture: Picture = NOTHING
        self._lists: tuple[ListPodSandboxResponse, ListContainersResponse] | None = None
        """The two responses that the picture was made from."""
        self._all_known = False
        """Every running pod in the picture has a worker."""
        self._listed_at_ns: int | None = None
        self._asked_at_ns: int | None = None
        self._listing_failed = ""
        self._next_list_at_ns: int | None = None
        self._listing: tuple[Pending[ListPodSandboxResponse], Pending[ListContainersResponse]] | None = None
        """The list under way."""
        self._again_within_ns: int | None = None
        """How soon the next list must follow the one under way, because of hints that came meanwhile."""
        self._stream: Subscription | None = None
        self._stopping = False

    def on_start(self) -> None:
        # A restart has lost the workers; the sync loop answers with `WorkersKnown`.
        self._sync_loop.tell(PlegStarted())
        if GATHERER not in self.children:
            self.spawn(EventGatherer, self.ref, name=GATHERER)
        self.ref.tell(Relist())
        self.open_stream(OpenStream())

    def on_stop(self) -> None:
        self._stopping = True
        if self._stream is not None:
            self._stream.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()

    # --- who wants to know ------------------------------------------------------------------------------------------

    @handles(PodWorkerStarted)
    def worker_started(self, message: PodWorkerStarted) -> None:
        """Work: constant."""
        self._workers[message.uid] = message.worker
        self.watch(message.worker)

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        """Work: constant."""
        uid = message.ref.name
        if self._workers.get(uid) is message.ref:
            del self._workers[uid]
            self._all_known = False

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Hints were lost: all workers look again, once for all hints lost within a while.

        Looking is always safe.

        Work: constant.
        """
        self._meters.count(names.PLEG_DISCARDED)
        self.after(EVERYBODY_NS, EverybodyLooks(), key="everybody")

    @handles(EverybodyLooks)
    def everybody_looks(self, _: EverybodyLooks) -> None:
        """The lost messages may include a worker's announcement or a `Relist`, so renew both.

        Work: constant.
        """
        self._sync_loop.tell(PlegStarted())
        if self._next_list_at_ns is None or self._next_list_at_ns < self.now_ns():
            self.relist(Relist())

    @handles(WorkersKnown)
    def workers_known(self, message: WorkersKnown) -> None:
        """Work: all pods."""
        self._workers = dict(message.workers)
        for worker in self._workers.values():
            self.watch(worker)
            worker.tell(LookAgain())

    @handles(SyncLoopStarted)
    def sync_loop_started(self, _: SyncLoopStarted) -> None:
        """Repeat the report of unknown pods, even an empty one: the restarted sync loop has lost it.

        Work: all containers that the runtime lists.
        """
        if self._listed_at_ns is not None:
            self._tell_strangers(anyway=True)

    # --- the list ---------------------------------------------------------------------------------------------------

    @handles(Relist)
    def relist(self, _: Relist) -> None:
        """Work: constant."""
        if self._listing is not None:
            return
        before_ns, self._asked_at_ns = self._asked_at_ns, self.now_ns()
        if before_ns is not None:
            self._meters.took(names.PLEG_INTERVAL, self._asked_at_ns - before_ns)
        sandboxes = self._cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest(), timeout_ns=LIST_TIMEOUT_NS)
        containers = self._cri.call(LIST_CONTAINERS, ListContainersRequest(), timeout_ns=LIST_TIMEOUT_NS)
        listing = self._listing = (sandboxes, containers)
        ended = ListEnded(self._asked_at_ns)
        self.begin(lambda: all_done(listing), lambda _: ended)
        self.after(GIVE_UP_NS, ended)

    @handles(ListEnded)
    def list_ended(self, message: ListEnded) -> None:
        """Work: all containers that the runtime lists; only the changed ones one by one."""
        if message.asked_at_ns != self._asked_at_ns or self._listing is None:
            return
        sandboxes, containers = self._listing
        self._listing = None
        self.cancel_timer(ListEnded)
        try:
            _end(sandboxes, containers)
            self._list_came(sandboxes.result(), containers.result())
        except (CriError, DeadlineExceededError) as failure:
            self._list_failed(failure)
        # From the end of a list to the next, so that a slow runtime is not asked without pause.
        within_ns = RELIST_NS if self._stream is None or self._listing_failed else RELIST_WITH_EVENTS_NS
        if self._again_within_ns is not None:
            within_ns = min(within_ns, self._again_within_ns)
        self._next_list_at_ns = self._again_within_ns = None
        self.list_within(within_ns)

    def list_within(self, ns: int) -> None:
        """Schedule the next list within `ns`.

        A list under way may have missed the change, so another follows it.
        """
        if self._listing is not None:
            self._again_within_ns = ns if self._again_within_ns is None else min(ns, self._again_within_ns)
            return
        due_ns = self.now_ns() + ns
        if self._next_list_at_ns is None or due_ns < self._next_list_at_ns:
            self._next_list_at_ns = due_ns
            self.after(ns, Relist())

    def _list_failed(self, failure: Exception) -> None:
        # The `RuntimeMonitorActor` logs once that the runtime is away.
        away = isinstance(failure, CriError) and failure.code == StatusCode.UNAVAILABLE
        if not self._listing_failed:
            self.log.log(logging.DEBUG if away else logging.WARNING, "cannot list what the runtime runs: %s", failure)
        self._listing_failed = str(failure)

    def _list_came(self, sandboxes: ListPodSandboxResponse, containers: ListContainersResponse) -> None:
        if self._listing_failed:
            self.log.debug("the runtime can be listed again")
            self._listing_failed = ""
        first = self._listed_at_ns is None
        self._listed_at_ns = self.now_ns()
        if self._asked_at_ns is not None:
            self._meters.took(names.PLEG_DURATION, self._listed_at_ns - self._asked_at_ns)
        self._meters.put(names.PLEG_LAST_SEEN, self.wall_ns() // SECOND_NS)
        if self._node_status is not None:
            self._node_status.tell(RuntimeListed(self._listed_at_ns))
        before = self._picture
        self._picture = picture_of(sandboxes.items, containers.containers, before)
        if self._picture is not before:
            self._tell_of_foreign(before)
            self._tell(difference(before, self._picture))
            self._all_known = False
        if not self._all_known:
            self._tell_strangers(anyway=first)

    def _tell_of_foreign(self, before: Picture) -> None:
        for each, uid in self._picture.foreign.items():
            if each not in before.foreign:
                text = "%s in the runtime has the pod UID %r, which no agent gives; it is left alone"
                self.log.warning(text, each[:UID_CHARACTERS_SHOWN], uid[:UID_CHARACTERS_SHOWN])

    def _tell_strangers(self, *, anyway: bool) -> None:
        """Report running pods without a worker; with `anyway`, also when there are none."""
        unknown = strangers(self._picture, self._workers)
        self._all_known = not unknown
        if unknown or anyway:
            self._sync_loop.tell(UnknownPodsObserved(unknown))

    def _tell(self, changes: ListingDifference) -> None:
        workers = self._workers
        for uid, shown in changes.changed.items():
            worker = workers.get(uid)
            if worker is not None:
                worker.tell(RuntimeTold(shown))
        if changes.died:
            self._gc.tell(ContainersDied(changes.died))

    # --- the stream -------------------------------------------------------------------------------------------------

    @handles(OpenStream)
    def open_stream(self, _: OpenStream) -> None:
        """Work: constant."""
        ref, gatherer = self.ref, self.children[GATHERER]
        # As an effect the end is never refused. A lost end would leave the stream closed for good.
        end: Promise[EventStreamEnded] = Promise()

        def on_item(event: ContainerEventResponse) -> None:
            status = event.pod_sandbox_status
            meta = None if status is None else status.metadata
            uid, shown = "" if meta is None else meta.uid, shown_by(event)
            if uid and shown is not None and (event.container_event_type != STOPPED or can_wait(event)):
                gatherer.tell(PodEventSeen(uid, shown))
            else:
                ref.tell(EventHint(uid, shown))

        def on_end(failure: CriError | None) -> None:
            if self._stopping or end.done():
                return
            served = failure is None or failure.code != StatusCode.UNIMPLEMENTED
            end.set_result(EventStreamEnded(served, "" if failure is None else str(failure)))

        self._stream = self._cri.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), on_item, on_end)
        self.begin(lambda: end, lambda ended: ended.result())

    @handles(EventHint)
    def event_hint(self, message: EventHint) -> None:
        """Work: the states in an event, and a copy of those that wait for its pod."""
        worker = self._workers.get(message.uid)
        if worker is None:
            self.list_within(RELIST_NS)
        elif message.shown is None:
            worker.tell(LookAgain())
        else:
            worker.tell(RuntimeTold(message.shown))

    @handles(EventsGathered)
    def events_gathered(self, message: EventsGathered) -> None:
        """Pass the states on to the workers. Ignore pods with no worker and no containers.

        Work: the pods that have had events.
        """
        for uid, shown in message.shown.items():
            worker = self._workers.get(uid)
            if worker is not None:
                worker.tell(RuntimeTold(shown))
            elif not nothing_is_left(shown):
                self.list_within(RELIST_NS)

    @handles(EventStreamEnded)
    def stream_ended(self, message: EventStreamEnded) -> None:
        """Work: constant."""
        self._stream = None
        self.list_within(0)
        if message.served:
            self.after(STREAM_RETRY_NS, OpenStream())
            self.log.debug("the runtime's event stream ended: %s", message.reason)
        else:
            self.log.info("the runtime serves no events; listing every second")

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(CountRunning)
    def count_running(self, _: CountRunning) -> RunningCount:
        """Work: all containers that the runtime lists."""
        return count_of(self._picture)

    @handles(DescribePleg)
    def describe(self, _: DescribePleg) -> tuple[int, int, bool]:
        """Work: constant."""
        age_ns = -1 if self._listed_at_ns is None else self.now_ns() - self._listed_at_ns
        return age_ns, len(self._picture.entries), self._stream is not None


def _end(*calls: Pending[Any]) -> None:
    """Cancel the calls that have not ended. Raises DeadlineExceededError if there were any."""
    late = [call for call in calls if not call.done()]
    for call in late:
        call.cancel()
    if late:
        raise DeadlineExceededError("the list of all that runs", GIVE_UP_NS)
