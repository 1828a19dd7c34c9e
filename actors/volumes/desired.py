"""The volumes that a pod should have, as data (spec 8.3). Pure.

A `PodVolumesActor` makes them (`wishes/desires.py`) and the `VolumeReconcilerActor` makes what they say. A volume that
is not fully known is desired all the same, with what it waits for. If an earlier life has mounted it, its old content
is used.
"""

from __future__ import annotations

import msgspec

from actors.volumes.actual import VolumeProblem
from actors.volumes.contexts import NO_CONTEXT, MountContext
from runtime.volumes.capability import LocatedVolume, VolumeSpec


class DesiredVolume(msgspec.Struct, frozen=True):
    """One volume of a pod; `name` is its name in the pod.

    `at`: its place on disk, None while unknown. `waits`: why it cannot be made or renewed. `in_use`: see `VolumeSpec`.
    `context`: about the SELinux label of its mount.
    """

    name: str
    spec: VolumeSpec
    at: LocatedVolume | None = None
    waits: VolumeProblem | None = None
    in_use: str = ""
    context: MountContext = NO_CONTEXT


def with_place_of(volume: DesiredVolume, before: DesiredVolume | None) -> DesiredVolume:
    """Give a volume without a place the place that it had `before`.

    A pod keeps what it has while it is unresolved.
    """
    if volume.at is not None or before is None or before.at is None:
        return volume
    return msgspec.structs.replace(before, waits=volume.waits)


def without_secrets(volume: DesiredVolume) -> DesiredVolume:
    """The volume without its payload and material, which may be secret and large."""
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, payload=None, material=None))
