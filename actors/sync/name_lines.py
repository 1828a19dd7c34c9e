"""Who waits for which name: one static pod of a full name runs at a time, first come first served (spec 2.6, pains 7).

A data structure; it knows no pods, only names and UIDs. An orphan that the runtime still runs stands in the line of its
name as well, ahead of whoever came since.
"""

from __future__ import annotations


class NameLines:
    """See the module."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def join(self, name: str, uid: str) -> None:
        """Stand at the end; one that stands in the line stays where it is."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.append(uid)

    def goes_first(self, name: str, uid: str) -> None:
        """It has run since before the others came; one that stands in the line already stays where it is."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.insert(0, uid)

    def first(self, name: str) -> str:
        """Whose turn it is; empty where nobody waits."""
        line = self._lines.get(name)
        return line[0] if line else ""

    def leave(self, name: str, uid: str) -> str:
        """Nothing of it is left. Whose turn it is now; empty where that is nobody, or the line did not know it."""
        line = self._lines.get(name)
        if line is None or uid not in line:
            return ""
        line.remove(uid)
        if not line:
            del self._lines[name]
        return self.first(name)
