"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It keeps two worlds: what the pods are to have (`volume_desired`) and what there is (`volume_actual`). Whatever changes
in one of them, `volume_plan` says for the pods concerned what to do next, and that is begun, one call per thing
(`volume_calls`). Nothing is looked at without a reason but for a slow tick, and then only what is not as it should be.

A pod passes through here again and again, always in the same way: what its volumes are made of is gathered
(`volume_contents`), steps are begun as long as there are any, and when nothing is under way any more the pod is
settled: its worker is told what there is, and what is not. Then nothing is kept of secrets and files but a digest. It
passes again when somebody asks, when something it refers to changes or grows old, and, where something could not be
had, after a back-off.

A pod that has ended is released: everything that lies on disk for it is listed first, because the disk knows more than
any record, then taken down and removed. So it is with pods that nobody knows, once every source has spoken
(`KnownPods`): a crash in the middle of a release, a pod removed while the agent was down. No volume of a pod that runs
is ever taken down. A device goes when no pod needs it any more; which pods may need it is known only after one look at
the whole disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from actors.claim_rules import groups_of
from actors.event_messages import pod_event
from actors.kernel import Actor, ActorRef, Lane, Message, handles
from actors.messages import KnownPods, NodeObserved
from actors.reference_messages import ObjectsChanged, ObjectsRead, TokenIssued, TokenRefused
from actors.volume_actual import ActualWorld, Device, Thing, Trouble, back_off_ns
from actors.volume_calls import (
    LANE_PER_THING,
    LANE_SIZE,
    Call,
    CallEnded,
    CallLate,
    VolumeCalls,
    late_trouble,
)
from actors.volume_claim_messages import ClaimsChanged, ClaimsResolved, ForgetClaims
from actors.volume_contents import ContentSources, Gathered, GatheringLate, VolumeContents
from actors.volume_desired import DesiredVolume, desired_volumes, with_places_of, without_secrets
from actors.volume_devices import DeviceDue, VolumeDevices
from actors.volume_messages import (
    ListPodVolumes,
    PodVolume,
    PrepareSubPaths,
    PrepareVolumes,
    ReleaseVolumes,
    VolumeReconcilerStarted,
    VolumesPrepared,
)
from actors.volume_orphans import DiskScanned, PodsListed, ScanDisk, VolumeOrphans
from actors.volume_plan import POD_ITSELF, TAKING_DOWN, Do, PodPlan, Step, plan_wanted
from actors.volume_release import ReleaseDue, VolumeReleases, VolumesListed
from actors.volume_state import Failed, Late, LostEnded, MakeBegun, Succeeded, UnmakeBegun, is_usable
from actors.volume_sub_paths import SubPathsMounted, VolumeSubPaths
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000
TICK_NS = 60 * SECOND_NS
"""How often what is not settled is looked at without a reason, should one have been lost."""
REFRESH_AT_LEAST_NS = 5 * SECOND_NS
"""Not sooner is anything renewed, whatever a token says."""
RESYNC_JITTER = 0.5


class RenewalDue(Message, frozen=True):
    """To itself: the volumes of this pod are to be looked at again."""

    uid: str


class Tick(Message, frozen=True):
    """To itself, now and then."""


class _Pod(msgspec.Struct):
    """A pod that is to have volumes.

    `asked`: its worker has asked since it was last answered; `answer`: what it was told last. `passing`: contents are
    known and steps may be begun; in this pass `attempted` volumes are tried and what is wrong with them is said.
    `failures`, `retry_at_ns`: of waiting for what others have to change. `refers`, `refresh_wall_ns`: as in `Gathered`.
    """

    worker: ActorRef
    pod: Pod
    asked: bool = False
    answer: VolumesPrepared | None = None
    volumes: tuple[DesiredVolume, ...] = ()
    passing: bool = False
    attempted: frozenset[str] = frozenset()
    failures: int = 0
    retry_at_ns: int = 0
    refers: bool = False
    refresh_wall_ns: int = 0


ALONE = ContentSources()


class VolumeReconcilerActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = 20_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self,
        volumes: NodeVolumes,
        events: ActorRef,
        sources: ContentSources = ALONE,
        sync_loop: ActorRef | None = None,
        sub_paths: SubPaths | None = None,
    ) -> None:
        super().__init__()
        self._volumes = volumes
        self._events = events
        self._sources = sources
        self._sync_loop = sync_loop
        self._actual = ActualWorld()
        self._contents = VolumeContents(self, sources)
        self._calls = VolumeCalls(self, volumes, events)
        self._releases = VolumeReleases(self, volumes, self._actual, self._begin_for_none, self._released)
        self._devices = VolumeDevices(self, self._actual, self._begin_for_none, sources.node)
        self._pods: dict[str, _Pod] = {}
        self._unsettled: set[str] = set()
        self._in_conflict: set[str] = set()
        self._orphans = VolumeOrphans(
            self, volumes, self._actual, self._devices, self._releases, self._lane, self._pods.__contains__
        )
        self._sub_paths = VolumeSubPaths(self, sub_paths, self._lane, self._where_is) if sub_paths is not None else None

    def on_start(self) -> None:
        self._contents.start()
        self.every(TICK_NS, Tick())
        self._orphans.scan()
        # What an earlier life knew of pods is lost; their workers say it again.
        if self._sync_loop is not None:
            self._sync_loop.tell(VolumeReconcilerStarted())

    # --- wishes -----------------------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> None:
        pod = message.pod
        uid = pod.metadata.uid
        self._orphans.asked(uid)
        self._releases.forget(uid)
        known = self._pods.setdefault(uid, _Pod(message.worker, pod))
        known.worker, known.pod = message.worker, pod
        known.asked = known.asked or not message.renewal
        if message.renewal or not self._contents.is_gathering(pod):
            self._try_now(uid)

    @handles(ReleaseVolumes)
    def release_volumes(self, message: ReleaseVolumes) -> None:
        uid = message.uid
        self._contents.forget(uid)
        if self._pods.pop(uid, None) is not None:
            self.cancel_timer(uid)
            self._unsettled.discard(uid)
            self._in_conflict.discard(uid)
            self._devices.desired(uid, ())
        self._releases.begin(uid, message.worker)

    def _released(self, uid: str) -> None:
        """Nothing is left of this pod."""
        if self._sources.claims is not None:
            self._sources.claims.tell(ForgetClaims(uid))

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

    @handles(ClaimsResolved)
    def claims_resolved(self, message: ClaimsResolved) -> None:
        self._go_on(self._contents.claims_resolved(message))

    @handles(GatheringLate)
    def gathering_late(self, message: GatheringLate) -> None:
        self._go_on(self._contents.late(message))

    @handles(RenewalDue)
    def renewal_due(self, message: RenewalDue) -> None:
        self._gather(message.uid)

    @handles(ObjectsChanged, ClaimsChanged)
    def objects_changed(self, message: ObjectsChanged | ClaimsChanged) -> None:
        for uid in sorted(message.uids):
            self._try_now(uid)

    def _try_now(self, uid: str) -> None:
        """There is news: whatever has failed before is due."""
        known = self._pods.get(uid)
        if known is None:
            return
        known.retry_at_ns = 0
        for thing in self._things_of(uid, known.volumes):
            thing.retry_at_ns = 0
        self._gather(uid)

    def _things_of(self, uid: str, volumes: Iterable[DesiredVolume]) -> list[Thing]:
        things = self._actual.pod(uid)
        devices = {volume.at.device for volume in volumes if volume.at is not None}
        on_node = self._actual.devices
        return [things.directory, *things.volumes.values(), *(on_node[name] for name in devices if name in on_node)]

    def _gather(self, uid: str) -> None:
        known = self._pods.get(uid)
        if known is not None:
            if known.answer is not None:
                # For the case that somebody has not heard the question. The end of the pass sets another time.
                self.after(self._refresh_in_ns(0), RenewalDue(uid), key=uid)
            self._go_on(self._contents.gather(known.pod))

    def _go_on(self, gathered: Gathered | None) -> None:
        """All is known of a pod's volumes: a pass begins, or the one under way gets newer wishes."""
        known = self._pods.get(gathered.pod.metadata.uid) if gathered is not None else None
        if gathered is None or known is None:
            return
        uid = gathered.pod.metadata.uid
        volumes = desired_volumes(gathered.pod, gathered, self._volumes.locate)
        known.volumes = with_places_of(volumes, known.volumes)
        known.refers, known.refresh_wall_ns = gathered.refers, gathered.refresh_wall_ns
        known.attempted = self._due(uid, known)
        known.passing = True
        self._unsettled.add(uid)
        self._devices.desired(uid, known.volumes)
        self._advance(uid)

    def _due(self, uid: str, known: _Pod) -> frozenset[str]:
        """Names of the volumes that are tried in this pass, as far as they have to be."""
        now_ns = self.now_ns()
        due = {
            volume.name
            for volume in known.volumes
            if now_ns >= (known.retry_at_ns if volume.waits is not None else self._retry_at_ns(volume))
        }
        return frozenset(due | {POD_ITSELF})

    def _retry_at_ns(self, volume: DesiredVolume) -> int:
        assert volume.at is not None, "what waits for nobody is located"
        things = self._actual.pod(volume.at.place.uid)
        thing, device = things.volumes.get(volume.at.place), self._actual.devices.get(volume.at.device)
        return max(each.retry_at_ns for each in (things.directory, thing, device) if each is not None)

    # --- steps ------------------------------------------------------------------------------------------------------

    def _advance(self, uid: str) -> None:
        """Begin what can be begun now for a pod; when nothing is under way any more, say how it stands."""
        known = self._pods.get(uid)
        if known is None or not known.passing:
            return
        plan = plan_wanted(uid, known.volumes, self._actual, self.now_ns())
        while plan.steps:
            for step in plan.steps:
                self._begin(step, known.pod)
            plan = plan_wanted(uid, known.volumes, self._actual, self.now_ns())
        if not plan.busy:
            self._settle(uid, known, plan)

    def _begin_for_none(self, step: Step) -> None:
        self._begin(step, None)

    def _begin(self, step: Step, pod: Pod | None) -> None:
        key, volume = step.key, step.volume
        if step.do is Do.SAY_AGAIN:
            thing = self._actual.thing(key)
            thing.failed(thing.trouble or late_trouble(step), self.now_ns())
            return
        if volume is not None and volume.at is not None and isinstance(key, VolumePlace):
            self._actual.located(volume.at)
        if volume is not None and isinstance(key, Device):
            self._actual.thing(key).in_use = bool(volume.in_use)
        self._actual.meet(key, UnmakeBegun() if step.do in TAKING_DOWN else MakeBegun())
        self._calls.begin(step, pod)

    @handles(CallEnded)
    def call_ended(self, message: CallEnded) -> None:
        call = self._calls.ended(message)
        step = call.step
        thing = self._actual.thing(step.key)
        device = thing.device
        if call.late:
            self._actual.meet(step.key, LostEnded())
        elif message.trouble is None and (step.do is not Do.ADOPT or message.value):
            if step.volume is not None and isinstance(step.key, VolumePlace):
                thing.host_path = message.value
                thing.version = None if step.do is Do.ADOPT else step.volume.spec.version
            thing.succeeded()
            self._actual.meet(step.key, Succeeded())
        else:
            waits = step.volume.waits if step.volume is not None else None
            thing.failed(message.trouble or waits or Trouble("nothing is there"), self.now_ns())
            self._actual.meet(step.key, Failed())
        self._after(call, device)

    @handles(CallLate)
    def call_late(self, message: CallLate) -> None:
        call = self._calls.late(message)
        if call is None:
            return
        thing = self._actual.thing(call.step.key)
        thing.failed(late_trouble(call.step), self.now_ns())
        if call.uid not in self._pods and call.step.do not in TAKING_DOWN:
            thing.retry_at_ns = 0  # nobody wants it any more; it has not been tried yet to take it down
        self._actual.meet(call.step.key, Late())
        self._after(call, thing.device)

    def _after(self, call: Call, device: str) -> None:
        """Everybody concerned goes on: a call has ended, or is late. `device`: that the volume was on."""
        key = call.step.key
        if isinstance(key, Device):
            for uid in self._devices.wanted_by(key.name):
                self._advance(uid)
            self._devices.look_at(key.name)
            return
        if device:
            self._devices.look_at(device)
        if key.uid in self._pods:
            if call.late and call.number not in self._calls:
                self._try_now(key.uid)
            else:
                self._advance(key.uid)
        elif key.uid in self._releases.uids():
            self._releases.advance(key.uid)
        elif key.uid in self._actual.pods:
            # A call that was late has done something for a pod that is gone.
            self._releases.begin(key.uid, None)
        if call.step.do is Do.UNMAKE:
            for uid in sorted(self._in_conflict):
                self._try_now(uid)

    # --- the end of a pass ------------------------------------------------------------------------------------------

    def _settle(self, uid: str, known: _Pod, plan: PodPlan) -> None:
        known.passing = False
        texts = {name: text_of(name, trouble) for name, trouble in plan.troubles.items()}
        for name, text in texts.items():
            if name in known.attempted and plan.troubles[name].reason:
                path = next((each.spec.field_path for each in known.volumes if each.name == name), "")
                self._events.tell(pod_event(known.pod, "Warning", plan.troubles[name].reason, text, path))
        # What can be used is no error, though something may be wrong with it: it has its old content.
        errors = [text for name, text in texts.items() if name not in plan.host_paths]
        answer = VolumesPrepared(plan.host_paths, "; ".join(errors), groups_of(each.spec for each in known.volumes))
        if known.asked or answer != known.answer:
            known.worker.tell(answer)
        known.asked, known.answer = False, answer
        known.volumes = tuple(without_secrets(volume) for volume in known.volumes)
        self._wake_later(uid, known, plan)
        if not plan.troubles:
            self._unsettled.discard(uid)

    def _wake_later(self, uid: str, known: _Pod, plan: PodPlan) -> None:
        """When to look at the pod again: what has failed, what others have to change, what grows old."""
        now_ns = self.now_ns()
        (self._in_conflict.add if plan.waiting else self._in_conflict.discard)(uid)
        if not plan.waiting:
            known.failures = known.retry_at_ns = 0
        elif plan.waiting & known.attempted:
            known.retry_at_ns = now_ns + back_off_ns(known.failures)
            known.failures += 1
        at_ns = [at for at in (plan.wake_ns, known.retry_at_ns) if at]
        if known.refers:
            at_ns.append(now_ns + self._refresh_in_ns(known.refresh_wall_ns))
        if at_ns:
            self.after(max(min(at_ns) - now_ns, 0), RenewalDue(uid), key=uid)
        else:
            self.cancel_timer(uid)

    def _refresh_in_ns(self, refresh_wall_ns: int) -> int:
        delay_ns = int(self._sources.resync_ns * (1 + RESYNC_JITTER * self.chance.random()))
        if refresh_wall_ns:
            delay_ns = min(delay_ns, max(refresh_wall_ns - self.wall_ns(), REFRESH_AT_LEAST_NS))
        return delay_ns

    # --- what nobody knows ------------------------------------------------------------------------------------------

    @handles(ScanDisk)
    def scan_disk(self, _: ScanDisk) -> None:
        self._orphans.scan()

    @handles(DiskScanned)
    def disk_scanned(self, message: DiskScanned) -> None:
        self._orphans.scanned(message)

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        self._orphans.known_pods(message)

    @handles(PodsListed)
    def pods_listed(self, message: PodsListed) -> None:
        self._orphans.listed(message)

    @handles(ReleaseDue)
    def release_due(self, message: ReleaseDue) -> None:
        self._releases.due(message)

    @handles(VolumesListed)
    def volumes_listed(self, message: VolumesListed) -> None:
        self._releases.listed(message)

    @handles(DeviceDue)
    def device_due(self, message: DeviceDue) -> None:
        self._devices.look_at(message.name)

    @handles(Tick)
    def tick(self, _: Tick) -> None:
        for uid in sorted(self._unsettled):
            self._advance(uid)
        for uid in sorted(self._releases.uids()):
            self._releases.advance(uid)

    def _lane(self) -> Lane:
        return self.lane("volumes", size=LANE_SIZE, per_key=LANE_PER_THING)

    # --- parts of volumes -------------------------------------------------------------------------------------------

    @handles(PrepareSubPaths)
    def prepare_sub_paths(self, message: PrepareSubPaths) -> None:
        if self._sub_paths is not None:
            self._sub_paths.prepare(message)

    @handles(SubPathsMounted)
    def sub_paths_mounted(self, message: SubPathsMounted) -> None:
        if self._sub_paths is not None:
            self._sub_paths.mounted(message)

    def _where_is(self, uid: str, name: str) -> tuple[str, str] | None:
        """The name on disk and the path on the host of a volume that containers may have now."""
        known = self._pods.get(uid)
        for volume in known.volumes if known is not None else ():
            if volume.name == name and volume.at is not None:
                thing = self._actual.pod(uid).volumes.get(volume.at.place)
                return (volume.at.place.name, thing.host_path) if thing is not None and is_usable(thing.life) else None
        return None

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ListPodVolumes)
    def list_pod_volumes(self, message: ListPodVolumes) -> tuple[PodVolume, ...]:
        uids = (message.uid,) if message.uid else sorted(self._pods)
        return tuple(each for uid in uids if uid in self._pods for each in self._volumes_now(uid))

    def _volumes_now(self, uid: str) -> Iterator[PodVolume]:
        for volume in self._pods[uid].volumes:
            found = self._where_is(uid, volume.name)
            if found is not None and volume.at is not None:
                claim = volume.spec.claim.metadata.name if volume.spec.claim is not None else ""
                yield PodVolume(uid, volume.name, volume.at.place.plugin, found[1], claim, volume.spec.block)


def text_of(name: str, trouble: Trouble) -> str:
    """What is wrong with a volume of a pod, or with the pod's directory, for people."""
    if name == POD_ITSELF:
        return f"the directory of the pod cannot be made: {trouble.text}"
    return f'{trouble.step} failed for volume "{name}" : {trouble.text}'
