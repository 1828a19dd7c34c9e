"""`ResourceManagerActor`: admits pods, and keeps the book of allocations (spec 10.14 to 10.16).

Every worker asks it before it makes anything of its pod. The rules are in `actors.resources.admission`; this actor
supplies the known node and the book. An admitted pod enters the book, and the book goes to disk
(`actors.resources.book_keeper`). Only then does `CgroupActor` make the cgroup and answer the worker. The pod keeps its
place until its worker reports that nothing runs. Pods that ask for other resources are the part `Resizes`
(`actors.resources.resize.resizes`).

A critical pod that lacks room waits here while its victims end; what they leave is kept for it. Pods that ran before
this agent came are taken as they are. They are in the book that was read at the start, so that nobody else gets what is
theirs, whether or not their own source has reported yet.

It never refuses for lack of knowledge: until the node is known, questions wait.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, handles, part
from actors.messages.admission import (
    AdmissionWaits,
    AdmitPod,
    AllocationReleased,
    MakeCgroup,
    PodAdmitted,
    PodAllocated,
    PodRejected,
    ResourceManagerStarted,
)
from actors.messages.events import pod_event
from actors.messages.node import NodePressureObserved, NodeStatusStarted
from actors.messages.pods import FollowNode, KnownPods, NodeObserved, PodWorkerStarted, TerminatePod
from actors.messages.shares import ContainerBegins, ListShares, NodeShares, SharesInForce
from actors.messages.shutdown import NodeShutdownObserved
from actors.model.allocation import Allocation, Book, allocation_of
from actors.model.kubelet_records import record_of
from actors.node_object.capacity import EPHEMERAL_STORAGE, PODS
from actors.resources.abilities import Abilities
from actors.resources.admission import (
    NO_PRESSURE,
    Admitted,
    NodeIsStale,
    NodePressure,
    Preempts,
    Snapshot,
    Verdict,
    admit,
)
from actors.resources.affinities import Affinities
from actors.resources.book_keeper import WAITS_FOR_DISK, BookKeeper
from actors.resources.device_keeper import Away, DeviceKeeper, DeviceSettings, Taken
from actors.resources.preemption import MESSAGE, REASON
from actors.resources.refusals import Refusals
from actors.resources.resize.infeasible import BY_DEFAULT, ResizeRules
from actors.resources.resize.pending import PERIODIC_RETRY, POD_RESIZED, PODS_REMOVED, PendingResizes
from actors.resources.resize.resizes import Resizes
from actors.resources.share_keeper import ShareKeeper, ShareSettings
from actors.resources.verdict import Rejected
from actors.resources.what_if import KnownNode, TellNode
from config.api.resources import NODES
from config.objects import Node, ObjectMeta, Pod
from config.pods.requests import host_port_sets
from config.values.quantity import QuantityError
from runtime.api import Api, get
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.allocation_file import AllocationFile

SECOND_NS = 1_000_000_000
READ_NODE_NS = 10 * SECOND_NS
WAITS_FOR_BOOK = "the record of what pods were given is being read"
WAITS_FOR_LABELS = "the labels of the node are read again"
WAITS_FOR_NODE = "what the node has is not known yet"
WAITS_FOR_PLUGIN = "a device plugin went away while it was asked what the containers need"
WAITS_FOR_SHUTDOWN = "the machine goes down"


class NodeRead(Message, frozen=True):
    """To itself: the API's current node; None when it cannot be read."""

    node: Node | None


