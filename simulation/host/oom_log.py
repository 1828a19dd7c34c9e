"""`SimulatedOomLog`: a kernel that reports OOM kills on command."""

from __future__ import annotations

from collections.abc import Callable

from runtime.io.pending import Subscription
from runtime.oom import OomKill


class SimulatedOomLog:
    """`deaf`: the reason why listening is refused; empty: it is allowed."""

    def __init__(self, deaf: str = "") -> None:
        self.deaf = deaf
        self._follower: _Follower | None = None

    @property
    def is_followed(self) -> bool:
        """Whether somebody listens."""
        return self._follower is not None and not self._follower.closed

    def follow(self, on_kill: Callable[[OomKill], None], on_end: Callable[[str], None]) -> Subscription:
        if self.deaf:
            raise PermissionError(1, self.deaf)
        self._follower = _Follower(on_kill, on_end)
        return self._follower

    def kill(self, kill: OomKill) -> None:
        """Report a kill to the listener."""
        if self._follower is not None and not self._follower.closed:
            self._follower.on_kill(kill)

    def end(self, reason: str) -> None:
        """End the log with that reason: the listener gets no more kills."""
        if self._follower is not None and not self._follower.closed:
            self._follower.closed = True
            self._follower.on_end(reason)


class _Follower:
    def __init__(self, on_kill: Callable[[OomKill], None], on_end: Callable[[str], None]) -> None:
        self.on_kill = on_kill
        self.on_end = on_end
        self.closed = False

    def close(self) -> None:
        self.closed = True
