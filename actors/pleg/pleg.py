"""`PlegActor`: watches what the runtime runs and says "look again" to the pods concerned.

It lists all sandboxes and containers, compares with the last list (`runtime_listing`), and tells the worker of each
pod that changed. It never says *what* happened: the worker looks for itself, so a lost, doubled or late word does no
harm. It does pass on how far things have come, and a worker that has seen them so far leaves the look out
(`runtime_shown`): most of what a runtime tells is the echo of what the worker has just done. Where the runtime serves
an event stream, each event is one more hint, at once where a container has ended and gathered for a second otherwise
(`event_gatherer`), and the full list becomes a slow safety net; where it does not, the list is taken every second (spec
2.1, 2.5). The list says again what events have told: whether a runtime shows what it tells of at once, or only after
that, is nowhere promised, and a worker that looked too soon looks again then.

What may fail: a list (kept as "not known", never as "nothing runs"), the stream (opened again with back-off). A list
that does not come back is given up after its deadline, and hints are passed on meanwhile; one pod's hanging status
call is never waited for here.
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
from actors.pleg.listing import NOTHING, Difference, Picture, count_of, difference, picture_of, strangers
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
"""Between two lists when it does. The real kubelet waits 300 s and misses what a broken stream swallowed."""
LIST_TIMEOUT_NS = 120 * SECOND_NS
GIVE_UP_NS = LIST_TIMEOUT_NS + SECOND_NS
"""For a runtime client that does not keep its own deadline."""
EVERYBODY_NS = SECOND_NS
"""From the loss of a hint until everybody looks: while hints are lost, more will be."""
STREAM_RETRY_NS = 5 * SECOND_NS
GATHERER = "events"
UNHEALTHY_NS = 180 * SECOND_NS
"""Since the last good list; from then on the node is not ready (spec 2.1)."""


class Relist(Message, frozen=True):
    """To itself: time for the next list."""


class ListEnded(Message, frozen=True):
    """To itself: the list that was asked for then has ended, or has had its time."""

    asked_at_ns: int


class OpenStream(Message, frozen=True):
    """To itself: try to follow the runtime's events."""


class EventHint(Message, frozen=True):
    """To itself, from the stream's thread: something happened to this pod. Empty UID: to a pod not named. `shown`: how
    the pod is now, as far as that was told.
    """

    uid: str
    shown: Shown | None = None

    def coalesce_key(self) -> str:
        return self.uid

    def merged(self, waiting: EventHint) -> EventHint:
        if self.shown is None or waiting.shown is None:
            return EventHint(self.uid)
        return EventHint(self.uid, both(self.shown, waiting.shown))


class StreamEnded(Message, frozen=True):
    """To itself: no more events; `served` False when the runtime does not know the verb."""

    served: bool
    reason: str


class EverybodyLooks(Message, frozen=True):
    """To itself: hints were lost a while ago."""


class DescribePleg(Message, frozen=True):
    """Ask: (ns since the last good list or -1, containers and sandboxes listed, whether events are followed)."""


