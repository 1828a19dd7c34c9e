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

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, TypeVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.admission import (
    AdmissionWaits,
    AllocationReleased,
    CgroupResized,
    MakeCgroup,
    PodAdmitted,
    ResizeCgroup,
)
from actors.messages.events import pod_event
from actors.messages.pods import KnownPods, NodeObserved
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.node_object.events import node_event
from actors.resources.cgroups.book import CgroupBook, Member
from actors.resources.cgroups.limits import demand_of, pod_limits, tier_limits, wider
from actors.resources.cgroups.operations import CgroupOperations, Ground, PodGroup, PodGroupMade
from actors.resources.cgroups.outcomes import (
    DriverTold,
    GroundPrepared,
    LimitsEnforced,
    LimitsWritten,
    PodGroupResized,
    PodGroupsListed,
    PodGroupsMade,
    PodGroupsRemoved,
    StrangerSeen,
    driver_told,
    group_resized,
    limits_enforced,
    problems_of,
    stranger_seen,
)
from actors.resources.cgroups.plan import PODS, CgroupPlan
from actors.resources.cgroups.turn import Turn
from actors.start.resources import MINIMUM_SHARES
from config.pods.identity import QosClass, qos_class
from config.pods.requests import pod_requests
from config.values.quantity import QuantityError
from runtime.cgroups.capability import CgroupLimits, CgroupTree
from runtime.cri import Cri
from runtime.cri.messages import RuntimeConfigRequest
from runtime.cri.verbs import RUNTIME_CONFIG
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from runtime.volumes.capability import NodeVolumes

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
TRY_AGAIN_NS = 10 * SECOND_NS
PATIENCE_NS = SECOND_NS
"""The longest that pods wait because the cgroups of others are being made."""
AT_ONCE = 32
"""The most pods in one call."""
FAILED_POD = "FailedCreatePodContainer"
ENFORCED, NOT_ENFORCED = "NodeAllocatableEnforced", "FailedNodeAllocatableEnforcement"
FIRST_WITHOUT = "1.37.0"
"""The first version of Kubernetes that will require the runtime to name its cgroup driver (spec 10.1)."""
_NEXT_TO_NOTHING = CgroupLimits(cpu_shares=MINIMUM_SHARES)


class CgroupTools(msgspec.Struct, frozen=True):
    """The environment of the actor."""

    tree: CgroupTree
    cri: Cri
    volumes: NodeVolumes
    events: ActorRef
    meters: Meters


class AskDriver(Message, frozen=True):
    """To itself: ask the runtime for its cgroup driver."""


class KeepUp(Message, frozen=True):
    """To itself: a minute has passed."""


class Settle(Message, frozen=True):
    """To itself: the delay after a change is over."""


class TryAgain(Message, frozen=True):
    """To itself: retry what failed."""


class LookForSlowTurns(Message, frozen=True):
    """To itself: check for pods that have waited behind others for too long."""


