"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It brings the disk to what was last asked for each pod: prepared, or released. Each call runs on a lane under the
pod's UID with a deadline, so a dead mount costs its own pod alone. Of one pod one call is awaited at a time; what is
asked meanwhile waits, and the newest wins. Everything may be asked again, and is then done again, which changes
nothing.

What is on disk of pods that nobody knows (a crash in the middle of a release, a pod removed while the agent was down)
is released as soon as every source has spoken (`KnownPods`), and at each later word until it is gone.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, Lane, Message, Pending, handles, outcome_of
from actors.messages import KnownPods, PrepareVolumes, ReleaseVolumes, VolumesPrepared, VolumesReleased, pod_event
from config.objects import Pod
from runtime.volumes.capability import PodVolumes, PreparedVolumes

SECOND_NS = 1_000_000_000
PREPARE_LIMIT_NS = 123 * SECOND_NS
RELEASE_LIMIT_NS = 123 * SECOND_NS
LIST_LIMIT_NS = 60 * SECOND_NS
LANE_SIZE = 4
LANE_PER_POD = 2
"""One for a call that hangs, one so that the pod can still be released."""

Wish = PrepareVolumes | ReleaseVolumes


class WishEnded(Message, frozen=True):
    """To itself: the call for this wish has ended. `error` is empty when it went well."""

    wish: Wish
    prepared: PreparedVolumes | None
    error: str


class PodsListed(Message, frozen=True):
    """To itself: the pods that have something on disk."""

    uids: tuple[str, ...]
    error: str


class _Work(msgspec.Struct):
    """What is being done for a pod, and what was asked since."""

    current: Wish
    next: Wish | None = None


class VolumeReconcilerActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = 20_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, volumes: PodVolumes, events: ActorRef) -> None:
        super().__init__()
        self._volumes = volumes
        self._events = events
        self._work: dict[str, _Work] = {}
        self._known: frozenset[str] | None = None
        self._since_known: set[str] = set()
        self._listing = False

    # --- wishes -----------------------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> None:
        self._since_known.add(message.pod.metadata.uid)
        self._wish(message)

    @handles(ReleaseVolumes)
    def release_volumes(self, message: ReleaseVolumes) -> None:
        self._wish(message)

    def _wish(self, wish: Wish) -> None:
        uid = _uid_of(wish)
        work = self._work.get(uid)
        if work is None:
            self._work[uid] = _Work(wish)
            self._begin(wish)
        else:
            work.next = wish

    def _begin(self, wish: Wish) -> None:
        if isinstance(wish, PrepareVolumes):
            self.begin(lambda: self._prepare(wish.pod), lambda done: _ended(wish, done))
        else:
            self.begin(lambda: self._release(wish.uid), lambda done: _ended(wish, done))

    def _prepare(self, pod: Pod) -> Pending[PreparedVolumes]:
        return self._lane().submit(pod.metadata.uid, self._volumes.prepare, pod, deadline_ns=PREPARE_LIMIT_NS)

    def _release(self, uid: str) -> Pending[None]:
        return self._lane().submit(uid, self._volumes.release, uid, deadline_ns=RELEASE_LIMIT_NS)

    def _lane(self) -> Lane:
        return self.lane("volumes", size=LANE_SIZE, per_key=LANE_PER_POD)

    @handles(WishEnded)
    def wish_ended(self, message: WishEnded) -> None:
        wish = message.wish
        if isinstance(wish, PrepareVolumes):
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

    def _tell_prepared(self, wish: PrepareVolumes, message: WishEnded) -> None:
        if message.prepared is None:
            self._warn(wish.pod, message.error, "")
            wish.worker.tell(VolumesPrepared({}, message.error))
            return
        texts = []
        for fault in message.prepared.faults:
            texts.append(f'volume "{fault.volume}": {fault.reason}')
            self._warn(wish.pod, texts[-1], fault.field_path)
        wish.worker.tell(VolumesPrepared(message.prepared.host_paths, "; ".join(texts)))

    def _tell_released(self, wish: ReleaseVolumes, error: str) -> None:
        if error:
            self.log.warning("what pod %s has on disk cannot be removed: %s", wish.uid, error)
        if wish.worker is not None:
            wish.worker.tell(VolumesReleased(wish.uid, error))

    def _warn(self, pod: Pod, text: str, field_path: str) -> None:
        self._events.tell(pod_event(pod, "Warning", "FailedMount", text, field_path))

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
    return wish.pod.metadata.uid if isinstance(wish, PrepareVolumes) else wish.uid


def _ended(wish: Wish, done: Pending[PreparedVolumes | None]) -> WishEnded:
    outcome = outcome_of(done)
    error = "" if outcome.error is None else str(outcome.error) or type(outcome.error).__name__
    return WishEnded(wish, outcome.value, error)


def _listed(done: Pending[tuple[str, ...]]) -> PodsListed:
    outcome = outcome_of(done)
    return PodsListed(outcome.value or (), "" if outcome.error is None else str(outcome.error))
