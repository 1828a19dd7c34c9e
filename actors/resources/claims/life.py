"""The life of one claim on this node, as a table. Pure (spec 10.12).

A claim is prepared by all its drivers before the first pod that uses it has a sandbox. It is unprepared by all of them
after the last container of the last pod. One thing is done at a time: a claim that is being prepared is unprepared when
the answer is there, and never before it (kubernetes/kubernetes#140527). Where one of two drivers fails, both are asked
to undo it once nobody needs the claim (#137819).

What is in the book goes to the disk before a driver is called: an agent that dies then knows that there is something to
undo.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from actors.model.resource_claims import DriverDevices
from config.frozen_map import FrozenMap
from runtime.dra.capability import ClaimDevice, ClaimRef

DRIVERS_AT_MOST = 32
"""As many as a claim has results in the API."""
_NOBODY: frozenset[str] = frozenset()


class ClaimStage(Enum):
    """Where a claim is. The order is that of a life."""

    WANTED = "wanted"
    """Pods want it; its drivers are called as soon as that is on the disk, or their pause is over."""
    PREPARING = "preparing"
    PREPARED = "prepared"
    ENDING = "ending"
    """No pod needs it, and something of it may be prepared; its drivers are called when they are here."""
    UNPREPARING = "unpreparing"
    GONE = "gone"


class ClaimLife(msgspec.Struct, frozen=True):
    """See the module.

    `pods`: UIDs of those that use it. `devices`: driver -> what it has made ready; a driver that has not answered has
    no entry. `touched`: a driver may have been asked, by this agent or an earlier one. `error`: of the last try.
    """

    ref: ClaimRef
    drivers: tuple[str, ...]
    pods: frozenset[str] = _NOBODY
    stage: ClaimStage = ClaimStage.WANTED
    devices: DriverDevices = FrozenMap()
    touched: bool = False
    error: str = ""

    @property
    def calls(self) -> bool:
        """Whether drivers are being called."""
        return self.stage in (ClaimStage.PREPARING, ClaimStage.UNPREPARING)

    @property
    def missing(self) -> tuple[str, ...]:
        """The drivers that have not made their part ready."""
        return tuple(driver for driver in self.drivers if driver not in self.devices)


class Held(msgspec.Struct, frozen=True):
    """A pod needs the claim."""

    pod: str


class Left(msgspec.Struct, frozen=True):
    """Nothing of this pod runs any more."""

    pod: str


class Called(msgspec.Struct, frozen=True):
    """Its drivers are called now: to prepare it, or to unprepare it, as its stage says."""


class PreparedBy(msgspec.Struct, frozen=True):
    """Drivers have answered.

    `devices`: of those that made their part ready; `error`: of the others, "" for none.
    """

    devices: FrozenMap[str, tuple[ClaimDevice, ...]]
    error: str = ""


class UnpreparedBy(msgspec.Struct, frozen=True):
    """Drivers have answered. `done`: those that undid their part; `error`: of the others, "" for none."""

    done: frozenset[str]
    error: str = ""


Event = Held | Left | Called | PreparedBy | UnpreparedBy


def advance(life: ClaimLife, event: Event) -> ClaimLife:
    """The life after the event. An event that cannot be in this stage changes nothing."""
    if isinstance(event, Held):
        return _held(life, event.pod)
    if isinstance(event, Left):
        return _left(life, event.pod)
    if isinstance(event, Called):
        return _called(life)
    if isinstance(event, PreparedBy):
        return _prepared(life, event) if life.stage is ClaimStage.PREPARING else life
    return _unprepared(life, event) if life.stage is ClaimStage.UNPREPARING else life


def _held(life: ClaimLife, pod: str) -> ClaimLife:
    life = msgspec.structs.replace(life, pods=life.pods | {pod})
    if life.stage is ClaimStage.ENDING:
        # Some of its drivers may have undone their part already: all are asked again, which does no harm.
        return msgspec.structs.replace(life, stage=ClaimStage.WANTED, devices=FrozenMap(), error="")
    return life


def _left(life: ClaimLife, pod: str) -> ClaimLife:
    life = msgspec.structs.replace(life, pods=life.pods - {pod})
    if life.pods or life.calls:
        return life
    return _unneeded(life)


def _unneeded(life: ClaimLife) -> ClaimLife:
    if life.stage is ClaimStage.WANTED and not life.touched:
        return msgspec.structs.replace(life, stage=ClaimStage.GONE)
    return msgspec.structs.replace(life, stage=ClaimStage.ENDING)


def _called(life: ClaimLife) -> ClaimLife:
    if life.stage is ClaimStage.WANTED:
        return msgspec.structs.replace(life, stage=ClaimStage.PREPARING, touched=True)
    if life.stage is ClaimStage.ENDING:
        return msgspec.structs.replace(life, stage=ClaimStage.UNPREPARING)
    return life


def _prepared(life: ClaimLife, event: PreparedBy) -> ClaimLife:
    devices = life.devices | event.devices
    life = msgspec.structs.replace(life, devices=devices, error=event.error)
    stage = ClaimStage.WANTED if life.missing else ClaimStage.PREPARED
    life = msgspec.structs.replace(life, stage=stage)
    return life if life.pods else _unneeded(life)


def _unprepared(life: ClaimLife, event: UnpreparedBy) -> ClaimLife:
    left = FrozenMap({driver: devices for driver, devices in life.devices.items() if driver not in event.done})
    if life.pods:
        # A pod has come meanwhile: everything is prepared anew.
        return msgspec.structs.replace(life, stage=ClaimStage.WANTED, devices=FrozenMap(), error="")
    stage = ClaimStage.GONE if event.done >= set(life.drivers) else ClaimStage.ENDING
    return msgspec.structs.replace(life, stage=stage, devices=left, error=event.error)
