"""Loop devices of the kernel: a file, or a block device, held open under another device.

Whoever holds a block device open keeps its name from being given to another disk (spec 8.7). Which loop device holds a
path is read from the kernel, so nothing has to be remembered. Raises OSError.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import Protocol

_CONTROL = "/dev/loop-control"
_GET_FREE = 0x4C82
_SET_FD = 0x4C00
_CLEAR_FD = 0x4C01
_TRIES = 20


class LoopDevices(Protocol):
    def attach(self, path: str) -> str:
        """Hold the file or device at `path`; the loop device. One that holds it already is enough."""

    def holding(self, path: str) -> tuple[str, ...]:
        """The loop devices that hold `path`."""

    def detach(self, path: str) -> None:
        """Detach the loop device of `path`; a missing one is no error."""


class KernelLoopDevices:
    """Loop devices of this machine."""

    def __init__(self, sysfs: str = "/sys/block") -> None:
        self._sysfs = sysfs

    def attach(self, path: str) -> str:
        held = self.holding(path)
        if held:
            return held[0]
        backing = _open(path)
        try:
            for _ in range(_TRIES):
                device = self._free()
                if self._set(device, backing):
                    return device
        finally:
            os.close(backing)
        raise OSError(errno.EBUSY, "no loop device can be had", path)

    def holding(self, path: str) -> tuple[str, ...]:
        path = os.path.realpath(path)
        found: list[str] = []
        for name in sorted(os.listdir(self._sysfs)):
            if name.startswith("loop") and self._backing(name) == path:
                found.append(f"/dev/{name}")
        return tuple(found)

    def detach(self, path: str) -> None:
        for device in self.holding(path):
            descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.ioctl(descriptor, _CLEAR_FD, 0)
            except OSError as failure:
                if failure.errno != errno.ENXIO:
                    raise
            finally:
                os.close(descriptor)

    def _backing(self, name: str) -> str:
        try:
            with open(os.path.join(self._sysfs, name, "loop", "backing_file"), encoding="utf-8") as file:
                return file.read().rstrip("\n")
        except OSError:
            return ""

    @staticmethod
    def _free() -> str:
        control = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
        try:
            return f"/dev/loop{fcntl.ioctl(control, _GET_FREE)}"
        finally:
            os.close(control)

    @staticmethod
    def _set(device: str, backing: int) -> bool:
        """False: somebody was faster."""
        descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, _SET_FD, backing)
        except OSError as failure:
            if failure.errno != errno.EBUSY:
                raise
            return False
        finally:
            os.close(descriptor)
        return True


def _open(path: str) -> int:
    """Open for writing if possible; otherwise the loop device is read-only too."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as failure:
        if failure.errno not in (errno.EROFS, errno.EACCES):
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
