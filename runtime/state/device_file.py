"""The checkpoint of devices on disk, `device-plugins/kubelet_internal_checkpoint` (spec 10.11).

`DeviceFile` is the capability, `LocalDeviceFile` the real one. The file is that of a kubelet, which may be the next to
read it; so its content is opaque here. A file that cannot be used stays where it is: to go on without it would give
devices twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from runtime.device_plugins.capability import DIRECTORY, DIRECTORY_MODE
from runtime.files.directories import make_directories
from runtime.files.state_file import LIMIT_BYTES
from runtime.files.whole_file import write_whole

NAME = "kubelet_internal_checkpoint"


class DeviceFile(Protocol):
    """See the module. May block; call it on a lane."""

    @property
    def path(self) -> str:
        """Where it is, for people."""

    def load(self) -> bytes | None:
        """The content; None: there is no file. Raises OSError."""

    def save(self, content: bytes) -> None:
        """Write it whole: after a crash the file has its new content or its old. Raises OSError."""


class LocalDeviceFile:
    """The checkpoint on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._file = Path(root) / DIRECTORY / NAME

    @property
    def path(self) -> str:
        return str(self._file)

    def load(self) -> bytes | None:
        try:
            with open(self._file, "rb") as file:
                return file.read(LIMIT_BYTES)
        except FileNotFoundError:
            return None

    def save(self, content: bytes) -> None:
        make_directories(str(self._file.parent), DIRECTORY_MODE)
        write_whole(str(self._file), content)
