"""Which pods have cgroups, which want one, and which are to lose theirs. Pure.

The book of `CgroupActor`, kept apart from it: it outlives a failure of that actor, so that no tier forgets the pods in
it. A cgroup is never made while it is being removed, nor the other way round: to remove one ends all that is in it, and
a pod may come again under its UID (a static one does).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from actors.messages.admission import MakeCgroup
from actors.resources.cgroups.limits import Demand
from config.pods.identity import QosClass

_NOTHING = Demand()


class Member(msgspec.Struct, frozen=True, gc=False):
    """A pod of a tier, and what it adds to it."""

    qos: QosClass
    demand: Demand


class CgroupBook:
    """See the module."""

    def __init__(self) -> None:
        self.wanted: dict[str, MakeCgroup] = {}
        """Who waits for a cgroup, in the order of their coming."""
        self.later: dict[str, MakeCgroup] = {}
        """Who waits until it is tried again."""
        self.found: set[str] = set()
        """UIDs of cgroups of an earlier life, of which nobody has spoken yet."""
        self._members: dict[str, Member] = {}
        self._sums: dict[QosClass, Demand] = dict.fromkeys(QosClass, _NOTHING)
        self._leaving: dict[str, None] = {}
        self._making: dict[str, MakeCgroup] = {}
        self._removing: frozenset[str] = frozenset()

    # --- making -----------------------------------------------------------------------------------------------------

    def want(self, request: MakeCgroup) -> None:
        """The pod is to have a cgroup, whatever was said before."""
        uid = request.pod.metadata.uid
        self._leaving.pop(uid, None)
        self.later.pop(uid, None)
        self.wanted[uid] = request

    def begin_making(self, at_most: int) -> tuple[MakeCgroup, ...]:
        """Those whose turn it is; () for nobody, and while others are being made."""
        if self._making or not self.wanted:
            return ()
        free = [uid for uid in self.wanted if uid not in self._removing][:at_most]
        self._making = {uid: self.wanted.pop(uid) for uid in free}
        return tuple(self._making.values())

    def made(self) -> None:
        """Those whose turn it was have their answer."""
        self._making = {}

    def put_off(self, request: MakeCgroup) -> None:
        """It could not be made, and is tried again unless something newer was said."""
        uid = request.pod.metadata.uid
        if uid not in self.wanted and uid not in self._leaving:
            self.later[uid] = request

    def try_again(self) -> None:
        """What was put off is wanted now."""
        self.wanted, self.later = {**self.later, **self.wanted}, {}

    def take_all(self) -> tuple[MakeCgroup, ...]:
        """All who wait, who wait no more."""
        everyone = (*self.later.values(), *self.wanted.values())
        self.wanted, self.later = {}, {}
        return everyone

    def put(self, uid: str, member: Member) -> bool:
        """The pod is in its tier, unless it has ended meanwhile; whether it is."""
        if uid in self._leaving:
            return False
        self._take_out(uid)
        self.found.discard(uid)
        self._members[uid] = member
        self._sums[member.qos] = self._sums[member.qos].plus(member.demand)
        return True

    def sum_of(self, qos: QosClass) -> Demand:
        """What the pods of a tier ask for together."""
        return self._sums[qos]

    # --- removing ---------------------------------------------------------------------------------------------------

    def leave(self, uid: str) -> bool:
        """The pod has ended; whether that is anything to anybody here."""
        waited = self.wanted.pop(uid, None) or self.later.pop(uid, None)
        if self._take_out(uid) or uid in self.found or uid in self._making or waited is not None:
            self._leaving[uid] = None
            return True
        return False

    def expel(self, uids: Iterable[str]) -> None:
        """These cgroups belong to nobody."""
        for uid in uids:
            self._take_out(uid)
            self._leaving[uid] = None

    def strangers(self, uids: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
        """Those of `uids` that no pod of this node has, nor is anything done about them already."""
        busy = (self.wanted, self.later, self._members, self._leaving, self._making, self._removing, known)
        strange = set(uids).difference(*busy)
        return tuple(uid for uid in uids if uid in strange) if strange else ()

    def forgotten(self, known: Collection[str]) -> tuple[str, ...]:
        """Members that are no pods of this node any more, and never said goodbye."""
        return tuple(uid for uid in self._members if uid not in known and uid not in self._making)

    def begin_removing(self, at_most: int) -> tuple[str, ...]:
        """Those whose turn it is; () for nobody, and while others are being removed."""
        if self._removing or not self._leaving:
            return ()
        turn = tuple([uid for uid in self._leaving if uid not in self._making][:at_most])
        for uid in turn:
            del self._leaving[uid]
        self._removing = frozenset(turn)
        return turn

    def removed(self, left: Collection[str]) -> None:
        """Those whose turn it was are gone, but for `left`, whose turn comes again unless somebody wants them."""
        self.found -= self._removing - set(left)
        self._removing = frozenset()
        for uid in left:
            if uid not in self.wanted:
                self._leaving[uid] = None

    def recover(self) -> None:
        """What was under way when its owner failed may have been done or not: all of it is done once more."""
        for request in self._making.values():
            if request.pod.metadata.uid not in self.wanted:
                self.wanted[request.pod.metadata.uid] = request
        self._making = {}
        self.removed(self._removing)

    def _take_out(self, uid: str) -> bool:
        member = self._members.pop(uid, None)
        if member is not None:
            self._sums[member.qos] = self._sums[member.qos].less(member.demand)
        return member is not None
