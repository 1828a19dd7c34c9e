"""What happened in a world, message by message: a rolling hash of all of it, and its last lines.

One line per message that an actor has handled: time, node and actor, message, outcome. Two runs are the same when their
hashes are. Lines are hashed a few hundred at a time, since there are millions of them; who wants to read them all gives
a `sink`.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from actors.kernel.dispatcher import Trace

LINES_AT_ONCE = 512
LINES_KEPT = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a world stood: after so many turns of actors, at what time, with what behind it (hash, newest lines)."""

    step: int
    at_ns: int
    trace_hash: str
    last_lines: tuple[str, ...]


class RollingTrace:
    """See the module. `messages`: how many were handled, up to the last `hash` or `last`."""

    def __init__(self, sink: Callable[[str], object] | None = None) -> None:
        self.messages = 0
        self.on_failure: Callable[[str, str, str], object] = lambda *_: None
        """Told of each message that an actor failed on: node and actor, message, outcome."""
        self._hash = hashlib.blake2b(digest_size=16)
        self._lines: list[str] = []
        self._last: deque[str] = deque(maxlen=LINES_KEPT)
        self._sink = sink

    def of(self, node: str) -> Trace:
        """What the agent of that node tells its messages to."""

        def handled(now_ns: int, actor: str, message: str, outcome: str) -> None:
            lines = self._lines
            lines.append(f"{now_ns} {node}{actor} {message} {outcome}\n")
            if len(lines) >= LINES_AT_ONCE:
                self._flush()
            if outcome != "ok" and outcome.startswith("failed"):
                self.on_failure(f"{node}{actor}", message, outcome)

        return handled

    def note(self, now_ns: int, who: str, what: str) -> None:
        """A deed of the world itself: a pod that comes or goes, a fault."""
        self.messages -= 1
        self._lines.append(f"{now_ns} {who} {what}\n")

    def hash(self) -> str:
        """Of all lines so far, 32 hexadecimal digits."""
        self._flush()
        return self._hash.hexdigest()

    def last(self) -> tuple[str, ...]:
        """The newest lines, at most `LINES_KEPT`."""
        self._flush()
        return tuple(line.rstrip("\n") for line in self._last)

    def _flush(self) -> None:
        lines = self._lines
        if not lines:
            return
        self._lines = []
        self.messages += len(lines)
        text = "".join(lines)
        self._hash.update(text.encode())
        self._last.extend(lines)
        if self._sink is not None:
            self._sink(text)
