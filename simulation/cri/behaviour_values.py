"""The values of behaviour annotations.

One pure function reads each, and raises `ValueError` with the reason.

Durations are Go's (`1h30m`, `250ms`, `1.5s`), sizes and CPU are the quantities of Kubernetes (`64Mi`, `250m`).
A list holds one value per attempt of the container, and its last value goes on for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

import msgspec

from config.caches import KIB, kept
from config.values.durations import parse_duration_ns
from config.values.nearest import did_you_mean
from config.values.quantity import Quantity, parse_quantity
from runtime.cri.errors import StatusCode
from runtime.cri.verbs import ALL_VERBS
from simulation.cri.named_errors import errors_of

T = TypeVar("T")

MAX_TIMES = 1_000
_RULE = re.compile(r"([A-Za-z]+)(?:=([A-Za-z0-9_.-]+))?(?:\*(\d+))?")
_CALL_VERBS = {verb.name for verb in ALL_VERBS if not verb.streaming}


class CallKind(Enum):
    """The effect on a call that a rule matches."""

    FAIL = "fail"
    """Refused, and nothing is done."""
    HANG = "hang"
    """Never answered, and nothing is done."""
    LIE = "lie"
    """Answered as if it were done, and nothing is done."""
    LATE = "late"
    """Done at once, answered later."""


class CallRule(msgspec.Struct, frozen=True):
    """One rule for the calls of a verb: the first `times` of them, or all if None."""

    kind: CallKind
    verb: str
    times: int | None = None
    code: StatusCode = StatusCode.UNKNOWN
    delay_ns: int = 0
    error: str = ""
    """The name of a failure in `named_errors`; empty for one that has a code alone."""


class ProbeOperation(Enum):
    """A container's answer to a probe: to one over the network, or in place of running its command."""

    OK = "ok"
    FAIL = "fail"
    WARN = "warn"
    """It answers, and there is something odd about it."""
    ERROR = "error"
    """The probe cannot be made at all."""
    HANG = "hang"
    """No answer: the probe's timeout ends it."""
    SILENT = "silent"
    """The probe never ends, not even by its timeout."""


def probe_operations(text: str) -> tuple[ProbeOperation, ...]:
    """`fail*3, ok`: the first three fail, and all after them succeed."""
    operations: list[ProbeOperation] = []
    for part in text.split(","):
        word, star, times = part.strip().partition("*")
        if word not in {operation.value for operation in ProbeOperation}:
            raise ValueError(f"{word!r} is none of {', '.join(operation.value for operation in ProbeOperation)}")
        if star and not (times.isdecimal() and 0 < int(times) <= MAX_TIMES):
            raise ValueError(f"{part.strip()!r} needs a number from 1 to {MAX_TIMES} after the star")
        operations += [ProbeOperation(word)] * (int(times) if star else 1)
    return tuple(operations)


@kept(64 * KIB)
def duration_ns(text: str) -> int:
    """`90s`, `1m30s`, `0`: nanoseconds, not below zero."""
    duration = parse_duration_ns(text)
    if duration < 0:
        raise ValueError(f"{text!r} is below zero")
    return duration


def run_time_ns(text: str) -> int | None:
    """A duration, or `forever`, which is None."""
    return None if text == "forever" else duration_ns(text)


def size_bytes(text: str) -> int:
    """`64Mi`, `1G`, `512`: bytes."""
    return _amount(text).value()


def rate_bytes_per_s(text: str) -> int:
    """A size that is not zero, per second."""
    rate = size_bytes(text)
    if rate <= 0:
        raise ValueError(f"{text!r} moves nothing; write a rate of at least 1 byte per second")
    return rate


def cpu_milli(text: str) -> int:
    """`250m` or `0.25`: thousandths of a core."""
    return _amount(text).milli_value()


class Curve(msgspec.Struct, frozen=True):
    """An amount that changes while a container runs.

    `points` are (ns since its start, amount), in order of time. Between two points it changes linearly. Before the
    first and after the last it is constant.
    """

    points: tuple[tuple[int, int], ...]

    def at(self, ns: int) -> int:
        """The amount at that time."""
        before_ns, before = self.points[0]
        if len(self.points) == 1 or ns <= before_ns:
            return before
        for at_ns, amount in self.points[1:]:
            if ns < at_ns:
                return before + (amount - before) * (ns - before_ns) // (at_ns - before_ns)
            before_ns, before = at_ns, amount
        return before


