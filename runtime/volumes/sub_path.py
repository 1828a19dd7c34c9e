"""A part of a volume (`subPath`) for a container, found without ever leaving the volume.

A path given to the runtime as text could lead anywhere on the host: whoever writes into the volume may put a symbolic
link on it. So this module walks the path (`runtime.files.beneath`) and makes missing directories with the mode of the
volume. It mounts the open descriptor, not the name:

    /proc/self/fd/N -> <pod>/volume-subpaths/<volume>/<container>/<index of the mount>

Only the agent can reach that place, so its name is safe to give to the runtime. A restarted container gets a fresh
mount. The mount keeps the volume busy, so it is removed before the volume (`pod_directories`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from typing import Protocol

import msgspec

from runtime.files.beneath import LINKS_AT_MOST, LeadsOutError, find_beneath
from runtime.files.directories import Pause, no_pause
from runtime.volumes.capability import VolumeFailedError
from runtime.volumes.mounts import Mounts
from runtime.volumes.pod_directories import PodDirectories

_PLACE_MODE = 0o750
_FILE_MODE = 0o640


class SubPath(msgspec.Struct, frozen=True):
    """A part of a volume of a pod, as one mount of a container wants it.

    `volume`: its name on disk; `index`: of the mount in the container; `volume_path`: of the volume on the host;
    `path`: below it, relative and without `..`. `make`: whether directories that are missing are made. `called`: the
    volume's name in the pod, where it is another.
    """

    uid: str
    volume: str
    container: str
    index: int
    volume_path: str
    path: str
    make: bool = True
    called: str = ""


class SubPaths(Protocol):
    """Calls touch disks and mounts and may hang on a dead one: actors run them on a lane, per pod."""

    def prepare(self, wanted: tuple[SubPath, ...]) -> Mapping[int, str]:
        """Mount them anew; index -> path on the host, safe to give to the runtime. Raises VolumeFailedError."""


class LocalSubPaths:
    """Sub paths on this machine. `pause`: called before each step, for tests that interfere."""

    def __init__(self, directories: PodDirectories, mounts: Mounts, pause: Pause = no_pause) -> None:
        self._directories = directories
        self._mounts = mounts
        self._pause = pause

    def prepare(self, wanted: tuple[SubPath, ...]) -> Mapping[int, str]:
        return {each.index: self._prepare(each) for each in wanted}

    def _prepare(self, wanted: SubPath) -> str:
        try:
            descriptor = open_below(wanted.volume_path, wanted.path, make=wanted.make, pause=self._pause)
            try:
                return self._mount(descriptor, wanted)
            finally:
                os.close(descriptor)
        except (VolumeFailedError, OSError) as failure:
            # What the way leads through is the volume's; nothing of the rest of the host can show up in the text.
            why = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
            name = wanted.called or wanted.volume
            text = f'failed to prepare subPath for volumeMount "{name}" of container "{wanted.container}": {why}'
            raise VolumeFailedError(text) from failure

    def _mount(self, descriptor: int, wanted: SubPath) -> str:
        directory = os.path.join(self._directories.sub_paths(wanted.uid, wanted.volume), wanted.container)
        place = os.path.join(directory, str(wanted.index))
        _make_places(self._directories.pod(wanted.uid), directory)
        _take_away(self._mounts, place)
        info = os.fstat(descriptor)
        if stat.S_ISDIR(info.st_mode):
            os.mkdir(place, _PLACE_MODE)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _FILE_MODE))
        self._pause("mount")
        self._mounts.bind(f"/proc/self/fd/{descriptor}", place)
        return place


def open_below(top: str, path: str, *, make: bool = True, pause: Pause = no_pause) -> int:
    """Open the file or directory at `path` below directory `top`, with O_PATH: it cannot be read through.

    Raises VolumeFailedError if the path leads out of `top` or does not exist, and OSError.
    """
    if path.startswith("/"):
        raise VolumeFailedError(f"{path!r} must be relative")
    if ".." in path.split("/"):
        raise VolumeFailedError(f"{path!r} must not contain '..'")
    info = os.stat(top)
    if not stat.S_ISDIR(info.st_mode):
        raise VolumeFailedError("the volume is not a directory; a subPath needs one")
    try:
        return find_beneath(top, path, make_mode=stat.S_IMODE(info.st_mode) if make else None, pause=pause)
    except LeadsOutError:
        raise VolumeFailedError(f"{path!r} leads out of the volume through a symbolic link") from None
    except NotADirectoryError:
        raise VolumeFailedError(f"{path!r} leads through a file") from None
    except FileNotFoundError:
        raise VolumeFailedError(f"there is no {path!r} in the volume") from None
    except OSError as failure:
        if failure.errno == errno.ELOOP:
            raise VolumeFailedError(f"{path!r} leads through more than {LINKS_AT_MOST} symbolic links") from None
        if failure.errno == errno.EROFS:
            raise VolumeFailedError(f"there is no {path!r} in the volume, and it is read only") from None
        raise


def _take_away(mounts: Mounts, place: str) -> None:
    """Remove the mount of an earlier start and its mount point. The mount may be dead: do not stat it."""
    mounts.unmount(place, detach=True)
    try:
        info = os.lstat(place)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(info.st_mode):
        os.rmdir(place)
    else:
        os.unlink(place)


def _make_places(pod: str, directory: str) -> None:
    """Make the directories between the pod's and `directory`, but never the pod's own."""
    path = pod
    for name in os.path.relpath(directory, pod).split("/"):
        path = os.path.join(path, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, _PLACE_MODE)
