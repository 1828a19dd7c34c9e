"""Whether a run with a fault broke something: its record beside those of two runs without. Pure.

Five things count. The scenario failed. The operator never came to rest. It was not running at the end. The objects
differ, at the end or after a step. It deleted what it should have kept, even if it made it anew. Deletions of pods
after a fault of pods or nodes are its duty, and do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from simulation.operators.faults import WRITES, Fault
from simulation.operators.keys import READY, Key
from simulation.operators.records import Asked, Record
from simulation.sweep.compare import differences, unstable_fields

WRITES_FACTOR, WRITES_MORE = 4, 40
"""A run with a fault may have so many times the writes of one without, and so many more."""

AFTER_STEP = " after step "


class Reference(msgspec.Struct, frozen=True):
    """What is right: a run without a fault, and the fields in which a second one differs from it."""

    first: Record
    second: Record
    unstable: frozenset[tuple[str, str]] = frozenset()


class Verdict(msgspec.Struct, frozen=True):
    """`wrong`: one text for each thing that is left wrong; none if all is well."""

    wrong: tuple[str, ...]
    never: tuple[str, ...] = ()
    """Writes of the run without a fault that never came."""
    more: tuple[str, ...] = ()
    """Writes that only this run has."""


def reference(first: Record, second: Record) -> Reference:
    """Put two runs without a fault together."""
    return Reference(first, second, unstable_fields(first.state, second.state))


def judge(right: Reference, run: Record, fault: Fault | None) -> Verdict:
    """What is wrong with a run."""
    wrong = tuple(_wrong(right, run, fault))
    if not wrong:
        return Verdict(())
    wanted, had = _writes(right.first), _writes(run)
    return Verdict(wrong, tuple(sorted(wanted - had)), tuple(sorted(had - wanted)))


def _wrong(right: Reference, run: Record, fault: Fault | None) -> Iterator[str]:
    first = right.first
    if run.failure and run.failure != first.failure:
        yield f"the scenario failed: {run.failure}"
        return
    limit = WRITES_FACTOR * _count(first.asked) + WRITES_MORE
    if _count(run.asked) > limit:
        yield f"it writes on and on: {_busiest(run)}"
        return
    if not run.settled and first.settled:
        yield "it never came to rest"
    if not run.runs and first.runs:
        last = f", the last time {run.ends[-1]}" if run.ends else ""
        yield f"it was not running at the end: it ended {len(run.ends)} times by itself{last}"
    yield from _differences(right, run)
    if fault is None or fault.at.verb != READY:
        yield from _lost(right, run)


def _differences(right: Reference, run: Record) -> Iterator[str]:
    """How the end differs; or, if it does not, the first step after which something did."""
    if found := differences(right.first.state, run.state, right.unstable):
        yield from map(str, found)
        return
    for number, (wanted, other, had) in enumerate(zip(right.first.steps, right.second.steps, run.steps, strict=False)):
        if wanted is not None and other is not None and had is not None:
            unstable = unstable_fields(wanted, other)
            if found := differences(wanted, had, unstable):
                yield from (f"{one}{AFTER_STEP}{number + 1}" for one in found)
                return


def _lost(right: Reference, run: Record) -> Iterator[str]:
    """What it deleted more often than others by the end of a step, when it should have been there."""
    deleted: Counter[tuple[str, str]] = Counter()
    told = set()
    for one in run.asked:
        if one.key.verb == "delete" and one.changed:
            what = (one.key.resource, one.key.name)
            deleted[what] += 1
            usual = max(_deletions(first, what, one.step) for first in (right.first, right.second))
            is_kept = _is_there(right.first, what, one.step)
            if deleted[what] > usual and is_kept and what not in told:
                told.add(what)
                yield f"{what[0]} {what[1]} was deleted, and should have been kept"


def _deletions(run: Record, what: tuple[str, str], step: int) -> int:
    """How often the run had deleted that by the end of the step."""
    return sum(_is(one, "delete", what) for one in run.asked if one.step <= step)


def _is_there(run: Record, what: tuple[str, str], step: int) -> bool:
    """Whether the operator had made that, and not deleted it again, by the end of the step."""
    there = False
    for one in run.asked:
        if one.step <= step:
            there = (there or _is(one, "create", what)) and not _is(one, "delete", what)
    return there


def _is(one: Asked, verb: str, what: tuple[str, str]) -> bool:
    return one.changed and one.key.verb == verb and (one.key.resource, one.key.name) == what


def _writes(run: Record) -> set[str]:
    """Verb, resource and name of each write that was done."""
    return {_what(one.key) for one in run.asked if one.key.verb in WRITES and one.code < 300}


def _what(key: Key) -> str:
    return f"{key.verb} {key.resource} {key.name}"


def _count(asked: tuple[Asked, ...]) -> int:
    return sum(map(_is_write, asked))


def _is_write(asked: Asked) -> bool:
    """Whether it counts. What a cache that lags makes an operator try again and again, in vain, does not."""
    return asked.key.verb in WRITES and (asked.changed or not asked.lagged)


def _busiest(run: Record) -> str:
    counted: Counter[Any] = Counter(_what(one.key) for one in run.asked if _is_write(one))
    (what, times), *_ = counted.most_common(1)
    return f"{what}, {times} times"
