"""The volumes that this node has: the actual world of the `VolumeReconcilerActor`, as data (spec 8.3).

It holds only what calls have reported and scans have found. The truth is the disk; after a restart this begins empty.
There is one record per thing (`state.py`): the directory of a pod, a volume of a pod, or a device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from actors.volumes.state import ABSENT, Event, Found, ThingLife, advance, is_usable
from runtime.volumes.capability import LocatedVolume, VolumePlace

SECOND_NS = 1_000_000_000
RETRY_INITIAL_NS = SECOND_NS // 2
RETRY_MAX_NS = 122 * SECOND_NS


class PodDirectory(msgspec.Struct, frozen=True):
    uid: str


class Device(msgspec.Struct, frozen=True):
    """A device that pods share, by its unique name on the node."""

    name: str


Key = PodDirectory | VolumePlace | Device


SET_UP = "MountVolume.SetUp"


class VolumeProblem(msgspec.Struct, frozen=True):
    """A problem as text for people, with the reason of its event and the failed step.

    `full`: the driver's volume limit is reached, so the node refuses the pod.
    """

    text: str
    reason: str = "FailedMount"
    step: str = SET_UP
    full: bool = False


class Thing(msgspec.Struct):
    """The record of one thing. Times are monotonic ns.

    `failures`: calls that failed in a row, the last at `failed_ns`; the next call begins no sooner than `retry_at_ns`.
    For volumes: `host_path` and `version` (None: unknown) of what was made last, and the `device` it is on.
    For devices: `in_use`, the name in `volumesInUse`; empty when they need no attaching, None while it is unknown.
    `context`: the SELinux label that they were mounted with; None while it is unknown.
    """

    life: ThingLife = ABSENT
    failures: int = 0
    retry_at_ns: int = 0
    failed_ns: int = -1
    trouble: VolumeProblem | None = None
    host_path: str = ""
    version: bytes | None = None
    device: str = ""
    in_use: str | None = None
    context: str | None = None

    def failed(self, trouble: VolumeProblem, now_ns: int) -> None:
        """Count one more failure in a row, and set the back-off (spec 8.1)."""
        self.trouble = trouble
        self.failed_ns = now_ns
        self.retry_at_ns = now_ns + back_off_ns(self.failures)
        self.failures += 1

    def succeeded(self) -> None:
        self.trouble, self.failures, self.retry_at_ns = None, 0, 0


NOTHING_THERE = Thing()
"""A record for things without one; read-only."""


class PodThings(msgspec.Struct):
    """All things of one pod."""

    directory: Thing = msgspec.field(default_factory=Thing)
    volumes: dict[VolumePlace, Thing] = msgspec.field(default_factory=dict)


NOTHING = PodThings()
"""An empty record for pods without one; read-only."""


class ActualWorld:
    def __init__(self) -> None:
        self.pods: dict[str, PodThings] = {}
        self.devices: dict[str, Thing] = {}
        self._on_device: dict[str, set[VolumePlace]] = {}
        self._by_name: dict[tuple[str, str], set[VolumePlace]] = {}
        self._usable: Counter[str] = Counter()
        """By plugin: how many volumes of pods containers may use."""

    def pod(self, uid: str) -> PodThings:
        """The things of a pod, read-only."""
        return self.pods.get(uid, NOTHING)

    def thing(self, key: Key) -> Thing:
        """The record of a thing, created if missing."""
        if isinstance(key, Device):
            return self.devices.setdefault(key.name, Thing())
        uid = key.uid
        things = self.pods.get(uid)
        if things is None:
            things = self.pods[uid] = PodThings()
        if isinstance(key, PodDirectory):
            return things.directory
        if key not in things.volumes:
            things.volumes[key] = Thing()
            self._by_name.setdefault(self.shared_name(key), set()).add(key)
        return things.volumes[key]

    def meet(self, key: Key, event: Event) -> ThingLife:
        """Apply an event to a thing; forget the thing if it is ABSENT then. Raises IllegalTransitionError."""
        thing = self.thing(key)
        was_usable = is_usable(thing.life)
        thing.life = advance(thing.life, event)
        if isinstance(key, VolumePlace) and is_usable(thing.life) is not was_usable:
            self._usable[key.plugin] += -1 if was_usable else 1
        if thing.life == ABSENT:
            self._forget(key)
        return thing.life

    def located(self, volume: LocatedVolume) -> Thing:
        """The record of a volume, with its device."""
        thing = self.thing(volume.place)
        if volume.device and not thing.device:
            thing.device = volume.device
            self._on_device.setdefault(volume.device, set()).add(volume.place)
        return thing

    def found(self, volume: LocatedVolume) -> None:
        """Record a volume that was found on disk."""
        self.located(volume)
        self.meet(volume.place, Found())

    def is_on_device(self, device: str) -> bool:
        """Whether a pod volume is, or may be, on a device."""
        return device in self._on_device

    def on_device(self, device: str) -> frozenset[VolumePlace]:
        """The pod volumes that are, or may be, on a device."""
        return frozenset(self._on_device.get(device, ()))

    def same_volume(self, place: VolumePlace) -> frozenset[VolumePlace]:
        """The places where other pods have, or may have, a volume of this name and plugin."""
        return frozenset(each for each in self._by_name.get(self.shared_name(place), ()) if each.uid != place.uid)

    @staticmethod
    def shared_name(place: VolumePlace) -> tuple[str, str]:
        """The name of a volume that it has in every pod."""
        return place.plugin, place.name

    def count_by_plugin(self) -> Mapping[str, int]:
        """How many volumes of pods are made, those without a pod included."""
        return {plugin: count for plugin, count in self._usable.items() if count}

    def _forget(self, key: Key) -> None:
        if isinstance(key, Device):
            del self.devices[key.name]
            return
        things = self.pods[key.uid]
        if isinstance(key, VolumePlace):
            thing = things.volumes.pop(key)
            _discard(self._by_name, self.shared_name(key), key)
            if thing.device:
                _discard(self._on_device, thing.device, key)
        else:
            things.directory = Thing()
        if not things.volumes and things.directory.life == ABSENT:
            del self.pods[key.uid]


def back_off_ns(failures: int) -> int:
    """How long to wait after a failure. `failures`: how many came before it in a row."""
    return min(RETRY_INITIAL_NS << min(failures, 20), RETRY_MAX_NS)


def _discard(index: dict[Any, set[VolumePlace]], key: Any, value: VolumePlace) -> None:
    index[key].discard(value)
    if not index[key]:
        del index[key]
