"""The prompt of a replay: the commands that a person may type, and what each one shows.

Every move prints the new lines of the trace, and the step it came to. An interrupt ends a move; at the prompt it ends
the replay.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TextIO, TypeVar

from actors.kernel.inspection import ActorState
from cli.moments import is_moment, wall_ns_of
from cli.printing import prompt, say
from cli.replay.actor_state import state_lines
from cli.simulate.play_watch import Interrupt, listen
from cli.simulate.report import of
from cli.simulate.run_story import state_of
from cli.simulate.trace_lines import readable, seconds
from config.values.nearest import did_you_mean
from simulation.cri.behaviour_values import duration_ns
from simulation.play.replay import named_alike
from simulation.world.statuses import restarts_in

LINES_KEPT = 10_000
NAMES_AT_MOST = 40
PROMPT = "(replay) "
NO_SUCH_ACTOR = "`actors` in --step lists those that are; that of a pod ends with its UID, as in the trace"
HELP = """\
  Enter, next [N]     one turn of an actor, or N
  back [N]            take one turn back, or N
  until STEP|TIME     to a number of turns, or to a time, also back: until 1200, until 1m30s, until 03:00
  until pod NAME      on to what happens next to a pod; a part of its name will do
  until message NAME  on to the next message of that name
  go                  on to the violation, or the first difference
  pods [PART]         the pods of the API: node, state, restarts
  actor NAME          fields, mailbox and what it awaits; the end of its path will do
  actors [PART]       who is there
  trace [N]           the last N lines
  quit"""
WORDS = ("next", "back", "until", "go", "pods", "actor", "actors", "trace", "quit", "help")


@dataclass(frozen=True, slots=True)
class Until:
    """The place to stop: a step, a time, or the next line of the trace about a pod or of a message.

    `ns`: since the beginning. `moment`: a time of day, as it was written.
    """

    step: int | None = None
    ns: int | None = None
    moment: str = ""
    pod: str = ""
    message: str = ""


_EXAMPLES = {"pod": "web-1", "message": "PodUpdated"}


class UnknownActorError(LookupError):
    """No actor, or more than one, has that name. The text lists the candidates."""


def parse_until(text: str) -> Until:
    """`1200` is a step, `1m30s` a time; `pod web-1` and `message Relist`. Raises ValueError."""
    what, _, name = text.partition(" ")
    if what in ("pod", "message"):
        if not name.strip():
            raise ValueError(f"which {what}? write a name, such as: until {what} {_EXAMPLES[what]}")
        return Until(pod=name.strip()) if what == "pod" else Until(message=name.strip())
    if text.isascii() and text.isdecimal():
        return Until(step=int(text))
    if is_moment(text):
        return Until(moment=text)
    try:
        return Until(ns=duration_ns(text))
    except ValueError:
        raise ValueError(
            f"{text!r} is not a step or a time; write 1200, 1m30s, 03:00, pod web-1 or message {_EXAMPLES['message']}"
        ) from None


Told = Callable[[str], object]
"""Gets each line of a trace."""
GoOn = Callable[[], bool]
"""Whether a move goes on."""


class Steppable(Protocol):
    """What can be played again in steps. `go_on` is asked between them."""

    @property
    def step(self) -> int:
        """Steps so far."""

    @property
    def now_ns(self) -> int:
        """The time, in ns since its beginning."""

    @property
    def done(self) -> bool:
        """Whether it was played to its end."""

    @property
    def began_wall_ns(self) -> int:
        """The time of day at its beginning, in ns since 1970."""

    def found(self) -> str:
        """What was found so far, for people; empty for nothing."""

    def next(self, steps: int = 1, *, go_on: GoOn = ...) -> None:
        """Play so many more steps."""

    def until_step(self, step: int, *, go_on: GoOn = ...) -> None:
        """Play until so many steps were taken."""

    def until_ns(self, ns: int, *, go_on: GoOn = ...) -> None:
        """Play until that time."""

    def until_found(self, *, go_on: GoOn = ...) -> None:
        """Play until something is found, or to the end."""

    def until_told(self, is_told: GoOn, *, go_on: GoOn = ...) -> None:
        """Play until `is_told`, which is asked after each step, or to the end."""

    def actors(self) -> tuple[str, ...]:
        """The names of the living actors."""

    def last_turn(self) -> str:
        """What the last step did, as a line of the trace."""

    def pods(self) -> tuple[dict[str, Any], ...]:
        """The pods as JSON data."""

    def uids_of(self, name: str) -> frozenset[str]:
        """The UIDs of the pods with that part in their names."""

    def look_at(self, actor: str) -> ActorState | None:
        """One actor in detail; None when it does not exist."""


R = TypeVar("R", bound=Steppable)


class Stepper(Generic[R]):
    """`make` begins the replay, which tells each line of its trace. `out` prints a line.

    `lines`: how many lines of the trace a move shows.
    """

    def __init__(
        self, make: Callable[[Told], R], interrupt: Interrupt, *, lines: int, out: Callable[[str], object]
    ) -> None:
        self.also_told: Told = lambda _: None
        """Also gets every line of the trace, once."""
        self._make = make
        self.replay = make(self._told)
        self._lines_told = self._also_told = 0
        """So many lines of this replay, and of all since the first."""
        self._interrupt = interrupt
        self._lines = lines
        self._out = out
        self._kept: deque[str] = deque(maxlen=LINES_KEPT)
        self._new = 0

    def _told(self, line: str) -> None:
        self._kept.append(line)
        self._new += 1
        self._lines_told += 1
        if self._lines_told > self._also_told:
            self._also_told = self._lines_told
            self.also_told(line)

    # --- moves ------------------------------------------------------------------------------------------------------

    def next(self, steps: int) -> None:
        """Play that many turns. A turn that ends no message shows what it did instead."""

        def move() -> None:
            for _ in range(steps):
                if self.replay.done or not self._go_on():
                    return
                before = self._new
                self.replay.next(go_on=self._go_on)
                turn = self.replay.last_turn()
                new = list(self._kept)[before - self._new :] if self._new > before else []
                if not any(line.split(" ")[1] == turn.split(" ")[1] for line in new):
                    self._kept.append(turn)
                    self._new += 1

        self._moved(move)

    def back(self, steps: int) -> None:
        """Take so many turns back."""
        self.until(Until(step=max(0, self.replay.step - steps)))

    def walk(self, until: Until | None, *, by_hand: bool) -> None:
        """Go to that place, or to the end; by hand, go on from there by the words of standard input."""
        if until is not None:
            self.until(until)
        elif not by_hand:
            self.go()
        if by_hand:
            self.converse(sys.stdin)

    def until(self, where: Until) -> None:
        """Play to a step or a time, or on to a line of the trace. What is past is played again from the begin."""
        if where.pod or where.message:
            self._until_line(self._about(where.pod) if where.pod else _is_message(where.message), where)
            return
        replay = self.replay
        if where.moment:
            where = Until(ns=wall_ns_of(where.moment, replay.began_wall_ns) - replay.began_wall_ns)
        if (where.step is not None and where.step < replay.step) or (where.ns is not None and where.ns < replay.now_ns):
            self._begin_again()
        if where.step is not None:
            step = where.step
            self._moved(lambda: self.replay.until_step(step, go_on=self._go_on))
        else:
            ns = where.ns or 0
            self._moved(lambda: self.replay.until_ns(ns, go_on=self._go_on))

    def _begin_again(self) -> None:
        self._kept.clear()
        self._lines_told = 0
        self.replay = self._make(self._told)

    def _until_line(self, is_wanted: Callable[[str], bool], where: Until) -> None:
        """Play on to a line; return to where it was when there is none until the end."""
        began = self.replay.step
        seen = self._lines_told
        found = False

        def is_told() -> bool:
            nonlocal seen, found
            new, seen = self._lines_told - seen, self._lines_told
            found = found or any(is_wanted(line) for line in list(self._kept)[-new:] if new)
            return found

        def move() -> None:
            self.replay.until_told(is_told, go_on=self._go_on)

        self._moved(move)
        if not found and self.replay.done:
            sought = f"pod {where.pod!r}" if where.pod else f"message {where.message!r}"
            self._out(f"-- no {sought} until the end; back to step {began}")
            self.until(Until(step=began))

    def _about(self, name: str) -> Callable[[str], bool]:
        """Whether a line of the trace is about a pod: it has its name or its UID."""
        uids: frozenset[str] = frozenset()

        def is_about(line: str) -> bool:
            nonlocal uids
            if not uids or " world " in line:
                uids = self.replay.uids_of(name)
            return name in line or any(uid in line for uid in uids)

        return is_about

    def go(self) -> None:
        """Play forward to the violation."""
        self._moved(lambda: self.replay.until_found(go_on=self._go_on))

    def _go_on(self) -> bool:
        return not self._interrupt.came

    def _moved(self, move: Callable[[], None]) -> None:
        self._new = 0
        before = self.replay.found()
        move()
        self.trace(min(self._new, self._lines))
        replay = self.replay
        where = f"step {replay.step}, {seconds(replay.now_ns)}{', the end' if replay.done else ''}"
        left_out = f" ({self._new - self._lines} lines before these)" if self._new > self._lines else ""
        self._out(f"-- {where}{left_out}")
        after = replay.found()
        if after and after != before:
            self._out(f"-- {after}")

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

    def pods(self, part: str) -> None:
        """Print the pods whose names contain `part`."""
        found = [
            pod for pod in self.replay.pods() if part in f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        ]
        for pod in found[:NAMES_AT_MOST]:
            metadata, restarts = pod["metadata"], restarts_in(pod.get("status") or {})
            where = pod["spec"].get("nodeName") or "no node"
            self._out(
                f"  {metadata['namespace']}/{metadata['name']}: {state_of(pod)}, {where}, {of(restarts, 'restart')}"
            )
        if len(found) > NAMES_AT_MOST:
            self._out(f"  and {len(found) - NAMES_AT_MOST} more: say a part of the name")
        if not found:
            self._out("  no pods" if not part else f"  no pod has {part!r} in its name now")

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
        elif word in ("b", "back"):
            self.back(_number(rest, 1))
        elif word in ("g", "go"):
            self.go()
        elif word in ("p", "pods"):
            self.pods(rest)
        elif word in ("a", "actor"):
            if not rest:
                raise ValueError("which actor? `actors` lists them")
            self.actor(rest)
        elif word == "actors":
            self.actors(rest)
        elif word in ("t", "trace"):
            self.trace(_number(rest, self._lines))
        elif word in ("?", "h", "help"):
            for help_line in HELP.splitlines():
                self._out(help_line)
        else:
            raise ValueError(f"unknown word {word!r}; {did_you_mean(word, WORDS, 'try ?, which lists the words')}")

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


NAME_WITHIN = 5
"""Words from the beginning of a line to the name of its message."""


def _is_message(name: str) -> Callable[[str], bool]:
    """Whether a line of the trace is of a message with that name, in whatever case.

    The name stands behind time, unit and actor, in a record also behind the verb ("sends"). Its fields may follow it.
    """
    folded = name.casefold()
    return lambda line: any(word.partition("(")[0] == folded for word in line.casefold().split()[2:NAME_WITHIN])


def _number(text: str, otherwise: int) -> int:
    if not text:
        return otherwise
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not a number; write one such as 10")
    return int(text)