class PlegActor(Actor):
    """See the module. `sync_loop` hears of running pods that no worker has announced (and of the first list in any
    case), `gc` of containers that died, `node_status` that the runtime could be listed.
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
        """What the picture was made of."""
        self._all_known = False
        """Each pod that runs in the picture has a worker."""
        self._listed_at_ns: int | None = None
        self._asked_at_ns: int | None = None
        self._listing_failed = ""
        self._next_list_at_ns: int | None = None
        self._listing: tuple[Pending[ListPodSandboxResponse], Pending[ListContainersResponse]] | None = None
        """The list under way."""
        self._again_within_ns: int | None = None
        """How soon after it the next one must come, for what happened meanwhile."""
        self._stream: Subscription | None = None
        self._stopping = False

    def on_start(self) -> None:
        # After a restart of this actor it knows no worker, and nothing of what they have seen.
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
        self._workers[message.uid] = message.worker
        self.watch(message.worker)

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        uid = message.ref.name
        if self._workers.get(uid) is message.ref:
            del self._workers[uid]
            self._all_known = False

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Hints were lost: everybody looks again, which is always safe, and once for all that was lost in a while."""
        self._meters.count(names.PLEG_DISCARDED)
        self.after(EVERYBODY_NS, EverybodyLooks(), key="everybody")

    @handles(EverybodyLooks)
    def everybody_looks(self, _: EverybodyLooks) -> None:
        """What was lost may have been a worker that announced itself, too, or the word that it is time to list."""
        self._sync_loop.tell(PlegStarted())
        if self._next_list_at_ns is None or self._next_list_at_ns < self.now_ns():
            self.relist(Relist())

    @handles(WorkersKnown)
    def workers_known(self, message: WorkersKnown) -> None:
        self._workers = dict(message.workers)
        for worker in self._workers.values():
            self.watch(worker)
            worker.tell(LookAgain())

    @handles(SyncLoopStarted)
    def sync_loop_started(self, _: SyncLoopStarted) -> None:
        """It has forgotten what it was told of strangers, be it that there are none."""
        if self._listed_at_ns is not None:
            self._tell_strangers(anyway=True)

    # --- the list ---------------------------------------------------------------------------------------------------

    @handles(Relist)
    def relist(self, _: Relist) -> None:
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
        within_ns = RELIST_NS if self._stream is None else RELIST_WITH_EVENTS_NS
        if self._again_within_ns is not None:
            within_ns = min(within_ns, self._again_within_ns)
        self._next_list_at_ns = self._again_within_ns = None
        self.list_within(within_ns)

    def list_within(self, ns: int) -> None:
        """The next list comes in `ns` ns, or sooner where it was to come sooner. One under way may have missed it."""
        if self._listing is not None:
            self._again_within_ns = ns if self._again_within_ns is None else min(ns, self._again_within_ns)
            return
        due_ns = self.now_ns() + ns
        if self._next_list_at_ns is None or due_ns < self._next_list_at_ns:
            self._next_list_at_ns = due_ns
            self.after(ns, Relist())

    def _list_failed(self, failure: Exception) -> None:
        # That the runtime is away is said once, by the `RuntimeMonitorActor`.
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
        if self._lists is None or self._lists[0] is not sandboxes or self._lists[1] is not containers:
            # A runtime that hands out what it has handed out before (a simulated one does) has nothing new to say.
            self._lists = (sandboxes, containers)
            self._picture = picture_of(sandboxes.items, containers.containers, before)
        if self._picture is not before:
            self._tell(difference(before, self._picture))
            self._all_known = False
        if not self._all_known:
            self._tell_strangers(anyway=first)

    def _tell_strangers(self, *, anyway: bool) -> None:
        """Which pods run that have no worker; `anyway`: that there are none, too."""
        unknown = strangers(self._picture, self._workers)
        self._all_known = not unknown
        if unknown or anyway:
            self._sync_loop.tell(UnknownPodsObserved(unknown))

    def _tell(self, changes: Difference) -> None:
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
        ref, gatherer = self.ref, self.children[GATHERER]
        # The end of an effect is never refused: nobody would open the stream again that has ended unheard.
        end: Promise[StreamEnded] = Promise()

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
            end.set_result(StreamEnded(served, "" if failure is None else str(failure)))

        self._stream = self._cri.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), on_item, on_end)
        self.begin(lambda: end, lambda ended: ended.result())

    @handles(EventHint)
    def event_hint(self, message: EventHint) -> None:
        worker = self._workers.get(message.uid)
        if worker is None:
            self.list_within(RELIST_NS)
        elif message.shown is None:
            worker.tell(LookAgain())
        else:
            worker.tell(RuntimeTold(message.shown))

    @handles(EventsGathered)
    def events_gathered(self, message: EventsGathered) -> None:
        """Of a pod that has no worker and nothing left there is nothing to find out."""
        for uid, shown in message.shown.items():
            worker = self._workers.get(uid)
            if worker is not None:
                worker.tell(RuntimeTold(shown))
            elif not nothing_is_left(shown):
                self.list_within(RELIST_NS)

    @handles(StreamEnded)
    def stream_ended(self, message: StreamEnded) -> None:
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
        return count_of(self._picture)

    @handles(DescribePleg)
    def describe(self, _: DescribePleg) -> tuple[int, int, bool]:
        age_ns = -1 if self._listed_at_ns is None else self.now_ns() - self._listed_at_ns
        return age_ns, len(self._picture.entries), self._stream is not None


def _end(*calls: Pending[Any]) -> None:
    """Raises DeadlineExceededError when one has not ended; all of them are over then."""
    late = [call for call in calls if not call.done()]
    for call in late:
        call.cancel()
    if late:
        raise DeadlineExceededError("the list of all that runs", GIVE_UP_NS)
