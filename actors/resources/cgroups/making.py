"""Makes the cgroups of pods: a part of the `CgroupActor`.

Many pods share one call on a lane, a turn. A pod whose cgroup hangs must hold up no other. So after a second the turn
gives back the pods that it has not begun, and they get new turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, Rank, handles
from actors.messages.admission import AdmissionWaits, MakeCgroup, PodAdmitted
from actors.messages.events import pod_event
from actors.resources.cgroups.book import CgroupBook, Member
from actors.resources.cgroups.complaints import Complaints
from actors.resources.cgroups.limits import demand_of, pod_limits, without_quota
from actors.resources.cgroups.operations import CgroupOperations, PodGroup, PodGroupMade
from actors.resources.cgroups.outcomes import PodGroupsMade
from actors.resources.cgroups.plan import CgroupPlan
from actors.resources.cgroups.turn import Turn
from config.values.quantity import QuantityError
from runtime.cgroups.capability import CgroupLimits, CgroupTree
from runtime.cri import Cri
from runtime.metrics.meters import Meters
from runtime.volumes.capability import NodeVolumes

T = TypeVar("T")

SECOND_NS = 1_000_000_000
TRY_AGAIN_NS = 10 * SECOND_NS
PATIENCE_NS = SECOND_NS
"""The longest that pods wait because the cgroups of others are being made."""
AT_ONCE = 32
"""The most pods in one call."""
FAILED_POD = "FailedCreatePodContainer"


class CgroupTools(msgspec.Struct, frozen=True):
    """The environment of the actor."""

    tree: CgroupTree
    cri: Cri
    volumes: NodeVolumes
    events: ActorRef
    meters: Meters


class TryAgain(Message, frozen=True):
    """To itself: retry what failed."""


class LookForSlowTurns(Message, frozen=True):
    """To itself: pods may have waited behind others for a while; check that."""


class OnLane(Protocol):
    """Makes a call on a lane; its outcome becomes a message to the actor."""

    def __call__(
        self,
        key: str,
        then: Callable[[T | None, str], Message],
        operation: Callable[..., T],
        *args: object,
        rank: Rank = Rank.NORMAL,
    ) -> None: ...


class GroupMaking:
    """See the module. `go_on` begins what can be made now; `settle_soon` has the tiers updated."""

    def __init__(
        self,
        actor: Actor,
        tools: CgroupTools,
        plan: CgroupPlan,
        book: CgroupBook,
        complaints: Complaints,
        on_lane: OnLane,
        go_on: Callable[[], None],
        settle_soon: Callable[[], None],
    ) -> None:
        self._actor = actor
        self._tools = tools
        self._plan = plan
        self._book = book
        self._complaints = complaints
        self._on_lane = on_lane
        self._go_on = go_on
        self._settle_soon = settle_soon
        self._watches = False
        self._turns: dict[int, Turn] = {}
        """The turns of making under way, by their numbers."""
        self._number = actor.now_ns()
        """The number of the last turn. The word of a turn of an earlier life of this actor may still come."""
        self._failing: dict[str, str] = {}
        """UID -> why its cgroup could not be made."""

    def begin(self, operations: CgroupOperations) -> None:
        """Begin turns for all pods that want one."""
        while wanted := self._book.begin_making(AT_ONCE):
            self._begin_turn(operations, wanted)
        self._watch()

    def forget(self, uid: str) -> None:
        """Forget a pod of which nothing will run any more."""
        self._failing.pop(uid, None)

    def _begin_turn(self, operations: CgroupOperations, requests: tuple[MakeCgroup, ...]) -> None:
        self._number += 1
        number, groups = self._number, [self._group_of(each) for each in requests]
        began_ns, slow = self._actor.now_ns(), self._book.is_slow(groups[0].uid)
        turn = self._turns[number] = Turn(requests, groups, began_ns, slow, self._actor.observe)
        # The key is a pod's: turns that hang for ever must not use up the places of all.
        self._on_lane(
            groups[0].uid,
            lambda _, error: PodGroupsMade(number, error),
            operations.make,
            turn.groups(),
            turn.made,
            rank=Rank.FIRST if requests[0].allocation.critical else Rank.NORMAL,
        )

    def _watch(self) -> None:
        """Look for slow turns when the first may be one, if any pod waits for the cgroup of another."""
        if self._watches:
            return
        waits = self._book.waits_for_turn()
        began_ns = [turn.began_ns for turn in self._turns.values() if not turn.slow and (waits or len(turn) > 1)]
        if began_ns:
            self._watches = True
            self._actor.after(max(0, min(began_ns) + PATIENCE_NS - self._actor.now_ns()), LookForSlowTurns())

    @handles(LookForSlowTurns)
    def look_for_slow_turns(self, _: LookForSlowTurns) -> None:
        """Pods have waited for others' cgroups for a while: one that hangs must hold up no other.

        Work: the few cgroups that are made at a time.
        """
        self._watches = False
        since_ns = self._actor.now_ns() - PATIENCE_NS
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

    def _group_of(self, request: MakeCgroup) -> PodGroup:
        pod, rules = request.pod, self._plan.rules
        if request.pinned:
            rules = without_quota(rules)
        try:
            limits = pod_limits(pod, request.allocation.qos, request.allocation.requests, rules)
        except QuantityError:  # the step that makes its containers reports it
            limits = CgroupLimits()
        return PodGroup(pod.metadata.uid, request.allocation.qos, limits, request.runs)

    @handles(PodGroupsMade)
    def made(self, message: PodGroupsMade) -> None:
        """Work: the few cgroups that are made at a time."""
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
                    self._complaints.about_a_file(problem)
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
        self._actor.after(TRY_AGAIN_NS, TryAgain())
