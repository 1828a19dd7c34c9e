"""Which pods have cgroups, which wait for one, and whose cgroup is to be removed. Pure.

`CgroupActor` keeps this book apart from itself. The book outlives a failure of the actor, so that no tier forgets its
pods. A cgroup is never made while it is being removed, nor the other way round. Removing one ends all processes in it,
and a pod may come again under its UID (a static one does).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from actors.messages.admission import MakeCgroup
from actors.resources.cgroups.limits import TierDemand
from config.pods.identity import QosClass

_NOTHING = TierDemand()


class Member(msgspec.Struct, frozen=True, gc=False):
    """A pod of a tier, and its demand."""

    qos: QosClass
    demand: TierDemand


class CgroupBook:
    def __init__(self) -> None:
        self.wanted: dict[str, MakeCgroup] = {}
        """Pods that wait for a cgroup, in the order of arrival."""
        self.later: dict[str, MakeCgroup] = {}
        """Pods that wait for the next try."""
        self.found: set[str] = set()
        """UIDs of cgroups from an earlier life that no source has named yet."""
        self._members: dict[str, Member] = {}
        self._sums: dict[QosClass, TierDemand] = dict.fromkeys(QosClass, _NOTHING)
        self._leaving: dict[str, None] = {}
        self._making: dict[str, MakeCgroup] = {}
        self._slow: set[str] = set()
        """Those of them that nobody waits for any more."""
        self._suspects: set[str] = set()
        """Pods of turns that came to nothing."""
        self._removing: set[str] = set()
        self._batch: tuple[str, ...] = ()
        """Those of them that one call removes together."""
        self._stuck: set[str] = set()
        """Pods of removals that came to nothing: any of them may be the reason."""

    # --- making -----------------------------------------------------------------------------------------------------

    def want(self, request: MakeCgroup) -> None:
        """Queue the pod for a cgroup, whatever was said before."""
        uid = request.pod.metadata.uid
        self._leaving.pop(uid, None)
        self.later.pop(uid, None)
        self.wanted[uid] = request

    def begin_making(self, at_most: int) -> tuple[MakeCgroup, ...]:
        """The next pods to make cgroups for.

        () when none waits, or while others are being made that are not slow.

        Critical pods go first. A suspect has a turn of its own, which is slow from its beginning: it holds others up
        once.
        """
        if self.waits_for_turn() or not self.wanted:
            return ()
        free = [uid for uid in self.wanted if uid not in self._removing and uid not in self._making]
        free.sort(key=lambda uid: not self.wanted[uid].allocation.critical)
        others = [uid for uid in free if uid not in self._suspects][:at_most]
        turn = {uid: self.wanted.pop(uid) for uid in others or free[:1]}
        if not others:
            self._slow.update(turn)
        self._making |= turn
        return tuple(turn.values())

    def waits_for_turn(self) -> bool:
        """Whether pods wait for a turn that is not slow."""
        return bool(self.wanted) and len(self._slow) < len(self._making)

    def is_slow(self, uid: str) -> bool:
        """Whether nobody waits for the turn of this pod."""
        return uid in self._slow

    def call_slow(self) -> None:
        """The turns under way take long: another may begin beside them."""
        self._slow.update(self._making)

    def made(self, turn: Iterable[MakeCgroup]) -> None:
        """The pods of a turn are answered."""
        for request in turn:
            self._making.pop(request.pod.metadata.uid, None)
            self._slow.discard(request.pod.metadata.uid)

    def take_back(self, requests: Iterable[MakeCgroup]) -> None:
        """Pods that a slow turn has not begun go first again, unless a newer request or their end has come."""
        back = {request.pod.metadata.uid: request for request in requests}
        for uid in back:
            self._making.pop(uid, None)
            self._slow.discard(uid)
        here = {uid: request for uid, request in back.items() if uid not in self._leaving and uid not in self.wanted}
        self.wanted = {**here, **self.wanted}

    def suspect(self, turn: Iterable[MakeCgroup]) -> None:
        """A turn came to nothing, and any of its pods may be the reason."""
        uids = {request.pod.metadata.uid for request in turn}
        self._suspects |= uids - self._leaving.keys()

    def put_off(self, request: MakeCgroup) -> None:
        """Retry a failed pod later, unless a newer request or its end has come."""
        uid = request.pod.metadata.uid
        if uid not in self.wanted and uid not in self._leaving:
            self.later[uid] = request

    def try_again(self) -> None:
        self.wanted, self.later = {**self.later, **self.wanted}, {}

    def take_all(self) -> tuple[MakeCgroup, ...]:
        """Take all pods that wait; none waits afterwards."""
        everyone = (*self.later.values(), *self.wanted.values())
        self.wanted, self.later = {}, {}
        self._suspects.clear()
        return everyone

    def put(self, uid: str, member: Member) -> bool:
        """Add the pod to its tier; False when it has ended meanwhile."""
        self._suspects.discard(uid)
        self._stuck.discard(uid)
        if uid in self._leaving:
            return False
        self._take_out(uid)
        self.found.discard(uid)
        self._members[uid] = member
        self._sums[member.qos] = self._sums[member.qos].plus(member.demand)
        return True

    def change(self, uid: str, demand: TierDemand) -> None:
        """A pod of a tier has another demand now."""
        member = self._members.get(uid)
        if member is not None:
            self.put(uid, Member(member.qos, demand))

    def sum_of(self, qos: QosClass) -> TierDemand:
        """The sum of what a tier's pods request."""
        return self._sums[qos]

    # --- removing ---------------------------------------------------------------------------------------------------

    def leave(self, uid: str) -> bool:
        """The pod has ended; returns whether it was known here."""
        self._suspects.discard(uid)
        waited = self.wanted.pop(uid, None) or self.later.pop(uid, None)
        if self._take_out(uid) or uid in self.found or uid in self._making or waited is not None:
            self._leaving[uid] = None
            return True
        return False

    def expel(self, uids: Iterable[str]) -> None:
        """Mark cgroups without a pod for removal."""
        for uid in uids:
            self._take_out(uid)
            self._leaving[uid] = None

    def strangers(self, uids: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
        """The `uids` that belong to no pod of this node and are not handled already."""
        busy = (self.wanted, self.later, self._members, self._leaving, self._making, self._removing, known)
        strange = set(uids).difference(*busy)
        return tuple(uid for uid in uids if uid in strange) if strange else ()

    def forgotten(self, known: Collection[str]) -> tuple[str, ...]:
        """Members that are no longer pods of this node, and whose end was never reported."""
        return tuple(uid for uid in self._members if uid not in known and uid not in self._making)

    def begin_removing(self, at_most: int) -> tuple[str, ...]:
        """The next cgroups to remove in one call; () when there is none.

        One call removes many, and the next many wait for it. Those of a call that came to nothing are removed one by
        one, beside the others: one that hangs must keep no other cgroup here.
        """
        free = [uid for uid in self._leaving if uid not in self._making and uid not in self._removing]
        many = () if self._batch else tuple([uid for uid in free if uid not in self._stuck][:at_most])
        turn = many or tuple([uid for uid in free if uid in self._stuck][:1])
        for uid in turn:
            del self._leaving[uid]
        self._batch = many or self._batch
        self._removing.update(turn)
        return turn

    def removed(self, turn: Collection[str], left: Collection[str], *, came_to_nothing: bool = False) -> None:
        """A turn is removed, except `left`: those are tried again unless a pod wants them."""
        gone = set(turn).difference(left)
        self.found -= gone
        self._stuck -= gone
        if came_to_nothing:
            self._stuck.update(left)
        self._removing.difference_update(turn)
        if not self._removing.intersection(self._batch):
            self._batch = ()
        for uid in left:
            if uid not in self.wanted:
                self._leaving[uid] = None

    def recover(self) -> None:
        """Redo the calls under way when the owner failed: they may have been done or not."""
        for request in self._making.values():
            if request.pod.metadata.uid not in self.wanted:
                self.wanted[request.pod.metadata.uid] = request
        self._making = {}
        self._slow.clear()
        under_way = sorted(self._removing)
        self.removed(under_way, under_way)

    def _take_out(self, uid: str) -> bool:
        member = self._members.pop(uid, None)
        if member is not None:
            self._sums[member.qos] = self._sums[member.qos].less(member.demand)
        return member is not None
