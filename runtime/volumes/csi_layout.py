"""The places of storage driver volumes on disk, and the notes beside them (spec 8.7, 8.8).

Below `<root>/plugins/kubernetes.io/csi/`, for the volumes as the node has them:

    <driver>/<sha256 of the handle>/globalmount      where a file system is staged, its note beside it
    volumeDevices/<name>/data/vol_data.json          the note of a device
    volumeDevices/<name>/dev/<pod>                   which pods have it
    volumeDevices/staging/<name>                     where it is staged
    volumeDevices/publish/<name>/<pod>               the device itself, as a pod gets it

and below each pod's directory `volumes/kubernetes.io~csi/<name>/mount` with the note beside it, or
`volumeDevices/kubernetes.io~csi/<name>`, a link to the device.

An agent can release a volume with nothing but its note. Each note is written atomically before the first call to the
driver, and removed when nothing is left of the volume. Names and keys are those of kubelets, so that a node can be
taken over.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
from collections.abc import Iterator

import msgspec

from config.pods.volume_sources import VOLUME_SOURCES
from runtime.files.directories import make_directories
from runtime.files.state_file import UNREADABLE, UnreadableStateError, read_state, write_state
from runtime.files.whole_file import remove_partials
from runtime.volumes.capability import VolumeFailedError, VolumePlace

LOG = logging.getLogger("actorlet.volumes")

PLUGIN = VOLUME_SOURCES["csi"].plugin
NOTE = "vol_data.json"
DIRECTORY_MODE = 0o750
NOTE_BYTES = 1024 * 1024
PERSISTENT = "Persistent"
EPHEMERAL = "Ephemeral"


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of `vol_data.json`.

    `lifecycle`: Persistent or Ephemeral. `done`: "true" when all was done for the pod.
    """

    driver: str = msgspec.field(name="driverName")
    handle: str = msgspec.field(name="volumeHandle")
    name: str = msgspec.field(default="", name="specVolID")
    node: str = msgspec.field(default="", name="nodeName")
    attachment: str = msgspec.field(default="", name="attachmentID")
    lifecycle: str = msgspec.field(default="", name="volumeLifecycleMode")
    context: str = msgspec.field(default="", name="seLinuxMountContext")
    done: str = msgspec.field(default="", name="actorletDone")

    @property
    def device(self) -> str:
        """The name of the shared part; empty for a volume that is made for one pod."""
        return "" if self.lifecycle == EPHEMERAL else device_name(self.driver, self.handle)


def device_name(driver: str, handle: str) -> str:
    """The name of a volume on its node: `<driver>^<handle>`.

    With the prefix `kubernetes.io/csi/` it appears in `volumesInUse` and `volumesAttached` of the node's status.
    """
    return f"{driver}^{handle}"


class CsiLayout:
    """The paths. `root` is the agent's directory.

    Raises VolumeFailedError for names that would lead elsewhere.
    """

    def __init__(self, root: str) -> None:
        self._top = os.path.join(root, "plugins", "kubernetes.io", "csi")
        self._devices = os.path.join(self._top, "volumeDevices")

    def staged_mount(self, driver: str, handle: str) -> str:
        """The path at which a file system is staged."""
        digest = hashlib.sha256(handle.encode()).hexdigest()
        return os.path.join(self._top, _name(driver), digest, "globalmount")

    def staged_device(self, name: str) -> str:
        """The path at which a device is staged."""
        return os.path.join(self._devices, "staging", _name(name))

    def device_note(self, name: str) -> str:
        """The directory of the note of a device."""
        return os.path.join(self._devices, _name(name), "data")

    def device_user(self, name: str, uid: str) -> str:
        """The mark that a pod has a device."""
        return os.path.join(self._devices, _name(name), "dev", _name(uid))

    def published_device(self, name: str, uid: str) -> str:
        """The device itself, for one pod."""
        return os.path.join(self._devices, "publish", _name(name), _name(uid))

    @staticmethod
    def published_mount(place: VolumePlace) -> str:
        """The path of a pod's file system."""
        return os.path.join(place.directory, "mount")

    def mount_notes(self) -> Iterator[tuple[str, Note]]:
        """Directory and note of every file system that is staged or begun. Raises OSError."""
        for driver in _names_in(self._top):
            if driver == "volumeDevices":
                continue
            for digest in _names_in(os.path.join(self._top, driver)):
                directory = os.path.join(self._top, driver, digest)
                if (note := read_note(directory)) is not None:
                    yield directory, note

    def device_notes(self) -> Iterator[tuple[str, Note]]:
        """Name and note of every device that is staged or begun. Raises OSError."""
        for name in _names_in(self._devices):
            if name not in ("staging", "publish") and (note := read_note(self.device_note(name))) is not None:
                yield name, note


def read_note(directory: str) -> Note | None:
    """The note in a directory; None without a readable one. An unreadable note is reported and moved
    aside.

    Raises OSError.
    """
    try:
        return read_state(os.path.join(directory, NOTE), note_of, NOTE_BYTES)
    except UnreadableStateError as fault:
        LOG.warning("the note of a volume cannot be used, its driver is asked anew when a pod needs it: %s", fault)
        return None
    except NotADirectoryError:
        return None


_decode_note = msgspec.json.Decoder(Note).decode


def note_of(content: bytes) -> Note:
    """Parse a note. Raises msgspec.MsgspecError."""
    return _decode_note(content)


def write_note(directory: str, note: Note) -> None:
    """Write the note atomically; make the directory. Raises OSError."""
    make_directories(directory, DIRECTORY_MODE)
    write_state(os.path.join(directory, NOTE), json.dumps(msgspec.to_builtins(note)).encode())


def remove_note(directory: str) -> None:
    """Remove the note and the directory, which holds nothing else. Raises OSError."""
    for name in (NOTE, NOTE + UNREADABLE, f"{NOTE}.tmp"):  # older agents wrote it by way of the second
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, name))
    with contextlib.suppress(FileNotFoundError):
        remove_partials(directory)
    remove_empty(directory)


def remove_empty(directory: str) -> None:
    """Remove an empty directory; one that is gone is no error. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(directory)


def remove_path(path: str) -> None:
    """Remove the rest of an unpublished path, if the driver has left it.

    Raises OSError, and VolumeFailedError for a path that is still mounted.
    """
    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError as failure:
        if failure.errno == errno.EBUSY:
            raise VolumeFailedError(
                f"{path} is still mounted although the driver has given it back", "FailedUnmount"
            ) from None
        raise


def forget(path: str, directory: str) -> None:
    """After a final refusal: no trace where the driver has left none."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        return
    remove_note(directory)


def link(target: str, path: str) -> None:
    """Put a link at `path`, in place of an existing link. Not atomic."""
    make_directories(os.path.dirname(path), DIRECTORY_MODE)
    if os.path.islink(path):
        if os.readlink(path) == target:
            return
        os.unlink(path)
    os.symlink(target, path)


def _name(name: str) -> str:
    if not name or "/" in name or name in (".", ".."):
        raise VolumeFailedError(f"{name!r} cannot be a part of the path of a volume")
    return name


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
