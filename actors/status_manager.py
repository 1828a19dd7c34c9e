"""`StatusManagerActor`: the published status of every pod of this node (spec 4.5).

A status leaves the node through here and nowhere else. Workers tell what they compute; what is published follows the
rules of `actors.published_status`; each change has a version, and what changes nothing is not published. Nothing is on
disk: after a restart the workers are asked to tell again.

With an API server, what differs there is written as a patch (`actors.api_status`): at most one write of a pod is under
way, a bounded number in all, and always the newest status, so several changes of one pod become one. Who waits goes
in the order of urgency, and a pod that is on its way is kept back for a while. When the API server does not answer,
one write at a time tries it, ever more slowly; nothing is lost, and afterwards each pod that differs is written once.

The object of a pod that is to be deleted goes when its worker has finished (`PodFinished`): deleted with grace 0 and
its UID. The object of a static pod is its mirror pod, of which `MirrorPodActor` tells; without one there is nothing to
write to.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import ClassVar

import msgspec

from actors.api_status.merge import status_to_write, with_plain_status
from actors.api_status.patch import status_patch
from actors.api_status.urgency import ON_ITS_WAY_NS, Urgency, urgency
from actors.kernel import Actor, ActorRef, MailboxOverflowed, Message, Pending, handles, outcome_of
from actors.messages import (
    ListPods,
    MirrorPodSeen,
    PodFinished,
    PodForgotten,
    PodLeftApi,
    PodReconciled,
    PodStatusChanged,
    StatusManagerStarted,
)
from actors.pod_status.phase import TERMINAL
from actors.published_status import next_status
from config.api_resources import PODS
from config.objects import Pod, PodStatus
from config.pod_identity import display_name, is_static
from runtime.api import Api, ApiError, delete, patch

SECOND_NS = 1_000_000_000
SWEEP_NS = 10 * SECOND_NS
"""What the API server has refused is tried again this often (spec 4.5)."""
MAX_WRITES = 16
"""Under way at a time. More would only wait elsewhere, where what is urgent cannot go ahead."""
WRITE_LIMIT_NS = 15 * SECOND_NS
FIRST_PAUSE_NS = SECOND_NS // 4
MAX_PAUSE_NS = 10 * SECOND_NS


class WriteEnded(Message, frozen=True):
    """To itself: a write has ended. `pod` is the object after it; None after a deletion, or with an `error`."""

    uid: str
    pod: Pod | None
    error: ApiError | None


class WriteDue(Message, frozen=True):
    """To itself: a status has been kept back long enough, or a pause is over."""


class Sweep(Message, frozen=True):
    """To itself: try again what was refused."""


class _Published:
    """One pod. `version` counts the changes of `status`; `api` is the newest object of it that the API has shown."""

    __slots__ = (
        "answer",
        "api",
        "asked",
        "final",
        "finished",
        "gone",
        "place",
        "pod",
        "refused",
        "sent",
        "status",
        "version",
        "wanted",
        "writing",
    )

    def __init__(self, pod: Pod, status: PodStatus) -> None:
        self.pod = pod
        self.status = status
        self.version = 0
        self.final = False
        self.finished = False
        self.api: Pod | None = None
        self.gone = False
        """The API has no such pod (any more)."""
        self.wanted = status
        self.place: tuple[int, int, str] | None = None
        """Where it stands in the queue."""
        self.writing = False
        self.sent: PodStatus | None = None
        """What the write under way, or the last one, has asked for."""
        self.asked: PodStatus | None = None
        self.answer: Pod | None = None
        """What the API made of `asked`, the last status it took. Where that is not the same, asking again is no use."""
        self.refused = ""

    def is_shown(self) -> bool:
        """The API has the wanted status, or what it makes of it."""
        api = self.api
        if api is None:
            return False
        return api.status == self.wanted or (api is self.answer and self.wanted == self.asked)


class StatusManagerActor(Actor):
    """See the module. `api` None: the node stands alone."""

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = MAX_WRITES
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef, api: Api | None = None) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._api = api
        self._pods: dict[str, _Published] = {}
        self._mirrors: dict[str, Pod | None] = {}
        self._queue: list[tuple[int, int, str]] = []
        self._kept_back: deque[tuple[int, str]] = deque()
        self._kept: set[str] = set()
        self._sequence = 0
        self._writes = 0
        self._pause_ns = 0
        self._not_before_ns = 0
        self._refused: set[str] = set()

    def on_start(self) -> None:
        self._sync_loop.tell(StatusManagerStarted())
        if self._api is not None:
            self.every(SWEEP_NS, Sweep())

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        self._sync_loop.tell(StatusManagerStarted())

    # --- what is told -----------------------------------------------------------------------------------------------

    @handles(PodStatusChanged)
    def pod_status_changed(self, message: PodStatusChanged) -> None:
        uid = message.pod.metadata.uid
        known = self._pods.get(uid)
        status = next_status(None if known is None else known.status, message.status)
        if known is None:
            known = self._pods[uid] = _Published(message.pod, message.status)
            if is_static(message.pod):
                known.api = self._mirrors.get(uid)
                _carry_on(known)
                status = known.status
        elif status is None:
            self.log.warning(
                "pod %s has ended as %s; a status of phase %s is not published",
                display_name(message.pod),
                known.status.phase,
                message.status.phase,
            )
            status = known.status
        changed = known.version == 0 or status is not known.status or (message.final and not known.final)
        known.pod = message.pod
        known.final = known.final or message.final
        if not is_static(message.pod):
            self._note(known, message.pod)
        if changed and status is not None:
            known.status = status
            known.version += 1
            self.log.debug("pod %s: status %d, phase %s", display_name(known.pod), known.version, status.phase)
            self._consider(uid, known)

    @handles(PodReconciled)
    def pod_reconciled(self, message: PodReconciled) -> None:
        uid = message.pod.metadata.uid
        known = self._pods.get(uid)
        if known is not None and self._note(known, message.pod):
            self._consider(uid, known)

    @handles(PodLeftApi)
    def pod_left_api(self, message: PodLeftApi) -> None:
        known = self._pods.get(message.uid)
        if known is not None:
            known.gone = True
            known.place = None

    @handles(MirrorPodSeen)
    def mirror_pod_seen(self, message: MirrorPodSeen) -> None:
        uid, mirror = message.static_uid, message.mirror
        known = self._pods.get(uid)
        if mirror is None:
            self._mirrors.pop(uid, None)
        else:
            self._mirrors[uid] = mirror
        if known is None:
            return
        if mirror is None or known.api is None or mirror.metadata.uid != known.api.metadata.uid:
            first = known.api is None
            known.api, known.gone = None if mirror is None else with_plain_status(mirror), False
            if first:
                _carry_on(known)
        elif not self._note(known, mirror):
            return
        self._consider(uid, known)

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        known = self._pods.get(message.uid)
        if known is not None and not known.finished:
            known.finished = True
            self._consider(message.uid, known)

    @handles(PodForgotten)
    def pod_forgotten(self, message: PodForgotten) -> None:
        self._pods.pop(message.uid, None)
        self._mirrors.pop(message.uid, None)
        self._refused.discard(message.uid)

    @handles(ListPods)
    def list_pods(self, _: ListPods) -> tuple[Pod, ...]:
        return tuple(msgspec.structs.replace(each.pod, status=each.status) for each in self._pods.values())

    def _note(self, known: _Published, pod: Pod) -> bool:
        """Take `pod` as what the API shows, if it is newer than what is known."""
        if known.api is not None and not _is_newer(pod, known.api):
            return False
        known.api = with_plain_status(pod)
        known.gone = False
        return True

    # --- what is to be written --------------------------------------------------------------------------------------

    def _consider(self, uid: str, known: _Published) -> None:
        """Put the pod where it belongs: nowhere, among those kept back, or into the queue."""
        if self._api is None or known.api is None or known.gone or known.writing:
            return
        shown = known.api.status
        known.wanted = status_to_write(known.status, shown, nothing_runs=known.final)
        if known.is_shown():
            known.place = None
            if self._is_to_go(known):
                self._enqueue(uid, known, Urgency.ENDED)
                self._pump()
            return
        ending = known.status.phase in TERMINAL and not known.final
        urgent = urgency(shown, known.wanted, ending=ending)
        if urgent is Urgency.REST and known.place is None:
            if uid not in self._kept:
                self._kept.add(uid)
                self._kept_back.append((self.now_ns() + ON_ITS_WAY_NS, uid))
                if len(self._kept_back) == 1:
                    self._set_alarm()
            return
        self._enqueue(uid, known, urgent)
        self._pump()

    def _enqueue(self, uid: str, known: _Published, urgent: Urgency) -> None:
        if known.place is not None and known.place[0] <= urgent:
            return
        self._sequence += 1
        known.place = (urgent, self._sequence, uid)
        heapq.heappush(self._queue, known.place)

    @handles(WriteDue)
    def write_due(self, _: WriteDue) -> None:
        now_ns = self.now_ns()
        while self._kept_back and self._kept_back[0][0] <= now_ns:
            uid = self._kept_back.popleft()[1]
            self._kept.discard(uid)
            known = self._pods.get(uid)
            if known is not None and not known.writing and not known.gone and known.api is not None:
                known.wanted = status_to_write(known.status, known.api.status, nothing_runs=known.final)
                if not known.is_shown():
                    self._enqueue(uid, known, Urgency.REST)
        self._pump()
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Wake for whoever is next: the first of those kept back, or all that wait for a pause to end."""
        due: list[int] = [self._kept_back[0][0]] if self._kept_back else []
        if self._queue and self._not_before_ns > self.now_ns():
            due.append(self._not_before_ns)
        if due:
            self.after(max(0, min(due) - self.now_ns()), WriteDue(), key="due")

    @handles(Sweep)
    def sweep(self, _: Sweep) -> None:
        refused, self._refused = self._refused, set()
        for uid in refused:
            known = self._pods.get(uid)
            if known is not None:
                self._consider(uid, known)

    def _is_to_go(self, known: _Published) -> bool:
        """The pod's object may leave the API: it is to be deleted, shown as ended, and nothing is left of it."""
        api = known.api
        return (
            api is not None
            and known.finished
            and not is_static(known.pod)
            and api.metadata.deletion_timestamp is not None
            and api.status is not None
            and api.status.phase in TERMINAL
        )

    # --- writing ----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Begin as many writes as may be under way, most urgent first."""
        if self._not_before_ns > self.now_ns():
            return
        limit = 1 if self._pause_ns else MAX_WRITES
        while self._queue and self._writes < limit:
            place = heapq.heappop(self._queue)
            known = self._pods.get(place[2])
            if known is not None and known.place == place:
                known.place = None
                self._write(place[2], known)

    def _write(self, uid: str, known: _Published) -> None:
        api, pod = self._api, known.api
        assert api is not None, "nothing is queued without an API server"
        assert pod is not None, "only what has an object is queued"
        meta = pod.metadata
        body = None if known.is_shown() else status_patch(meta.uid, pod.status, known.wanted)
        known.writing = True
        known.sent = known.wanted
        self._writes += 1
        if body is not None:
            write = patch(PODS, meta.namespace, meta.name, body, subresource="status")
            self.begin(lambda: api.call(write, timeout_ns=WRITE_LIMIT_NS), lambda done: _written(uid, done))
        elif self._is_to_go(known):
            removal = delete(PODS, meta.namespace, meta.name, grace_seconds=0, uid=meta.uid)
            self.begin(lambda: api.call(removal, timeout_ns=WRITE_LIMIT_NS), lambda done: _written(uid, done))
        else:
            known.writing = False
            self._writes -= 1

    @handles(WriteEnded)
    def write_ended(self, message: WriteEnded) -> None:
        self._writes -= 1
        error = message.error
        if error is None or not (error.outcome_unknown or error.code == 429):
            self._pause_ns = 0
        else:
            self._pause(error)
        known = self._pods.get(message.uid)
        if known is not None:
            known.writing = False
            if error is None:
                self._wrote(message.uid, known, message.pod)
            else:
                self._failed(message.uid, known, error)
        self._pump()
        if self._queue:
            self._set_alarm()

    def _wrote(self, uid: str, known: _Published, pod: Pod | None) -> None:
        known.refused = ""
        if pod is None:
            known.gone = True
            self.log.debug("pod %s has left the API", display_name(known.pod))
            return
        if known.api is not None and known.api.metadata.uid == pod.metadata.uid:
            self._note(known, pod)
            if known.api.metadata.resource_version == pod.metadata.resource_version:
                known.answer, known.asked = known.api, known.sent
        self._consider(uid, known)

    def _failed(self, uid: str, known: _Published, error: ApiError) -> None:
        if error.not_found or error.conflict or _is_another(error):
            # Gone, or another pod has its name: what its source shows next says which.
            known.gone = True
            self.log.debug("pod %s: %s", display_name(known.pod), error)
        elif error.outcome_unknown or error.code == 429:
            self._consider(uid, known)
            if known.place is None:
                self._enqueue(uid, known, Urgency.REST)
        else:
            self._refused.add(uid)
            if str(error) != known.refused:
                known.refused = str(error)
                self.log.warning("the status of pod %s is refused: %s", display_name(known.pod), error)

    def _pause(self, error: ApiError) -> None:
        """The API server does not answer: wait, longer each time, and then try with one write."""
        now_ns = self.now_ns()
        if self._not_before_ns > now_ns:
            return  # another write of the same moment has said so
        if self._pause_ns == 0:
            self.log.warning("statuses cannot be written now: %s", error)
        self._pause_ns = min(MAX_PAUSE_NS, max(FIRST_PAUSE_NS, 2 * self._pause_ns))
        asked_ns = error.retry_after_ns or 0
        self._not_before_ns = now_ns + max(asked_ns, int(self._pause_ns * (0.75 + 0.5 * self.chance.random())))


