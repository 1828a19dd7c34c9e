"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It keeps two worlds: what the pods should have (`desired.py`) and what there is (`actual.py`). After a change in either,
`plan.py` plans the next steps of the pods concerned. The actor begins them, one call per thing (`calls.py`). Without a
change only a slow tick looks, and only at what is not settled.

Its parts handle pods that want volumes (`passes.py`), pods that have ended or are unknown (`release.py`, `orphans.py`),
and devices that pods share (`devices.py`). Every message comes in here, every step begins here and every call ends
here. So the actual world is up to date before any part plans. No volume of a running pod is ever taken down.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.claims import ClaimsChanged, ClaimsResolved, ForgetClaims
from actors.messages.counts import CountVolumes, VolumeCount
from actors.messages.node import NodeStatusStarted
from actors.messages.pods import KnownPods, NodeObserved
from actors.messages.references import (
    ObjectsChanged,
    ObjectsRead,
    PodCertificatesRead,
    PodCertificatesStarted,
    TokenIssued,
    TokenRefused,
    TrustBundlesChanged,
    TrustBundlesRead,
)
from actors.messages.volumes import (
    ListPodVolumes,
    PodVolume,
    PrepareSubPaths,
    PrepareVolumes,
    ReleaseVolumes,
    VolumeReconcilerStarted,
)
from actors.volumes.actual import ActualWorld, Device, PodDirectory, VolumeProblem
from actors.volumes.calls import (
    LookForLate,
    VolumeCall,
    VolumeCallEnded,
    VolumeCalls,
    VolumeLanes,
    late_trouble,
)
from actors.volumes.contents import ContentSources, GatheringLate
from actors.volumes.devices import DeviceDue, VolumeDevices
from actors.volumes.health import ConditionTold, HealthDue, VolumeHealth
from actors.volumes.orphans import DiskScanned, PodsListed, ScanDisk, VolumeOrphans
from actors.volumes.passes import RenewalDue, VolumePasses
from actors.volumes.plan import TAKING_DOWN, Do, VolumeStep
from actors.volumes.release import ReleaseDue, VolumeReleases
from actors.volumes.state import Failed, Late, LostEnded, MakeBegun, Succeeded, ThingStage, UnmakeBegun
from actors.volumes.sub_paths import SubPathsMounted, VolumeSubPaths
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000
TICK_NS = 60 * SECOND_NS
"""How often to look at what is not settled, in case a message was lost."""


class Tick(Message, frozen=True):
    """To itself, periodically: check work that is not settled."""


ALONE = ContentSources()


class VolumeReconcilerActor(Actor):
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
        """Pods being released that have never had a claim."""
        lanes = VolumeLanes(self)
        self._calls = VolumeCalls(self, lanes, volumes, events)
        self._releases = VolumeReleases(self, self._actual, self._begin, self._released)
        self._devices = VolumeDevices(self, self._actual, self._begin, sources.node)
        self._passes = VolumePasses(self, volumes, self._actual, self._devices, events, sources, self._begin)
        self._orphans = VolumeOrphans(
            self, volumes, self._actual, self._devices, self._releases, lanes, self._passes.__contains__
        )
        self._health = VolumeHealth(self, volumes, events, sources.health_every_ns)
        where_is = self._passes.where_is
        self._sub_paths = VolumeSubPaths(self, sub_paths, lanes, where_is) if sub_paths is not None else None

    def on_start(self) -> None:
        self._health.start()
        self._passes.contents.start()
        self.every(TICK_NS, Tick())
        self._orphans.scan()
        # An earlier life's requests are lost; this makes the workers repeat them.
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
        """This pod has no volumes left.

        It may have had claims in an earlier life, unless that is known to be false.
        """
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

    @handles(TrustBundlesRead)
    def trust_bundles_read(self, message: TrustBundlesRead) -> None:
        self._passes.go_on(self._passes.contents.trust_bundles_read(message))

    @handles(PodCertificatesRead)
    def pod_certificates_read(self, message: PodCertificatesRead) -> None:
        self._passes.go_on(self._passes.contents.pod_certificates_read(message))

    @handles(PodCertificatesStarted)
    def pod_certificates_started(self, _: PodCertificatesStarted) -> None:
        for uid in self._passes.with_certificates():
            self._passes.try_now(uid)

    @handles(TrustBundlesChanged)
    def trust_bundles_changed(self, _: TrustBundlesChanged) -> None:
        for uid in self._passes.with_trust_anchors():
            self._passes.try_now(uid)

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

    def _begin(self, step: VolumeStep, pod: Pod | None = None) -> None:
        key, volume = step.key, step.volume
        if step.do is Do.SAY_AGAIN:
            thing = self._actual.thing(key)
            thing.failed(thing.trouble or late_trouble(step), self.now_ns())
            return
        if volume is not None and volume.at is not None and isinstance(key, VolumePlace):
            self._actual.located(volume.at)
        if volume is not None and isinstance(key, Device):
            self._actual.thing(key).in_use = volume.in_use
        self._actual.meet(key, UnmakeBegun() if step.do in TAKING_DOWN else MakeBegun())
        self._calls.begin(step, pod)

    @handles(VolumeCallEnded)
    def call_ended(self, message: VolumeCallEnded) -> None:
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
                if step.do is Do.MAKE and thing.life.stage is ThingStage.MAKING:
                    self._calls.tell_mapped(call, message.path)
            elif step.volume is not None and step.do is Do.STAGE:
                thing.context = step.volume.spec.context
            thing.succeeded()
            self._actual.meet(step.key, Succeeded())
        else:
            waits = step.volume.waits if step.volume is not None else None
            thing.failed(message.trouble or waits or VolumeProblem("nothing is there"), self.now_ns())
            self._actual.meet(step.key, Failed())
            if step.do is Do.UNSTAGE and thing.trouble is not None:
                self.log.warning("%s cannot be unstaged: %s", step.key, thing.trouble.text)
        self._after(call, device)

    @handles(LookForLate)
    def look_for_late(self, _: LookForLate) -> None:
        for call in self._calls.late():
            self._is_late(call)

    def _is_late(self, call: VolumeCall) -> None:
        thing = self._actual.thing(call.step.key)
        trouble = late_trouble(call.step)
        thing.failed(trouble, self.now_ns())
        self.log.warning("%s: %s", call.about(), trouble.text)
        if call.uid not in self._passes and call.step.do not in TAKING_DOWN:
            thing.retry_at_ns = 0  # nobody wants it any more, and taking it down has not failed yet
        self._actual.meet(call.step.key, Late())
        self._after(call, thing.device)

    def _after(self, call: VolumeCall, device: str) -> None:
        """Advance everyone concerned after a call has ended or is late. `device`: the one the volume was on."""
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
            # A late call has done something for a pod that is gone.
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
        self.look_for_late(LookForLate())  # in case the message of the one timer that watches all calls was lost
        self._passes.advance_all()
        for uid in sorted(self._releases.uids()):
            self._releases.advance(uid)

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

    @handles(CountVolumes)
    def count_volumes(self, _: CountVolumes) -> VolumeCount:
        contexts = FrozenMap(self._passes.count_contexts())
        return VolumeCount(self._passes.count_by_plugin(), self._actual.count_by_plugin(), contexts)

    @handles(ListPodVolumes)
    def list_pod_volumes(self, message: ListPodVolumes) -> tuple[PodVolume, ...]:
        uids = (message.uid,) if message.uid else sorted(self._passes.uids())
        abnormal = self._health.abnormal
        return tuple(each for uid in uids if uid in self._passes for each in self._passes.volumes_now(uid, abnormal))

    # --- health -----------------------------------------------------------------------------------------------------

    @handles(HealthDue)
    def health_due(self, _: HealthDue) -> None:
        self._health.ask(self._passes.of_drivers())

    @handles(ConditionTold)
    def condition_told(self, message: ConditionTold) -> None:
        self._health.told(message)
