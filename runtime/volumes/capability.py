"""What an actor asks for (`PodVolumes`), and what a kind of volume has to offer (`VolumePlugin`).

All calls touch disks and mounts and may hang for ever on a dead one: actors run them on a lane, per pod. All of them
may be repeated: what is there already is left as it is, what is gone already is no error. A kind of volume is one file
with one plugin; whatever needs a kind goes through `LocalPodVolumes`, which knows nothing of kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from config.objects import Pod, Volume


class VolumeError(Exception):
    """A volume cannot be had, or not be given back; the text says why, for people."""


class VolumeFault(msgspec.Struct, frozen=True):
    """What is wrong with one volume of a pod. `field_path` such as `spec.volumes[2].nfs`."""

    volume: str
    field_path: str
    reason: str


class PreparedVolumes(msgspec.Struct, frozen=True):
    """Volume name -> path on the host for those that can be used, and what is wrong.

    One may be in both: it has its old content, and the new could not be had.
    """

    host_paths: Mapping[str, str]
    faults: tuple[VolumeFault, ...] = ()


class VolumeFile(msgspec.Struct, frozen=True, gc=False):
    """One file of a payload. `mode`: permission bits. `uid`: its owner, None for the agent's."""

    data: bytes
    mode: int = 0o644
    uid: int | None = None


Payload = Mapping[str, VolumeFile]
"""Path below the volume -> file. The paths are checked by whoever writes them."""

_NO_PAYLOADS: Mapping[str, Payload] = {}
_NO_REFUSALS: Mapping[str, str] = {}


class Contents(msgspec.Struct, frozen=True):
    """What is to be in the volumes of a pod that are made of objects of the API, by name of the volume.

    `payloads`: where all is known. `refusals`: why it is not; such a volume is told as a fault, and what it held before
    stays.
    """

    payloads: Mapping[str, Payload] = _NO_PAYLOADS
    refusals: Mapping[str, str] = _NO_REFUSALS


NO_CONTENTS = Contents()


class PodVolumes(Protocol):
    """Directories and volumes of pods."""

    def prepare(self, pod: Pod, contents: Contents = NO_CONTENTS) -> PreparedVolumes:
        """Make the pod's directories and every volume that one of its containers uses. Raises VolumeError, OSError."""
        ...

    def release(self, uid: str) -> None:
        """Unmount and remove all that the pod has on disk. Raises VolumeError or OSError when something stays."""
        ...

    def list_uids(self) -> tuple[str, ...]:
        """UIDs of all pods that have something on disk, sorted. Raises OSError."""
        ...


class VolumePlugin(Protocol):
    """One kind of volume."""

    name: str
    """Such as `kubernetes.io/empty-dir`: what its directories are called by."""
    source: str
    """The attribute of `Volume` that it serves, such as `empty_dir`."""

    def prepare(self, pod: Pod, volume: Volume, directory: str, payload: Payload | None) -> str:
        """Make the volume; its path on the host. `directory` is the place for it, below the pod's, not made yet.

        `payload`: its files, for kinds that are made of them; None where nobody has said. Raises VolumeError, OSError.
        """
        ...

    def is_usable(self, directory: str) -> bool:
        """Whether what an earlier call has made there can be used as it is, though it cannot be renewed now."""
        ...

    def release(self, uid: str, directory: str) -> None:
        """Give back what was made at `directory`, as far as it is more than mounts and files below it.

        Called with what is found on disk, maybe by another life of this agent. Raises VolumeError or OSError.
        """
        ...
