"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It brings the disk to what was last asked for each pod: prepared, or released. Each call runs on a lane under the
pod's UID with a deadline, so a dead mount costs its own pod alone. Of one pod one call is awaited at a time; what is
asked meanwhile waits, and the newest wins. Everything may be asked again, and is then done again, which changes
nothing.

Volumes made of objects (config maps, secrets, tokens, the pod's own labels) are prepared when their contents have been
gathered (`volume_contents`), and again when those may have changed: an object or the pod has, a token grows old, a
while has gone by. Then the pod's worker is told to ask again (`RenewVolumes`), because it has the newest form of the
pod, and knows whether the pod still runs; nothing is kept here but a digest of what was written. The same way whatever
cannot be had is tried again, with a growing delay, and at once when something it refers to changes.

What is on disk of pods that nobody knows (a crash in the middle of a release, a pod removed while the agent was down)
is released as soon as every source has spoken (`KnownPods`), and at each later word until it is gone.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.event_messages import pod_event
from actors.kernel import Actor, ActorRef, Lane, Message, Pending, handles, outcome_of
from actors.messages import KnownPods, NodeObserved
from actors.reference_messages import ObjectsChanged, ObjectsRead, TokenIssued, TokenRefused
from actors.volume_contents import ContentSources, Gathered, GatheringLate, VolumeContents, digest_of
from actors.volume_messages import (
    PrepareVolumes,
    ReleaseVolumes,
    RenewVolumes,
    VolumeReconcilerStarted,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volume_payloads import has_config_volumes
from config.objects import Pod
from runtime.volumes.capability import NO_CONTENTS, Contents, PodVolumes, PreparedVolumes, VolumeFault
from runtime.volumes.pod_volumes import used_volumes

SECOND_NS = 1_000_000_000
PREPARE_LIMIT_NS = 123 * SECOND_NS
RELEASE_LIMIT_NS = 123 * SECOND_NS
LIST_LIMIT_NS = 60 * SECOND_NS
LANE_SIZE = 3
LANE_PER_POD = 2
"""One for a call that hangs, one so that the pod can still be released."""

RETRY_INITIAL_NS = SECOND_NS // 2
RETRY_MAX_NS = 122 * SECOND_NS
REFRESH_AT_LEAST_NS = 5 * SECOND_NS
"""Not sooner is anything renewed, whatever a token says."""
RESYNC_JITTER = 0.5


class _Prepare(msgspec.Struct, frozen=True):
    """The contents are known: make the volumes. `asked`: the worker waits for an answer.

    `refresh_wall_ns`, `refers`: as in `Gathered`.
    """

    worker: ActorRef
    pod: Pod
    asked: bool
    contents: Contents = NO_CONTENTS
    digest: bytes = b""
    refresh_wall_ns: int = 0
    refers: bool = False


Wish = _Prepare | ReleaseVolumes


class WishEnded(Message, frozen=True):
    """To itself: the call for this wish has ended. `error` is empty when it went well."""

    wish: Wish
    prepared: PreparedVolumes | None
    error: str


class RenewalDue(Message, frozen=True):
    """To itself: the volumes of this pod are to be looked at again."""

    uid: str


class PodsListed(Message, frozen=True):
    """To itself: the pods that have something on disk."""

    uids: tuple[str, ...]
    error: str


class _Work(msgspec.Struct):
    """What is being done for a pod, and what was asked since."""

    current: Wish
    next: Wish | None = None


class _Pod(msgspec.Struct):
    """A pod whose volumes have to be looked at again some time.

    `asked`: its worker has asked since contents were last gathered. `answer`: what it was told last. `digest`: of the
    contents that lie on disk, empty when that is not known or not all. `failures`: how often in a row something could
    not be had.
    """

    worker: ActorRef
    asked: bool = False
    answer: VolumesPrepared | None = None
    digest: bytes = b""
    failures: int = 0


ALONE = ContentSources()


class VolumeReconcilerActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = 20_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self, volumes: PodVolumes, events: ActorRef, sources: ContentSources = ALONE, sync_loop: ActorRef | None = None
    ) -> None:
        super().__init__()
        self._volumes = volumes
        self._events = events
        self._sources = sources
        self._sync_loop = sync_loop
        self._contents = VolumeContents(self, sources)
        self._pods: dict[str, _Pod] = {}
        self._work: dict[str, _Work] = {}
        self._known: frozenset[str] | None = None
        self._since_known: set[str] = set()
        self._listing = False

    def on_start(self) -> None:
        self._contents.start()
        # What an earlier life knew of pods is lost; their workers say it again.
        if self._sync_loop is not None:
            self._sync_loop.tell(VolumeReconcilerStarted())

    # --- wishes -----------------------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> None:
        pod = message.pod
        uid = pod.metadata.uid
        self._since_known.add(uid)
        if not has_config_volumes(pod):
            self._wish(_Prepare(message.worker, pod, not message.renewal))
            return
        known = self._pods.setdefault(uid, _Pod(message.worker))
        known.worker = message.worker
        known.asked = known.asked or not message.renewal
        if message.renewal or not self._contents.is_gathering(pod):
            self._go_on(self._contents.gather(pod))

    @handles(ReleaseVolumes)
    def release_volumes(self, message: ReleaseVolumes) -> None:
        self._contents.forget(message.uid)
        if self._pods.pop(message.uid, None) is not None:
            self.cancel_timer(message.uid)
        self._wish(message)

    def _wish(self, wish: Wish) -> None:
        uid = _uid_of(wish)
        work = self._work.get(uid)
        if work is None:
            self._work[uid] = _Work(wish)
            self._begin(wish)
        elif isinstance(wish, _Prepare) and isinstance(work.next, _Prepare) and work.next.asked:
            work.next = msgspec.structs.replace(wish, asked=True)
        else:
            work.next = wish

    def _begin(self, wish: Wish) -> None:
        if isinstance(wish, _Prepare):
            self.begin(lambda: self._prepare(wish), lambda done: _ended(wish, done))
        else:
            self.begin(lambda: self._release(wish.uid), lambda done: _ended(wish, done))

    def _prepare(self, wish: _Prepare) -> Pending[PreparedVolumes]:
        pod = wish.pod
        return self._lane().submit(
            pod.metadata.uid, self._volumes.prepare, pod, wish.contents, deadline_ns=PREPARE_LIMIT_NS
        )

    def _release(self, uid: str) -> Pending[None]:
        return self._lane().submit(uid, self._volumes.release, uid, deadline_ns=RELEASE_LIMIT_NS)

    def _lane(self) -> Lane:
        return self.lane("volumes", size=LANE_SIZE, per_key=LANE_PER_POD)

    @handles(WishEnded)
    def wish_ended(self, message: WishEnded) -> None:
        wish = message.wish
        if isinstance(wish, _Prepare):
            self._tell_prepared(wish, message)
        else:
            self._tell_released(wish, message.error)
        uid = _uid_of(wish)
        following = self._work[uid].next
        if following is None:
            del self._work[uid]
        else:
            self._work[uid] = _Work(following)
            self._begin(following)

    def _tell_prepared(self, wish: _Prepare, message: WishEnded) -> None:
        pod = wish.pod
        uid = pod.metadata.uid
        known = self._pods.get(uid)
        faults = message.prepared.faults if message.prepared is not None else ()
        answer = self._answer(pod, message, known)
        if message.error:
            self._warn(pod, message.error, "")
        for fault in faults:
            self._warn(pod, _text_of(fault), fault.field_path)
        if wish.asked or known is None or answer != known.answer:
            wish.worker.tell(answer)
        sound = not (faults or message.error)
        if known is None:
            if sound or isinstance(self._next_of(uid), ReleaseVolumes):
                return
            known = self._pods[uid] = _Pod(wish.worker)
        known.worker, known.answer = wish.worker, answer
        known.digest = wish.digest if sound else b""
        if not sound:
            self._retry_later(uid, known)
            return
        known.failures = 0
        self.cancel_timer(uid)
        if wish.refers:
            self._refresh_later(uid, wish.refresh_wall_ns)
        elif not wish.digest:
            del self._pods[uid]

    def _answer(self, pod: Pod, message: WishEnded, known: _Pod | None) -> VolumesPrepared:
        """What can be used is no error, though something may be wrong with it: it has its old content."""
        if message.prepared is not None:
            paths = message.prepared.host_paths
            texts = [_text_of(fault) for fault in message.prepared.faults if fault.volume not in paths]
            return VolumesPrepared(paths, "; ".join(texts))
        before = known.answer if known is not None else None
        if before is not None and not before.error and used_volumes(pod) <= before.host_paths.keys():
            return before
        return VolumesPrepared({}, message.error)

    def _retry_later(self, uid: str, known: _Pod) -> None:
        delay_ns = min(RETRY_INITIAL_NS << min(known.failures, 20), RETRY_MAX_NS)
        known.failures += 1
        self.after(delay_ns, RenewalDue(uid), key=uid)

    def _next_of(self, uid: str) -> Wish | None:
        work = self._work.get(uid)
        return work.next if work is not None else None

    def _tell_released(self, wish: ReleaseVolumes, error: str) -> None:
        if error:
            self.log.warning("what pod %s has on disk cannot be removed: %s", wish.uid, error)
        if wish.worker is not None:
            wish.worker.tell(VolumesReleased(wish.uid, error))

    def _warn(self, pod: Pod, text: str, field_path: str) -> None:
        self._events.tell(pod_event(pod, "Warning", "FailedMount", text, field_path))

    # --- contents ---------------------------------------------------------------------------------------------------

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        self._contents.node_observed(message)

    @handles(ObjectsRead)
    def objects_read(self, message: ObjectsRead) -> None:
        self._go_on(self._contents.objects_read(message))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> None:
        self._go_on(self._contents.token_issued(message))

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> None:
        self._go_on(self._contents.token_refused(message))

    @handles(GatheringLate)
    def gathering_late(self, message: GatheringLate) -> None:
        self._go_on(self._contents.late(message))

    def _go_on(self, gathered: Gathered | None) -> None:
        """The contents of a pod are known: to the disk with them, where they are news or the worker waits."""
        if gathered is None:
            return
        uid = gathered.pod.metadata.uid
        known = self._pods[uid]
        digest = digest_of(gathered.contents)
        if digest == known.digest and not known.asked:
            if gathered.refers:
                self._refresh_later(uid, gathered.refresh_wall_ns)
            return
        asked, known.asked = known.asked, False
        contents, refresh_wall_ns = gathered.contents, gathered.refresh_wall_ns
        self._wish(_Prepare(known.worker, gathered.pod, asked, contents, digest, refresh_wall_ns, gathered.refers))

    def _refresh_later(self, uid: str, refresh_wall_ns: int) -> None:
        delay_ns = int(self._sources.resync_ns * (1 + RESYNC_JITTER * self.chance.random()))
        if refresh_wall_ns:
            delay_ns = min(delay_ns, max(refresh_wall_ns - self.wall_ns(), REFRESH_AT_LEAST_NS))
        self.after(delay_ns, RenewalDue(uid), key=uid)

    @handles(RenewalDue)
    def renewal_due(self, message: RenewalDue) -> None:
        self._renew(message.uid)

    @handles(ObjectsChanged)
    def objects_changed(self, message: ObjectsChanged) -> None:
        for uid in sorted(message.uids):
            self._renew(uid)

    def _renew(self, uid: str) -> None:
        known = self._pods.get(uid)
        if known is not None:
            self._refresh_later(uid, 0)  # for the case that the worker cannot hear it just now
            known.worker.tell(RenewVolumes())

    # --- what nobody knows ------------------------------------------------------------------------------------------

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        self._known = message.uids
        self._since_known.clear()
        if not self._listing:
            self._listing = True
            self.begin(lambda: self._lane().submit("", self._volumes.list_uids, deadline_ns=LIST_LIMIT_NS), _listed)

    @handles(PodsListed)
    def pods_listed(self, message: PodsListed) -> None:
        self._listing = False
        if message.error:
            self.log.warning("the directories of pods cannot be listed: %s", message.error)
        for uid in message.uids:
            if self._is_orphan(uid):
                self.log.info("pod %s is known to nobody; removing what it has on disk", uid)
                self._wish(ReleaseVolumes(None, uid))

    def _is_orphan(self, uid: str) -> bool:
        known = self._known
        return known is not None and uid not in known and uid not in self._since_known and uid not in self._work


def _uid_of(wish: Wish) -> str:
    return wish.pod.metadata.uid if isinstance(wish, _Prepare) else wish.uid


def _text_of(fault: VolumeFault) -> str:
    return f'MountVolume.SetUp failed for volume "{fault.volume}" : {fault.reason}'


def _ended(wish: Wish, done: Pending[PreparedVolumes | None]) -> WishEnded:
    outcome = outcome_of(done)
    error = "" if outcome.error is None else str(outcome.error) or type(outcome.error).__name__
    return WishEnded(wish, outcome.value, error)


def _listed(done: Pending[tuple[str, ...]]) -> PodsListed:
    outcome = outcome_of(done)
    return PodsListed(outcome.value or (), "" if outcome.error is None else str(outcome.error))
