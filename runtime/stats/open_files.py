"""`OpenFiles`: how many files and sockets the processes of a container have open.

A socket is seen by reading the link of each open file, so the links of one container are read at most once a minute.
A container with more than `LINKS_AT_MOST` open files has no number of sockets.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

SECOND_NS = 1_000_000_000
LINKS_LAST_NS = 60 * SECOND_NS
LINKS_AT_MOST = 10_000
_SOCKET = "socket:"


class OpenFiles:
    """See the module. `root`: of the file system with /proc. For one thread at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._sockets: dict[int, tuple[int, int | None]] = {}
        """First process of a container -> when its links were read, and the number of sockets."""

    def of(self, pid: int, group: Iterable[str], now_ns: int) -> tuple[int | None, int | None]:
        """(files, sockets) of the processes in `group`, the container of `pid`. None: cannot be read."""
        names = [(each, found) for each in group if (found := self._names(each)) is not None]
        if not names:
            return None, None
        count = sum(len(found) for _, found in names)
        read_ns, sockets = self._sockets.get(pid, (-LINKS_LAST_NS, None))
        if now_ns - read_ns >= LINKS_LAST_NS:
            sockets = None
            if count <= LINKS_AT_MOST:
                sockets = sum(self._is_socket(each, name) for each, found in names for name in found)
            self._sockets[pid] = now_ns, sockets
        return count, sockets

    def keep(self, pids: Collection[int]) -> None:
        """Forget the containers of all other processes."""
        self._sockets = {pid: known for pid, known in self._sockets.items() if pid in pids}

    def _names(self, pid: str) -> list[str] | None:
        try:
            return os.listdir(f"{self._root}/proc/{pid}/fd")
        except OSError:
            return None

    def _is_socket(self, pid: str, name: str) -> bool:
        try:
            return os.readlink(f"{self._root}/proc/{pid}/fd/{name}").startswith(_SOCKET)
        except OSError:
            return False
