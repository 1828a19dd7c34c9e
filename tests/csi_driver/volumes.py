"""What the test driver does with volumes on disk.

It bind-mounts directories, and puts files behind loop devices.

Below its store: `files/<handle>/` is a file system, `devices/<handle>` a device of 16 MiB until it is expanded,
`sizes/<handle>` what a volume has been expanded to. All that outlives the driver.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from runtime.volumes.mounts import KernelMounts

DEVICE_BYTES = 16 * 2**20


class Store:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mounts = KernelMounts()
        for name in ("files", "devices", "sizes"):
            (directory / name).mkdir(parents=True, exist_ok=True)

    # --- file systems

    def files(self, handle: str) -> Path:
        """Where the files of a volume really are."""
        path = self._directory / "files" / handle.replace("/", "_")
        path.mkdir(exist_ok=True)
        return path

    def bind(self, source: Path, target: Path, *, read_only: bool = False) -> None:
        """Show `source` at `target`, once."""
        target.mkdir(mode=0o750, exist_ok=True)
        if not self.is_mounted(target):
            self._mounts.bind(str(source), str(target), read_only=read_only)

    def unbind(self, target: Path, *, remove: bool) -> None:
        """Undo `bind`; a missing mount is not an error."""
        while self.is_mounted(target):
            self._mounts.unmount(str(target))
        if remove:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                target.rmdir()

    def is_mounted(self, path: Path) -> bool:
        """Whether something is mounted at this very path."""
        return os.path.join(os.path.realpath(path.parent), path.name) in self._mounts.below(str(path))

    # --- devices

    def device(self, handle: str) -> str:
        """The loop device of a volume, made when it is not there."""
        path = self._directory / "devices" / handle.replace("/", "_")
        if not path.exists():
            path.touch()
            os.truncate(path, DEVICE_BYTES)
        found = self._loops(path)
        return found[0] if found else _ran("losetup", "--find", "--show", str(path)).strip()

    def drop_device(self, handle: str) -> None:
        """Give the loop device back; the file stays."""
        for loop in self._loops(self._directory / "devices" / handle.replace("/", "_")):
            _ran("losetup", "--detach", loop)

    def bind_device(self, handle: str, target: Path) -> None:
        """Show the device at `target`, which is a file."""
        target.touch(exist_ok=True)
        if not self.is_mounted(target):
            self._mounts.bind(self.device(handle), str(target))

    def unbind_device(self, target: Path) -> None:
        """Take it away again."""
        while self.is_mounted(target):
            self._mounts.unmount(str(target))
        target.unlink(missing_ok=True)

    @staticmethod
    def _loops(path: Path) -> list[str]:
        if not path.exists():
            return []
        return [line.partition(":")[0] for line in _ran("losetup", "--associated", str(path)).splitlines()]

    # --- sizes

    def expand(self, handle: str, size_bytes: int, *, block: bool) -> None:
        """From now on the volume is that large."""
        (self._directory / "sizes" / handle.replace("/", "_")).write_text(str(size_bytes))
        if block:
            path = self._directory / "devices" / handle.replace("/", "_")
            os.truncate(path, max(size_bytes, path.stat().st_size))
            for loop in self._loops(path):
                _ran("losetup", "--set-capacity", loop)

    def size(self, handle: str) -> int:
        """What it was expanded to last; 0 for never."""
        path = self._directory / "sizes" / handle.replace("/", "_")
        return int(path.read_text()) if path.exists() else 0


def _ran(*command: str) -> str:
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
