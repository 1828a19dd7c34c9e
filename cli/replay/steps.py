"""The prompt of a replay: the commands that a person may type, and what each one shows.

Every move prints the new lines of the trace, and the step it came to. An interrupt ends a move; at the prompt it ends
the replay.
"""

from __future__ import annotations

import contextlib
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from cli.printing import prompt, say
from cli.replay.actor_state import state_lines
from cli.simulate.play_watch import Interrupt, listen
from cli.simulate.trace_lines import readable, seconds
from simulation.cri.behaviour_values import duration_ns
from simulation.play.replay import Finding, Replay, named_alike
from simulation.play.saved_run import SavedRun

LINES_KEPT = 10_000
NAMES_AT_MOST = 40
PROMPT = "(replay) "
NO_SUCH_ACTOR = "`actors` in --step lists those that are; that of a pod ends with its UID, as in the trace"
HELP = """\
  Enter, next [N]     one turn of an actor, or N
  until STEP|TIME     on to a number of turns, or to a time: until 1200, until 1m30s
  go                  on to the violation
  actor NAME          fields, mailbox and what it awaits; the end of its path will do
  actors [PART]       who is there
  trace [N]           the last N lines
  quit"""


@dataclass(frozen=True, slots=True)
class Until:
    """The place to stop: a step, or a time."""

    step: int | None = None
    ns: int | None = None


class UnknownActorError(LookupError):
    """No actor, or more than one, has that name. The text lists the candidates."""


def parse_until(text: str) -> Until:
    """`1200` is a step, `1m30s` a time. Raises ValueError."""
    if text.isascii() and text.isdecimal():
        return Until(step=int(text))
    try:
        return Until(ns=duration_ns(text))
    except ValueError:
        raise ValueError(f"{text!r} is not a step or a time; write 1200, or 1m30s") from None


class Stepper:
    """`lines`: how many lines of the trace a move shows. `out` prints a line."""

    def __init__(self, saved: SavedRun, interrupt: Interrupt, *, lines: int, out: Callable[[str], object]) -> None:
        self.also_told: Callable[[str], object] = lambda _: None
        """Also gets every line of the trace."""
        self.replay = Replay(saved, self._told)
        self._interrupt = interrupt
        self._lines = lines
        self._out = out
        self._kept: deque[str] = deque(maxlen=LINES_KEPT)
        self._new = 0

    def _told(self, line: str) -> None:
        self._kept.append(line)
        self._new += 1
        self.also_told(line)

    # --- moves ------------------------------------------------------------------------------------------------------

    def next(self, steps: int) -> None:
        """Play that many turns."""
        self._moved(lambda: self.replay.next(steps, go_on=self._go_on))

    def until(self, where: Until) -> None:
        """Play forward to a step or a time. There is no way back."""
        if where.step is not None:
            step = where.step
            self._moved(lambda: self.replay.until_step(step, go_on=self._go_on))
        else:
            ns = where.ns or 0
            self._moved(lambda: self.replay.until_ns(ns, go_on=self._go_on))

    def go(self) -> None:
        """Play forward to the violation."""
        self._moved(lambda: self.replay.until_violated(go_on=self._go_on))

    def _go_on(self) -> bool:
        return not self._interrupt.came

    def _moved(self, move: Callable[[], None]) -> None:
        self._new = 0
        before = self.replay.finding()
        move()
        self.trace(min(self._new, self._lines))
        replay = self.replay
        where = f"step {replay.step}, {seconds(replay.now_ns)}{', the end' if replay.play.done else ''}"
        left_out = f" ({self._new - self._lines} lines before these)" if self._new > self._lines else ""
        self._out(f"-- {where}{left_out}")
        after = replay.finding()
        if after is not before and after is not Finding.GONE:
            self._out(f"-- violated: {replay.saved.violated.invariant}")

    # --- looks ------------------------------------------------------------------------------------------------------

    def trace(self, lines: int) -> None:
        """Print the newest lines of the trace."""
        for line in list(self._kept)[-lines:] if lines > 0 else []:
            self._out(readable(line))

    def actor(self, name: str) -> None:
        """Print one actor in detail. Raises `UnknownActorError`."""
        alike = named_alike(name, self.replay.actors())
        state = self.replay.look_at(alike[0]) if len(alike) == 1 else None
        if state is None:
            shown = ", ".join(alike[:NAMES_AT_MOST]) if alike else NO_SUCH_ACTOR
            raise UnknownActorError(f"{len(alike) or 'no'} actors are named {name!r} now: {shown}")
        for line in state_lines(alike[0], state):
            self._out(line)

    def actors(self, part: str) -> None:
        """Print the names that contain `part`."""
        names = [name for name in self.replay.actors() if part in name]
        for name in names[:NAMES_AT_MOST]:
            self._out(f"  {name}")
        if len(names) > NAMES_AT_MOST:
            self._out(f"  and {len(names) - NAMES_AT_MOST} more: say a part of the name")

    # --- the prompt -------------------------------------------------------------------------------------------------

    def converse(self, words: TextIO) -> None:
        """Read commands, one a line, until `quit` or the end of the input."""
        while True:
            line = self._read(words)
            if line is None or line in ("q", "quit", "exit"):
                return
            listen(self._interrupt)
            try:
                self._do(line)
            except (ValueError, UnknownActorError) as error:
                self._out(f"{error}")
            self._interrupt.came = False

    def _do(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("", "n", "next"):
            self.next(_number(rest, 1))
        elif word in ("u", "until"):
            self.until(parse_until(rest))
        elif word in ("g", "go"):
            self.go()
        elif word in ("a", "actor") and rest:
            self.actor(rest)
        elif word == "actors":
            self.actors(rest)
        elif word in ("t", "trace"):
            self.trace(_number(rest, self._lines))
        else:
            for help_line in HELP.splitlines():
                self._out(help_line)

    def _read(self, words: TextIO) -> str | None:
        """The next line; None at the end of the input and after an interrupt."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                if words.isatty():
                    prompt(PROMPT)
                if line := words.readline():
                    return line.strip()
        finally:
            signal.signal(signal.SIGINT, before)
        if words.isatty():
            say("")  # ends the line of the prompt
        return None


def _number(text: str, otherwise: int) -> int:
    if not text:
        return otherwise
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not a number; write one such as 10")
    return int(text)
