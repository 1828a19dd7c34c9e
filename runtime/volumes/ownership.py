"""Gives the files of a volume to the pod's `fsGroup`: owner group and modes (spec 8.7).

The group owns everything and may read and write it (only read in a volume that is read-only for the pod). Directories
may be entered, and what is made in them belongs to the group as well (set-group-id). No right is taken away. With the
policy `OnRootMismatch` a volume whose root is right counts as right altogether, so the root is changed last. A file
that is right already costs one stat.

Containers of other pods may be using the volume. So the walk goes by open directories (`runtime.files.tree`), follows
no symbolic link (the link itself gets the group), and leaves mounts below alone. Large volumes take long: after 30 s,
and every minute from then on, an event reports the progress.

Mounts of pods with their own users are mapped by the kernel (`actors.start.mounts`): the number on disk is the number
inside, so there is nothing to translate here.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import closing

import msgspec

from config.objects import Pod
from runtime.files.tree import TreeWalk, mount_of
from runtime.volumes.capability import Say, VolumeFailedError

ON_ROOT_MISMATCH = "OnRootMismatch"
IN_PROGRESS = "VolumePermissionChangeInProgress"
FIRST_WORD_S = 30.0
NEXT_WORD_S = 60.0
_READ_WRITE = 0o660
_READ_ONLY = 0o440
_ENTER = 0o110
_OPEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Ownership(msgspec.Struct, frozen=True):
    """The wanted owner. `unless_root_fits`: the policy `OnRootMismatch`."""

    group: int
    read_only: bool = False
    unless_root_fits: bool = False


def ownership_of(pod: Pod, *, read_only: bool = False) -> Ownership | None:
    """The ownership of a pod's volumes; None when it has no fsGroup. Pure."""
    context = pod.spec.security_context
    if context is None or context.fs_group is None:
        return None
    return Ownership(context.fs_group, read_only, context.fs_group_change_policy == ON_ROOT_MISMATCH)


def mode_for(mode: int, *, read_only: bool) -> int:
    """The mode (with its type, as of `stat`) that a file or directory must have. Pure."""
    wanted = mode | (_READ_ONLY if read_only else _READ_WRITE)
    return wanted | _ENTER | stat.S_ISGID if stat.S_ISDIR(mode) else wanted


class OwnershipProgress:
    """Counts files and reports progress now and then. `now_s` is monotonic."""

    def __init__(self, say: Say, volume: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self.files = 0
        self._say = say
        self._volume = volume
        self._now_s = now_s
        self._next_s = now_s() + FIRST_WORD_S

    def one_more(self) -> None:
        """Count a file or directory that is right."""
        self.files += 1
        now_s = self._now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + NEXT_WORD_S
            text = (
                f"volume {self._volume} is being given to the pod's fsGroup, {self.files} files so far; with "
                f"fsGroupChangePolicy {ON_ROOT_MISMATCH} that is done only where the root of the volume asks for it"
            )
            self._say("Warning", IN_PROGRESS, text)


def give_to_group(path: str, wanted: Ownership, progress: OwnershipProgress) -> None:
    """Change everything at and below the directory `path`.

    Raises VolumeFailedError, OSError; call it again then.
    """
    root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        info = os.fstat(root)
        if wanted.unless_root_fits and _fits(info, wanted):
            return
        _all_below(root, mount_of(root), wanted, progress)
        if not _fits(info, wanted):
            os.fchown(root, -1, wanted.group)
            os.fchmod(root, stat.S_IMODE(mode_for(info.st_mode, read_only=wanted.read_only)))
        progress.one_more()
    finally:
        os.close(root)


def _fits(info: os.stat_result, wanted: Ownership) -> bool:
    return info.st_gid == wanted.group and info.st_mode == mode_for(info.st_mode, read_only=wanted.read_only)


def _all_below(root: int, mount: bytes, wanted: Ownership, progress: OwnershipProgress) -> None:
    """Change everything in an open directory."""
    with closing(TreeWalk(root)) as walk:
        for entry in walk:
            below = _one(walk.directory, entry.name, mount, wanted, progress)
            if below is not None:
                walk.enter(below)
        if walk.strayed:
            raise VolumeFailedError("directories in the volume were moved while it was given to the pod's fsGroup")


def _one(directory: int, name: bytes, mount: bytes, wanted: Ownership, progress: OwnershipProgress) -> int | None:
    """Change one entry; open it if it is a directory to enter.

    A removed entry needs nothing.
    """
    try:
        entry = os.open(name, _OPEN, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        info = os.fstat(entry)
        if stat.S_ISDIR(info.st_mode) and mount_of(entry) != mount:
            return None
        _change(directory, name, entry, info, wanted)
        progress.one_more()
        if not stat.S_ISDIR(info.st_mode):
            return None
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=entry)
    finally:
        os.close(entry)


def _change(directory: int, name: bytes, entry: int, info: os.stat_result, wanted: Ownership) -> None:
    if stat.S_ISLNK(info.st_mode):
        if info.st_gid != wanted.group:
            os.chown(name, -1, wanted.group, dir_fd=directory, follow_symlinks=False)
        return
    if _fits(info, wanted):
        return
    itself = f"/proc/self/fd/{entry}"  # the open file, whatever its name points to by now
    if info.st_gid != wanted.group:
        os.chown(itself, -1, wanted.group)
    os.chmod(itself, stat.S_IMODE(mode_for(info.st_mode, read_only=wanted.read_only)))
