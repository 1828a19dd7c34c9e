"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It keeps two worlds: what the pods are to have (`volume_desired`) and what there is (`volume_actual`). Whatever changes
in one of them, `volume_plan` says for the pods concerned what to do next, and that is begun, one call per thing
(`volume_calls`). Nothing is looked at without a reason but for a slow tick, and then only what is not as it should be.

The parts of it: the way of a pod that is to have volumes (`volume_passes`), of one that has ended or that nobody knows
(`volume_release`, `volume_orphans`), and of what pods share (`volume_devices`). Here they meet: every message comes in
here, every step is begun here and every call ends here, so that what has happened is in the actual world before anybody
plans on it. No volume of a pod that runs is ever taken down.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, Lane, Message, handles
from actors.messages import KnownPods, NodeObserved
from actors.node_messages import NodeStatusStarted
from actors.reference_messages import ObjectsChanged, ObjectsRead, TokenIssued, TokenRefused
from actors.volume_actual import ActualWorld, Device, PodDirectory, Trouble
from actors.volume_calls import (
    LANE_PER_THING,
    LANE_SIZE,
    Call,
    CallEnded,
    LookForLate,
    VolumeCalls,
    late_trouble,
)
from actors.volume_claim_messages import ClaimsChanged, ClaimsResolved, ForgetClaims
from actors.volume_contents import ContentSources, GatheringLate
from actors.volume_devices import DeviceDue, VolumeDevices
from actors.volume_messages import (
    ListPodVolumes,
    PodVolume,
    PrepareSubPaths,
    PrepareVolumes,
    ReleaseVolumes,
    VolumeReconcilerStarted,
)
from actors.volume_orphans import DiskScanned, PodsListed, ScanDisk, VolumeOrphans
from actors.volume_passes import RenewalDue, VolumePasses
from actors.volume_plan import TAKING_DOWN, Do, Step
from actors.volume_release import ReleaseDue, VolumeReleases
from actors.volume_state import Failed, Late, LostEnded, MakeBegun, Stage, Succeeded, UnmakeBegun
from actors.volume_sub_paths import SubPathsMounted, VolumeSubPaths
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000
TICK_NS = 60 * SECOND_NS
"""How often what is not settled is looked at without a reason, should one have been lost."""


