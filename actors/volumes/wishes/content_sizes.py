"""How much the agent writes for the volumes of one pod, and where that is too much. Pure.

The API bounds each object, but not how often a pod shows it: a manifest of 300 kB asks for 3 GB when it shows one
ConfigMap under 3,000 paths. So the bytes of all files of a pod together have a limit, counted path by path, as they lie
on disk. Files and directories have one, too, because an empty file takes a block as well.

A volume that goes beyond is refused as a whole. It counts for nothing then, so later volumes of the pod may fit.
"""

from __future__ import annotations

from config.flags.command_line import POD_VOLUME_CONTENT_BYTES

ENTRY_BYTES = 4096
"""What a file or a directory takes at least: a block of most file systems, a page of memory."""
FLAG = "--pod-volume-content-bytes"


class ContentTooLargeError(Exception):
    """The text tells people where, how much, and the limit."""


class ContentSizes:
    """The sizes of a pod's volumes so far. `limit_bytes`: of all of them together."""

    def __init__(self, limit_bytes: int = POD_VOLUME_CONTENT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._most_entries = max(1, limit_bytes // ENTRY_BYTES)
        self._others_bytes = 0
        self._others_entries = 0
        self._bytes = 0
        self._files: dict[str, int] = {}
        self._directories: set[str] = set()

    def begin_volume(self) -> None:
        """Count the files of the next volume. Those of the last one stay counted."""
        self._others_bytes += self._bytes
        self._others_entries += len(self._files) + len(self._directories)
        self.drop_volume()

    def drop_volume(self) -> None:
        """Forget the files of this volume: they are not written."""
        self._bytes = 0
        self._files, self._directories = {}, set()

    def add(self, path: str, size_bytes: int, where: str) -> None:
        """Count a file of this volume, in the place of an earlier one with its path.

        `where`: its document path. Raises ContentTooLargeError.
        """
        self._bytes += size_bytes - self._files.get(path, 0)
        self._files[path] = size_bytes
        above = path.rpartition("/")[0]
        while above and above not in self._directories:
            self._directories.add(above)
            above = above.rpartition("/")[0]
        total = self._others_bytes + self._bytes
        if total > self._limit_bytes:
            self._refuse(path, where, f"{total} bytes", self._limit_bytes)
        entries = self._others_entries + len(self._files) + len(self._directories)
        if entries > self._most_entries:
            self._refuse(path, where, f"{entries} files and directories", self._most_entries)

    def _refuse(self, path: str, where: str, amount: str, limit: int) -> None:
        raise ContentTooLargeError(
            f"{where}: with {path!r} the agent writes {amount} for the volumes of this pod, and the limit is {limit};"
            f" show fewer or smaller files, or start the agent with a larger {FLAG}"
        )
