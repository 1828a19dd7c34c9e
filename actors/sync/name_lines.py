"""The waiting line for each name: static pods of one full name run one at a time, first come first served (spec 2.6,
pains 7).

A data structure that knows only names and UIDs. An orphan that still runs stands in the line of its name too, ahead of
pods that came later.
"""

from __future__ import annotations


class NameLines:
    """See the module."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def join(self, name: str, uid: str) -> None:
        """Join at the end; one that already stands in the line keeps its place."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.append(uid)

    def goes_first(self, name: str, uid: str) -> None:
        """Join at the front: it ran before the others came. One that already stands in the line keeps its place."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.insert(0, uid)

    def first(self, name: str) -> str:
        """The UID whose turn it is; empty if the line is empty."""
        line = self._lines.get(name)
        return line[0] if line else ""

    def leave(self, name: str, uid: str) -> str:
        """Leave the line, when nothing of the pod is left. Returns the UID whose turn it is now; empty if there is none
        or `uid` was not in the line.
        """
        line = self._lines.get(name)
        if line is None or uid not in line:
            return ""
        line.remove(uid)
        if not line:
            del self._lines[name]
        return self.first(name)
