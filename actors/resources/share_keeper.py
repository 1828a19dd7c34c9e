"""A part of `ResourceManagerActor`: the book of CPUs and memory that pods have for themselves.

The rules are pure (`actors.resources.shares`; spec 10.8 to 10.10). This part has the machine, the rules and the book at
hand. It reads them at the start, and tells workers what their pods have. `BookKeeper` writes the book beside the
allocations, so that one version counts for both.

A state file that cannot be used is never overwritten: pods wait, and the reason says what to do. Pods that were
admitted before are never refused (kubernetes/kubernetes#118559). What no longer fits the machine is given anew if that
is possible; else the pod goes on in the shared pool, and an event says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from actors.kernel import Actor, ActorRef, Message, Rank, handles
from actors.messages.events import pod_event
from actors.messages.shares import CompareCpus, NodeShares, SharesGiven
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.pod_resources import PodResources, with_resources
from actors.model.shares import NO_SHARES, PodShares, ShareBook
from actors.resources.devices.choosing import NO_SEARCH, DeviceSearch
from actors.resources.shares.allocatable import allocatable_share
from actors.resources.shares.assigning import assign
from actors.resources.shares.book import shared_cpus, with_pod, with_started, without_pod
from actors.resources.shares.counting import counted
from actors.resources.shares.files import read_book, written_book
from actors.resources.shares.pinned import is_pinned_pod
from actors.resources.shares.resizing import either, resized
from actors.resources.shares.restoring import what_fits
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.settings import are_in_use, share_faults, share_rules
from actors.resources.shares.wanted import wanted_of
from actors.resources.verdict import Rejected
from actors.resources.what_if import KnownNode
from config.frozen_map import FrozenMap
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from config.objects import Pod
from config.values.quantity import QuantityError
from runtime.host.facts import HostFacts
from runtime.host.topology import MachineTopology
from runtime.metrics import shares as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.share_files import NAMES, ShareFiles

SECOND_NS = 1_000_000_000
MILLISECOND_NS = 1_000_000
READ_NS = 15 * SECOND_NS
READ_AGAIN_NS = 30 * SECOND_NS
WAITS_FOR_SHARES = "the record of CPUs and memory that pods have for themselves is being read"
LOST = "ResourcesNotKept"
STATE_FILES = frozenset(NAMES)
NO_POD_SHARES = PodShares()


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """What the book is made from. `directory`: of the state files, for messages."""

    configuration: KubeletConfiguration
    gates: FeatureGates
    host: HostFacts
    files: ShareFiles
    directory: str

    def read(self) -> FoundShares:
        """Read the machine and the files; may block. Raises OSError, StateFileError and DocumentError."""
        machine = self.host.topology()
        for fault in share_faults(self.configuration, machine):
            raise fault
        rules = share_rules(self.configuration, self.gates, machine)
        contents = self.files.load()
        written = read_book(contents, self.directory, self.configuration)
        book, misfits = what_fits(machine, rules, written)
        return FoundShares(machine, book, FrozenMap(misfits), is_new=bool(STATE_FILES - contents.keys()))


class FoundShares(msgspec.Struct, frozen=True):
    """What was read. `misfits`: UID -> why the pod cannot keep what it has on this machine.

    `is_new`: a state file is not there yet.
    """

    machine: MachineTopology
    book: ShareBook
    misfits: FrozenMap[str, str] = FrozenMap()
    is_new: bool = False


@dataclass(slots=True)
class _Node:
    """The machine, its rules and its book, as they are now."""

    machine: MachineTopology
    rules: ShareRules
    book: ShareBook


class SharesRead(Message, frozen=True):
    """To itself: the machine and the state files have been read, or why not."""

    found: FoundShares | None
    error: str


class ReadSharesAgain(Message, frozen=True):
    """To itself: try to read them once more."""


class LookAtCpus(Message, frozen=True):
    """To itself: `cpuManagerReconcilePeriod` has passed."""


class MachineRead(Message, frozen=True):
    """To itself: the machine as it is now; None if that is not known."""

    machine: MachineTopology | None


class ShareKeeper:
    """See the module. `settings` None: no pod has anything for itself.

    `workers`: those of admitted pods, by UID. It calls `on_read` when the book can be used, and says whether it has to
    be written: a kubelet's state files are there before the first pod, too.
    """

    def __init__(
        self,
        manager: Actor,
        settings: ShareSettings | None,
        events: ActorRef,
        workers: Callable[[], Mapping[str, ActorRef]],
        on_read: Callable[[bool], None],
        meters: Meters = UNMEASURED,
    ) -> None:
        self._manager = manager
        self._settings = settings if settings is not None and are_in_use(settings.configuration) else None
        self._events = events
        self._workers = workers
        self._on_read = on_read
        self._meters = meters
        self._node: _Node | None = None
        self._misfits: dict[str, str] = {}
        self._told: dict[str, SharesGiven] = {}
        """UID -> what the worker of the pod was told last."""
        self._targets: dict[str, PodShares] = {}
        """UID of a resized pod -> what it keeps.

        The book has the rest, too, until its containers have given that back.
        """
        self.waits_for = WAITS_FOR_SHARES
        """Why pods cannot be admitted yet."""

    @property
    def is_ready(self) -> bool:
        """Whether pods can be admitted."""
        return self._settings is None or self._node is not None

    @property
    def book(self) -> ShareBook:
        return self._node.book if self._node is not None else NO_SHARES

    @property
    def pool(self) -> frozenset[int]:
        """The CPUs of containers without their own; empty without a CPU policy."""
        node = self._node
        return shared_cpus(node.machine, node.rules, node.book) if node and node.rules.cpus else frozenset()

    def told(self, admitted: frozenset[str]) -> NodeShares:
        """What pods have, for whoever asks."""
        node = self._node
        if node is None:
            return NodeShares(admitted)
        allocatable = allocatable_share(node.machine, node.rules)
        return NodeShares(admitted, node.machine, node.book, allocatable, self.pool)

    def known(self, known: KnownNode) -> KnownNode:
        """The same with the machine, the rules and the book."""
        node = self._node
        if node is None:
            return known
        return msgspec.structs.replace(known, machine=node.machine, rules=node.rules, shares=node.book)

    # --- reading and writing ----------------------------------------------------------------------------------------

    def read(self) -> None:
        """Begin: the actor has started."""
        settings = self._settings
        if settings is None:
            return
        lane = self._manager.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._manager.attempt(
            lambda: lane.submit("shares", settings.read, deadline_ns=READ_NS, rank=Rank.FIRST), SharesRead
        )

    @handles(SharesRead)
    def shares_read(self, message: SharesRead) -> None:
        """Work: all pods."""
        found, settings = message.found, self._settings
        if settings is None:
            return
        if found is None:
            self.waits_for = message.error
            self._manager.log.error("no pod can be admitted: %s", message.error)
            self._manager.after(READ_AGAIN_NS, ReadSharesAgain())
        elif self._node is None:
            rules = share_rules(settings.configuration, settings.gates, found.machine)
            self._node = _Node(found.machine, rules, found.book)
            self._misfits = dict(found.misfits)
            if rules.cpus is not None:
                self._manager.every(settings.configuration.cpu_manager_reconcile_period, LookAtCpus())
            for uid, reason in found.misfits.items():
                self._manager.log.warning("pod %s cannot keep its CPUs and memory: %s", uid, reason)
        self._on_read(found is not None and found.is_new)

    @handles(ReadSharesAgain)
    def read_again(self, _: ReadSharesAgain) -> None:
        """Work: constant."""
        self.read()

    def writing(self) -> Callable[[], None] | None:
        """What writes the book as it is now, on a lane; None: there is nothing to write."""
        settings, node = self._settings, self._node
        if settings is None or node is None:
            return None
        files, machine, rules, book = settings.files, node.machine, node.rules, node.book
        return lambda: files.save(written_book(machine, rules, book))

    # --- the book ---------------------------------------------------------------------------------------------------

    def give(self, pod: Pod, devices: DeviceSearch = NO_SEARCH) -> Rejected | None:
        """Give a new pod all that it asks for, or say why not. `devices` then knows its devices.

        What is in the book of it counts for nothing: a crash between two files may have left a part.
        """
        found = self._assigned(pod, devices)
        if isinstance(found, Rejected):
            return found
        if found is not None and (node := self._node) is not None:
            node.book = with_pod(node.book, pod.metadata.uid, found)
        return None

    def refusal(self, pod: Pod, devices: DeviceSearch = NO_SEARCH) -> Rejected | None:
        """Why a new pod cannot have what it asks for. Nothing is given."""
        found = self._assigned(pod, devices)
        return found if isinstance(found, Rejected) else None

    def _assigned(self, pod: Pod, devices: DeviceSearch) -> PodShares | Rejected | None:
        """What the pod would be given; None: only devices. It is counted."""
        node = self._node
        if node is None:
            return devices.take_all()
        book, began_ns = without_pod(node.book, pod.metadata.uid), self._manager.now_ns()
        try:
            found = assign(node.machine, book, pod, node.rules, devices)
        except QuantityError as fault:
            return Rejected("UnexpectedAdmissionError", str(fault))
        for family, labels in counted(node.machine, node.rules, wanted_of(pod), found):
            self._meters.count(family, *labels)
        self._meters.observe(names.ADMISSION_DURATION, (self._manager.now_ns() - began_ns) / MILLISECOND_NS)
        return found

    def keep(self, pod: Pod) -> bool:
        """The pod was admitted in an earlier life: it keeps what it has, or gets it anew.

        Returns whether the book has changed. Such a pod is never refused.
        """
        node, uid = self._node, pod.metadata.uid
        if node is None or uid in node.book:
            return False
        refused = self.give(pod)
        lost = self._misfits.pop(uid, None)
        why = f"{lost}; " if lost is not None else ""
        now = "it was given others" if refused is None else f"it uses those that all share: {refused.message}"
        text = f"The pod cannot keep CPUs and memory for itself: {why}{now}"
        if lost is not None or refused is not None:
            self._events.tell(pod_event(pod, "Warning", LOST, text))
        return uid in node.book

    def resize(self, pod: Pod) -> Rejected | None:
        """The pod asks for other CPUs: give them, or say why it has to wait.

        In the book are those of before, too, until the running containers have the new ones.
        """
        node, uid = self._node, pod.metadata.uid
        if node is None or uid not in node.book or not self._may_resize:
            return None
        found = resized(node.machine, node.book, pod, node.rules)
        if isinstance(found, Rejected):
            return found
        both = either(found, node.book[uid])
        node.book = with_pod(node.book, uid, both)
        self._targets.pop(uid, None)
        if both != found:
            self._targets[uid] = found
        return None

    @property
    def _may_resize(self) -> bool:
        return self._settings is not None and self._settings.gates.enabled("InPlacePodVerticalScalingExclusiveCPUs")

    def resume(self, pod: Pod, given: PodResources | None) -> bool:
        """An earlier agent admitted the pod, and gave it these resources since; perhaps it died during that.

        Returns whether the book has changed. The pod keeps what it has if it cannot get them.
        """
        node = self._node
        if node is None or given is None or not self._may_resize:
            return False
        before = node.book
        self.resize(with_resources(pod, given))
        return node.book != before

    def in_force(self, uid: str, shares: PodShares) -> bool:
        """The containers of a pod have these CPUs and no others. Returns whether the book has changed."""
        node = self._node
        if node is None or self._targets.get(uid) != shares:
            return False
        node.book = with_pod(node.book, uid, self._targets.pop(uid))
        self._told.pop(uid, None)
        return True

    def begins(self, pod: Pod, name: str) -> bool:
        """A container starts: the init containers before it give back memory.

        Returns whether the book has changed.
        """
        node, uid = self._node, pod.metadata.uid
        if node is None or uid not in node.book:
            return False
        before, node.book = node.book, with_started(node.book, uid, wanted_of(pod), name)
        return node.book != before

    def release(self, uid: str) -> bool:
        """The pod has ended. Returns whether the book has changed."""
        self._misfits.pop(uid, None)
        self._told.pop(uid, None)
        self._targets.pop(uid, None)
        node = self._node
        if node is None or uid not in node.book:
            return False
        node.book = without_pod(node.book, uid)
        return True

    # --- the workers ------------------------------------------------------------------------------------------------

    def tell(self, uid: str, worker: ActorRef) -> None:
        """Tell a worker what its pod has."""
        if self._settings is not None:
            target = self._targets.get(uid)
            shares = target or self.book.get(uid, NO_POD_SHARES)
            quota = not self._settings.gates.enabled("DisableCPUQuotaWithExclusiveCPUs")
            self._told[uid] = told = SharesGiven(shares, self.pool, quota, gives_back=target is not None)
            worker.tell(told)

    def has_no_quota(self, pod: Pod) -> bool:
        """Whether the cgroup of the pod has no CPU quota."""
        if self._settings is None or not self._settings.gates.enabled("DisableCPUQuotaWithExclusiveCPUs"):
            return False
        return is_pinned_pod(pod, self.book.get(pod.metadata.uid, NO_POD_SHARES))

    def tell_pool(self) -> None:
        """Tell the workers of admitted pods of the shared pool, if they know another."""
        if self._node is None:
            return
        pool = self.pool
        for uid, worker in self._workers().items():
            told = self._told.get(uid)
            if told is None:
                self.tell(uid, worker)
            elif told.pool != pool:
                # Other shares of a resize are told when they are on the disk.
                self._told[uid] = told = msgspec.structs.replace(told, pool=pool)
                worker.tell(told)

    @handles(LookAtCpus)
    def look_at_cpus(self, _: LookAtCpus) -> None:
        """Work: a message to each pod, in each `cpuManagerReconcilePeriod`."""
        settings = self._settings
        if settings is None:
            return
        self.tell_pool()
        for worker in self._workers().values():
            worker.tell(CompareCpus())
        lane = self._manager.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._manager.attempt(
            lambda: lane.submit("shares", settings.host.topology, deadline_ns=READ_NS),
            lambda machine, _: MachineRead(machine),
        )

    @handles(MachineRead)
    def machine_read(self, message: MachineRead) -> None:
        """CPUs may have gone offline, or come: none that is offline is given out.

        Work: all pods, if the machine has changed.
        """
        node, machine = self._node, message.machine
        if node is None or machine is None or machine == node.machine:
            return
        if node.rules.cpus is not None:
            reserved = node.rules.cpus.reserved & machine.online
            node.rules = replace(node.rules, cpus=replace(node.rules.cpus, reserved=reserved))
        node.machine = machine
        self._manager.log.warning("the machine has other CPUs or other memory than before")
        self.tell_pool()