class Tick(Message, frozen=True):
    """To itself, now and then."""


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
        self._sources = sources
        self._sync_loop = sync_loop
        self._actual = ActualWorld()
        self._claimless: set[str] = set()
        """Pods that are being released, and have never had a claim."""
        self._calls = VolumeCalls(self, volumes, events)
        self._releases = VolumeReleases(self, self._actual, self._begin, self._released)
        self._devices = VolumeDevices(self, self._actual, self._begin, sources.node)
        self._passes = VolumePasses(self, volumes, self._actual, self._devices, events, sources, self._begin)
        self._orphans = VolumeOrphans(
            self, volumes, self._actual, self._devices, self._releases, self._lane, self._passes.__contains__
        )
        where_is = self._passes.where_is
        self._sub_paths = VolumeSubPaths(self, sub_paths, self._lane, where_is) if sub_paths is not None else None

    def on_start(self) -> None:
        self._calls.start()
        self._passes.contents.start()
        self.every(TICK_NS, Tick())
        self._orphans.scan()
        # What an earlier life knew of pods is lost; their workers say it again.
        if self._sync_loop is not None:
            self._sync_loop.tell(VolumeReconcilerStarted())

    # --- wishes -----------------------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> None:
        uid = message.pod.metadata.uid
        self._orphans.asked(uid)
        self._releases.forget(uid)
        self._passes.want(message)

    @handles(ReleaseVolumes)
    def release_volumes(self, message: ReleaseVolumes) -> None:
        if self._passes.never_had_claims(message.uid):
            self._claimless.add(message.uid)
        self._passes.forget(message.uid)
        self._releases.begin(message.uid, message.worker)

    def _released(self, uid: str) -> None:
        """Nothing is left of this pod. Who is not known to have had no claims may have had some in an earlier life."""
        if self._sources.claims is not None and uid not in self._claimless:
            self._sources.claims.tell(ForgetClaims(uid))
        self._claimless.discard(uid)

    # --- contents ---------------------------------------------------------------------------------------------------

    @handles(NodeStatusStarted)
    def node_status_started(self, _: NodeStatusStarted) -> None:
        self._devices.tell_again()

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        self._passes.contents.node_observed(message)

    @handles(ObjectsRead)
    def objects_read(self, message: ObjectsRead) -> None:
        self._passes.go_on(self._passes.contents.objects_read(message))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> None:
        self._passes.go_on(self._passes.contents.token_issued(message))

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> None:
        self._passes.go_on(self._passes.contents.token_refused(message))

    @handles(ClaimsResolved)
    def claims_resolved(self, message: ClaimsResolved) -> None:
        self._passes.go_on(self._passes.contents.claims_resolved(message))

    @handles(GatheringLate)
    def gathering_late(self, message: GatheringLate) -> None:
        self._passes.go_on(self._passes.contents.late(message))

    @handles(RenewalDue)
    def renewal_due(self, message: RenewalDue) -> None:
        self._passes.gather(message.uid)

    @handles(ObjectsChanged, ClaimsChanged)
    def objects_changed(self, message: ObjectsChanged | ClaimsChanged) -> None:
        for uid in sorted(message.uids):
            self._passes.try_now(uid)

    # --- steps ------------------------------------------------------------------------------------------------------

    def _begin(self, step: Step, pod: Pod | None = None) -> None:
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
        elif isinstance(step.key, PodDirectory) and message.found:
            self._releases.found(step.key, message.found)
        elif message.trouble is None and (step.do is not Do.ADOPT or message.path):
            if step.volume is not None and isinstance(step.key, VolumePlace):
                thing.host_path = message.path
                thing.version = None if step.do is Do.ADOPT else step.volume.spec.version
                if step.do is Do.MAKE and thing.life.stage is Stage.MAKING:
                    self._calls.tell_mapped(call, message.path)
            thing.succeeded()
            self._actual.meet(step.key, Succeeded())
        else:
            waits = step.volume.waits if step.volume is not None else None
            thing.failed(message.trouble or waits or Trouble("nothing is there"), self.now_ns())
            self._actual.meet(step.key, Failed())
            if step.do is Do.UNSTAGE and thing.trouble is not None:
                self.log.warning("%s cannot be unstaged: %s", step.key, thing.trouble.text)
        self._after(call, device)

    @handles(LookForLate)
    def look_for_late(self, _: LookForLate) -> None:
        for call in self._calls.late():
            self._is_late(call)

    def _is_late(self, call: Call) -> None:
        thing = self._actual.thing(call.step.key)
        thing.failed(late_trouble(call.step), self.now_ns())
        if call.uid not in self._passes and call.step.do not in TAKING_DOWN:
            thing.retry_at_ns = 0  # nobody wants it any more; it has not been tried yet to take it down
        self._actual.meet(call.step.key, Late())
        self._after(call, thing.device)

    def _after(self, call: Call, device: str) -> None:
        """Everybody concerned goes on: a call has ended, or is late. `device`: that the volume was on."""
        key = call.step.key
        has_come_late = call.late and call.number not in self._calls
        go_on = self._passes.try_now if has_come_late else self._passes.advance
        if isinstance(key, Device):
            for uid in self._devices.wanted_by(key.name):
                go_on(uid)
            self._devices.look_at(key.name)
            return
        if device:
            self._devices.look_at(device)
        if key.uid in self._passes:
            go_on(key.uid)
        elif key.uid in self._releases.uids():
            self._releases.advance(key.uid)
        elif key.uid in self._actual.pods:
            # A call that was late has done something for a pod that is gone.
            self._releases.begin(key.uid, None)
        if call.step.do is Do.UNMAKE:
            self._passes.volume_is_gone()

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

    @handles(DeviceDue)
    def device_due(self, message: DeviceDue) -> None:
        self._devices.look_at(message.name)

    @handles(Tick)
    def tick(self, _: Tick) -> None:
        self.look_for_late(LookForLate())  # one timer watches all calls: if its message was lost, none would be late
        self._passes.advance_all()
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

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ListPodVolumes)
    def list_pod_volumes(self, message: ListPodVolumes) -> tuple[PodVolume, ...]:
        uids = (message.uid,) if message.uid else sorted(self._passes.uids())
        return tuple(each for uid in uids if uid in self._passes for each in self._passes.volumes_now(uid))
