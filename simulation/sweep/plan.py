"""Which faults are worth a run: chosen from what a run without a fault did. Pure.

A class of moments has the same verb, resource and step, and names that differ in digits only; a fault strikes the first
of each class. So ten pods of one template cost what one costs. Old reads and missed events are tried in each step,
the others once. What tells most comes first, so that a sweep with a limit loses the least.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from simulation.operators.faults import KINDS, READS, UPDATES, WRITES, Fault
from simulation.operators.keys import Key
from simulation.operators.records import Asked, Record

RUNS_AT_MOST = 300
_DIGITS = re.compile(r"\d+")
_AT_EACH_WRITE = ("timeout", "error", "throttle")
_AT_PODS = tuple(kind for kind, about in KINDS.items() if about.where == ("pod",))


class Plan(msgspec.Struct, frozen=True):
    """The faults of a sweep, in their order. `left_out`: how many more there would be without the limit."""

    faults: tuple[Fault, ...]
    left_out: int = 0


def plan(first: Record, kinds: Iterable[str] = (), at_most: int = RUNS_AT_MOST) -> Plan:
    """`first`: a run without a fault. `kinds`: of faults; all without a word."""
    wanted = tuple(kinds) or tuple(KINDS)
    found = [fault for fault in dict.fromkeys(_in_order(first)) if fault.kind in wanted]
    return Plan(tuple(found[:at_most]), max(0, len(found) - at_most))


def _in_order(first: Record) -> Iterator[Fault]:
    writes = [one for one in _firsts(first.asked) if one.key.verb in WRITES and one.code < 400]
    once = list(_once(one.key for one in writes))
    events = list(_classes((one.key, one.step) for one in first.shown))
    yield from (Fault("kill-after", key) for key in once)
    yield from (Fault("stale-step", one.key) for one in writes)
    for kind in _AT_EACH_WRITE:
        yield from (Fault(kind, key) for key in once)
    yield from (Fault("conflict", key) for key in once if key.verb in UPDATES)
    for kind in _AT_PODS:
        yield from (Fault(kind, key) for key in _classes((one.key, 0) for one in first.pods))
    yield from (Fault("miss", key) for key in events)
    yield from (Fault("late", key) for key in _once(events))
    yield from (Fault("cut", key) for key in _one_each(events))
    yield from (Fault("stale-before", one.key) for one in writes if one.step)
    yield from (Fault("stale-write", key) for key in once if key.verb == "create")
    yield from (Fault("kill-before", key) for key in _once(_after_reads(first.asked)))
    reads = [one.key for one in _firsts(first.asked) if one.key.verb in READS]
    yield from (Fault("error", key) for key in _one_each(reads))
    yield from (Fault("slow", key) for key in _one_each(once))


def _firsts(asked: Iterable[Asked]) -> Iterator[Asked]:
    """The first request of each class."""
    seen = set()
    for one in asked:
        which = (one.key.kind, shape(one.key.name), one.step)
        if which not in seen:
            seen.add(which)
            yield one


def _classes(moments: Iterable[tuple[Key, int]]) -> Iterator[Key]:
    """The first moment of each class. The number is of the step."""
    seen = set()
    for key, step in moments:
        which = (key.kind, shape(key.name), step)
        if which not in seen:
            seen.add(which)
            yield key


def _once(keys: Iterable[Key]) -> Iterator[Key]:
    """The first of those that differ in digits and in their step only."""
    return _classes((key, 0) for key in keys)


def _one_each(keys: Iterable[Key]) -> Iterator[Key]:
    """The first key of each verb and resource."""
    yield from {key.kind: key for key in reversed(list(keys))}.values()


def _after_reads(asked: tuple[Asked, ...]) -> Iterator[Key]:
    """Writes that follow no other write: a kill before one that does is a kill after that one."""
    chosen = {one.key for one in _firsts(asked) if one.key.verb in WRITES and one.code < 400}
    before = ""
    for one in asked:
        if one.key in chosen and before not in WRITES:
            yield one.key
        before = one.key.verb


def shape(name: str) -> str:
    """The name without its digits."""
    return _DIGITS.sub("0", name)
