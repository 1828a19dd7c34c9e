"""A file system in memory: directories, files, links, a size.

Faults can be put on any part of it.

Paths are absolute. Errors are those of a real one (`OSError` with errno). `fail` and `hang` put a fault on everything
at and below a path until `heal` (`sick_paths`); what is done to a path goes through `gate`.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from functools import partial, wraps
from sys import intern
from typing import Concatenate, ParamSpec, TypeVar

from simulation.host.file_finding import FileFinder
from simulation.host.file_nodes import Directory, File, Node, SymbolicLink
from simulation.host.file_paths import directory_of, error_at, lies_in, normal
from simulation.host.sick_paths import SickPaths


class FileTree(SickPaths, FileFinder):
    """See the module. `capacity_bytes` None never fills."""

    def __init__(self, capacity_bytes: int | None = None) -> None:
        SickPaths.__init__(self)
        FileFinder.__init__(self)
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.version = 0
        """Grows with every change: what was read at one version is still so."""
        self.written_bytes = 0
        """Bytes that were ever written to files by `write`."""
        self.mounts = 0
        """How often something was mounted on it or unmounted."""
        self.before_change: Callable[[str], object] | None = None
        """Called with a path before something is made, written, moved or removed there; it may raise."""
        self._watchers: list[tuple[str, str, Callable[[], None]]] = []
        """What is watched, the same with a slash behind it, and who is told."""
        self._watched: tuple[str, ...] = ()
        """All of these with a slash."""
        self._above_watched: frozenset[str] = frozenset()
        """What is watched, and all that is above it."""

    # --- reading ----------------------------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        """Whether the path exists, following links."""
        return self._found(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._found(path), Directory)

    def usage(self, path: str) -> tuple[int, int]:
        """(bytes of all files, entries) at and below `path`; nothing where there is nothing."""
        with self._lock:
            try:
                waiting: list[Node] = [self._node(path, follow=False)]
            except OSError:
                return 0, 0
            used = entries = 0
            while waiting:
                node = waiting.pop()
                entries += 1
                if isinstance(node, File):
                    used += len(node.data)
                elif isinstance(node, Directory):
                    waiting.extend(node.entries.values())
        return used, entries

    def is_link(self, path: str) -> bool:
        try:
            return isinstance(self._node(path, follow=False), SymbolicLink)
        except OSError:
            return False

    def names_in(self, path: str) -> list[str]:
        """Names in a directory, sorted. Raises FileNotFoundError, NotADirectoryError."""
        return sorted(self._directory(path).entries)

    def names_if_any(self, path: str) -> list[str]:
        """Like `names_in`; no names for a missing directory."""
        return self.names_in(path) if self.is_directory(path) else []

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        """The beginning of a file, or all of it."""
        return bytes(self._file(path).data[:limit_bytes])

    def size(self, path: str) -> int:
        """Bytes in a file."""
        return len(self._file(path).data)

    def plain_size(self, path: str) -> int | None:
        """Bytes in a plain file, 0 of anything else, None where there is nothing."""
        try:
            node = self._node(path, follow=False)
        except OSError:
            return None
        return len(node.data) if isinstance(node, File) else 0

    def dead_links_in(self, directory: str, below: str) -> list[str]:
        """Names of links in a directory that lead below a path where there is nothing.

        None without the directory.
        """
        try:
            entries = self._directory(directory).entries
        except OSError:
            return []
        return sorted(
            name
            for name, node in entries.items()
            if isinstance(node, SymbolicLink) and node.target.startswith(below) and self._is_nowhere(node.target)
        )

    def _is_nowhere(self, path: str) -> bool:
        return self._found(path) is None

    def mode(self, path: str) -> int:
        """The permission bits of a file or directory."""
        node = self._node(path)
        assert not isinstance(node, SymbolicLink), "links were followed"
        return node.mode

    def read_link(self, path: str) -> str:
        node = self._node(path, follow=False)
        if not isinstance(node, SymbolicLink):
            raise error_at(errno.EINVAL, path)
        return node.target

    # --- changing ---------------------------------------------------------------------------------------------------

    def make_directories(self, path: str) -> None:
        """The directory and all above it; no error when it is there."""
        with self._lock:
            self._made(path, path)

    def _made(self, path: str, asked: str) -> Directory:
        there = self._walked(path)
        if there is not None:
            return there
        path = normal(path)
        if path == "/":
            return self._root
        above, _, name = path.rpartition("/")
        directory = self._made(above or "/", asked)
        node = directory.entries.get(name)
        if node is None:
            self._is_to_change(path)
            self.version += 1
            node = directory.entries[intern(name)] = Directory()
        elif type(node) is SymbolicLink:
            node = self._followed(node, path)
        if not isinstance(node, Directory):
            raise error_at(errno.EEXIST if path == normal(asked) else errno.ENOTDIR, path)
        return node

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Make or replace a file whose directory exists."""
        with self._lock:
            self._is_to_change(path)
            file = self._opened(path)
            self.take(len(data) - len(file.data))
            file.data = bytes(data)
            self.written_bytes += len(data)
            if mode is not None:
                file.mode = mode
        if self._watchers:
            self._tell(path)

    def open(self, path: str) -> File:
        """The file at `path`, made empty when there is none; its directory must exist."""
        with self._lock:
            return self._opened(path)

    def _opened(self, path: str) -> File:
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        if type(node) is File:
            return node
        if node is not None:
            with contextlib.suppress(FileNotFoundError):  # a link that leads nowhere is replaced
                return self._file(path)
        self.version += 1
        file = directory.entries[intern(name)] = File(self)
        return file

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link, or turn the one that is there."""
        with self._lock:
            self._is_to_change(path)
            directory, name = self._parent(path)
            replaced = directory.entries.get(name)
            if isinstance(replaced, Directory):
                raise error_at(errno.EISDIR, path)
            if replaced is not None:
                self._free(replaced)
            self.version += 1
            directory.entries[intern(name)] = SymbolicLink(target)
        self._tell(path)

    def rename(self, old: str, new: str) -> None:
        """Move something, replacing a file, a link or an empty directory; nothing moves into itself."""
        with self._lock:
            self._is_to_change(old)
            directory, name = self._parent(old)
            if name not in directory.entries:
                raise error_at(errno.ENOENT, old)
            target, new_name = self._parent(new)
            moved, replaced = directory.entries[name], target.entries.get(new_name)
            if moved is replaced:
                return
            if _holds(moved, target):
                raise error_at(errno.EINVAL, new)
            if isinstance(replaced, Directory) and replaced.entries:
                raise error_at(errno.ENOTEMPTY, new)
            if replaced is not None:
                self._free(replaced)
            self.version += 1
            target.entries[intern(new_name)] = directory.entries.pop(name)
        self._tell(old)
        self._tell(new)

    def remove(self, path: str) -> None:
        """A file, a link or an empty directory."""
        with self._lock:
            directory, name = self._parent(path)
            node = directory.entries.get(name)
            if node is None:
                raise error_at(errno.ENOENT, path)
            if isinstance(node, Directory) and node.entries:
                raise error_at(errno.ENOTEMPTY, path)
            self._is_to_change(path)
            self.version += 1
            self._free(directory.entries.pop(name))
        self._tell(path)

    def remove_all(self, path: str) -> None:
        """Something with all that is in it; no error when it is gone already."""
        with self._lock:
            try:
                directory, name = self._parent(path)
            except FileNotFoundError:
                return
            if name in directory.entries:
                self._is_to_change(path)
                self.version += 1
                self._free(directory.entries.pop(name))
        self._tell(path)

    def _is_to_change(self, path: str) -> None:
        if self.before_change is not None:
            self.before_change(path)

    def take(self, size_bytes: int) -> None:
        """Account for bytes that are written, or freed when below zero. Raises ENOSPC when they do not fit."""
        if size_bytes > 0 and self.capacity_bytes is not None and self.used_bytes + size_bytes > self.capacity_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.used_bytes += size_bytes
        self.version += 1

    # --- watching ---------------------------------------------------------------------------------------------------

    def watch(self, path: str, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call `on_change` after each change at or below `path`, or above it; appended logs are no change.

        Gives what ends the watch.
        """
        path = normal(path)
        entry = (path, path if path == "/" else f"{path}/", on_change)
        with self._lock:
            self._watchers.append(entry)
            self._know_watched()

        def end() -> None:
            with self._lock:
                if entry in self._watchers:
                    self._watchers.remove(entry)
                    self._know_watched()

        return end

    def _know_watched(self) -> None:
        self._watched = tuple(below for _, below, _ in self._watchers)
        above = set()
        for watched, _, _ in self._watchers:
            while watched not in above:
                above.add(watched)
                watched = directory_of(watched)
        self._above_watched = frozenset(above)

    def _tell(self, path: str) -> None:
        if "//" in path or "/." in path or path.endswith("/"):
            path = normal(path)
        if not path.startswith(self._watched) and path not in self._above_watched:
            return
        for watched, below, on_change in tuple(self._watchers):
            if path.startswith(below) or lies_in(watched, path):
                on_change()

    def _free(self, node: Node) -> None:
        """Free a removed node and everything in it; the caller reports the change of the tree."""
        gone = [node]
        for each in gone:  # it grows meanwhile
            if type(each) is File:
                each.linked = False
                self.used_bytes -= len(each.data)
            elif type(each) is Directory:
                gone += each.entries.values()


def _holds(node: Node, directory: Directory) -> bool:
    """Whether the node is `directory`, or a directory above it."""
    if not isinstance(node, Directory):
        return False
    return node is directory or any(_holds(entry, directory) for entry in node.entries.values())


class OnTree:
    """Something that is kept in a tree."""

    def __init__(self, tree: FileTree) -> None:
        self.tree = tree


K = TypeVar("K", bound=OnTree)
P = ParamSpec("P")
T = TypeVar("T")


def gated(operation: Callable[Concatenate[K, str, P], T]) -> Callable[Concatenate[K, str, P], T]:
    """A method whose first argument is the path that it touches: it passes the gate of the tree."""

    @wraps(operation)
    def through(kept: K, path: str, /, *args: P.args, **more: P.kwargs) -> T:
        return kept.tree.gate(path, partial(operation, kept, path, *args, **more))

    return through


def opened(path: str, file: object) -> File:
    """The result of the gate, for callers that cannot wait. Raises OSError if it hangs."""
    if not isinstance(file, File):
        raise OSError(errno.EIO, "the disk hangs", path)
    return file
