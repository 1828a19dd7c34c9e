"""A file system in memory, with directories, files, links, a size, and faults on the parts of it that one names.

Paths are absolute. Errors are those of a real one (`OSError` with errno). `fail` and `hang` put a fault on everything
at and below a path until `heal`. A deed that hangs is played as the simulated lanes want it: `gate` gives a promise
instead of the result, and `heal` does the deed and keeps the promise.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from actors.kernel.promise import Promise

T = TypeVar("T")

LINKS_MAX = 40
KNOWN_AT_MOST = 20_000
_NO_NAMES = frozenset({"", ".", ".."})


@dataclass(eq=False, slots=True)
class File:
    """Bytes. `write` appends, as logs are written; `tree` keeps account of the size."""

    tree: FileTree
    data: bytearray = field(default_factory=bytearray)
    mode: int = 0o644
    linked: bool = True

    def write(self, data: bytes, /) -> int:
        if self.linked:
            self.tree.take(len(data))
        self.data += data
        return len(data)

    def close(self) -> None:
        """Nothing is held that must be let go."""


@dataclass(eq=False, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(eq=False, slots=True)
class Directory:
    """Entries by name."""

    entries: dict[str, Node] = field(default_factory=dict)
    mode: int = 0o755
    linked: bool = True
    known_as: str = ""
    """The path under which the tree finds it at once; empty for none."""


Node = File | Link | Directory


class FileTree:
    """See the module. `capacity_bytes` None never fills."""

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.version = 0
        """Grows with every change: what was read at one version is still so."""
        self._known: dict[str, Directory] = {}
        """Directories by paths without a link on the way: true until one is removed or renamed. A pod's dozen of deeds
        are done in few of them, and below the same half a dozen of names.
        """
        self._root = Directory()
        self._failing: dict[str, int] = {}
        self._hanging: dict[str, list[tuple[Promise[Any], Callable[[], Any]]]] = {}
        self._watchers: list[tuple[str, str, Callable[[], None]]] = []
        """What is watched, the same with a slash behind it, and who is told."""
        self._lock = threading.RLock()

    # --- faults -----------------------------------------------------------------------------------------------------

    def gate(self, path: str, deed: Callable[[], T]) -> T:
        """Do `deed`, which touches `path`, unless a fault lies there: then raise, or give a promise of the result."""
        if self._failing or self._hanging:
            return self.gate_all((path,), deed)
        with self._lock:
            return deed()

    def gate_all(self, paths: Iterable[str], deed: Callable[[], T]) -> T:
        """As `gate`, of a deed that touches several paths: the first of them that is sick decides. While no fault lies
        anywhere none of them is looked at.
        """
        with self._lock:
            for path in map(_normal, paths) if self._failing or self._hanging else ():
                for prefix, number in self._failing.items():
                    if _lies_in(path, prefix):
                        raise OSError(number, os.strerror(number), path)
                for prefix, waiting in self._hanging.items():
                    if _lies_in(path, prefix):
                        promise: Promise[Any] = Promise()
                        waiting.append((promise, deed))
                        return promise  # type: ignore[return-value]  # what the simulated lane takes for a hang
            return deed()

    def fail(self, path: str, number: int = errno.EIO) -> None:
        """Everything at and below `path` fails with this errno from now on."""
        self._failing[_normal(path)] = number

    def hang(self, path: str) -> None:
        """Everything at and below `path` hangs from now on."""
        self._hanging.setdefault(_normal(path), [])

    def heal(self, path: str) -> None:
        """No fault lies on `path` any more; what hung there is done now."""
        path = _normal(path)
        with self._lock:
            self._failing.pop(path, None)
            waiting = self._hanging.pop(path, [])
        for promise, deed in waiting:
            if promise.done():
                continue
            try:
                result = deed()
            except OSError as error:
                promise.set_exception(error)
                continue
            if isinstance(result, Promise):  # another part of the deed hangs elsewhere
                result.add_done_callback(partial(_copy, promise))
            else:
                promise.set_result(result)

    # --- reading ----------------------------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        """There is something, links followed."""
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
            return isinstance(self._node(path, follow=False), Link)
        except OSError:
            return False

    def names_in(self, path: str) -> list[str]:
        """Names in a directory, sorted. Raises FileNotFoundError, NotADirectoryError."""
        return sorted(self._directory(path).entries)

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        """The beginning of a file, or all of it."""
        return bytes(self._file(path).data[:limit_bytes])

    def size(self, path: str) -> int:
        """Bytes in a file."""
        return len(self._file(path).data)

    def plain_size(self, path: str) -> int | None:
        """Bytes in a plain file, 0 of anything else, None where there is nothing."""
        above, _, name = path.rpartition("/")
        known = self._known.get(above)
        if known is not None and known.linked:  # as in `_walk`: logs are measured again and again, all of them
            node = known.entries.get(name)
            if type(node) is File:
                return len(node.data)
        try:
            node = self._node(path, follow=False)
        except OSError:
            return None
        return len(node.data) if isinstance(node, File) else 0

    def dead_links_in(self, directory: str, below: str) -> list[str]:
        """Names of links in a directory that lead below a path where there is nothing; none without the directory."""
        try:
            entries = self._directory(directory).entries
        except OSError:
            return []
        return sorted(
            name
            for name, node in entries.items()
            if isinstance(node, Link) and node.target.startswith(below) and self._is_nowhere(node.target)
        )

    def _is_nowhere(self, path: str) -> bool:
        return self._found(path) is None

    def mode(self, path: str) -> int:
        """The permission bits of a file or directory."""
        node = self._node(path)
        assert not isinstance(node, Link), "links were followed"
        return node.mode

    def read_link(self, path: str) -> str:
        node = self._node(path, follow=False)
        if not isinstance(node, Link):
            raise _error(errno.EINVAL, path)
        return node.target

    # --- changing ---------------------------------------------------------------------------------------------------

    def make_directories(self, path: str) -> None:
        """The directory and all above it; no error when it is there."""
        with self._lock:
            if type(self._walk(path)) is Directory:
                return
            node: Node = self._root
            parts, is_straight = _parts(path), True
            for depth, name in enumerate(parts):
                if not isinstance(node, Directory):
                    raise _error(errno.ENOTDIR, "/" + "/".join(parts[: depth + 1]))
                found = node.entries.get(name)
                if found is None:
                    self.version += 1
                    found = node.entries[name] = Directory()
                elif isinstance(found, Link):
                    is_straight = False
                    found = self._follow(found, "/" + "/".join(parts[: depth + 1]))
                node = found
            if not isinstance(node, Directory):
                raise _error(errno.EEXIST, path)
            if is_straight:
                self._know(path, node)

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Make or replace a file whose directory exists."""
        with self._lock:
            file = self.open(path)
            self.take(len(data) - len(file.data))
            file.data[:] = data
            if mode is not None:
                file.mode = mode
        if self._watchers:
            self._tell(path)

    def open(self, path: str) -> File:
        """The file at `path`, made empty when there is none; its directory must exist."""
        with self._lock:
            directory, name = self._parent(path)
            node = directory.entries.get(name)
            if type(node) is File:
                return node
            if node is not None:
                with contextlib.suppress(FileNotFoundError):  # a link that leads nowhere is replaced
                    return self._file(path)
            self.version += 1
            file = directory.entries[name] = File(self)
            return file

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link, or turn the one that is there."""
        with self._lock:
            directory, name = self._parent(path)
            if isinstance(directory.entries.get(name), Directory):
                raise _error(errno.EISDIR, path)
            self.version += 1
            directory.entries[name] = Link(target)
        self._tell(path)

    def rename(self, old: str, new: str) -> None:
        """Move something, replacing a file or link."""
        with self._lock:
            directory, name = self._parent(old)
            if name not in directory.entries:
                raise _error(errno.ENOENT, old)
            target, new_name = self._parent(new)
            replaced = target.entries.get(new_name)
            if isinstance(replaced, Directory) and replaced.entries:
                raise _error(errno.ENOTEMPTY, new)
            if replaced is not None:
                self._free(replaced)
            self.version += 1
            moved = target.entries[new_name] = directory.entries.pop(name)
            if isinstance(moved, Directory):
                self._known.clear()
        self._tell(old)
        self._tell(new)

    def remove(self, path: str) -> None:
        """A file, a link or an empty directory."""
        with self._lock:
            directory, name = self._parent(path)
            node = directory.entries.get(name)
            if node is None:
                raise _error(errno.ENOENT, path)
            if isinstance(node, Directory) and node.entries:
                raise _error(errno.ENOTEMPTY, path)
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
                self.version += 1
                self._free(directory.entries.pop(name))
        self._tell(path)

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
        path = _normal(path)
        entry = (path, path if path == "/" else f"{path}/", on_change)
        self._watchers.append(entry)

        def end() -> None:
            if entry in self._watchers:
                self._watchers.remove(entry)

        return end

    def _tell(self, path: str) -> None:
        if not self._watchers:
            return
        path = _normal(path)
        for watched, below, on_change in tuple(self._watchers):
            if path.startswith(below) or (len(path) <= len(watched) and _lies_in(watched, path)):
                on_change()

    # --- finding ----------------------------------------------------------------------------------------------------

    def _walk(self, path: str) -> Node | None:
        """What is there, None for nothing; the first link on the way, where there is one, for that takes `_node`."""
        head, _, last = path.rpartition("/")
        known = self._known.get(head)
        if known is not None and known.linked and last not in _NO_NAMES:
            return known.entries.get(last)
        node: Node = self._root
        above = self._root
        for name in _parts(path):
            if type(node) is not Directory:
                return node if type(node) is Link else None
            above = node
            found = above.entries.get(name)
            if found is None:
                return None
            node = found
        if last not in _NO_NAMES:
            self._know(head, above)
        return node

    def _know(self, path: str, directory: Directory) -> None:
        """It is found at once from now on: on the way to it there was no link."""
        if path and path == _normal(path):
            if len(self._known) >= KNOWN_AT_MOST:
                self._known.clear()
            self._known[path], directory.known_as = directory, path

    def _found(self, path: str) -> Node | None:
        """What is there, links followed; None for nothing."""
        node = self._walk(path)
        if isinstance(node, Link):
            try:
                return self._node(path)
            except OSError:
                return None
        return node

    def _node(self, path: str, *, follow: bool = True, links: int = 0) -> Node:
        """What is there. Raises OSError: nothing, a file in the place of a directory, or too many links."""
        known = self._walk(path)
        if known is not None and not isinstance(known, Link):
            return known
        node: Node = self._root
        parts = _parts(path)
        for index, name in enumerate(parts):
            if not isinstance(node, Directory):
                raise _error(errno.ENOTDIR, "/" + "/".join(parts[:index]))
            found = node.entries.get(name)
            if found is None:
                raise _error(errno.ENOENT, path)
            node = found
            if isinstance(node, Link) and (follow or index < len(parts) - 1):
                node = self._follow(node, "/" + "/".join(parts[: index + 1]), links)
        return node

    def _follow(self, node: Node, path: str, links: int = 0) -> Node:
        if not isinstance(node, Link):
            return node
        if links >= LINKS_MAX:
            raise _error(errno.ELOOP, path)
        return self._node(os.path.join(os.path.dirname(path), node.target), links=links + 1)

    def _file(self, path: str) -> File:
        node = self._node(path)
        if not isinstance(node, File):
            raise _error(errno.EISDIR, path)
        return node

    def _directory(self, path: str) -> Directory:
        node = self._node(path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        head, _, last = path.rpartition("/")
        known = self._known.get(head)
        if known is not None and known.linked and last not in _NO_NAMES:
            return known, last
        parts = _parts(path)
        if not parts:
            raise _error(errno.EBUSY, path)
        above: Node = self._root
        for name in parts[:-1]:
            found = above.entries.get(name) if isinstance(above, Directory) else None
            if found is None or isinstance(found, Link):
                return self._directory("/" + "/".join(parts[:-1])), parts[-1]
            above = found
        if not isinstance(above, Directory):
            raise _error(errno.ENOTDIR, "/" + "/".join(parts[:-1]))
        if last not in _NO_NAMES:
            self._know(head, above)
        return above, parts[-1]

    def _free(self, node: Node) -> None:
        if isinstance(node, File):
            self.take(-len(node.data))
            node.linked = False
        elif isinstance(node, Directory):
            node.linked = False
            self._known.pop(node.known_as, None)
            for entry in node.entries.values():
                self._free(entry)


def _copy(promise: Promise[Any], ended: Promise[Any]) -> None:
    error = ended.exception()
    if error is None:
        promise.set_result(ended.result())
    else:
        promise.set_exception(error)


def _normal(path: str) -> str:
    """The path as the tree names it. Nearly all come so."""
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is no absolute path")
    if "//" not in path and "/." not in path and not path.endswith("/"):
        return path
    return os.path.normpath(path).replace("//", "/")


def _parts(path: str) -> list[str]:
    """The names from the root down to it."""
    if path.startswith("/") and "//" not in path and "/." not in path and not path.endswith("/"):
        return path[1:].split("/")  # what `_normal` leaves as it is, without its call
    path = _normal(path)
    return [] if path == "/" else path[1:].split("/")


def _lies_in(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix if prefix == "/" else f"{prefix}/")


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
