"""Resolves a path to what lies there.

It handles links, missing files, and directories that are known by their path.
"""

from __future__ import annotations

import errno
import os

from cachetools import FIFOCache

from simulation.host.file_nodes import Directory, File, Node, SymbolicLink
from simulation.host.file_paths import directory_of, error_at, normal

LINKS_MAX = 40
KNOWN_AT_MOST = 2_000
"""Directories of the pods that start or end now, also of one with hundreds of containers.

The others are found step by step.

Each costs 300 bytes.
"""
NO_NAMES = frozenset({"", ".", ".."})


class FileFinder:
    """See the module.

    Every way leads through the directory above, so a path costs one look where that is known.
    """

    def __init__(self) -> None:
        self._root = Directory()
        self._known: FIFOCache[str, Directory] = FIFOCache(KNOWN_AT_MOST)
        """Directories by normal paths without a link on the way: true until one is removed or renamed.

        A pod's dozen of operations are done in few of them, and below the same half a dozen of names.
        """

    def _node(self, path: str, *, follow: bool = True, links: int = 0) -> Node:
        """The node at a path. Raises OSError if it is missing, below a file, or behind too many links."""
        above, name = self._place(path, path, links)
        node = above.entries.get(name) if name else above
        if node is None:
            raise error_at(errno.ENOENT, path)
        return self._followed(node, path, links) if follow and type(node) is SymbolicLink else node

    def _found(self, path: str) -> Node | None:
        """Like `_node`; None for a missing path."""
        try:
            above, name = self._place(path, path)
            node = above.entries.get(name) if name else above
            return self._followed(node, path) if type(node) is SymbolicLink else node
        except OSError:
            return None

    def _followed(self, link: SymbolicLink, path: str, links: int = 0) -> Node:
        if links >= LINKS_MAX:
            raise error_at(errno.ELOOP, path)
        return self._node(os.path.join(directory_of(normal(path)), link.target), links=links + 1)

    def _file(self, path: str) -> File:
        node = self._node(path)
        if not isinstance(node, File):
            raise error_at(errno.EISDIR, path)
        return node

    def _directory(self, path: str, asked: str = "", links: int = 0) -> Directory:
        """`asked`: what is looked for, and missing where this is."""
        known = self._known.get(path)
        if known is not None and known.linked:
            return known
        path = normal(path)
        above, name = self._place(path, asked or path, links)
        node = above.entries.get(name) if name else above
        if node is None:
            raise error_at(errno.ENOENT, asked or path)
        if type(node) is SymbolicLink:
            node = self._followed(node, path, links)
        elif type(node) is Directory:
            self._know(path, node, above)
        if not isinstance(node, Directory):
            raise error_at(errno.ENOTDIR, path)
        return node

    def _know(self, path: str, directory: Directory, above: Directory) -> None:
        """Remember the path of a directory for faster lookups, unless its parent was reached through a link."""
        head = directory_of(path)
        if path != head and (head == "/" or self._known.get(head) is above):
            self._known[path] = directory

    def _place(self, path: str, asked: str, links: int = 0) -> tuple[Directory, str]:
        """The directory above, and the name in it; the root itself, and no name."""
        head, slash, last = path.rpartition("/")
        if not slash or last in NO_NAMES:
            head, _, last = normal(path).rpartition("/")
        known = self._known.get(head)
        if known is not None and known.linked:
            return known, last
        return self._directory(head, asked, links) if head else self._root, last

    def _parent(self, path: str) -> tuple[Directory, str]:
        """Like `_place`, for a path to change. The root cannot be changed."""
        above, name = self._place(path, path)
        if not name:
            raise error_at(errno.EBUSY, path)
        return above, name
