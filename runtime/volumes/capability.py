"""The interface for actors (`NodeVolumes`), and that of each kind of volume (`VolumePlugin`).

All calls but those marked pure touch disks, mounts and servers, and may hang for ever on a dead one. Actors run them on
a lane, one call per volume at a time. Every call may be repeated, after failures and by another life of the agent:
existing things stay, and missing ones are no error. A kind of volume is one file with one plugin. Callers go through
`LocalNodeVolumes`, which knows nothing of kinds.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from config.frozen_map import FrozenMap
from config.objects import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.stats.readings import FsReading


class VolumeFailedError(Exception):
    """A volume cannot be made or released; the text tells people why. `reason`: of the event."""

    def __init__(self, text: str, reason: str = "FailedMount") -> None:
        super().__init__(text)
        self.reason = reason


class VolumeFile(msgspec.Struct, frozen=True, gc=False):
    """One file of a payload. `mode`: permission bits. `uid`: its owner, None for the agent's."""

    data: bytes
    mode: int = 0o644
    uid: int | None = None


Payload = Mapping[str, VolumeFile]
"""Path below the volume -> file. The writer checks the paths."""

_NO_PAYLOADS: Mapping[str, Payload] = {}
_NO_REFUSALS: Mapping[str, str] = {}


class Contents(msgspec.Struct, frozen=True):
    """The content of the volumes that show API objects, by name of the volume.

    `payloads`: complete contents. `refusals`: why a content is missing; such a volume is reported as a fault and keeps
    its old content.
    """

    payloads: Mapping[str, Payload] = _NO_PAYLOADS
    refusals: Mapping[str, str] = _NO_REFUSALS


NO_CONTENTS = Contents()


class VolumeMaterial(msgspec.Struct, frozen=True):
    """Further inputs of a kind of volume: secrets, tokens, the place of an attached device.

    Each kind has its own subclass.
    """


class VolumeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One volume of one pod, as its plugin sees it.

    `name`: on disk; that of the persistent volume, if there is one. `volume`: the pod's entry. `source`: the attribute
    of `Volume`, or of the persistent volume's spec, that gives its kind. `field_path` such as `spec.volumes[2].nfs`.
    `block`: containers get it as a device. `version`: of its content; when that changes, the volume is made again.
    `in_use`: the name of an attachable volume in `volumesInUse` of the node's status. `context`: the SELinux label of
    its mount, or empty.
    """

    name: str
    volume: Volume
    source: str
    field_path: str = ""
    persistent: PersistentVolume | None = None
    claim: PersistentVolumeClaim | None = None
    read_only: bool = False
    block: bool = False
    access_modes: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ()
    payload: FrozenMap[str, VolumeFile] | None = None
    material: VolumeMaterial | None = None
    version: bytes = b""
    in_use: str = ""
    context: str = ""

    @property
    def all_options(self) -> tuple[str, ...]:
        """The mount options, that of the SELinux label included. The commas of the label are quoted."""
        return (*self.mount_options, f'context="{self.context}"') if self.context else self.mount_options


class VolumePlace(msgspec.Struct, frozen=True):
    """The place of one volume of one pod.

    `directory`: below the pod's directory; its parents may not exist yet.

    That is `volumes/<plugin>/<name>`, or `volumeDevices/<plugin>/<name>` for `block` volumes.
    """

    uid: str
    plugin: str
    name: str
    block: bool
    directory: str


class LocatedVolume(msgspec.Struct, frozen=True):
    """A volume of a pod that is to be made, or that this agent or an earlier one began to make.

    `device`: its unique name on the node, empty for none.
    """

    place: VolumePlace
    device: str = ""


class VolumeCondition(msgspec.Struct, frozen=True):
    """The health of a volume as its storage driver reports it."""

    abnormal: bool
    message: str = ""


class DiskScan(msgspec.Struct, frozen=True):
    """All that lies on disk: the volumes of each pod directory, and the devices by unique name."""

    pods: FrozenMap[str, tuple[LocatedVolume, ...]]
    devices: tuple[str, ...]


Say = Callable[[str, str, str], None]
"""`say("Warning", reason, message)` records an event about the pod.

