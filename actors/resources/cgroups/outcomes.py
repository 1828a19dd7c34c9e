"""The messages of `CgroupActor` to itself: the results of its calls to the runtime and on its lanes. Pure.

A failed call becomes a message with the error text; the actor decides what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from actors.kernel import Message, Pending, outcome_of
from actors.kernel.promise import Outcome
from actors.messages.admission import MakeCgroup
from actors.resources.cgroups.operations import Ground, PodGroupMade
from actors.resources.cgroups.plan import Enforcement
from runtime.cgroups.names import CGROUPFS, SYSTEMD
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import CgroupDriver, RuntimeConfigResponse

Removed: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of a UID and what stays, with the reason."""
DRIVERS = {CgroupDriver.CGROUPFS: CGROUPFS, CgroupDriver.SYSTEMD: SYSTEMD}


class DriverTold(Message, frozen=True):
    """To itself: the runtime's cgroup driver. `driver` empty: no answer; `unserved`: and there never will be one."""

    driver: str
    unserved: bool = False


class GroundPrepared(Message, frozen=True):
    """To itself: whether there are cgroups; `ground` None: unknown."""

    ground: Ground | None
    error: str


class PodGroupsMade(Message, frozen=True):
    """To itself: the results of one turn of pods."""

    turn: tuple[MakeCgroup, ...]
    made: tuple[PodGroupMade, ...]
    error: str


class PodGroupsRemoved(Message, frozen=True):
    """To itself: (UID, what stays and why) of each cgroup of the turn."""

    removed: Removed


class PodGroupsListed(Message, frozen=True):
    """To itself: the pods that have cgroups, and the pods that are known."""

    uids: tuple[str, ...]
    known: frozenset[str]


class StrangerSeen(Message, frozen=True):
    """To itself: whether volumes of an unknown pod are still there, or may be."""

    uid: str
    known: frozenset[str]
    has_volumes: bool


class LimitsEnforced(Message, frozen=True):
    """To itself: the problems of an enforcement."""

    wanted: Enforcement
    problems: tuple[str, ...]


class LimitsWritten(Message, frozen=True):
    """To itself: the problems of a write that nobody waits for."""

    problems: tuple[str, ...]


def driver_told(done: Pending[RuntimeConfigResponse]) -> DriverTold:
    outcome = outcome_of(done)
    error, linux = outcome.error, outcome.value.linux if outcome.value is not None else None
    if error is not None:
        return DriverTold("", isinstance(error, CriError) and error.code == StatusCode.UNIMPLEMENTED)
    return DriverTold("" if linux is None else DRIVERS.get(linux.cgroup_driver, ""), linux is None)


def _problems(outcome: Outcome[tuple[str, ...]]) -> tuple[str, ...]:
    return outcome.value or () if outcome.error is None else (_text(outcome.error),)


def _text(error: BaseException | None) -> str:
    return "" if error is None else str(error) or type(error).__name__


def ground_prepared(outcome: Outcome[Ground]) -> GroundPrepared:
    return GroundPrepared(outcome.value, _text(outcome.error))


def limits_written(outcome: Outcome[tuple[str, ...]]) -> LimitsWritten:
    return LimitsWritten(_problems(outcome))


def groups_made(turn: tuple[MakeCgroup, ...]) -> Callable[[Outcome[tuple[PodGroupMade, ...]]], PodGroupsMade]:
    return lambda outcome: PodGroupsMade(turn, outcome.value or (), _text(outcome.error))


def groups_removed(turn: tuple[str, ...]) -> Callable[[Outcome[Removed]], PodGroupsRemoved]:
    def told(outcome: Outcome[Removed]) -> PodGroupsRemoved:
        if outcome.value is None:
            return PodGroupsRemoved(tuple((uid, (_text(outcome.error),)) for uid in turn))
        return PodGroupsRemoved(outcome.value)

    return told


def groups_listed(known: frozenset[str]) -> Callable[[Outcome[tuple[str, ...]]], PodGroupsListed]:
    return lambda outcome: PodGroupsListed(outcome.value or (), known)


def stranger_seen(uid: str, known: frozenset[str]) -> Callable[[Outcome[tuple[object, ...]]], StrangerSeen]:
    return lambda outcome: StrangerSeen(uid, known, outcome.value != ())


def limits_enforced(wanted: Enforcement) -> Callable[[Outcome[tuple[str, ...]]], LimitsEnforced]:
    return lambda outcome: LimitsEnforced(wanted, _problems(outcome))