def _carry_on(known: _Published) -> None:
    """A mirror was there before this agent: what it shows keeps its times, and holds where nothing is known yet.

    A pod of the API server brings its status with it; a static pod has none of its own.
    """
    shown = None if known.api is None else known.api.status
    if shown is None:
        return
    status = next_status(shown, known.status)
    if status is not None:
        known.status = status if status.conditions else msgspec.structs.replace(status, conditions=shown.conditions)


def _is_another(error: ApiError) -> bool:
    """How a real API server says that the pod of this name has another UID."""
    return error.code == 422 and "metadata.uid" in error.message


def _is_newer(pod: Pod, known: Pod) -> bool:
    """By resourceVersion, which grows (KEP-5504); what is no number counts as newer when it differs."""
    new, old = pod.metadata.resource_version, known.metadata.resource_version
    if new.isdecimal() and old.isdecimal():
        return int(new) > int(old)
    return new != old


def _written(uid: str, done: Pending[Pod | None]) -> WriteEnded:
    outcome = outcome_of(done)
    error = outcome.error
    if error is None or isinstance(error, ApiError):
        return WriteEnded(uid, outcome.value if error is None else None, error)
    return WriteEnded(uid, None, ApiError(0, "Unknown", f"{type(error).__name__}: {error}", "a status write"))