class ResourceManagerActor(Actor):
    """See the module. `api`: None on a standalone node; `cgroups`: None if pods get no cgroups."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    _keeper = part(BookKeeper)
    _resizes = part(Resizes)
    _affinities = part(Affinities)
    _shares = part(ShareKeeper)
    _refusals = part(Refusals)
    _devices = part(DeviceKeeper)

    def __init__(
        self,
        file: AllocationFile,
        node_name: str,
        abilities: Abilities,
        events: ActorRef,
        sync_loop: ActorRef,
        api: Api | None = None,
        meters: Meters = UNMEASURED,
        cgroups: ActorRef | None = None,
        node: ActorRef | None = None,
        eviction: ActorRef | None = None,
        resize_rules: ResizeRules = BY_DEFAULT,
        shares: ShareSettings | None = None,
        devices: DeviceSettings | None = None,
    ) -> None:
        super().__init__()
        self._node_status = node
        self._eviction = eviction
        self._cgroups = cgroups
        self._meters = meters
        self._node_name = node_name
        self._abilities = abilities
        self._events = events
        self._sync_loop = sync_loop
        self._api = api
        self._node: Node | None = None
        self._pressure: NodePressure = NO_PRESSURE
        self._going_down = False
        self._workers: dict[str, ActorRef] = {}
        self._asking: dict[str, AdmitPod] = {}
        """Pods without an answer, in the order of arrival."""
        self._heirs: dict[str, set[str]] = {}
        """UID of a preempting pod -> the UIDs of its victims that have not ended."""
        self._doubtful: set[str] = set()
        """Pods that only the node's labels reject, while the node is read again."""
        self._reading_node = False
        self._affinities = Affinities(self, self._affinity_read)
        self._unsaid: dict[str, int] = {}
        """UID of an admitted pod -> the version that must be on disk before its worker is told."""
        self._shares = ShareKeeper(self, shares, events, self._workers_of_admitted, self._shares_read, meters)
        self._refusals = Refusals(self, node_name, events, node)
        self._devices = DeviceKeeper(
            self, devices, self._workers_of_admitted, self._consider_all, self._devices_decided, self._devices_changed
        )
        beside = (self._shares.writing, self._devices.writing)
        reserved = ChainMap[str, Any](self._heirs, self._devices.due)
        self._keeper = BookKeeper(self, file, beside, reserved, self._consider_all, self._saved_late, self._saved)
        pending = PendingResizes(resize_rules, meters, self._shares.resize)
        self._resizes = Resizes(
            self, sync_loop, self._keeper, pending, self._snapshots, self._end_victims, self._shares.tell
        )

    def on_start(self) -> None:
        self._sync_loop.tell(ResourceManagerStarted())
        if self._eviction is not None:
            self._eviction.tell(ResourceManagerStarted())  # it tells what the node is short of
        if self._node_status is not None:
            self._node_status.tell(FollowNode(self.ref))
            self._refusals.tell()
        self._keeper.read()
        self._shares.read()
        self._devices.read()

    # --- the book on the disk ---------------------------------------------------------------------------------------

    def _saved_late(self) -> None:
        """A write of the book takes long: answer those that wait for it."""
        for uid in self._unsaid:
            if (asked := self._asking.get(uid)) is not None:
                asked.worker.tell(AdmissionWaits(WAITS_FOR_DISK, taken=True))

    def _saved(self, version: int) -> None:
        """The book is saved up to this version, or need not be: answer those that wait."""
        for uid in [uid for uid, its_version in self._unsaid.items() if its_version <= version]:
            del self._unsaid[uid]
            if (asked := self._asking.pop(uid, None)) is not None:
                self._admit(asked)
        self._resizes.saved(version)
        self._shares.tell_pool()

    def _shares_read(self, is_new: bool) -> None:
        """The book of CPUs and memory can be used. `is_new`: its files are not there yet."""
        if is_new:
            self._keeper.changed()
        self._consider_all()

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(AdmitPod)
    def admit_pod(self, message: AdmitPod) -> None:
        """Work: one reference to each pod in the book: the worker has read its own (`read_ahead`)."""
        uid = message.pod.metadata.uid
        self._workers[uid] = message.worker
        self._asking[uid] = message
        if self._heirs and any(uid in victims for victims in self._heirs.values()):
            _end_victim(message.worker)  # it was chosen before its worker was known
        self._consider(message)
        self._keeper.save()

    def _consider_all(self) -> None:
        for asked in list(self._asking.values()):
            if asked.pod.metadata.uid not in self._unsaid:
                self._consider(asked)
        self._keeper.save()

    def _consider(self, asked: AdmitPod) -> None:
        book, pod = self._keeper.book, asked.pod
        if book is None:
            if not asked.runs:
                asked.worker.tell(AdmissionWaits(WAITS_FOR_BOOK))
            return
        if not self._shares.is_ready:
            asked.worker.tell(AdmissionWaits(self._shares.waits_for))
            return
        if unread := self._devices.waits_for_file(pod):
            asked.worker.tell(AdmissionWaits(unread))
            return
        uid = pod.metadata.uid
        if uid in self._devices.due:
            asked.worker.tell(AdmissionWaits(self._devices.asks(uid)))
            return
        if self._going_down and (asked.runs or uid in book):
            # What runs of it goes on until its turn to end; nothing new is started.
            asked.worker.tell(AdmissionWaits(WAITS_FOR_SHUTDOWN, taken=True))
            return
        has = book.get(uid)
        if has is not None and uid not in self._heirs and (asked.runs or not self._devices.must_be_found(pod)):
            if self._shares.keep(pod) or self._shares.resume(pod, book.resources(uid)):
                self._keeper.changed()
            self._take(asked, None)
            if book.record(pod):  # an earlier agent kept none; nobody waits for it
                self._keeper.changed()
                self._keeper.save_later()
            return
        try:
            wanted = allocation_of(pod)
            waits = "" if asked.runs else self._devices.waits_for(pod, self._node)
        except QuantityError as fault:
            self._reject(asked, Rejected("UnexpectedAdmissionError", str(fault)), self._node)
            return
        if asked.runs:
            self._shares.keep(pod)
            self._take(asked, wanted)
        elif waits:
            asked.worker.tell(AdmissionWaits(waits))
        elif self._node is None or not _says_enough(self._node, wanted):
            asked.worker.tell(AdmissionWaits(WAITS_FOR_NODE))
        elif not self._heirs.get(uid) and self._affinities.are_known(asked.pod, self._node):
            self._decide(asked, wanted, book, self._node)

    def _affinity_read(self, uid: str, node: Node, again: bool) -> None:
        """The affinity of a pod has been evaluated. `again`: the node was read for it."""
        asked = self._asking.get(uid)
        if asked is None:
            return
        if again:
            self._decide_again(asked, node)
        else:
            self._consider(asked)
        self._keeper.save()

    def _decide(self, asked: AdmitPod, wanted: Allocation, book: Book, node: Node) -> None:
        uid = wanted.uid
        book.remove(uid)  # what was kept for it
        self._heirs.pop(uid, None)
        verdict = self._verdict(asked, wanted, book, node)
        if isinstance(verdict, NodeIsStale) and self._api is not None:
            self._doubtful.add(uid)
            self._read_node()
            asked.worker.tell(AdmissionWaits(WAITS_FOR_LABELS))
        elif isinstance(verdict, Admitted):
            self._give(asked, wanted, book, node)
        elif isinstance(verdict, Preempts):
            self._make_way(asked, wanted, verdict)
        else:
            self._reject(asked, verdict.otherwise if isinstance(verdict, NodeIsStale) else verdict, node)

    def _verdict(self, asked: AdmitPod, wanted: Allocation, book: Book, node: Node) -> Verdict:
        def own() -> Rejected | None:
            return self._shares.refusal(asked.pod, self._devices.search(asked.pod))

        return admit(asked.pod, wanted, self._snapshot(node, book, asked), own)

    def _give(self, asked: AdmitPod, wanted: Allocation, book: Book, node: Node) -> None:
        """All that is checked has room for the pod: only now it gets CPUs, memory and devices of its own."""
        search = self._devices.search(asked.pod)
        refused = self._shares.give(asked.pod, search)
        if refused is not None:
            self._reject(asked, refused, node)
        elif self._devices.take(asked.pod, search):
            book.put(wanted, host_port_sets(asked.pod.spec))  # its room is taken while its plugins are asked
            asked.worker.tell(AdmissionWaits(self._devices.asks(wanted.uid)))
        else:
            self._take(asked, wanted)

    def _devices_decided(self, uid: str, verdict: Taken | Away | Rejected) -> None:
        """The plugins of a pod have answered."""
        asked = self._asking.get(uid)
        if asked is None:
            return
        if isinstance(verdict, Taken):
            self._take(asked, allocation_of(asked.pod))
        else:
            self._shares.release(uid)
            if self._keeper.book is not None:
                self._keeper.book.remove(uid)
            if isinstance(verdict, Rejected):
                self._reject(asked, verdict, self._node)
            else:
                asked.worker.tell(AdmissionWaits(WAITS_FOR_PLUGIN))
        self._keeper.save()

    def _devices_changed(self) -> None:
        self._keeper.changed()
        self._keeper.save_later()

    def _snapshot(self, node: Node, book: Book, asked: AdmitPod) -> Snapshot:
        groups, offers = asked.groups_policy, self._devices.offers
        return Snapshot(node, book, self._abilities, groups, self._pressure, self._going_down, offers)

    def _snapshots(self) -> Callable[[], Snapshot] | None:
        """The function that makes snapshots for pods that were admitted before.

        None until the book and the node are known.
        """
        node, book = self._node, self._keeper.book
        if node is None or book is None:
            return None
        offers = self._devices.offers
        return partial(Snapshot, node, book, self._abilities, True, self._pressure, self._going_down, offers)

    def _take(self, asked: AdmitPod, wanted: Allocation | None) -> None:
        if wanted is not None and self._keeper.book is not None:
            self._keeper.book.put(wanted, host_port_sets(asked.pod.spec))
            self._keeper.book.record(asked.pod)
            self._keeper.changed()
        uid = asked.pod.metadata.uid
        if self._keeper.is_saved():
            del self._asking[uid]
            self._admit(asked)
        else:
            self._unsaid[uid] = self._keeper.version

    def _admit(self, asked: AdmitPod) -> None:
        """Have the cgroup made; `CgroupActor` answers the worker then. Without cgroups, answer at once."""
        if not asked.runs:
            self._refusals.admitted(asked.pod)
        self._tell_allocated(asked)
        self._shares.tell(asked.pod.metadata.uid, asked.worker)
        self._devices.tell(asked.pod, asked.worker)
        if self._cgroups is None:
            asked.worker.tell(PodAdmitted())
            return
        uid = asked.pod.metadata.uid
        has = self._keeper.book.get(uid) if self._keeper.book is not None else None
        if has is not None:  # else it has ended meanwhile
            pinned = self._shares.has_no_quota(asked.pod)
            self._cgroups.tell(MakeCgroup(asked.worker, asked.pod, has, asked.runs, pinned))

    def _tell_allocated(self, asked: AdmitPod) -> None:
        """Tell the worker what its pod has, if that differs from the request or from the containers.

        The containers may have been made with other resources.
        """
        records = None if self._keeper.book is None else self._keeper.book.records(asked.pod.metadata.uid)
        if records is None:
            return
        given, told = records
        if asked.runs or not given == told == record_of(asked.pod.spec):
            asked.worker.tell(PodAllocated(given, told))

    def _reject(self, asked: AdmitPod, verdict: Rejected, node: Node | None) -> None:
        self._refusals.refused(asked.pod, verdict, self._known(node))
        del self._asking[asked.pod.metadata.uid]
        asked.worker.tell(PodRejected(verdict.reason, verdict.message))

    def _make_way(self, asked: AdmitPod, wanted: Allocation, verdict: Preempts) -> None:
        """End the victims. Their room is reserved for the pod from now on, although they still use it."""
        assert self._keeper.book is not None, "nothing is decided without the book"
        uid = wanted.uid
        self._heirs[uid] = {victim.uid for victim in verdict.victims}
        self._keeper.book.put(wanted, host_port_sets(asked.pod.spec))
        self._end_victims(verdict.victims, verdict.short_of)
        victims = ", ".join(f"{victim.namespace}/{victim.name}" for victim in verdict.victims)
        asked.worker.tell(AdmissionWaits(f"others make way for it: {victims}"))

    def _end_victims(self, victims: Iterable[Allocation], short_of: str) -> None:
        for victim in victims:
            self._meters.count(names.PREEMPTIONS, short_of)
            self._events.tell(pod_event(_named(victim), "Warning", REASON, MESSAGE))
            worker = self._workers.get(victim.uid)
            if worker is not None:
                _end_victim(worker)

    # --- pods that have ended ---------------------------------------------------------------------------------------

    @handles(AllocationReleased)
    def released(self, message: AllocationReleased) -> None:
        """Work: the pods that wait for room."""
        self._forget(message.uid)

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Release what the book holds of pods that went while no agent was here.

        Work: all pods.
        """
        for allocation in list(self._keeper.book or ()):
            if allocation.uid not in message.uids and allocation.uid not in self._workers:
                self._release(allocation.uid)
        for uid in [*self._shares.book, *self._devices.book]:
            if uid not in message.uids and uid not in self._workers:
                self._release(uid)

    def _forget(self, uid: str) -> None:
        """Drop the pod's request and its reservation, and free what it had."""
        self._workers.pop(uid, None)
        self._asking.pop(uid, None)
        self._unsaid.pop(uid, None)
        self._doubtful.discard(uid)
        self._affinities.forget(uid)
        self._heirs.pop(uid, None)
        self._resizes.forget(uid)
        self._release(uid)

    def _release(self, uid: str) -> None:
        changed = [self._shares.release(uid), self._devices.release(uid)]
        if self._keeper.book is not None:
            changed.append(self._keeper.book.remove(uid) is not None)
        if any(changed):
            self._keeper.changed()
            self._keeper.save_later()
            self._resizes.try_all(PODS_REMOVED)
        if not self._heirs:
            return
        heirs = [heir for heir, victims in self._heirs.items() if uid in victims]
        for heir in heirs:
            self._heirs[heir].discard(uid)
            if not self._heirs[heir] and heir in self._asking:
                self._consider(self._asking[heir])
        if heirs:
            self._keeper.save()

    def _workers_of_admitted(self) -> dict[str, ActorRef]:
        """The workers that know what their pods have, by UID."""
        book = self._keeper.book or ()
        uids = (each.uid for each in book if each.uid not in self._asking)
        return {uid: self._workers[uid] for uid in uids if uid in self._workers}

    @handles(ContainerBegins)
    def container_begins(self, message: ContainerBegins) -> None:
        """Work: one reference to each pod in the book."""
        if self._shares.begins(message.pod, message.name):
            self._keeper.changed()
            self._keeper.save_later()

    @handles(SharesInForce)
    def shares_in_force(self, message: SharesInForce) -> None:
        """Work: the pods that wait for room."""
        if self._shares.in_force(message.uid, message.shares):
            self._keeper.changed()
            self._keeper.save_later()
            self._shares.tell_pool()
            self._resizes.try_all(POD_RESIZED)

    @handles(PodWorkerStarted)
    def worker_started(self, message: PodWorkerStarted) -> None:
        """Work: constant."""
        self._workers[message.uid] = message.worker

    @handles(ListShares)
    def list_shares(self, _: ListShares) -> NodeShares | None:
        """Work: one reference to each pod in the book."""
        book = self._keeper.book
        if book is None or not self._shares.is_ready:
            return None
        heirs = self._heirs.keys()
        told = self._shares.told(frozenset(each.uid for each in book if each.uid not in heirs))
        return msgspec.structs.replace(told, devices=self._devices.node_devices)

    @handles(TellNode)
    def tell_node(self, _: TellNode) -> KnownNode | None:
        """Work: one reference to each pod in the book."""
        return self._known(self._node)

    def _known(self, node: Node | None) -> KnownNode | None:
        book = self._keeper.book
        if node is None or book is None or not self._shares.is_ready:
            return None
        known = KnownNode(node, tuple(book), self._abilities, self._pressure, self._going_down)
        return self._devices.known(self._shares.known(known))

    @handles(NodeStatusStarted)
    def node_status_started(self, _: NodeStatusStarted) -> None:
        """Work: the owners that are told, and the devices of all plugins."""
        self._refusals.tell()
        self._devices.tell_amounts()

    # --- the node ---------------------------------------------------------------------------------------------------

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: the pods that wait for an answer."""
        self._node = message.node
        self._consider_all()
        self._resizes.try_all(PERIODIC_RETRY)

    @handles(NodePressureObserved)
    def pressure_observed(self, message: NodePressureObserved) -> None:
        """Work: constant."""
        self._pressure = NodePressure(message.memory, message.disk, message.pid)

    @handles(NodeShutdownObserved)
    def shutdown_observed(self, message: NodeShutdownObserved) -> None:
        """Work: the pods that wait for an answer."""
        stays = self._going_down and not message.going_down
        self._going_down = message.going_down
        if stays:
            self._consider_all()

    def _read_node(self) -> None:
        if self._reading_node or self._api is None:
            return
        self._reading_node = True
        api, call = self._api, get(NODES, "", self._node_name)
        self.attempt(lambda: api.call(call, timeout_ns=READ_NODE_NS), lambda node, _: NodeRead(node))

    @handles(NodeRead)
    def node_read(self, message: NodeRead) -> None:
        """Decide by the labels read now; if the read failed, by the known ones.

        Work: the pods that wait for an answer.
        """
        self._reading_node = False
        node = message.node or self._node
        doubtful, self._doubtful = self._doubtful, set()
        for uid in sorted(doubtful):
            asked = self._asking.get(uid)
            if asked is not None and node is not None and self._affinities.are_known(asked.pod, node, again=True):
                self._decide_again(asked, node)
        self._keeper.save()

    def _decide_again(self, asked: AdmitPod, node: Node) -> None:
        """Decide by the labels of this node, which were just read."""
        book = self._keeper.book
        if book is None:
            return
        wanted = allocation_of(asked.pod)
        verdict = self._verdict(asked, wanted, book, node)
        if isinstance(verdict, NodeIsStale):
            self._reject(asked, verdict.otherwise, node)
        else:
            self._decide(asked, wanted, book, node)


def _end_victim(worker: ActorRef) -> None:
    worker.tell(TerminatePod(evicted=True, disrupted=True, reason=REASON, message=MESSAGE))


def _says_enough(node: Node, wanted: Allocation) -> bool:
    """Whether the node's amounts of all that is wanted are known: its disk is measured last."""
    there = node.status.allocatable if node.status is not None else {}
    return PODS in there and (EPHEMERAL_STORAGE in there or EPHEMERAL_STORAGE not in wanted.requests)


def _named(allocation: Allocation) -> Pod:
    """A pod with only the fields that events need."""
    return Pod(metadata=ObjectMeta(name=allocation.name, namespace=allocation.namespace, uid=allocation.uid))
