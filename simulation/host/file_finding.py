"""The way from a path to what lies there: links, what is missing, and directories that are known by their path."""

from __future__ import annotations

import errno
import os

from cachetools import FIFOCache

from simulation.host.file_nodes import Directory, File, Node, SymbolicLink
from simulation.host.file_paths import error_at, normal, parts_of

LINKS_MAX = 40
KNOWN_AT_MOST = 20_000
NO_NAMES = frozenset({"", ".", ".."})


class FileFinder:
    """See the module. Whoever takes a directory away, or moves one, says so: `_known`."""

    def __init__(self) -> None:
        self._root = Directory()
        self._known: FIFOCache[str, Directory] = FIFOCache(KNOWN_AT_MOST)
        """Directories by paths without a link on the way: true until one is removed or renamed. A pod's dozen of
        operations are done in few of them, and below the same half a dozen of names.
        """

    def _walk(self, path: str) -> Node | None:
        """What is there, None for nothing; the first link on the way, where there is one, for that takes `_node`."""
        head, _, last = path.rpartition("/")
        known = self._known.get(head)
        if known is not None and known.linked and last not in NO_NAMES:
            return known.entries.get(last)
        node: Node = self._root
        above = self._root
        for name in parts_of(path):
            if type(node) is not Directory:
                return node if type(node) is SymbolicLink else None
            above = node
            found = above.entries.get(name)
            if found is None:
                return None
            node = found
        if last not in NO_NAMES:
            self._know(head, above)
        return node

    def _know(self, path: str, directory: Directory) -> None:
        """It is found at once from now on: on the way to it there was no link."""
        if path and path == normal(path):
            self._keep(path, directory)

    def _keep(self, path: str, directory: Directory) -> None:
        """As `_know`, of a path that is as the tree names it."""
        self._known[path], directory.known_as = directory, path

    def _found(self, path: str) -> Node | None:
        """What is there, links followed; None for nothing."""
        node = self._walk(path)
        if isinstance(node, SymbolicLink):
            try:
                return self._node(path)
            except OSError:
                return None
        return node

    def _node(self, path: str, *, follow: bool = True, links: int = 0) -> Node:
        """What is there. Raises OSError: nothing, a file in the place of a directory, or too many links."""
        known = self._walk(path)
        if known is not None and not isinstance(known, SymbolicLink):
            return known
        node: Node = self._root
        parts = parts_of(path)
        for index, name in enumerate(parts):
            if not isinstance(node, Directory):
                raise error_at(errno.ENOTDIR, "/" + "/".join(parts[:index]))
            found = node.entries.get(name)
            if found is None:
                raise error_at(errno.ENOENT, path)
            node = found
            if isinstance(node, SymbolicLink) and (follow or index < len(parts) - 1):
                node = self._follow(node, "/" + "/".join(parts[: index + 1]), links)
        return node

    def _follow(self, node: Node, path: str, links: int = 0) -> Node:
        if not isinstance(node, SymbolicLink):
            return node
        if links >= LINKS_MAX:
            raise error_at(errno.ELOOP, path)
        return self._node(os.path.join(os.path.dirname(path), node.target), links=links + 1)

    def _file(self, path: str) -> File:
        node = self._walk(path)
        if type(node) is File:
            return node
        node = self._node(path)
        if not isinstance(node, File):
            raise error_at(errno.EISDIR, path)
        return node

    def _directory(self, path: str) -> Directory:
        known = self._known.get(path)
        if known is not None and known.linked:
            return known
        node = self._node(path)
        if not isinstance(node, Directory):
            raise error_at(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        head, _, last = path.rpartition("/")
        known = self._known.get(head)
        if known is not None and known.linked and last not in NO_NAMES:
            return known, last
        parts = parts_of(path)
        if not parts:
            raise error_at(errno.EBUSY, path)
        above: Node = self._root
        for name in parts[:-1]:
            found = above.entries.get(name) if isinstance(above, Directory) else None
            if found is None or isinstance(found, SymbolicLink):
                return self._directory("/" + "/".join(parts[:-1])), parts[-1]
            above = found
        if not isinstance(above, Directory):
            raise error_at(errno.ENOTDIR, "/" + "/".join(parts[:-1]))
        if last not in NO_NAMES:
            self._know(head, above)
        return above, parts[-1]