It may be called at any time during a call, on any thread.
"""


class VolumePlugin(abc.ABC):
    """One kind of volume.

    The methods here are the defaults of a kind: it shares no device among its pods and lies in the directory of its
    place. It is made again each time, and leaves only mounts and files.

    The kind chooses the name of a device; on the node it is `<plugin>/<device>`.
    """

    source: str
    """The attribute of `Volume`, or of a persistent volume's spec, that it serves, such as `empty_dir`."""

    @property
    def name(self) -> str:
        """Such as `kubernetes.io/empty-dir`; it names the directories."""
        return VOLUME_SOURCES[self.source].plugin

    def name_of(self, spec: VolumeSpec) -> str:
        """The directory name of this volume. Pure. Raises VolumeFailedError."""
        return self.name

    def owns(self, place: VolumePlace) -> bool:
        """Whether it is the one to release what lies there. May look at the disk."""
        return place.plugin == self.name

    # --- a pod's volume ---------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        """Make the volume; return its path on the host, or that of its device. Raises VolumeFailedError,
        OSError.
        """

    def path_at(self, place: VolumePlace) -> str:
        """The path on the host that `prepare` gives for a volume there. Pure."""
        return place.directory

    def is_usable(self, place: VolumePlace) -> bool:
        """Whether the volume of an earlier call is usable as it is, though it cannot be renewed now."""
        return False

    def release(self, place: VolumePlace) -> None:  # noqa: B027 - most kinds leave nothing
        """Release what making the volume left outside of its directory.

        The caller removes the mounts and files below the directory. The volume may have been made by an earlier agent.
        Raises VolumeFailedError or OSError.
        """

    def condition(self, place: VolumePlace) -> VolumeCondition | None:
        """The health of the volume; None if not reported. Raises VolumeFailedError, OSError."""
        return None

    def driver_of(self, place: VolumePlace) -> str:
        """The storage driver of a volume found on disk, by its files alone; empty for none.

        Raises OSError.
        """
        return ""

    def measure(self, place: VolumePlace) -> FsReading | None:
        """The volume statistics of its driver; None if the driver has none. Raises VolumeFailedError, OSError."""
        return None

    # --- the device that all its pods on the node share: made before the first, taken down after the last -----------

    def device_of(self, spec: VolumeSpec) -> str:
        """Which device the volume is on; empty when it has none. Pure."""
        return ""

    def device_at(self, place: VolumePlace) -> str:
        """Which device a volume found on disk is on, as far as its files tell; empty for none. Raises OSError."""
        return ""

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:  # noqa: B027 - most kinds have none
        """Make the device. Raises VolumeFailedError, OSError."""

    def unstage(self, device: str) -> None:
        """Take the device down. No pod uses it; it may be incomplete. Raises VolumeFailedError, OSError."""
        raise VolumeFailedError(f"nothing serves {self.name}/{device}")

    def staged(self) -> tuple[str, ...]:
        """Every device that is staged or begun, found on disk. Raises OSError."""
        return ()


class NodeVolumes(Protocol):
    """All that is done for volumes on this node. Devices have their unique names here."""

    def locate(self, uid: str, spec: VolumeSpec) -> LocatedVolume:
        """The place of a volume of this pod. Pure. Raises VolumeFailedError for a kind that is not served."""

    def make_pod(self, uid: str) -> None:
        """The directories that every pod has. Raises VolumeFailedError, OSError."""

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        """Make the device that the volume is on. Raises VolumeFailedError, OSError."""

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        """Make one volume of a pod that has its directories; its path. Raises VolumeFailedError, OSError."""

    def usable(self, uid: str, spec: VolumeSpec) -> str:
        """The path of a volume that cannot be renewed now but can be used as it is; empty when it cannot."""

    def release(self, place: VolumePlace) -> None:
        """Take one volume of a pod down, and remove its directory.

        Raises VolumeFailedError, OSError: some stays.
        """

    def unstage(self, device: str) -> None:
        """Take a device down. Raises VolumeFailedError, OSError."""

    def condition(self, place: VolumePlace) -> VolumeCondition | None:
        """The health of a pod's volume; None if not reported. Raises VolumeFailedError, OSError."""

    def of_drivers(self, uid: str) -> tuple[tuple[VolumePlace, str], ...]:
        """The volumes of a pod found on disk that have a storage driver, each with its name. Raises OSError."""

    def measure(self, place: VolumePlace) -> FsReading | None:
        """The volume statistics of its driver; None if the driver has none. Raises VolumeFailedError, OSError."""

    def remove_pod(self, uid: str) -> tuple[LocatedVolume, ...]:
        """Remove all that the pod has on disk but volumes.

        Where volumes lie it removes nothing, and gives these.

        Raises VolumeFailedError or OSError.
        """

    def volumes_of(self, uid: str) -> tuple[LocatedVolume, ...]:
        """The volumes of a pod found on disk, sorted. Raises OSError."""

    def list_uids(self) -> tuple[str, ...]:
        """UIDs of all pods that have something on disk, sorted. Raises OSError."""

    def scan(self) -> DiskScan:
        """Everything. Raises OSError."""
