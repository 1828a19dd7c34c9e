"""The messages of `CgroupActor` to itself: the results of its calls to the runtime and on its lanes.

Pure.

A failed call becomes a message with the error text; the actor decides what to do about it.
"""

from __future__ import annotations

from typing import TypeAlias

from actors.kernel import Message, Pending, outcome_of
from actors.messages.admission import ResizeCgroup
from actors.resources.cgroups.operations import Ground, PodGroupMade
from actors.resources.cgroups.plan import Enforcement
from runtime.cgroups.names import CGROUPFS, SYSTEMD
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import CgroupDriver, RuntimeConfigResponse

Removed: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of a UID and what stays, with the reason."""
DRIVERS = {CgroupDriver.CGROUPFS: CGROUPFS, CgroupDriver.SYSTEMD: SYSTEMD}


class DriverTold(Message, frozen=True):
    """To itself: the runtime's cgroup driver.

    `driver` empty: no answer; `unserved`: and there never will be one.
    """

    driver: str
    unserved: bool = False


class GroundPrepared(Message, frozen=True):
    """To itself: whether there are cgroups; `ground` None: unknown."""

    ground: Ground | None
    error: str


class PodGroupsMade(Message, frozen=True):
    """To itself: the call of a turn has ended. The `Turn` of that number has its results."""

    number: int
    error: str


class PodGroupResized(Message, frozen=True):
    """To itself: the limits of one pod's cgroup are written, or the error."""

    request: ResizeCgroup
    error: str


class PodGroupsRemoved(Message, frozen=True):
    """To itself: (UID, leftovers and their errors) of each cgroup of the turn.

    `error`: why the call came to nothing, or empty.
    """

    removed: Removed
    error: str = ""


class PodGroupsListed(Message, frozen=True):
    """To itself: the pods that have cgroups (none with an `error`), and the pods that are known."""

    uids: tuple[str, ...]
    known: frozenset[str]
    error: str


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


def groups_removed(turn: tuple[str, ...], removed: Removed | None, error: str) -> PodGroupsRemoved:
    return PodGroupsRemoved(tuple((uid, (error,)) for uid in turn) if removed is None else removed, error)


def problems_of(problems: tuple[str, ...] | None, error: str) -> tuple[str, ...]:
    """The problems that a call has returned, or the error of the call itself."""
    return (error,) if problems is None else problems


def limits_enforced(wanted: Enforcement, problems: tuple[str, ...] | None, error: str) -> LimitsEnforced:
    return LimitsEnforced(wanted, problems_of(problems, error))


def stranger_seen(uid: str, known: frozenset[str], volumes: tuple[object, ...] | None, _: str) -> StrangerSeen:
    return StrangerSeen(uid, known, volumes != ())


def group_resized(request: ResizeCgroup, made: PodGroupMade | None, error: str) -> PodGroupResized:
    """A pod whose cgroup is not there runs outside, and has no bounds."""
    return PodGroupResized(request, error or "; ".join(made.problems if made is not None else ()))
