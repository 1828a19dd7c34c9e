"""`StatusManagerActor`: the published status of every pod of this node (spec 4.5).

All statuses leave the node through this actor. Workers send theirs; `actors.status.published` decides what is
published. Each change has a version; a status without a change is not published. Nothing is on disk: after a restart
the workers send their statuses again.

With an API server, differences are written as a patch (`merge.py`, `patch.py`). Each pod has at most one write under
way, and their total is bounded. A write always carries the newest status, so several changes of one pod become one.
Writes wait in order of urgency; a pod that is just starting is held back for a while. While the API server does not
answer, one write at a time tries it, with growing pauses. A write that alone gets no answer, or an internal error, is
tried again like one that was refused. It holds up nobody. Nothing is lost: afterwards each pod that differs is written
once.

When the worker of a pod with a deletion timestamp has finished (`PodFinished`), its object is deleted with grace 0 and
its UID. The object of a static pod is its mirror pod, which `MirrorPodActor` reports; without one nothing is written.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, MailboxOverflowed, Message, Pending, handles, outcome_of
from actors.messages.events import pod_event
from actors.messages.history import HistoryKind, note_of
from actors.messages.images import PodWaitedForImage
from actors.messages.island import PodEnded
from actors.messages.mirrors import MirrorPodSeen
from actors.messages.pods import ListPods
from actors.messages.status import (
    PodFinished,
    PodForgotten,
    PodLeftApi,
    PodReconciled,
    PodStatusChanged,
    StatusManagerStarted,
    Unwritten,
    WantUnwritten,
)
from actors.status.patch import status_patch
from actors.status.published import Published, next_status
from actors.status.queue import WriteQueue
from actors.status.urgency import ON_ITS_WAY_NS, Urgency, urgency
from config.api.resources import PODS
from config.objects import Pod, PodStatus
from config.pods.identity import FINAL_PHASES, display_name, is_critical, is_static
from runtime.api import Api, ApiError, as_api_error, delete, in_turn_of, patch
from runtime.api.errors import TIMEOUT
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.metrics.pod_statuses import StatusMeasures

SECOND_NS = 1_000_000_000
SWEEP_NS = 10 * SECOND_NS
"""How often to retry writes that the API server has refused (spec 4.5)."""
MAX_WRITES = 16
"""Writes under way at a time. More would only queue elsewhere, without order of urgency."""
WRITE_LIMIT_NS = 15 * SECOND_NS
FIRST_PAUSE_NS = SECOND_NS // 4
MAX_PAUSE_NS = 10 * SECOND_NS


class WriteEnded(Message, frozen=True):
    """To itself: a write has ended.

    `pod` is the object after it; None after a deletion, or with an `error`.
    """

    uid: str
    pod: Pod | None
    error: ApiError | None


class WriteDue(Message, frozen=True):
    """To itself: a held-back status is due, or a pause is over."""


class Sweep(Message, frozen=True):
    """To itself: retry refused writes."""


class StatusManagerActor(Actor):
    """See the module. `api` None: a standalone node.

    `island`: who must know of the ends of pods; None: nobody.
    """

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = MAX_WRITES
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self,
        sync_loop: ActorRef,
        api: Api | None = None,
        meters: Meters = UNMEASURED,
        events: ActorRef | None = None,
        historian: ActorRef | None = None,
        island: ActorRef | None = None,
    ) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._island = island
        self._api = api
        self._events = events
        self._historian = historian
        self._pods: dict[str, Published] = {}
        self._mirrors: dict[str, Pod] = {}
        self._early: dict[str, Pod] = {}
        """API objects of pods whose workers have not sent a status yet."""
        self._queue = WriteQueue()
        self._writes = 0
        self._under_way: set[str] = set()
        """UIDs of the pods to which they go. A pod may be forgotten and taken again meanwhile."""
        self._pause_ns = 0
        self._answered_ns: int | None = None
        """The time of the last answer to a write."""
        self._silent: set[str] = set()
        """UIDs of pods whose writes have failed at the server since."""
        self._not_before_ns = 0
        self._alarm_ns: int | None = None
        """When the next `WriteDue` comes."""
        self._refused: dict[str, None] = {}
        """UIDs whose writes the next `Sweep` tries again, in this order."""
        self._measures = StatusMeasures(meters)

    def on_start(self) -> None:
        self._sync_loop.tell(StatusManagerStarted())

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Work: constant."""
        self._sync_loop.tell(StatusManagerStarted())

    # --- what is told -----------------------------------------------------------------------------------------------

    @handles(PodStatusChanged)
    def pod_status_changed(self, message: PodStatusChanged) -> None:
        """Work: one status, compared and encoded as a whole; a few of its containers one by one."""
        uid, changed = message.pod.metadata.uid, False
        if message.first is not None and uid not in self._pods:
            changed = self._take(uid, message.pod, message.first, message.seen, final=False)
        if self._take(uid, message.pod, message.status, message.seen, final=message.final) or changed:
            self._consider(uid, self._pods[uid])

    def _take(self, uid: str, pod: Pod, computed: PodStatus, seen: bool, *, final: bool) -> bool:
        """Publish the computed status by the rules. Returns whether anything has changed."""
        known, static = self._pods.get(uid), is_static(pod)
        if known is not None and known.seen and not seen:
            # A restarted worker has not looked yet; keep the status that its predecessor saw.
            computed, seen = known.status, True
        status = next_status(None if known is None else known.status, computed)
        if known is None:
            known = self._pods[uid] = Published(pod, computed, writing=uid in self._under_way)
            self._measures.came(pod)
            if static:
                known.show_by(self._mirrors.get(uid))
                status = known.status
        elif status is None and seen and not known.seen and static:
            # Only its mirror said that it ended, in a life before this agent, such as before a reboot.
            status = computed
        elif status is None:
            self.log.warning(
                "pod %s has ended as %s; a status of phase %s is not published",
                display_name(pod),
                known.status.phase,
                computed.phase,
            )
            status = known.status
        changed = known.version == 0 or status is not known.status or (final and not known.final)
        changed = changed or (seen and not known.seen)
        known.seen = seen
        known.pod = pod
        known.final = known.final or final
        if not static:
            known.note(pod)
            if (early := self._early.pop(uid, None)) is not None:
                known.note(early)  # the worker may have known an older one
        if not changed or status is None:
            return False
        self._measures.changed(pod, known.status, status, self.wall_ns())
        known.status = status
        known.version += 1
        if self._island is not None and not static and status.phase in FINAL_PHASES:
            self._island.tell(PodEnded(uid))
        meta = pod.metadata
        self.log.debug("pod %s/%s: status %d, phase %s", meta.namespace, meta.name, known.version, status.phase)
        return True

    @handles(PodReconciled)
    def pod_reconciled(self, message: PodReconciled) -> None:
        """Work: one status, compared and encoded as a whole; a few of its containers one by one."""
        uid = message.pod.metadata.uid
        known = self._pods.get(uid)
        if known is None:
            self._early[uid] = message.pod
        elif known.note(message.pod):
            self._consider(uid, known)

    @handles(PodLeftApi)
    def pod_left_api(self, message: PodLeftApi) -> None:
        """Work: constant."""
        self._early.pop(message.uid, None)
        known = self._pods.get(message.uid)
        if known is not None:
            known.gone = True
            self._queue.drop(message.uid)

    @handles(MirrorPodSeen)
    def mirror_pod_seen(self, message: MirrorPodSeen) -> None:
        """Work: one status, compared and encoded as a whole; a few of its containers one by one."""
        uid, mirror = message.static_uid, message.mirror
        known = self._pods.get(uid)
        if mirror is None:
            self._mirrors.pop(uid, None)
        else:
            self._mirrors[uid] = mirror
        if known is None:
            return
        if mirror is None or known.api is None or mirror.metadata.uid != known.api.metadata.uid:
            known.show_by(mirror)
        elif not known.note(mirror):
            return
        self._consider(uid, known)

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        """Work: one status, compared and encoded as a whole; a few of its containers one by one."""
        known = self._pods.get(message.uid)
        if known is not None and not known.finished:
            known.finished = True
            self._consider(message.uid, known)

    @handles(PodWaitedForImage)
    def pod_waited_for_image(self, message: PodWaitedForImage) -> None:
        """Work: constant."""
        self._measures.pulled(message.uid, message.began_ns, message.ended_ns)

    @handles(PodForgotten)
    def pod_forgotten(self, message: PodForgotten) -> None:
        """Work: constant."""
        self._pods.pop(message.uid, None)
        self._early.pop(message.uid, None)
        self._measures.forgotten(message.uid)
        self._mirrors.pop(message.uid, None)
        self._refused.pop(message.uid, None)
        self._queue.drop(message.uid)

    @handles(ListPods)
    def list_pods(self, _: ListPods) -> tuple[Pod, ...]:
        """Work: all pods."""
        return tuple(msgspec.structs.replace(each.pod, status=each.status) for each in self._pods.values())

    @handles(WantUnwritten)
    def want_unwritten(self, message: WantUnwritten) -> None:
        """Work: all pods."""
        waits = (uid for uid in message.uids if uid in self._pods and self._pods[uid].waits_for_write())
        message.asker.tell(Unwritten(frozenset(waits)))

    # --- what is to be written --------------------------------------------------------------------------------------

    def _consider(self, uid: str, known: Published) -> None:
        """Write or delete the pod's object if needed: at once, queued, or held back for a while."""
        if self._api is None or not known.may_be_written():
            return
        if known.want():
            self._measures.shown(uid, self.now_ns())
            self._queue.drop(uid)
            if known.is_to_go():
                self._write_or_wait(uid, known, Urgency.ENDED)
            return
        self._measures.wanted(uid, self.now_ns())
        shown = None if known.api is None else known.api.status
        urgent = urgency(shown, known.wanted, ending=known.is_ending())
        if urgent is Urgency.REST and uid not in self._queue.waiting:
            self._queue.keep_back(uid, self.now_ns() + ON_ITS_WAY_NS)
            self._set_alarm()
            return
        self._write_or_wait(uid, known, urgent)

    @handles(WriteDue)
    def write_due(self, _: WriteDue) -> None:
        """Work: the pods that are due."""
        self._alarm_ns = None
        for uid in self._queue.take_due(self.now_ns()):
            known = self._pods.get(uid)
            if known is not None and known.may_be_written() and not known.want():
                self._queue.put(uid, Urgency.REST)
        self._pump()
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Set a timer for the first held-back pod, or for the end of a pause if pods wait for that.

        Most held-back pods run before they are due. Their timer stays: a needless wake-up now and then costs less than
        moving the timer for each pod.
        """
        now_ns, due_ns = self.now_ns(), self._queue.next_due_ns()
        if self._queue.waiting and self._not_before_ns > now_ns and (due_ns is None or due_ns > self._not_before_ns):
            due_ns = self._not_before_ns
        if due_ns is not None and (self._alarm_ns is None or due_ns < self._alarm_ns):
            self._alarm_ns = due_ns
            self.after(max(0, due_ns - now_ns), WriteDue())

    @handles(Sweep)
    def sweep(self, _: Sweep) -> None:
        """Work: the pods whose writes were refused."""
        refused, self._refused = self._refused, {}
        for uid in refused:
            known = self._pods.get(uid)
            if known is not None:
                self._consider(uid, known)

    # --- writing ----------------------------------------------------------------------------------------------------

    def _write_or_wait(self, uid: str, known: Published, urgent: Urgency) -> None:
        """Begin the write if that is allowed and the queue is empty; otherwise queue it."""
        queue = self._queue
        if queue.waiting or not self._may_write():
            queue.put(uid, urgent)
            self._pump()
        else:
            queue.drop(uid)
            self._write(uid, known)

    def _may_write(self) -> bool:
        if self._not_before_ns and self._not_before_ns > self.now_ns():
            return False
        # A pod that alone gets no answer leaves room for the try of another.
        tries = 2 if len(self._silent) == 1 else 1
        return self._writes < (tries if self._pause_ns else MAX_WRITES)

    def _pump(self) -> None:
        """Begin as many writes as allowed, most urgent first."""
        queue = self._queue
        while queue.waiting and self._may_write() and (uid := queue.take()) is not None:
            known = self._pods.get(uid)
            if known is not None and known.may_be_written():  # its object may have gone while it waited
                self._write(uid, known)

    def _write(self, uid: str, known: Published) -> None:
        api, pod = self._api, known.api
        assert api is not None, "nothing is queued without an API server"
        assert pod is not None, "only what has an object is queued"
        meta = pod.metadata
        body = None if known.is_shown() else status_patch(meta.uid, pod.status, known.wanted)
        if body is None and not known.is_to_go():
            return
        known.begin_write()
        self._under_way.add(uid)
        self._writes += 1
        if body is not None:
            write = patch(PODS, meta.namespace, meta.name, body, subresource="status")
            write = in_turn_of(write, uid, urgent=is_critical(pod))
            self.begin(partial(api.call, write, timeout_ns=WRITE_LIMIT_NS), partial(_written, uid))
        else:
            removal = delete(PODS, meta.namespace, meta.name, grace_seconds=0, uid=meta.uid)
            removal = in_turn_of(removal, uid, urgent=is_critical(pod))
            self.begin(partial(api.call, removal, timeout_ns=WRITE_LIMIT_NS), partial(_written, uid))

    @handles(WriteEnded)
    def write_ended(self, message: WriteEnded) -> None:
        """Work: one status, compared and encoded as a whole; a few of its containers one by one."""
        self._writes -= 1
        self._under_way.discard(message.uid)
        error, alone = message.error, False
        if error is None or not (error.outcome_unknown or error.code == 429):
            self._pause_ns, self._answered_ns = 0, self.now_ns()
            self._silent.clear()
        elif not (alone := self._fails_alone(message.uid, error)):
            self._pause(error)
        known = self._pods.get(message.uid)
        if known is not None:
            if not known.end_write():
                self._consider(message.uid, known)
            elif error is None:
                self._wrote(message.uid, known, message.pod)
            else:
                self._failed(message.uid, known, error, alone)
        if self._queue.waiting:
            self._pump()
            if self._queue.waiting:
                self._set_alarm()

    def _wrote(self, uid: str, known: Published, pod: Pod | None) -> None:
        if pod is None:
            known.gone = known.removed = True
            self.log.debug("pod %s has left the API", display_name(known.pod))
            return
        known.wrote(pod)
        self._consider(uid, known)

    def _failed(self, uid: str, known: Published, error: ApiError, alone: bool) -> None:
        if error.not_found or _is_another(error):
            # Gone, or another pod has its name; its source will show which.
            known.gone = True
            self.log.debug("pod %s: %s", display_name(known.pod), error)
        elif (error.outcome_unknown or error.code == 429) and not alone:
            self._consider(uid, known)
            if uid not in self._queue.waiting:
                self._queue.put(uid, Urgency.REST)
        else:
            if not self._refused:
                self.after(SWEEP_NS, Sweep())
            self._refused[uid] = None
            if error.conflict:
                # Others keep writing. Their changes may have arrived before this answer.
                self.log.debug("pod %s: %s", display_name(known.pod), error)
            elif str(error) != known.refused:
                known.refused = str(error)
                answered = error.reason != TIMEOUT
                how = "is refused" if answered else "gets no answer"
                self.log.warning("the status of pod %s %s: %s", display_name(known.pod), how, error)
                if answered:
                    self._say_refused(known.pod, known.refused)
            if not (error.reason == TIMEOUT or error.conflict):
                self._measures.refused(error.code)

    def _say_refused(self, pod: Pod, why: str) -> None:
        """The API shows an older status from now on, which nobody could see in it."""
        if self._events is not None:
            self._events.tell(pod_event(pod, "Warning", "FailedStatusUpdate", f"the status is refused: {why}"))
        if self._historian is not None:
            text = "the API server refuses the pod's status, so it shows an older one; it is sent again every 10 s"
            self._historian.tell(note_of(pod, HistoryKind.FAILURE, text, why, self.wall_ns()))

    def _fails_alone(self, uid: str, error: ApiError) -> bool:
        """Whether this write fails at the server alone, while others do not or none is tried.

        No other waits for it. It gets no answer, or an internal error. A real server says 500 where a pod is too large
        for etcd.
        """
        if not (error.reason == TIMEOUT or error.code == 500):
            return False
        once_more, answered_ns = self._silent == {uid}, self._answered_ns
        self._silent.add(uid)
        return once_more or (answered_ns is not None and answered_ns > self.now_ns() - WRITE_LIMIT_NS)

    def _pause(self, error: ApiError) -> None:
        """The API server does not answer: pause, longer each time, then try one write."""
        now_ns = self.now_ns()
        if self._not_before_ns > now_ns:
            return  # another write has set this pause already
        if self._pause_ns == 0:
            self.log.warning("statuses cannot be written now: %s", error)
        self._pause_ns = min(MAX_PAUSE_NS, max(FIRST_PAUSE_NS, 2 * self._pause_ns))
        asked_ns = error.retry_after_ns or 0
        self._not_before_ns = now_ns + max(asked_ns, int(self._pause_ns * (0.75 + 0.5 * self.chance.random())))


def _is_another(error: ApiError) -> bool:
    """Whether the pod of this name has another UID, as a real API server answers a patch or a deletion."""
    if error.conflict:
        return "Precondition failed" in error.message
    return error.code == 422 and "metadata.uid" in error.message


def _written(uid: str, done: Pending[Pod | None]) -> WriteEnded:
    outcome = outcome_of(done)
    return WriteEnded(uid, outcome.value, as_api_error(outcome.error, "a status write"))
