"""The trace of a world, message by message: a rolling hash of all lines, and the last lines.

One line per handled message: time, node and actor, message, outcome. Two runs are the same when their hashes are. Lines
are hashed a few hundred at a time, because there are millions. The hash covers them as JSON, one after the other, so
the size of a batch does not matter. They become text only when somebody reads them: the last ones of a moment, or all
of them for a `sink`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable

import msgspec

from actors.kernel.dispatcher import Trace
from config.values.harmless_text import harmless_line

LINES_AT_ONCE = 512
LINES_KEPT = 200
BUSIEST = 5

Line = tuple[int, str, str, str, str]
"""Now in ns, node (or another source), actor, message, outcome."""


class Moment(msgspec.Struct, frozen=True):
    """A position in a run: turns of actors, time, hash, newest lines."""

    step: int
    at_ns: int
    trace_hash: str
    last_lines: tuple[str, ...]


class RollingTrace:
    """`messages`: how many were handled, up to the last `hash` or `last`."""

    def __init__(self, sink: Callable[[str], object] | None = None) -> None:
        self.messages = 0
        self.on_failure: Callable[[str, str, str], object] = lambda *_: None
        """Gets each message that an actor failed on: node and actor, message, outcome."""
        self._hash = hashlib.blake2b(digest_size=16)
        self._lines: list[Line] = []
        self._last: deque[Line] = deque(maxlen=LINES_KEPT)
        self._bytes_of = msgspec.json.Encoder().encode_lines
        self._sink = sink

    def of(self, node: str) -> Trace:
        """The function that records the messages of that node's agent."""
        lines = self._lines
        append = lines.append

        def handled(now_ns: int, actor: str, message: str, outcome: str) -> None:
            append((now_ns, node, actor, message, outcome))
            if len(lines) >= LINES_AT_ONCE:
                self._flush()
            if outcome != "ok" and outcome.startswith("failed"):
                self.on_failure(f"{node}{actor}", message, outcome)

        return handled

    def note(self, now_ns: int, who: str, what: str) -> None:
        """Record an action of the world itself: a pod that is created or deleted, a fault."""
        self.messages -= 1
        self._lines.append((now_ns, who, "", what, ""))

    def told_answers(self, node: str, now_ns: Callable[[], int]) -> Callable[[str, str], object] | None:
        """The function that writes each answer to that node's agent to the sink; None without a sink.

        These lines explain the messages and are no part of the trace: the hash is the same with and without a sink.
        """
        sink = self._sink
        if sink is None:
            return None

        def told(who: str, what: str) -> None:
            self._flush()
            sink(harmless_line(f"{now_ns()} {node}{who} {what}") + "\n")

        return told

    def hash(self) -> str:
        """The hash of all lines so far, 32 hexadecimal digits."""
        self._flush()
        return self._hash.hexdigest()

    def last(self) -> tuple[str, ...]:
        """The newest lines, at most `LINES_KEPT`."""
        self._flush()
        return tuple(_text(line) for line in self._last)

    def busiest(self) -> list[str]:
        """The actors and messages of the newest lines, the most frequent first."""
        self._flush()
        counted = Counter(f"{node}{actor} {message}" for _, node, actor, message, _ in self._last)
        return [f"{what} ({count} of {len(self._last)})" for what, count in counted.most_common(BUSIEST)]

    def _flush(self) -> None:
        lines = self._lines
        if not lines:
            return
        self.messages += len(lines)
        self._hash.update(self._bytes_of(lines))
        self._last.extend(lines)
        text = "" if self._sink is None else "".join([f"{_text(line)}\n" for line in lines])
        lines.clear()  # and kept: everybody who writes has the list itself
        if self._sink is not None:
            self._sink(text)


def _text(line: Line) -> str:
    now_ns, node, actor, message, outcome = line
    return harmless_line(f"{now_ns} {node}{actor} {message} {outcome}".rstrip())
