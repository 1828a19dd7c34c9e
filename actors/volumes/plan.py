"""Plans the next step for one thing on disk: a volume of a pod, a pod's directory, a device. Pure.

It compares the actual with the desired world, and costs the same however many volumes a pod has.

The order of making is: the pod's directory, then a volume's device, then the volume. A ReadWriteOncePod volume waits
until it is gone from all other pods. Removal goes in reverse order; a device goes after the last volume on it
(spec 8.4). Volumes do not wait for each other.

A plan has a step to begin, or names the thing whose call must end first (`busy`), or is final. In a final plan the
volume is there, or it has a trouble and, where no one else has to act first, a time for the retry.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable

import msgspec

from actors.volumes.actual import NOTHING_THERE, ActualWorld, Device, Key, PodDirectory, Thing, VolumeProblem
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


class Plan(msgspec.Struct, frozen=True):
    """See the module.

    `usable`: containers can use the volume, at `host_path`. With a `trouble` it keeps its old content. `waits`: no call
    of ours can end the trouble. `frees`: what another pod has to give back first, as `ActualWorld` calls it.
    `retry_at_ns`: when the back-off ends, 0 for none. `failed_ns`: when the call failed that the trouble is about.
    """

    step: VolumeStep | None = None
    busy: Key | None = None
    usable: bool = False
    host_path: str = ""
    trouble: VolumeProblem | None = None
    waits: bool = False
    frees: Hashable = None
    retry_at_ns: int = 0
    failed_ns: int = -1


DONE = Plan()
"""Nothing has to be done, and nothing is in the way."""
NOT_TRIED = VolumeProblem("it has not been tried yet")


def plan_volume(uid: str, volume: DesiredVolume, actual: ActualWorld, now_ns: int) -> Plan:
    """The plan for one volume that the pod wants."""
    things = actual.pod(uid)
    if not is_usable(things.directory.life):
        return _attempt(Do.MAKE_DIRECTORY, PodDirectory(uid), things.directory, now_ns)
    if volume.at is None:
        return Plan(trouble=volume.waits or NOT_TRIED, waits=True)
    thing = things.volumes.get(volume.at.place, NOTHING_THERE)
    plan = _plan_located(volume, volume.at.place, thing, actual, now_ns)
    if is_usable(thing.life):
        return msgspec.structs.replace(plan, usable=True, host_path=thing.host_path)
    return plan


def _plan_located(volume: DesiredVolume, place: Key, thing: Thing, actual: ActualWorld, now_ns: int) -> Plan:
    assert volume.at is not None, "a volume without a place waits"
    if volume.waits is not None:
        plan = DONE if is_usable(thing.life) else _attempt(Do.ADOPT, place, thing, now_ns, volume)
        is_final = plan.step is None and plan.busy is None
        return Plan(trouble=volume.waits, waits=True) if is_final else plan
    if thing.life.stage is ThingStage.MADE and thing.version == volume.spec.version:
        return DONE
    if conflict := _conflict(volume, actual):
        return conflict
    name = volume.at.device
    device = actual.devices.get(name, NOTHING_THERE)
    if name and is_usable(device.life) and device.context not in (None, volume.spec.context):
        if others := actual.on_device(name) - {place}:
            trouble = _other_label(volume, device, min(each.uid for each in others))
            return Plan(trouble=trouble, waits=True, frees=Device(name))
        return _attempt(Do.UNSTAGE, Device(name), device, now_ns)
    if name and not is_usable(device.life):
        return _attempt(Do.STAGE, Device(name), device, now_ns, volume)
    return _attempt(Do.MAKE, place, thing, now_ns, volume)


def plan_directory(uid: str, actual: ActualWorld, now_ns: int) -> Plan:
    """The plan for a pod that uses no volumes."""
    directory = actual.pod(uid).directory
    if is_usable(directory.life):
        return DONE
    return _attempt(Do.MAKE_DIRECTORY, PodDirectory(uid), directory, now_ns)


def plan_removal(key: Key, thing: Thing, now_ns: int) -> Plan:
    """The plan for something that nobody wants.

    It is gone when the plan has no step, is not busy, and has no trouble.

    The caller keeps the order: volumes, then the directory or the device below them.
    """
    if thing.life.stage is ThingStage.ABSENT:
        return DONE
    do = Do.UNMAKE
    if isinstance(key, Device):
        do = Do.UNSTAGE
    elif isinstance(key, PodDirectory):
        do = Do.REMOVE_DIRECTORY
    return _attempt(do, key, thing, now_ns)


def plan_device(name: str, wanted: bool, actual: ActualWorld, now_ns: int) -> Plan:
    """The plan for a device: it goes when no pod wants it, and no volume of any pod is, or may be, on it."""
    thing = actual.devices.get(name)
    if thing is None or wanted or actual.is_on_device(name):
        return DONE
    return plan_removal(Device(name), thing, now_ns)


def _attempt(do: Do, key: Key, thing: Thing, now_ns: int, volume: DesiredVolume | None = None) -> Plan:
    """Begin this step, unless a call is under way or hangs, or the back-off is not over."""
    if is_under_way(thing.life):
        return Plan(busy=key)
    if thing.retry_at_ns > now_ns:
        return Plan(trouble=thing.trouble or NOT_TRIED, retry_at_ns=thing.retry_at_ns, failed_ns=thing.failed_ns)
    may_begin = may_unmake(thing.life) if do in TAKING_DOWN else may_make(thing.life)
    return Plan(VolumeStep(do if may_begin else Do.SAY_AGAIN, key, volume))


def is_for_one_pod(volume: DesiredVolume) -> bool:
    """Whether only one pod on this node may have the volume at a time."""
    return ONE_POD_ONLY in volume.spec.access_modes


def _conflict(volume: DesiredVolume, actual: ActualWorld) -> Plan | None:
    """The plan when another pod has, or may have, a volume that only one pod may have (spec 8.4)."""
    if not is_for_one_pod(volume) or volume.at is None:
        return None
    place = volume.at.place
    for other in sorted(actual.same_volume(place), key=lambda each: each.uid):
        if actual.pod(other.uid).volumes[other].life.stage is not ThingStage.ABSENT:
            text = f"volume uses the {ONE_POD_ONLY} access mode and is already in use by pod {other.uid}"
            return Plan(trouble=VolumeProblem(text, step=DEVICE_STEP), waits=True, frees=actual.shared_name(place))
    return None


def _other_label(volume: DesiredVolume, device: Thing, uid: str) -> VolumeProblem:
    """The trouble when another pod has the volume with another SELinux label."""
    text = f'conflicting SELinux labels of volume {volume.spec.name}: "{device.context}" and "{volume.spec.context}"'
    return VolumeProblem(f"{text}; it is in use by pod {uid}", step=DEVICE_STEP)