class CgroupActor(Actor):
    """See the module. `book` outlives this actor; only this actor changes it."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

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
        self._watches = False
        self._turns: dict[int, Turn] = {}
        """The turns of making under way, by their numbers."""
        self._number = 0
        """The number of the last turn. The word of a turn of an earlier life of this actor may still come."""
        self._said: set[str] = set()
        self._failing: dict[str, str] = {}
        """UID -> why its cgroup could not be made."""
        book.recover()

    def on_start(self) -> None:
        self._disk = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._number = self.now_ns()
        self.ask_driver(AskDriver())
        self.every(KEEP_UP_NS, KeepUp())

    def _on_lane(
        self, what: str, then: Callable[[T | None, str], Message], operation: Callable[..., T], *args: object
    ) -> None:
        """Use the lane of short disk calls: a thread of its own would mostly be idle."""
        self.attempt(partial(self._disk.submit, f"cgroups: {what}", operation, *args, deadline_ns=LANE_NS), then)

    def _write(self, what: str, operation: Callable[..., tuple[str, ...]], *args: object) -> None:
        """Write limits that nobody waits for."""
        self._on_lane(what, lambda told, error: LimitsWritten(problems_of(told, error)), operation, *args)

    # --- the cgroup driver and the ground ---------------------------------------------------------------------------

    @handles(AskDriver)
    def ask_driver(self, _: AskDriver) -> None:
        cri = self._tools.cri
        self.begin(lambda: cri.call(RUNTIME_CONFIG, RuntimeConfigRequest(), timeout_ns=ASK_NS), driver_told)

    @handles(DriverTold)
    def driver_told(self, message: DriverTold) -> None:
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
        """Make or repair the cgroup of all pods and the tiers, and write their limits again."""
        operations, plan = self._operations, self._plan
        if operations is None:
            return
        if plan.kubelet_cgroups or plan.system_cgroups:
            self._write("processes", operations.take_in, plan.kubelet_cgroups, plan.system_cgroups)
        if plan.per_qos:
            self._written = self._tiers()
            self._on_lane("tiers", GroundPrepared, operations.prepare, tuple(self._written.items()))

    @handles(GroundPrepared)
    def prepared(self, message: GroundPrepared) -> None:
        ground = message.ground or self._ground or Ground(False, (message.error,))
        first, self._ground = self._ground is None, ground
        if message.error:
            self.log.warning("the cgroups of all pods cannot be looked after: %s", message.error)
        if first:
            self._book.found.update(self._book.strangers(ground.uids, ()))
        if not ground.usable:
            why = "; ".join(ground.problems) or "they cannot be made"
            self._warn(f"pods run without cgroups of their own, and nothing bounds them together: {why}")
        elif ground.problems:
            self._warn(f"not every limit of cgroups holds: {'; '.join(ground.problems)}")
        self._enforce()
        self._take_away()
        self._go_on()
        self._look_for_strangers()

    # --- pods come --------------------------------------------------------------------------------------------------

    @handles(MakeCgroup)
    def make(self, message: MakeCgroup) -> None:
        self._book.want(message)
        self._go_on()

    @handles(TryAgain)
    def try_again(self, _: TryAgain) -> None:
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
            while wanted := book.begin_making(AT_ONCE):
                self._begin_turn(operations, wanted)
            self._watch()

    def _begin_turn(self, operations: CgroupOperations, requests: tuple[MakeCgroup, ...]) -> None:
        self._number += 1
        number, groups = self._number, [self._group_of(each) for each in requests]
        turn = self._turns[number] = Turn(requests, groups, self.now_ns(), self._book.is_slow(groups[0].uid))
        # A key of its own: turns that hang for ever must not use up the places of all.
        what = f"make {groups[0].uid}"
        self._on_lane(what, lambda _, error: PodGroupsMade(number, error), operations.make, turn.groups(), turn.made)

    def _watch(self) -> None:
        """Look for slow turns when the first may be one, if any pod waits for the cgroup of another."""
        if self._watches:
            return
        waits = self._book.waits_for_turn()
        began_ns = [turn.began_ns for turn in self._turns.values() if not turn.slow and (waits or len(turn) > 1)]
        if began_ns:
            self._watches = True
            self.after(max(0, min(began_ns) + PATIENCE_NS - self.now_ns()), LookForSlowTurns())

    @handles(LookForSlowTurns)
    def look_for_slow_turns(self, _: LookForSlowTurns) -> None:
        """Pods have waited for others' cgroups for a while: one that hangs must hold up no other."""
        self._watches = False
        since_ns = self.now_ns() - PATIENCE_NS
        for turn in self._turns.values():
            if turn.began_ns <= since_ns and not turn.slow:
                turn.slow = True
                self._book.call_slow()
                self._book.take_back(turn.take_back())
                self._answer_made(turn)
        self._go_on()

    def _answer_made(self, turn: Turn) -> None:
        for request, made in turn.to_answer():
            self._book.made((request,))
            self._answer(request, made)
        self._settle_soon()

    def _take_away(self) -> None:
        """Remove the cgroups of ended pods."""
        operations = self._operations
        if operations is None or not self._plan.per_qos or not self._is_usable():
            return
        gone = self._book.begin_removing(AT_ONCE)
        if gone:
            self._on_lane(
                "remove",
                lambda told, error: PodGroupsRemoved(tuple((uid, (error,)) for uid in gone) if told is None else told),
                operations.remove,
                gone,
            )

    def _group_of(self, request: MakeCgroup) -> PodGroup:
        pod = request.pod
        try:
            limits = pod_limits(pod, request.allocation.qos, request.allocation.requests, self._plan.rules)
        except QuantityError:  # the step that makes its containers reports it
            limits = CgroupLimits()
        return PodGroup(pod.metadata.uid, request.allocation.qos, limits, request.runs)

    @handles(PodGroupsMade)
    def made(self, message: PodGroupsMade) -> None:
        turn = self._turns.pop(message.number, None)
        if turn is None:
            return
        self._answer_made(turn)
        left = turn.give_up()
        self._book.made(left)
        self._book.suspect(left)
        for request in left:
            self._answer(request, PodGroupMade(request.pod.metadata.uid, "", (message.error,)))
        self._go_on()

    def _answer(self, request: MakeCgroup, made: PodGroupMade) -> None:
        if made.parent:
            self._failing.pop(made.uid, None)
            has = request.allocation
            if self._book.put(made.uid, Member(has.qos, demand_of(has.requests))):
                for problem in made.problems:
                    self._warn_of(problem)
                request.worker.tell(PodAdmitted(made.parent))
        elif request.runs and not made.problems:
            request.worker.tell(PodAdmitted(outside=True))
        else:
            self._not_made(request, "; ".join(made.problems) or "it is not there")

    def _not_made(self, request: MakeCgroup, why: str) -> None:
        uid, text = request.pod.metadata.uid, f"the cgroup of the pod cannot be made: {why}"
        if self._failing.get(uid) != text:
            self._failing[uid] = text
            self._tools.events.tell(pod_event(request.pod, "Warning", FAILED_POD, text))
        request.worker.tell(AdmissionWaits(text, taken=True))
        self._book.put_off(request)
        self.after(TRY_AGAIN_NS, TryAgain())

    # --- pods are resized -------------------------------------------------------------------------------------------

    @handles(ResizeCgroup)
    def resize(self, message: ResizeCgroup) -> None:
        """Write the bounds of the cgroup that the pod has. A pod without one has none to write."""
        if self._operations is None or not self._plan.per_qos or not self._is_usable():
            message.worker.tell(CgroupResized(message.before is not None))
            return
        pod, qos = message.pod, qos_class(message.pod)
        try:
            limits = pod_limits(pod, qos, pod_requests(pod), self._plan.rules)
            if (before := message.before) is not None:
                limits = wider(limits, pod_limits(before, qos, pod_requests(before), self._plan.rules))
        except QuantityError as fault:
            message.worker.tell(CgroupResized(message.before is not None, str(fault)))
            return
        group = PodGroup(pod.metadata.uid, qos, limits, adopt=True)
        self._on_lane(f"resize {group.uid}", partial(group_resized, message), self._operations.resize, group)

    @handles(PodGroupResized)
    def resized(self, message: PodGroupResized) -> None:
        request, pod = message.request, message.request.pod
        if not message.error:
            self._book.change(pod.metadata.uid, demand_of(pod_requests(pod)))
            self._settle_soon()
        request.worker.tell(CgroupResized(request.before is not None, message.error))

    # --- pods go ----------------------------------------------------------------------------------------------------

    @handles(AllocationReleased)
    def released(self, message: AllocationReleased) -> None:
        self._failing.pop(message.uid, None)
        if self._book.leave(message.uid):
            self._settle_soon()

    @handles(PodGroupsRemoved)
    def removed(self, message: PodGroupsRemoved) -> None:
        left = {uid: problems for uid, problems in message.removed if problems}
        for uid, problems in left.items():
            self.log.warning("the cgroup of pod %s is not gone yet: %s", uid, problems[0])
        self._book.removed(left)
        if left:
            self.after(TRY_AGAIN_NS, TryAgain())
        else:
            self._take_away()
            self._go_on()

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Remove what an earlier agent has left, and the cgroups of pods whose end was never reported."""
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
        self._on_lane("list", lambda uids, error: PodGroupsListed(uids or (), known, error), operations.uids)
        self._take_away()

    @handles(PodGroupsListed)
    def listed(self, message: PodGroupsListed) -> None:
        if message.error:
            self.log.warning("the cgroups that others have left cannot be listed: %s", message.error)
        for uid in self._book.strangers(message.uids, message.known):
            seen = partial(stranger_seen, uid, message.known)
            self._on_lane(uid, seen, self._tools.volumes.volumes_of, uid)

    @handles(StrangerSeen)
    def stranger_seen(self, message: StrangerSeen) -> None:
        """Remove a stranger's cgroup.

        If its volumes remain, keep it for their memory, with minimal CPU shares.
        """
        uid = message.uid
        if self._operations is None or not self._book.strangers((uid,), message.known):
            return
        if message.has_volumes:
            self._write("tiers", self._operations.weaken, (uid,), _NEXT_TO_NOTHING)
        else:
            self.log.info("the cgroup of pod %s, which nobody knows, is removed", uid)
            self._book.expel((uid,))
            self._take_away()

    # --- tiers and node ---------------------------------------------------------------------------------------------

    def _settle_soon(self) -> None:
        if not self._settles:
            self._settles = True
            self.after(SETTLE_NS, Settle())

    @handles(Settle)
    def settle(self, _: Settle) -> None:
        self._settles = False
        self._take_away()
        tiers = self._tiers()
        if self._operations is not None and self._is_usable() and tiers != self._written:
            self._written = tiers
            self._write("tiers", self._operations.write_tiers, tuple(tiers.items()))

    def _tiers(self) -> Mapping[QosClass, CgroupLimits]:
        guaranteed, burstable = self._book.sum_of(QosClass.GUARANTEED), self._book.sum_of(QosClass.BURSTABLE)
        rules, meters, of_all = self._plan.rules, self._tools.meters, self._enforced.get(PODS)
        if rules.keeps_memory:
            meters.put(names.MEMORY_KEPT, guaranteed.memory_bytes)
            meters.put(names.MEMORY_KEPT_AT_BEST, burstable.memory_bytes)
        return tier_limits(guaranteed, burstable, rules, (of_all.memory_bytes or 0) if of_all is not None else 0)

    @handles(LimitsWritten)
    def limits_written(self, message: LimitsWritten) -> None:
        for problem in message.problems:
            self._warn_of(problem)

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        self._capacity = message.node.status.capacity if message.node.status is not None else {}
        self._enforce()

    def _enforce(self) -> None:
        """Enforce the limits that are not in force yet, once the node is known and its cgroups exist."""
        operations = self._operations
        if operations is None or not self._capacity or not self._is_usable():
            return
        for wanted in self._plan.enforcements(self._capacity, self._driver):
            if self._enforced.get(wanted.what) != wanted.limits:
                self._on_lane(wanted.what, partial(limits_enforced, wanted), operations.enforce, wanted)

    @handles(LimitsEnforced)
    def enforced(self, message: LimitsEnforced) -> None:
        wanted = message.wanted
        if message.problems:
            self._warn(f"limits of {wanted.what} are not enforced: {'; '.join(message.problems)}")
        elif self._enforced.get(wanted.what) != wanted.limits:
            self._enforced[wanted.what] = wanted.limits
            self._tools.events.tell(node_event(self._plan.node, "Normal", ENFORCED, wanted.done))

    def _is_usable(self) -> bool:
        return self._ground is not None and self._ground.usable

    # --- warnings, once each ----------------------------------------------------------------------------------------

    def _warn_of(self, problem: str) -> None:
        """Warn once per file: one that cannot be written for one pod cannot be written for the next either."""
        file = os.path.basename(problem.partition(" cannot ")[0])
        if file not in self._said:
            self._said.add(file)
            self._warn(f"not every limit of cgroups holds: {problem}")

    def _warn(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.log.warning("%s", text)
            self._tools.events.tell(node_event(self._plan.node, "Warning", NOT_ENFORCED, text))
