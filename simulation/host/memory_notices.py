"""`SimulatedMemoryNotices`: a kernel whose notices of short memory come on command."""

from __future__ import annotations

from collections.abc import Callable

from runtime.memory_notices import MemoryMark, MemoryWatch


class SimulatedMemoryNotices:
    """`problems`: what a watcher cannot watch."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        self.marks: tuple[MemoryMark, ...] = ()
        """What is watched now."""
        self.renewals = 0
        self._watch: _Watch | None = None

    def watch(self, marks: tuple[MemoryMark, ...], on_short: Callable[[], None]) -> MemoryWatch:
        self._watch = _Watch(self, on_short)
        self.marks = marks
        return self._watch

    def run_short(self) -> None:
        """Notify the watcher."""
        if self._watch is not None and self._watch.is_open:
            self._watch.on_short()


class _Watch:
    def __init__(self, notices: SimulatedMemoryNotices, on_short: Callable[[], None]) -> None:
        self._notices = notices
        self.on_short = on_short
        self.is_open = False

    def renew(self) -> tuple[str, ...]:
        self.is_open = True
        self._notices.renewals += 1
        return self._notices.problems

    def close(self) -> None:
        self.is_open = False
        self._notices.marks = ()
