"""A disk with a file system: examined, formatted if blank, checked, and mounted.

Programs of the host do it.

A disk that holds anything is never formatted, whatever was asked for. One that cannot be looked at is not mounted.
"""

from __future__ import annotations

import re

from runtime.volumes.capability import VolumeFailedError
from runtime.volumes.commands import NOT_FOUND, CommandResult, Commands, HostCommand
from runtime.volumes.mount_options import joined_options

FILE_SYSTEM = "ext4"
"""The file system of a disk without a named one."""
MOUNT_S = 110.0
FORMAT_S = 600.0
_BLANK = 2
_NOT_MENDED = 4
_MAKE_OPTIONS = {"ext3": ("-F", "-m0"), "ext4": ("-F", "-m0"), "xfs": ("-f",)}
_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
"""It becomes part of a program's name. A kind with a point, such as `fuse.sh`, names a second program."""
_HAS_CHECK = ("ext2", "ext3", "ext4")


def mount_disk(
    commands: Commands, device: str, directory: str, kind: str, options: tuple[str, ...], *, read_only: bool
) -> None:
    """Mount the file system of `kind` on `device`, made if the disk is blank. Raises VolumeFailedError."""
    if not _KIND.fullmatch(kind):
        raise VolumeFailedError(f"{kind!r} is not a type of file system; write it like ext4 or xfs")
    chosen = joined_options(options, read_only=read_only)
    found = file_system_of(commands, device)
    if not found:
        if read_only:
            raise VolumeFailedError(f"{device} is blank, and is to be read only: nothing can be read from it")
        _do(commands, FORMAT_S, HostCommand(f"mkfs.{kind}", _MAKE_OPTIONS.get(kind, ()), (device,)))
    elif found != kind:
        text = f"{device} holds {found}, and {kind} is asked for; what is on it is not overwritten"
        raise VolumeFailedError(text, "FailedMountOnFilesystemMismatch")
    elif kind in _HAS_CHECK and not read_only:
        _check(commands, device, kind)
    mount = HostCommand("mount", ("-t", kind, *(("-o", chosen) if chosen else ())), (device, directory))
    _do(commands, MOUNT_S, mount)


def file_system_of(commands: Commands, device: str) -> str:
    """The file system on the disk; empty for a blank disk. Raises VolumeFailedError."""
    command = HostCommand("blkid", ("-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export"), (device,))
    ended = commands.run(command, MOUNT_S)
    if ended.code == _BLANK:
        return ""
    if ended.code != 0:
        raise _failed(command, ended)
    said = dict(line.split("=", 1) for line in ended.output.splitlines() if "=" in line)
    return said.get("TYPE") or ("a partition table" if said.get("PTTYPE") else "something unknown")


def _check(commands: Commands, device: str, kind: str) -> None:
    """Errors that the check mends are no trouble; those that it leaves keep the disk from being mounted.

    The checker of the file system, because `fsck` itself takes what follows `--` for options.
    """
    command = HostCommand(f"fsck.{kind}", ("-a",), (device,))
    ended = commands.run(command, FORMAT_S)
    if ended.code == _NOT_MENDED:
        raise _failed(command, ended)


def _do(commands: Commands, timeout_s: float, command: HostCommand) -> None:
    ended = commands.run(command, timeout_s)
    if ended.code != 0:
        raise _failed(command, ended)


def _failed(command: HostCommand, ended: CommandResult) -> VolumeFailedError:
    advice = "; install it" if ended.code == NOT_FOUND else ""
    return VolumeFailedError(f"{command} failed ({ended.code}): {ended.output}{advice}")
