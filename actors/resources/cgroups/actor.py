"""`CgroupActor`: the single owner of this node's cgroups (spec 10.2 to 10.7).

They are those of all pods together, of the tiers, and of each pod.

A pod gets its cgroup once it is admitted, and its worker hears of both at once. It loses the cgroup when nothing of it
runs any more. A second after pods have come or gone, one batch updates the tiers and removes the cgroups of ended pods.
The same happens once a minute. Cgroups of unknown pods are removed when every source has reported. Nothing blocks the
mailbox: many pods share one call on a lane, and later ones wait for the next call.

A node that cannot have cgroups still runs its pods, where the runtime puts them. It says once which file or right is
missing, and looks again each minute. A pod that was started outside stays there until it has another sandbox: nothing
that runs is ended for the sake of its cgroup (pains 8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, TypeVar

from actors.kernel import Actor, Message, Rank, handles, part
from actors.messages.admission import (
    AllocationReleased,
    CgroupResized,
    MakeCgroup,
    PodAdmitted,
    ResizeCgroup,
)
from actors.messages.pods import KnownPods, NodeObserved
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.node_object.events import node_event
from actors.resources.cgroups.book import CgroupBook
from actors.resources.cgroups.complaints import Complaints, not_enforced, parted
from actors.resources.cgroups.limits import demand_of, pod_limits, tier_limits, wider, without_quota
from actors.resources.cgroups.making import AT_ONCE, TRY_AGAIN_NS, CgroupTools, GroupMaking, TryAgain
from actors.resources.cgroups.operations import CgroupOperations, Ground, PodGroup
from actors.resources.cgroups.outcomes import (
    DriverTold,
    GroundPrepared,
    LimitsEnforced,
    LimitsWritten,
    PodGroupResized,
    PodGroupsListed,
    PodGroupsRemoved,
    StrangerSeen,
    driver_told,
    group_resized,
    groups_removed,
    limits_enforced,
    problems_of,
    stranger_seen,
)
from actors.resources.cgroups.plan import PODS, CgroupPlan
from actors.start.resources import MINIMUM_SHARES
from config.pods.identity import QosClass, is_critical, qos_class
from config.pods.requests import pod_requests
from config.values.quantity import QuantityError
from runtime.cgroups.capability import CgroupLimits
from runtime.cri.messages import RuntimeConfigRequest
from runtime.cri.verbs import RUNTIME_CONFIG
from runtime.metrics import kubelet as names

T = TypeVar("T")

SECOND_NS = 1_000_000_000
LANE_NS = 30 * SECOND_NS
"""The limit for one call; systemd may be slow."""
ASK_NS, ASK_AGAIN_NS = 10 * SECOND_NS, 2 * SECOND_NS
KEEP_UP_NS = 60 * SECOND_NS
SETTLE_NS = SECOND_NS
"""The delay after the first of many changes.

Then the tiers are updated, and the cgroups of ended pods removed.
"""
PROCESSES, TIERS, LIST = "cgroups: processes", "cgroups: tiers", "cgroups: list"
ENFORCED = "NodeAllocatableEnforced"
FIRST_WITHOUT = "1.37.0"
"""The first version of Kubernetes that will require the runtime to name its cgroup driver (spec 10.1)."""
_NEXT_TO_NOTHING = CgroupLimits(cpu_shares=MINIMUM_SHARES)


class AskDriver(Message, frozen=True):
    """To itself: ask the runtime for its cgroup driver."""


class KeepUp(Message, frozen=True):
    """To itself: a minute has passed."""


class Settle(Message, frozen=True):
    """To itself: the delay after a change is over."""


class CgroupActor(Actor):
    """See the module. `book` outlives this actor; only this actor changes it."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    _making = part(GroupMaking)

    def __init__(self, tools: CgroupTools, plan: CgroupPlan, book: CgroupBook) -> None:
        super().__init__()
        self._tools = tools
        self._plan = plan
        self._book = book
        self._driver = ""
        self._operations: CgroupOperations | None = None
        self._ground: Ground | None = None
        self._capacity: Mapping[str, str] = {}
        self._enforced: dict[str, CgroupLimits] = {}
        self._written: Mapping[QosClass, CgroupLimits] = {}
        self._listed_uids: frozenset[str] | None = None
        """The known pods, told before there were cgroups to compare them with."""
        self._settles = False
        self._complaints = Complaints(self, plan.node, tools.events)
        self._making = GroupMaking(
            self, tools, plan, book, self._complaints, self._on_lane, self._go_on, self._settle_soon
        )
        book.recover()

    def on_start(self) -> None:
        self._disk = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self.ask_driver(AskDriver())
        self.every(KEEP_UP_NS, KeepUp())

    def _on_lane(
        self,
        key: str,
        then: Callable[[T | None, str], Message],
        operation: Callable[..., T],
        *args: object,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> None:
        """Use the lane of short disk calls: a thread of its own would mostly be idle.

        `key`: the UID of a pod, or one of the texts below for work of the node.
        """
        submit = partial(self._disk.submit, deadline_ns=LANE_NS, rank=rank, ends=ends)
        self.attempt(partial(submit, key, operation, *args), then)

    def _write(self, key: str, operation: Callable[..., tuple[str, ...]], *args: object) -> None:
        """Write limits that nobody waits for."""
        self._on_lane(key, lambda told, error: LimitsWritten(problems_of(told, error)), operation, *args)

    # --- the cgroup driver and the ground ---------------------------------------------------------------------------

    @handles(AskDriver)
    def ask_driver(self, _: AskDriver) -> None:
        """Work: constant."""
        cri = self._tools.cri
        self.begin(lambda: cri.call(RUNTIME_CONFIG, RuntimeConfigRequest(), timeout_ns=ASK_NS), driver_told)

    @handles(DriverTold)
    def driver_told(self, message: DriverTold) -> None:
        """Work: the pods that wait for an answer."""
        if not message.driver and not message.unserved:
            self.after(ASK_AGAIN_NS, AskDriver())  # nothing can run until the runtime answers
            return
        if message.unserved:
            self._tools.meters.put(names.LOSING_SUPPORT, 1, FIRST_WITHOUT)
        self._driver = message.driver or self._plan.driver
        self._operations = CgroupOperations(self._tools.tree, self._driver, self._plan, self._tools.meters, self.now_ns)
        self.log.info("cgroups are managed by %s", self._driver)
        self.keep_up(KeepUp())
        self._go_on()

    @handles(KeepUp)
    def keep_up(self, _: KeepUp) -> None:
        """Make or repair the cgroup of all pods and the tiers, and write their limits again.

        Work: constant.
        """
        operations, plan = self._operations, self._plan
        if operations is None:
            return
        if plan.kubelet_cgroups or plan.system_cgroups:
            self._write(PROCESSES, operations.take_in, plan.kubelet_cgroups, plan.system_cgroups)
        if plan.per_qos:
            self._written = self._tiers()
            self._on_lane(TIERS, GroundPrepared, operations.prepare, tuple(self._written.items()), rank=Rank.FIRST)

    @handles(GroundPrepared)
    def prepared(self, message: GroundPrepared) -> None:
        """Work: the cgroups of all pods."""
        ground = message.ground or self._ground or Ground(False, (message.error,))
        first, self._ground = self._ground is None, ground
        if message.error:
            self.log.warning("the cgroup of all pods and its tiers cannot be made: %s", message.error)
        if first:
            self._book.found.update(self._book.strangers(ground.uids, ()))
        if not ground.usable:
            why = "; ".join(ground.problems) or "they cannot be made"
            self._complaints.say(f"pods run without cgroups of their own, and nothing bounds them together: {why}")
        elif ground.problems:
            self._complaints.say(f"not every limit of cgroups holds: {'; '.join(ground.problems)}")
        self._enforce()
        self._take_away()
        self._go_on()
        self._look_for_strangers()

    # --- pods come --------------------------------------------------------------------------------------------------

    @handles(MakeCgroup)
    def make(self, message: MakeCgroup) -> None:
        """Work: the few cgroups that are made at a time: a worker has read the limits (`read_ahead`)."""
        self._book.want(message)
        self._go_on()

    @handles(TryAgain)
    def try_again(self, _: TryAgain) -> None:
        """Work: the few cgroups that are made or removed at a time."""
        self._book.try_again()
        self._take_away()
        self._go_on()

    def _go_on(self) -> None:
        """Begin to make the cgroups that can be made now."""
        operations, book = self._operations, self._book
        if operations is None:
            return
        if not self._plan.per_qos:
            for request in book.take_all():
                request.worker.tell(PodAdmitted(self._plan.parent_of_all(self._driver)))
        elif self._ground is not None and not self._ground.usable:
            for request in book.take_all():
                request.worker.tell(PodAdmitted(outside=True))
        elif self._ground is not None and book.wanted:
            self._making.begin(operations)

    def _take_away(self) -> None:
        """Remove the cgroups of ended pods."""
        operations = self._operations
        if operations is None or not self._plan.per_qos or not self._is_usable():
            return
        while gone := self._book.begin_removing(AT_ONCE):
            self._on_lane(gone[0], partial(groups_removed, gone), operations.remove, gone, ends=True)

    # --- pods are resized -------------------------------------------------------------------------------------------

    @handles(ResizeCgroup)
    def resize(self, message: ResizeCgroup) -> None:
        """Write the bounds of the cgroup that the pod has. A pod without one has none to write.

        Work: constant: the worker has read the limits (`read_ahead`).
        """
        if self._operations is None or not self._plan.per_qos or not self._is_usable():
            message.worker.tell(CgroupResized(message.before is not None))
            return
        pod, qos = message.pod, qos_class(message.pod)
        try:
            rules = without_quota(self._plan.rules) if message.pinned else self._plan.rules
            limits = pod_limits(pod, qos, pod_requests(pod), rules)
            if (before := message.before) is not None:
                limits = wider(limits, pod_limits(before, qos, pod_requests(before), rules))
        except QuantityError as fault:
            message.worker.tell(CgroupResized(message.before is not None, str(fault)))
            return
        group = PodGroup(pod.metadata.uid, qos, limits, adopt=True)
        resized, rank = partial(group_resized, message), Rank.FIRST if is_critical(pod) else Rank.NORMAL
        self._on_lane(group.uid, resized, self._operations.resize, group, rank=rank)

    @handles(PodGroupResized)
    def resized(self, message: PodGroupResized) -> None:
        """Work: constant."""
        request, pod = message.request, message.request.pod
        if not message.error:
            self._book.change(pod.metadata.uid, demand_of(pod_requests(pod)))
            self._settle_soon()
        request.worker.tell(CgroupResized(request.before is not None, message.error))

    # --- pods go ----------------------------------------------------------------------------------------------------

    @handles(AllocationReleased)
    def released(self, message: AllocationReleased) -> None:
        """Work: constant."""
        self._making.forget(message.uid)
        if self._book.leave(message.uid):
            self._settle_soon()

    @handles(PodGroupsRemoved)
    def removed(self, message: PodGroupsRemoved) -> None:
        """Work: the few cgroups that are removed at a time."""
        left = {uid: problems for uid, problems in message.removed if problems}
        for uid, problems in left.items():
            self.log.warning("the cgroup of pod %s is not gone yet: %s", uid, problems[0])
        self._book.removed([uid for uid, _ in message.removed], left, came_to_nothing=bool(message.error))
        if left:
            self.after(TRY_AGAIN_NS, TryAgain())
        else:
            self._take_away()
            self._go_on()

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Remove what an earlier agent has left, and the cgroups of pods whose end was never reported.

        Work: all pods.
        """
        self._listed_uids = message.uids
        self._look_for_strangers()

    def _look_for_strangers(self) -> None:
        """Look for cgroups of unknown pods, once the node's cgroups exist.

        Pods that came since are in the book.
        """
        known, operations = self._listed_uids, self._operations
        if known is None or operations is None or not self._is_usable():
            return
        self._listed_uids = None
        self._book.expel(self._book.forgotten(known))
        self._on_lane(LIST, lambda uids, error: PodGroupsListed(uids or (), known, error), operations.uids)
        self._take_away()

    @handles(PodGroupsListed)
    def listed(self, message: PodGroupsListed) -> None:
        """Work: the cgroups of all pods."""
        if message.error:
            self.log.warning("the cgroups of pods cannot be listed: %s", message.error)
        for uid in self._book.strangers(message.uids, message.known):
            seen = partial(stranger_seen, uid, message.known)
            self._on_lane(uid, seen, self._tools.volumes.volumes_of, uid)

    @handles(StrangerSeen)
    def stranger_seen(self, message: StrangerSeen) -> None:
        """Remove a stranger's cgroup.

        If its volumes remain, keep it for their memory, with minimal CPU shares.

        Work: constant.
        """
        uid = message.uid
        if self._operations is None or not self._book.strangers((uid,), message.known):
            return
        if message.has_volumes:
            self._write(TIERS, self._operations.weaken, (uid,), _NEXT_TO_NOTHING)
        else:
            self.log.info("removing the cgroup of the unknown pod %s", uid)
            self._book.expel((uid,))
            self._take_away()

    # --- tiers and node ---------------------------------------------------------------------------------------------

    def _settle_soon(self) -> None:
        if not self._settles:
            self._settles = True
            self.after(SETTLE_NS, Settle())

    @handles(Settle)
    def settle(self, _: Settle) -> None:
        """Work: the few cgroups that are removed at a time."""
        self._settles = False
        self._take_away()
        tiers = self._tiers()
        if self._operations is not None and self._is_usable() and tiers != self._written:
            self._written = tiers
            self._write(TIERS, self._operations.write_tiers, tuple(tiers.items()))

    def _tiers(self) -> Mapping[QosClass, CgroupLimits]:
        guaranteed, burstable = self._book.sum_of(QosClass.GUARANTEED), self._book.sum_of(QosClass.BURSTABLE)
        rules, meters, of_all = self._plan.rules, self._tools.meters, self._enforced.get(PODS)
        if rules.keeps_memory is not None:
            meters.put(names.MEMORY_KEPT, guaranteed.memory_bytes if rules.keeps_memory else 0)
            meters.put(names.MEMORY_KEPT_AT_BEST, burstable.memory_bytes if rules.keeps_memory else 0)
        return tier_limits(guaranteed, burstable, rules, (of_all.memory_bytes or 0) if of_all is not None else 0)

    @handles(LimitsWritten)
    def limits_written(self, message: LimitsWritten) -> None:
        """Work: constant."""
        for problem in message.problems:
            self._complaints.about_a_file(problem)

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: constant."""
        self._capacity = message.node.status.capacity if message.node.status is not None else {}
        self._enforce()

    def _enforce(self) -> None:
        """Enforce the limits that are not in force yet, once the node is known and its cgroups exist."""
        operations = self._operations
        if operations is None or not self._capacity or not self._is_usable():
            return
        for wanted in self._plan.enforcements(self._capacity, self._driver):
            if self._enforced.get(wanted.what) != wanted.limits:
                self._on_lane(f"cgroups: {wanted.what}", partial(limits_enforced, wanted), operations.enforce, wanted)

    @handles(LimitsEnforced)
    def enforced(self, message: LimitsEnforced) -> None:
        """Work: constant."""
        wanted = message.wanted
        needed, optional = parted(message.problems)
        for problem in optional:
            self._complaints.about_a_file(problem)
        if needed:
            self._complaints.say(not_enforced(wanted.what, needed))
        elif self._enforced.get(wanted.what) != wanted.limits:
            self._enforced[wanted.what] = wanted.limits
            self._tools.events.tell(node_event(self._plan.node, "Normal", ENFORCED, wanted.done))

    def _is_usable(self) -> bool:
        return self._ground is not None and self._ground.usable
