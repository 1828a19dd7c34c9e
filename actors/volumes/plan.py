"""Plans the next steps for the volumes of one pod, or for one device. Pure.

It compares the actual with the desired world.

It plans for one pod at a time, so that a change costs only its own pod. The order of making is: the pod's directory,
then a volume's device, then the volume. A ReadWriteOncePod volume waits until it is gone from all other pods. Removal
goes in reverse order; a device goes after the last volume on it (spec 8.4). Volumes do not wait for each other.

A plan has steps to begin, or says that calls under way must end first (`busy`), or is final. In a final plan
everything is there, or what is missing has a trouble and a time for the retry.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from actors.volumes.actual import ActualWorld, Device, Key, PodDirectory, Thing, VolumeProblem
from actors.volumes.desired import DesiredVolume
from actors.volumes.state import ThingStage, is_under_way, is_usable, may_make, may_unmake

ONE_POD_ONLY = "ReadWriteOncePod"
DEVICE_STEP = "MountVolume.MountDevice"
POD_ITSELF = ""
"""The name of the pod's directory among the names of volumes."""


class Do(enum.StrEnum):
    """Kinds of steps; the value is text for people."""

    MAKE_DIRECTORY = "making the pod's directory"
    STAGE = "staging"
    MAKE = "mounting"
    ADOPT = "looking for what is there"
    SAY_AGAIN = "waiting for a call that hangs"
    UNMAKE = "unmounting"
    REMOVE_DIRECTORY = "removing the pod's directory"
    UNSTAGE = "unstaging"


TAKING_DOWN = frozenset({Do.UNMAKE, Do.REMOVE_DIRECTORY, Do.UNSTAGE})


class VolumeStep(msgspec.Struct, frozen=True):
    """Something to begin now. `volume`: the volume that it serves, None when something is taken down."""

    do: Do
    key: Key
    volume: DesiredVolume | None = None


class PodPlan(msgspec.Struct, frozen=True):
    """See the module.

    `host_paths` of usable volumes and `troubles`, both by the volume's name in the pod. A volume in both keeps its old
    content. `waiting`: names of the troubles that no call of ours can end. `wake_ns`: when to retry, 0 for never.
    `begins_calls`: whether its steps begin any call.
    """

    steps: tuple[VolumeStep, ...] = ()
    busy: bool = False
    host_paths: Mapping[str, str] = {}
    troubles: Mapping[str, VolumeProblem] = {}
    waiting: frozenset[str] = frozenset()
    wake_ns: int = 0
    begins_calls: bool = False


NOTHING_TO_DO = PodPlan()
"""Everything is as it should be, and there are no volumes."""


class _Plan(msgspec.Struct):
    """A plan in the making."""

    now_ns: int
    steps: dict[Key, VolumeStep] = {}
    begins_calls: bool = False
    busy: bool = False
    host_paths: dict[str, str] = {}
    troubles: dict[str, VolumeProblem] = {}
    waiting: set[str] = set()
    wake_ns: int = 0

    def made(self) -> PodPlan:
        steps, waiting = tuple(self.steps.values()), frozenset(self.waiting)
        return PodPlan(steps, self.busy, self.host_paths, self.troubles, waiting, self.wake_ns, self.begins_calls)

    def wait(self, name: str, trouble: VolumeProblem) -> None:
        """The volume cannot be tried until others change something."""
        self.troubles[name] = trouble
        self.waiting.add(name)

    def trouble(self, name: str, trouble: VolumeProblem | None, thing: Thing) -> None:
        """The volume cannot be tried now, but after its back-off."""
        self.troubles[name] = trouble or VolumeProblem("it has not been tried yet")
        if thing.retry_at_ns > self.now_ns:
            self.wake_ns = min(self.wake_ns or thing.retry_at_ns, thing.retry_at_ns)

    def attempt(self, do: Do, key: Key, thing: Thing, volume: DesiredVolume | None, names: Iterable[str]) -> None:
        """Begin this step, unless a call is under way or hangs, or the back-off is not over."""
        if is_under_way(thing.life):
            self.busy = True
        elif thing.retry_at_ns > self.now_ns:
            for name in names:
                self.trouble(name, thing.trouble, thing)
        else:
            may_begin = may_unmake(thing.life) if do in TAKING_DOWN else may_make(thing.life)
            self.steps.setdefault(key, VolumeStep(do if may_begin else Do.SAY_AGAIN, key, volume))
            self.begins_calls = self.begins_calls or may_begin


def _plan_directory(do: Do, uid: str, directory: Thing, names: Iterable[str], now_ns: int) -> PodPlan:
    """The plan when only the pod's directory matters; `names`: the volumes that wait for it."""
    if directory.retry_at_ns <= now_ns and not is_under_way(directory.life):
        may_begin = may_unmake(directory.life) if do in TAKING_DOWN else may_make(directory.life)
        return PodPlan(
            (VolumeStep(do if may_begin else Do.SAY_AGAIN, PodDirectory(uid), None),), begins_calls=may_begin
        )
    plan = _Plan(now_ns)
    plan.attempt(do, PodDirectory(uid), directory, None, names)
    return plan.made()


