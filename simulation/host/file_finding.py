"""Resolves a path to what lies there.

Nearly every path is walked by the names in it. Where that leads to a link, a missing directory or a path with dots, it
is looked at step by step.
"""

from __future__ import annotations

import errno
import os

from simulation.host.file_nodes import Directory, File, Node, SymbolicLink
from simulation.host.file_paths import directory_of, error_at, normal

LINKS_MAX = 40
NO_NAMES = frozenset({"", ".", ".."})


class FileFinder:
    """See the module."""

    def __init__(self) -> None:
        self._root = Directory()

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
        plain = self._walked(path)
        if plain is not None:
            return plain
        path = normal(path)
        above, name = self._place(path, asked or path, links)
        node = above.entries.get(name) if name else above
        if node is None:
            raise error_at(errno.ENOENT, asked or path)
        if type(node) is SymbolicLink:
            node = self._followed(node, path, links)
        if not isinstance(node, Directory):
            raise error_at(errno.ENOTDIR, path)
        return node

    def _walked(self, path: str) -> Directory | None:
        """The directory at a path without links and dots; None: look closer."""
        root, *names = path.split("/")
        here = None if root else self._root
        for name in names:
            below = here and here.entries.get(name)
            here = below if type(below) is Directory else None
        return here

    def _place(self, path: str, asked: str, links: int = 0) -> tuple[Directory, str]:
        """The directory above, and the name in it; the root itself, and no name."""
        head, slash, last = path.rpartition("/")
        if not slash or last in NO_NAMES:
            head, _, last = normal(path).rpartition("/")
        plain = self._walked(head) if slash else None
        if plain is not None:
            return plain, last
        return self._directory(head, asked, links) if head else self._root, last

    def _parent(self, path: str) -> tuple[Directory, str]:
        """Like `_place`, for a path to change. The root cannot be changed."""
        above, name = self._place(path, path)
        if not name:
            raise error_at(errno.EBUSY, path)
        return above, name
