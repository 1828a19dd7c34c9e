"""`KernelParameters`: reads and sets parameters of the running kernel (`vm.overcommit_memory`).

`sysctl` does the same.

Parameters are files below a directory, `/proc/sys` on a machine. Nothing raises: a missing parameter is None, and a
failed change returns its error.
"""

from __future__ import annotations

import os
from typing import Protocol


class KernelParameters(Protocol):
    """See the module. All are whole numbers here."""

    def get(self, name: str) -> int | None:
        """The value; None where the kernel has no such parameter, or hides it."""

    def set(self, name: str, value: int) -> str:
        """Set it; why that was not possible, or empty."""


class LocalKernelParameters:
    """`KernelParameters` as files below `root`."""

    def __init__(self, root: str = "/proc/sys") -> None:
        self._root = root

    def get(self, name: str) -> int | None:
        try:
            with open(self._path(name), encoding="ascii", errors="replace") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def set(self, name: str, value: int) -> str:
        return write_setting(self._path(name), f"{value}\n")

    def _path(self, name: str) -> str:
        return os.path.join(self._root, *name.split("."))


def write_setting(path: str, text: str) -> str:
    """Write a file of the kernel that is there; why that was not possible, or empty."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)
    except OSError as failure:
        return failure.strerror or str(failure)
    return ""
