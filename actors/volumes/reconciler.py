"""`VolumeReconcilerActor`: the one owner of pod directories and volumes on this node (spec 8, 16).

It keeps the books: what pods want (`books.py`) and what there is (`actual.py`). A child for each pod that has volumes
knows what they should be, and orders them (`wishes/pod_volumes.py`). The reconciler plans each ordered volume alone
(`plan.py`, `making.py`) and begins its steps, one call per thing (`calls.py`). A pod without volumes has no child: it
needs its directory, and gets one if that fails.

Its other parts handle pods that have ended or are unknown (`release.py`, `orphans.py`), and devices that pods share
(`devices.py`). Every message comes in here, every step begins here and every call ends here. So the actual world is up
to date before any part plans. No volume of a running pod is ever taken down.

No handler works in proportion to the size of a pod; each names its bound. What is left over comes back as a message.

If this actor fails, its books are lost. Its children live on and order everything again (`OrdersLost`), the workers of
pods without a child ask again (`VolumeReconcilerStarted`), and a scan of the disk finds the rest.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, ChildFailed, Message, NameTakenError, handles
from actors.messages.claims import ForgetClaims
from actors.messages.counts import CountVolumes, VolumeCount
from actors.messages.node import NodeStatusStarted
from actors.messages.pods import FollowNode, KnownPods, NodeObserved
from actors.messages.references import (
    ObjectsChanged,
    PodCertificatesStarted,
    ReleaseObjects,
    TrustBundlesChanged,
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
from actors.volumes.books import VolumeBooks
from actors.volumes.calls import (
    CallsDue,
    LookForLate,
    VolumeCall,
    VolumeCallEnded,
    VolumeCalls,
    VolumeLanes,
    late_trouble,
)
from actors.volumes.context_counts import ContextCounts
from actors.volumes.devices import DeviceDue, DevicesDue, TellInUse, VolumeDevices
from actors.volumes.health import AskMore, ConditionTold, HealthDue, VolumeHealth
from actors.volumes.making import PlanMore, VolumeMaking
from actors.volumes.orders import AllocatableRead, OrdersLost, OrderVolumes, ReadAllocatable, TryAgain
from actors.volumes.orphans import DiskScanned, PodsListed, RecordMore, ScanDisk, VolumeOrphans
from actors.volumes.plan import TAKING_DOWN, Do, VolumeStep, plan_directory
from actors.volumes.release import ReleaseDue, VolumeReleases
from actors.volumes.state import Failed, Late, LostEnded, MakeBegun, Succeeded, ThingStage, UnmakeBegun, is_usable
from actors.volumes.wishes.answers import NO_VOLUMES
from actors.volumes.wishes.contents import ContentSources
from actors.volumes.wishes.pod_volumes import PodVolumesActor, PodVolumesTools
from actors.volumes.wishes.sub_paths import not_there
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumePlace
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000
TICK_NS = 60 * SECOND_NS
"""How often to look for late calls, in case a message was lost."""
NAME_FREE_NS = SECOND_NS // 100
"""How soon a child that was told to stop has stopped."""


class Tick(Message, frozen=True):
    """To itself, periodically: check what a lost message may have left."""


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
        self._tools = PodVolumesTools(self.ref, volumes, events, sources, sub_paths)
        self._allocatable: FrozenMap[str, str] = FrozenMap()
        self._actual = ActualWorld()
        self._children: dict[str, ActorRef] = {}
        self._without: dict[str, PrepareVolumes] = {}
        """Pods without volumes whose directory is being made."""
        self._claimless: set[str] = set()
        """Pods being released that have never had a claim."""
        lanes = VolumeLanes(self)
        self._calls = VolumeCalls(self, lanes, volumes, events)
        self._devices = VolumeDevices(self, self._actual, self._begin, sources.node)
        self._books = VolumeBooks(self._devices, None if sources.contexts is None else ContextCounts())
        self._making = VolumeMaking(self, self._actual, self._books, self._calls, self._begin, self._tell)
        self._releases = VolumeReleases(self, self._actual, self._calls, self._begin, self._books.drop, self._released)
        self._orphans = VolumeOrphans(
            self, volumes, self._actual, self._devices, self._releases, lanes, self._books.wants
        )
        self._health = VolumeHealth(self, volumes, events, self._books, sources.health_every_ns)

    def on_start(self) -> None:
        """Bound: the pods of the node."""
        self._health.start()
        if self._sources.node is not None:
            self._sources.node.tell(FollowNode(self.ref))
        self.every(TICK_NS, Tick())
        self._orphans.scan()
        self._children.update(self.children)
        self._tell_all(OrdersLost())
        # An earlier life's requests are lost; this makes the workers repeat them.
        if self._sync_loop is not None:
            self._sync_loop.tell(VolumeReconcilerStarted())

    # --- wishes -----------------------------------------------------------------------------------------------------

    @handles(PrepareVolumes)
    def prepare_volumes(self, message: PrepareVolumes) -> None:
        """Bound: one pod, whatever its size."""
        pod = message.pod
        uid = pod.metadata.uid
        self._orphans.asked(uid)
        self._releases.forget(uid)
        self._books.open(message.worker, pod)
        if uid in self._children:
            self._children[uid].tell(message)
        elif pod.spec.volumes or not self._has_directory(message):
            self._hand_over(message)

    def _has_directory(self, message: PrepareVolumes) -> bool:
        """Make the directory of a pod without volumes. False: it needs a child, for retries and events."""
        pod = message.pod
        uid = pod.metadata.uid
        self._books.open(message.worker, pod).claimed = False
        plan = plan_directory(uid, self._actual, self.now_ns())
        if plan.step is not None and plan.step.do is Do.MAKE_DIRECTORY:
            self._without[uid] = message
            self._begin(plan.step, pod)
        elif plan.busy is not None and uid in self._without:
            self._without[uid] = message
        elif plan.trouble is not None or plan.step is not None or plan.busy is not None:
            return False
        elif not message.renewal:
            message.worker.tell(NO_VOLUMES)
        return True

    def _directory_made(self, uid: str) -> None:
        """The call for a pod without volumes has ended."""
        message = self._without.pop(uid)
        if is_usable(self._actual.pod(uid).directory.life):
            message.worker.tell(NO_VOLUMES)
        else:
            self._hand_over(message)

    def _hand_over(self, message: PrepareVolumes) -> None:
        """Let a new child go on with this."""
        uid = message.pod.metadata.uid
        try:
            child = self._children[uid] = self.spawn(PodVolumesActor, self._tools, name=uid)
        except NameTakenError:
            # A pod of this UID was released, and its child has not stopped yet.
            self.after(NAME_FREE_NS, message, key=("again", uid))
            return
        child.tell(message)

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """Bound: one message."""
        book = self._books.pod(message.name)
        if book is not None and message.name in self._children:
            message.ref.tell(PrepareVolumes(book.worker, book.pod))

    @handles(OrderVolumes)
    def order_volumes(self, message: OrderVolumes) -> None:
        """Bound: the orders of a batch."""
        uid = message.pod.metadata.uid
        if uid in self._children:
            self._books.open(message.worker, message.pod).claimed = message.claimed
            self._making.take(message)
            self._making.go_on()

    @handles(PlanMore)
    def plan_more(self, _: PlanMore) -> None:
        """Bound: `PLANS_AT_ONCE` volumes."""
        self._making.go_on()

    @handles(ReleaseVolumes)
    def release_volumes(self, message: ReleaseVolumes) -> None:
        """Bound: `LOOKS_AT_ONCE` volumes, and a list of pointers to those of the pod."""
        uid = message.uid
        child = self._children.pop(uid, None)
        if child is not None:
            child.stop(block=False)
        self._without.pop(uid, None)
        self.cancel_timer(("again", uid))
        book = self._books.close(uid)
        if book is not None and book.claimed is False:
            self._claimless.add(uid)
        if self._sources.certificates is not None:
            self._sources.certificates.tell(ReleaseObjects(uid))
        self._making.forget(uid)
        self._releases.begin(uid, message.worker)

    def _released(self, uid: str) -> None:
        """This pod has no volumes left.

        It may have had claims in an earlier life, unless that is known to be false.
        """
        if self._sources.claims is not None and uid not in self._claimless:
            self._sources.claims.tell(ForgetClaims(uid))
        self._claimless.discard(uid)

    # --- news for the children --------------------------------------------------------------------------------------

    @handles(NodeStatusStarted)
    def node_status_started(self, _: NodeStatusStarted) -> None:
        """Bound: one message."""
        self._devices.tell_again()

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Bound: the resources of the node."""
        status = message.node.status
        self._allocatable = FrozenMap(status.allocatable if status is not None else {})

    @handles(ReadAllocatable)
    def read_allocatable(self, message: ReadAllocatable) -> None:
        """Bound: one message."""
        message.reader.tell(AllocatableRead(message.tag, self._allocatable))

    @handles(PodCertificatesStarted, TrustBundlesChanged)
    def all_may_be_concerned(self, message: PodCertificatesStarted | TrustBundlesChanged) -> None:
        """Bound: the pods of the node."""
        self._tell_all(message)

    @handles(ObjectsChanged)
    def objects_changed(self, message: ObjectsChanged) -> None:
        """Bound: the pods of the node."""
        for uid in sorted(message.uids):
            self._tell(uid, TryAgain())

    def _tell(self, uid: str, message: Message) -> None:
        if uid in self._children:
            self._children[uid].tell(message)

    def _tell_all(self, message: Message) -> None:
        for uid in sorted(self._children):
            self._children[uid].tell(message)

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
        """Bound: one thing, `PLANS_AT_ONCE` volumes of its pod, and the pods that wait for it."""
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
        self._after(call, device, came_late=call.late)
        self._making.go_on()

    @handles(CallsDue)
    def calls_due(self, message: CallsDue) -> None:
        """Bound: the calls of a pod that are under way at once."""
        self._calls.due(message)

    @handles(LookForLate)
    def look_for_late(self, _: LookForLate) -> None:
        """Bound: the calls that have become late, of which a pod has few."""
        for call in self._calls.late():
            self._is_late(call)
        self._making.go_on()

    def _is_late(self, call: VolumeCall) -> None:
        thing = self._actual.thing(call.step.key)
        has_begun = self.observe("volume call has begun", lambda: call.has_begun)
        trouble = late_trouble(call.step, has_begun=has_begun)
        thing.failed(trouble, self.now_ns())
        self.log.warning("%s: %s", call.about(), trouble.text)
        if not self._books.wants(call.uid) and call.step.do not in TAKING_DOWN:
            thing.retry_at_ns = 0  # nobody wants it any more, and taking it down has not failed yet
        self._actual.meet(call.step.key, Late())
        self._after(call, thing.device, came_late=False)

    def _after(self, call: VolumeCall, device: str, *, came_late: bool) -> None:
        """Advance everyone concerned after a call has ended or is late. `device`: the one the volume was on.

        `came_late`: it was late before. What waited for it has been told already, and is tried again.
        """
        key, uid = call.step.key, call.uid
        self._making.call_ended(key, uid)
        if isinstance(key, Device):
            for each in self._devices.wanted_by(key.name) if came_late else ():
                self._tell(each, TryAgain())
            self._devices.look_at(key.name)
            self._given_back(key)
            return
        if device:
            self._devices.look_at(device)
        if uid in self._without:
            self._directory_made(uid)
        elif self._books.wants(uid):
            if came_late:
                self._tell(uid, TryAgain())
        elif uid in self._releases.uids():
            self._releases.call_ended(key, uid)
            if came_late and uid in self._releases.uids():
                self._releases.try_now(uid)
        elif uid in self._actual.pods:
            # A late call has done something for a pod that is gone.
            self._releases.begin(uid, None)
        if isinstance(key, VolumePlace) and call.step.do is Do.UNMAKE:
            self._given_back(self._actual.shared_name(key))
            self._given_back(Device(device))

    def _given_back(self, name: object) -> None:
        """A pod has given something back that others may be waiting for."""
        for uid in self._making.given_back(name):
            self._tell(uid, TryAgain())

    # --- what nobody knows ------------------------------------------------------------------------------------------

    @handles(ScanDisk)
    def scan_disk(self, _: ScanDisk) -> None:
        """Bound: one call."""
        self._orphans.scan()

    @handles(DiskScanned)
    def disk_scanned(self, message: DiskScanned) -> None:
        """Bound: `RECORDS_AT_ONCE` things, and a list of pointers to the devices."""
        self._orphans.scanned(message)

    @handles(RecordMore)
    def record_more(self, _: RecordMore) -> None:
        """Bound: as above."""
        self._orphans.record()

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Bound: the pods of the node."""
        self._orphans.known_pods(message)

    @handles(PodsListed)
    def pods_listed(self, message: PodsListed) -> None:
        """Bound: the pods that have a directory, and `LOOKS_AT_ONCE` volumes of each that is unknown."""
        self._orphans.listed(message)

    @handles(ReleaseDue)
    def release_due(self, message: ReleaseDue) -> None:
        """Bound: `LOOKS_AT_ONCE` volumes."""
        self._releases.due(message)

    @handles(DeviceDue)
    def device_due(self, message: DeviceDue) -> None:
        """Bound: one device."""
        self._devices.look_at(message.name)

    @handles(DevicesDue)
    def devices_due(self, _: DevicesDue) -> None:
        """Bound: `DEVICES_AT_ONCE`."""
        self._devices.look_on()

    @handles(TellInUse)
    def tell_in_use(self, _: TellInUse) -> None:
        """Bound: the devices of the node; more than `SHORT_LIST` once a second."""
        self._devices.tell_in_use()

    @handles(Tick)
    def tick(self, _: Tick) -> None:
        """Bound: as for late calls.

        The message of the one timer that watches all calls may be lost.
        """
        self.look_for_late(LookForLate())

    # --- parts of volumes -------------------------------------------------------------------------------------------

    @handles(PrepareSubPaths)
    def prepare_sub_paths(self, message: PrepareSubPaths) -> None:
        """Bound: one message."""
        if message.uid in self._children:
            self._children[message.uid].tell(message)
        elif message.wanted:
            message.worker.tell(not_there(message, message.wanted[0].volume))

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(CountVolumes)
    def count_volumes(self, _: CountVolumes) -> VolumeCount:
        """Bound: the plugins of the node."""
        contexts = FrozenMap(self._books.count_contexts())
        return VolumeCount(self._books.count_by_plugin(), self._actual.count_by_plugin(), contexts)

    @handles(ListPodVolumes)
    def list_pod_volumes(self, message: ListPodVolumes) -> tuple[PodVolume, ...]:
        """Bound: the volumes that it lists, a pointer each."""
        uids = (message.uid,) if message.uid else self._books.uids()
        return tuple(each for uid in uids for each in self._books.usable(uid))

    # --- health -----------------------------------------------------------------------------------------------------

    @handles(HealthDue)
    def health_due(self, _: HealthDue) -> None:
        """Bound: `QUESTIONS_AT_ONCE` calls, and a list of pointers to the volumes of storage drivers."""
        self._health.ask()

    @handles(AskMore)
    def ask_more(self, _: AskMore) -> None:
        """Bound: `QUESTIONS_AT_ONCE` calls."""
        self._health.ask_more()

    @handles(ConditionTold)
    def condition_told(self, message: ConditionTold) -> None:
        """Bound: one volume."""
        self._health.told(message)