def plan_wanted(uid: str, volumes: Sequence[DesiredVolume], actual: ActualWorld, now_ns: int) -> PodPlan:
    """The plan for a pod that wants these volumes."""
    things = actual.pod(uid)
    usable = is_usable(things.directory.life)
    if usable and not volumes:
        return NOTHING_TO_DO
    if not usable:
        names = [volume.name for volume in volumes] if volumes else (POD_ITSELF,)
        return _plan_directory(Do.MAKE_DIRECTORY, uid, things.directory, names, now_ns)
    plan = _Plan(now_ns)
    for volume in volumes:
        _plan_volume(plan, volume, actual)
    return plan.made()


def _plan_volume(plan: _Plan, volume: DesiredVolume, actual: ActualWorld) -> None:
    if volume.at is None:
        assert volume.waits is not None, "what cannot be located waits for something"
        plan.wait(volume.name, volume.waits)
        return
    place = volume.at.place
    thing = actual.pod(place.uid).volumes.get(place, Thing())
    if is_usable(thing.life):
        plan.host_paths[volume.name] = thing.host_path
    if volume.waits is not None:
        plan.wait(volume.name, volume.waits)
        if not is_usable(thing.life):
            plan.attempt(Do.ADOPT, place, thing, volume, ())
        return
    if thing.life.stage is ThingStage.MADE and thing.version == volume.spec.version:
        return
    if conflict := _conflict(volume, actual):
        plan.wait(volume.name, conflict)
        return
    device = actual.devices.get(volume.at.device, Thing())
    if volume.at.device and is_usable(device.life) and device.context not in (None, volume.spec.context):
        if others := actual.on_device(volume.at.device) - {place}:
            plan.wait(volume.name, _other_label(volume, device, min(each.uid for each in others)))
        else:
            plan.attempt(Do.UNSTAGE, Device(volume.at.device), device, None, (volume.name,))
        return
    if volume.at.device and not is_usable(device.life):
        plan.attempt(Do.STAGE, Device(volume.at.device), device, volume, (volume.name,))
        return
    plan.attempt(Do.MAKE, place, thing, volume, (volume.name,))


def is_for_one_pod(volume: DesiredVolume) -> bool:
    """Whether only one pod on this node may have the volume at a time."""
    return ONE_POD_ONLY in volume.spec.access_modes


def _conflict(volume: DesiredVolume, actual: ActualWorld) -> VolumeProblem | None:
    """The trouble when another pod has, or may have, a volume that only one pod may have (spec 8.4)."""
    if not is_for_one_pod(volume) or volume.at is None:
        return None
    for place in sorted(actual.same_volume(volume.at.place), key=lambda each: each.uid):
        if actual.pod(place.uid).volumes[place].life.stage is not ThingStage.ABSENT:
            text = f"volume uses the {ONE_POD_ONLY} access mode and is already in use by pod {place.uid}"
            return VolumeProblem(text, step=DEVICE_STEP)
    return None


def _other_label(volume: DesiredVolume, device: Thing, uid: str) -> VolumeProblem:
    """The trouble when another pod has the volume with another SELinux label."""
    text = f'conflicting SELinux labels of volume {volume.spec.name}: "{device.context}" and "{volume.spec.context}"'
    return VolumeProblem(f"{text}; it is in use by pod {uid}", step=DEVICE_STEP)


def plan_unwanted(uid: str, actual: ActualWorld, now_ns: int) -> PodPlan:
    """The plan for a pod that is released.

    Nothing is left when it has no steps and no troubles and is not busy.

    Volumes have their names on disk here.
    """
    things = actual.pod(uid)
    directory = things.directory
    gone = directory.life.stage is ThingStage.ABSENT
    if not things.volumes:
        names = (POD_ITSELF,)
        return NOTHING_TO_DO if gone else _plan_directory(Do.REMOVE_DIRECTORY, uid, directory, names, now_ns)
    plan = _Plan(now_ns)
    left = False
    for place, thing in things.volumes.items():
        if thing.life.stage is not ThingStage.ABSENT:
            left = True
            plan.attempt(Do.UNMAKE, place, thing, None, (place.name,))
    if is_under_way(directory.life):
        plan.busy = True
    elif not left and not gone:
        plan.attempt(Do.REMOVE_DIRECTORY, PodDirectory(uid), directory, None, (POD_ITSELF,))
    return plan.made()


def plan_device(name: str, wanted: bool, actual: ActualWorld, now_ns: int) -> PodPlan:
    """The plan for a device: it goes when no pod wants it, and no volume of any pod is, or may be, on it."""
    plan = _Plan(now_ns)
    thing = actual.devices.get(name)
    if thing is not None and thing.life.stage is not ThingStage.ABSENT and not wanted and not actual.on_device(name):
        plan.attempt(Do.UNSTAGE, Device(name), thing, None, (name,))
    return plan.made()