def curve(read: Callable[[str], int]) -> Callable[[str], Curve]:
    """`64Mi`, or `64Mi, 1m=2Gi, 3m=64Mi`: what it is at the start, and then."""

    def values(text: str) -> Curve:
        points: list[tuple[int, int]] = []
        for part in text.split(","):
            when, equals, amount = part.strip().rpartition("=")
            if not equals and points:
                raise ValueError(f"{part.strip()!r} does not say when; write it as 1m={part.strip()}")
            at_ns = duration_ns(when) if equals else 0
            if points and at_ns <= points[-1][0]:
                raise ValueError(f"{part.strip()!r} does not come after what stands before it")
            points.append((at_ns, read(amount)))
        return Curve(tuple(points))

    return values


def count(text: str) -> int:
    """A number of things."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a count; write a number such as 3")
    return int(text)


def exit_status(text: str) -> int:
    """0 to 255."""
    if not text.isascii() or not text.isdigit() or int(text) > 255:
        raise ValueError(f"{text!r} is not an exit code; write a number from 0 to 255")
    return int(text)


def yes_or_no(text: str) -> bool:
    """`true` or `false`."""
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


class HookOperation(Enum):
    """The outcome of a hook's HTTP call: an answer, none, an answer without TLS, or a hang."""

    OK = "ok"
    FAIL = "fail"
    PLAIN = "plain"
    HANG = "hang"


def hook_operation(text: str) -> HookOperation:
    """How a hook call ends: ok, fail, plain or hang. Raises ValueError."""
    try:
        return HookOperation(text)
    except ValueError:
        raise ValueError(f"{text!r} is not what a hook comes to; it is one of ok, fail, plain, hang") from None


class CommandRule(msgspec.Struct, frozen=True):
    """The behaviour of commands whose words, joined by spaces, match a shell pattern."""

    pattern: str
    code: int
    output: str


def commands(text: str) -> tuple[CommandRule, ...]:
    """Rules of commands: output, or exit code and output.

    For example `{"pg_isready*": "good", "migrate": [3, "locked"]}`. Raises ValueError.
    """
    try:
        read = msgspec.json.decode(text, type=dict[str, str | tuple[int, str]])
    except msgspec.DecodeError as error:
        raise ValueError(f'it is not JSON such as {{"migrate": [3, "locked"], "*": "done"}}: {error}') from None
    return tuple(
        CommandRule(pattern, *((0, said) if isinstance(said, str) else (exit_status(str(said[0])), said[1])))
        for pattern, said in read.items()
    )


def timed_lines(text: str) -> tuple[tuple[int, str], ...]:
    """`5s listening on 8080`: on each line the time since the start (ns), and what is written then."""
    found = []
    for line in text.splitlines():
        when, _, said = line.strip().partition(" ")
        found.append((duration_ns(when), said))
    return tuple(found)


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text; none of an empty one."""
    return tuple(text.splitlines())


def each(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """A reader of values separated by commas, at least one; `read` reads each."""

    def values(text: str) -> tuple[T, ...]:
        return tuple(read(part.strip()) for part in text.split(","))

    return values


def call_rules(kind: CallKind) -> Callable[[str], tuple[CallRule, ...]]:
    """Rules such as `StartContainer*2` or `PullImage=unauthorized, StopContainer=UNAVAILABLE`."""

    def rules(text: str) -> tuple[CallRule, ...]:
        return tuple(_rule(kind, part.strip()) for part in text.split(","))

    return rules


def _amount(text: str) -> Quantity:
    quantity = parse_quantity(text)
    if quantity.nanos < 0:
        raise ValueError(f"{text!r} is below zero")
    return quantity


def _rule(kind: CallKind, text: str) -> CallRule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a rule on a verb; write it as StartContainer, StartContainer*2 or Verb=VALUE*2"
        )
    verb, value, times_text = match.groups()
    if verb not in _CALL_VERBS:
        raise ValueError(f"{verb!r} is not a verb of the CRI; write it as StartContainer or PullImage")
    times = None if times_text is None else int(times_text)
    if kind is CallKind.LATE:
        if value is None:
            raise ValueError(f"{text!r} does not say how late; write it as {verb}=5s")
        return CallRule(kind, verb, times, delay_ns=duration_ns(value))
    if kind is CallKind.HANG or kind is CallKind.LIE:
        if value is not None:
            raise ValueError(f"{text!r} has a value, but a {kind.value} takes none; write it as {verb} or {verb}*2")
        return CallRule(kind, verb, times)
    if value is None:
        return CallRule(kind, verb, times)
    named = errors_of(verb)
    if value in named:
        return CallRule(kind, verb, times, code=named[value][0], error=value)
    if value not in StatusCode.__members__ or value == "OK":
        why = f"a failure of {verb} is one of {', '.join(named)}, or a gRPC code such as UNAVAILABLE"
        raise ValueError(f"{value!r} is not a failure; {did_you_mean(value, named, why)}")
    return CallRule(kind, verb, times, code=StatusCode[value])
