"""The cgroup calls of `CgroupActor`, to run on a lane.

Each may take as long as the kernel or systemd does.

Nothing here raises for want of rights, and nothing is decided. Each call returns what was done, and what failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import msgspec

from actors.resources.cgroups.plan import CgroupPlan, Enforcement
from config.pods.identity import QosClass
from runtime.cgroups.capability import CgroupLimits, Cgroups, CgroupTree
from runtime.cgroups.names import CgroupNameError, Words, pod_word, pod_words, root_words, tier_words
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters

T = TypeVar("T")

CREATE, UPDATE, DESTROY = "create", "update", "destroy"


class PodGroup(msgspec.Struct, frozen=True):
    """The cgroup of one pod, to be made. `adopt`: use it only if it exists already."""

    uid: str
    qos: QosClass
    limits: CgroupLimits
    adopt: bool = False


class PodGroupMade(msgspec.Struct, frozen=True):
    """`parent` empty: the cgroup does not exist. `problems` say why, unless it was only to be adopted."""

    uid: str
    parent: str = ""
    problems: tuple[str, ...] = ()


class Ground(msgspec.Struct, frozen=True):
    """Whether pods can have cgroups here, the problems, and the pods whose cgroups exist already."""

    usable: bool
    problems: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()


class CgroupOperations:
    """See the module. The plan's `cgroupRoot` must exist: it is not made here."""

    def __init__(
        self, tree: CgroupTree, driver: str, plan: CgroupPlan, meters: Meters, now_ns: Callable[[], int]
    ) -> None:
        self._tree = tree
        self._cgroups: Cgroups = tree.driven_by(driver)
        self._root = root_words(plan.root, per_qos=False)
        self._pods = root_words(plan.root)
        self._tiers = {qos: tier_words(self._pods, qos) for qos in QosClass}
        self._meters = meters
        self._now_ns = now_ns

    def prepare(self, tiers: Iterable[tuple[QosClass, CgroupLimits]]) -> Ground:
        """Make the cgroup of all pods, and its tiers."""
        cgroups = self._cgroups
        try:
            if self._root and not cgroups.exists(self._root):
                where = cgroups.name(self._root)
                return Ground(False, (f"the cgroup {where} does not exist: make it, or change cgroupRoot",))
            problems = [*cgroups.problems(), *self.write_tiers(tiers)]
            usable = all(cgroups.exists(tier) for tier in self._tiers.values())
        except CgroupNameError as fault:
            return Ground(False, (f"cgroupRoot: {fault}",))
        return Ground(usable, tuple(dict.fromkeys(problems)), self.uids())

    def uids(self) -> tuple[str, ...]:
        """UIDs of the pods that have cgroups."""
        return tuple([uid for tier in self._tiers.values() for uid in self._cgroups.pod_uids(tier)])

    def make(self, wanted: Iterable[PodGroup], told: Callable[[PodGroupMade], None]) -> None:
        """Make them one after the other, and tell of each; a failure does not stop the rest."""
        for each in wanted:
            told(self._make(each))

    def resize(self, wanted: PodGroup) -> PodGroupMade:
        """Write the limits of a cgroup that is there."""
        return self._make(wanted)

    def _make(self, wanted: PodGroup) -> PodGroupMade:
        cgroups = self._cgroups
        try:
            words = pod_words(self._pods, wanted.qos, wanted.uid)
            if wanted.adopt and not cgroups.exists(words):
                return PodGroupMade(wanted.uid)
            operation = UPDATE if wanted.adopt else CREATE
            problems = self._timed(operation, partial(cgroups.apply, words, wanted.limits))
            there = cgroups.exists(words)
            return PodGroupMade(wanted.uid, cgroups.name(words) if there else "", problems)
        except CgroupNameError as fault:
            return PodGroupMade(wanted.uid, "", (str(fault),))

    def write_tiers(self, tiers: Iterable[tuple[QosClass, CgroupLimits]]) -> tuple[str, ...]:
        """Write the limits of the tiers; returns the problems."""
        return tuple(problem for qos, limits in tiers for problem in self._update(self._tiers[qos], limits))

    def enforce(self, wanted: Enforcement) -> tuple[str, ...]:
        """Enforce a limit; returns the problems."""
        try:
            if wanted.exists and not self._cgroups.exists(wanted.words):
                where = self._cgroups.name(wanted.words)
                return (f"the cgroup {where} does not exist: make it, or leave {wanted.what} out",)
            return self._update(wanted.words, wanted.limits)
        except CgroupNameError as fault:
            return (str(fault),)

    def weaken(self, uids: Iterable[str], limits: CgroupLimits) -> tuple[str, ...]:
        """Keep the cgroups of these pods, with these small limits."""
        there = (words for uid in uids for words in self._places(uid) if self._cgroups.exists(words))
        return tuple(problem for words in there for problem in self._update(words, limits))

    def remove(self, uids: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Kill the processes and remove the cgroups, in any tier. Returns (UID, what stays and why) of each."""
        return tuple([(uid, self._timed(DESTROY, partial(self._remove, uid))) for uid in uids])

    def _remove(self, uid: str) -> tuple[str, ...]:
        problems: list[str] = []
        for words in self._places(uid):
            problems += self._cgroups.remove(words)
        return tuple(problems)

    def take_in(self, own: str, everybody: str) -> tuple[str, ...]:
        """Move this process to the cgroup `own`, and the system's processes to `everybody`.

        Empty: do not move.
        """
        return (*(self._tree.enter(own) if own else ()), *(self._tree.gather(everybody) if everybody else ()))

    def _places(self, uid: str) -> list[Words]:
        """All places where a pod's cgroup may be: the UID does not tell its tier."""
        word = pod_word(uid)
        return [(*tier, word) for tier in self._tiers.values()]

    def _update(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        return self._timed(UPDATE, partial(self._cgroups.apply, words, limits))

    def _timed(self, operation: str, do: Callable[[], T]) -> T:
        began_ns = self._now_ns()
        try:
            return do()
        finally:
            self._meters.took(names.CGROUP_MANAGER, self._now_ns() - began_ns, operation)
