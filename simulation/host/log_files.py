"""`runtime.logs.files.LogFiles` on the disk of a simulated host.

Logs are really compressed, in a tree that fails and fills.
"""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable, Hashable, Sequence

from runtime.logs.files import GZIP, HALF, LEVEL
from runtime.logs.source import OpenLog
from simulation.host.file_nodes import File
from simulation.host.file_tree import FileTree, OnTree, gated, opened


class SimulatedLogFiles(OnTree):
    def __init__(self, tree: FileTree) -> None:
        super().__init__(tree)
        self.noted: Callable[[str], object] = lambda what: None
        """Told `log-set-aside` and `log-not-compressed` when that has happened."""
        self._measured: tuple[Sequence[str], int, tuple[int | None, ...]] = ((), -1, ())

    def sizes(self, logs: Sequence[str]) -> tuple[int | None, ...]:
        tree = self.tree

        def measure() -> tuple[int | None, ...]:
            asked, version, sizes = self._measured
            if asked is not logs or version != tree.version:
                sizes = tuple(map(tree.plain_size, logs))
                self._measured = (logs, tree.version, sizes)
            return sizes

        # One that lies on a sick disk spoils the look at all of them, as it does on a real one.
        return tree.gate_all(logs, measure)

    @gated
    def names_beside(self, log: str) -> tuple[str, ...]:
        directory, name = os.path.split(log)
        return tuple(each for each in self.tree.names_if_any(directory) if each.startswith(f"{name}."))

    def find(self, log: str, container_id: str) -> str:
        return log  # a simulated runtime makes no links

    def open(self, path: str) -> OpenLog:
        return _OpenFile(opened(path, self._open(path)))

    @gated
    def _open(self, path: str) -> File:
        if self.tree.is_link(path) or self.tree.is_directory(path):
            raise OSError(errno.ELOOP, "it is not a plain file", path)
        if not self.tree.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.tree.open(path)

    @gated
    def identity(self, path: str) -> Hashable | None:
        tree = self.tree
        return tree.open(path) if tree.exists(path) and not tree.is_directory(path) else None

    @gated
    def move_log(self, log: str, rotated: str) -> None:
        if self._there(rotated):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), rotated)
        self.tree.rename(log, rotated)
        self.noted("log-set-aside")

    def bring_back(self, rotated: str, log: str) -> bool:
        return self._bring_back(log, rotated)

    @gated
    def _bring_back(self, log: str, rotated: str) -> bool:
        if self._there(log) or not self._there(rotated):
            return False
        self.tree.rename(rotated, log)
        return True

    def remove(self, paths: Sequence[str]) -> None:
        def remove() -> None:
            for path in paths:
                self.tree.remove_all(path)

        return self.tree.gate_all(paths, remove)

    @gated
    def compress(self, rotated: str) -> None:
        tree, half = self.tree, rotated + HALF
        if not self._there(rotated):
            return
        if tree.is_link(rotated) or tree.is_directory(rotated):
            raise OSError(errno.EINVAL, "it is not a plain file", rotated)
        data = gzip.compress(tree.read(rotated), LEVEL, mtime=0)
        try:
            tree.write(half, data, tree.mode(rotated))
            tree.rename(half, rotated + GZIP)
        except OSError:
            tree.remove_all(half)
            self.noted("log-not-compressed")
            raise
        tree.remove_all(rotated)

    def _there(self, path: str) -> bool:
        return self.tree.exists(path) or self.tree.is_link(path)


class _OpenFile:
    """`runtime.logs.source.OpenLog`."""

    def __init__(self, file: File) -> None:
        self._file = file

    @property
    def identity(self) -> Hashable:
        return self._file

    def size(self) -> int:
        return len(self._file.data)

    def read(self, offset: int, limit_bytes: int) -> bytes:
        return bytes(self._file.data[offset : offset + limit_bytes])

    def close(self) -> None:
        """Nothing to close."""
