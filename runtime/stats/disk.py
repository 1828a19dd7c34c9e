"""The use of file systems and directories: `statvfs` for mounts, counting otherwise.

Allocated blocks count, hard links once, on one file system, without following links. So the numbers are those of `du`,
however deep the tree is. Files that disappear meanwhile are left out.
"""

from __future__ import annotations

import os
import stat
from contextlib import closing, suppress

import msgspec

from runtime.files.mount_table import MOUNT_TABLE, mount_kinds
from runtime.files.text_file import text_or_empty
from runtime.files.tree import DIRECTORY_FLAGS, TreeWalk
from runtime.stats.readings import FsReading, PodDisk

BLOCK = 512
LINKED_AT_MOST = 65_536
_IN_MEMORY = ("tmpfs", "hugetlbfs")


def filesystem(path: str, at_ns: int) -> FsReading:
    """The file system that holds `path`, or will hold it once it is made. Raises OSError."""
    path = os.path.abspath(path)
    while path != "/" and not os.path.lexists(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    size, inodes, free = found.f_frsize, found.f_files, found.f_ffree
    return FsReading(
        at_ns,
        capacity=found.f_blocks * size,
        available=found.f_bavail * size,
        used=(found.f_blocks - found.f_bfree) * size,
        inodes=inodes,
        inodes_free=free,
        inodes_used=inodes - free,
        device=os.stat(path).st_dev,
    )


def directory(path: str, at_ns: int) -> FsReading:
    """The use of a directory; of the whole file system if the directory is its root. Raises OSError."""
    whole = filesystem(path, at_ns)
    if os.path.ismount(path):
        return whole
    used, inodes = counted(path)
    return msgspec.structs.replace(whole, used=used, inodes_used=inodes)


def counted(path: str) -> tuple[int, int]:
    """(bytes allocated, inodes) of all at and below `path`. Raises OSError when there is no `path`.

    Past `LINKED_AT_MOST` files with more than one link, each link counts as a file. So a container cannot cost the
    agent unbounded memory, and can hide nothing.
    """
    top = os.lstat(path)
    used, inodes = top.st_blocks * BLOCK, 1
    root = _opened(path) if stat.S_ISDIR(top.st_mode) else None
    if root is None:
        return used, inodes
    linked: set[int] = set()
    try:
        with closing(TreeWalk(root)) as walk:
            for entry in walk:
                try:
                    info = os.stat(entry.name, dir_fd=walk.directory, follow_symlinks=False)
                except OSError:
                    continue
                is_directory = stat.S_ISDIR(info.st_mode)
                if info.st_dev != top.st_dev or (not is_directory and info.st_nlink > 1 and info.st_ino in linked):
                    continue
                if not is_directory and info.st_nlink > 1 and len(linked) < LINKED_AT_MOST:
                    linked.add(info.st_ino)
                used += info.st_blocks * BLOCK
                inodes += 1
                if is_directory and (below := _opened(entry.name, walk.directory)) is not None:
                    walk.enter(below)
    finally:
        os.close(root)
    return used, inodes


def _opened(name: str | bytes, directory: int | None = None) -> int | None:
    """A directory, open; None for one that is gone or closed to the agent."""
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
    except OSError:
        return None


def pod_disk(volumes: str, logs: str, at_ns: int) -> PodDisk:
    """`volumes`: the directory with one directory for each kind. `logs`: that with one for each container.

    A mount may be dead, and reading it would hang. So mounts are found in the kernel's table, and only those in memory
    are measured here. A dead volume must not hide what else the pod takes.
    """
    volumes, mounted = os.path.realpath(volumes), mount_kinds(text_or_empty(MOUNT_TABLE))
    found, mounts = [], []
    for kind in _names(volumes):
        for name in _names(os.path.join(volumes, kind)):
            path = os.path.join(volumes, kind, name)
            # What a driver has mounted lies one deeper.
            point = next((each for each in (os.path.join(path, "mount"), path) if each in mounted), "")
            if point and mounted[point] not in _IN_MEMORY:
                mounts.append((kind.replace("~", "/"), name, point))
                continue
            with suppress(OSError):
                found.append((kind.replace("~", "/"), name, directory(path, at_ns)))
    of_logs = []
    for name in _names(logs):
        with suppress(OSError):
            of_logs.append((name, directory(os.path.join(logs, name), at_ns)))
    return PodDisk(at_ns, tuple(found), tuple(of_logs), tuple(mounts))


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []
