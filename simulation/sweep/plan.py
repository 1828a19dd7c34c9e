"""Which faults are worth a run: chosen from what a run without a fault did. Pure.

A class of moments has the same verb, resource and step, and names that differ in digits only; a fault strikes the first
of each class. So ten pods of one template cost what one costs. Missed events are tried in each step, the others once.

Moments at which a fault does the same are tried once. A write that changes nothing is no moment: it is as if it had
not come, and how often it does differs from run to run. After a restart that meets an old world, more breaks the more
was done before. So it comes after the first write, the last one of each step, and each deletion. That of a
spec comes after the last write of each step that has an older spec, or one that went before. A kill before a write
is a kill after the one before, if nobody else did anything meanwhile: it comes before the first write of each step.
Clients have one way to take slow answers, too many requests and cut watches: these are tried once for many objects.

What tells most comes first, so that a sweep with a limit loses the least.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

import msgspec

from simulation.apiserver.store.store import DELETED
from simulation.operators.faults import DELETIONS, KINDS, READS, UPDATES, Fault
from simulation.operators.keys import Key
from simulation.operators.records import Asked, Record

RUNS_AT_MOST = 300
_DIGITS = re.compile(r"\d+")
_AT_EACH_WRITE = ("timeout", "error")
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
    writes = list(_firsts(one for one in first.asked if one.changed and one.code < 400))
    once = list(_once(one.key for one in writes))
    late = list(_lates(writes))
    events = list(_classes((one.key, one.step) for one in first.shown))
    yield from (Fault("kill-after", key) for key in once)
    yield from (Fault("stale-step", one.key) for one in late)
    yield from (Fault("stale-spec", one.key) for one in _lasts(writes) if one.step)
    yield from (Fault("stale-deletion", one.key) for one in _lasts(writes) if one.step > _first_gone(first))
    for kind in _AT_EACH_WRITE:
        yield from (Fault(kind, key) for key in once)
    yield from (Fault("throttle", key) for key in _one_each(once))
    yield from (Fault("conflict", key) for key in once if key.verb in UPDATES)
    for kind in _AT_PODS:
        yield from (Fault(kind, key) for key in _classes((one.key, 0) for one in first.pods))
    yield from (Fault("miss", key) for key in events)
    yield from (Fault("late", key) for key in _once(events))
    yield from (Fault("cut", key) for key in _one_of_a_resource(events))
    yield from (Fault("stale-before", one.key) for one in late if one.step)
    yield from (Fault("stale-write", key) for key in once if key.verb == "create")
    yield from (Fault("kill-before", key) for key in _first_of_steps(writes))
    reads = [one.key for one in _firsts(first.asked) if one.key.verb in READS]
    yield from (Fault("error", key) for key in _one_each(reads))
    yield from (Fault("slow", key) for key in {key.verb: key for key in reversed(once)}.values())


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


def _one_of_a_resource(events: Iterable[Key]) -> Iterator[Key]:
    """One event of each resource: a deletion if there is one, because a new list does not tell it."""
    chosen: dict[str, Key] = {}
    for key in events:
        if key.resource not in chosen or (key.verb == DELETED != chosen[key.resource].verb):
            chosen[key.resource] = key
    yield from chosen.values()


def _lates(writes: list[Asked]) -> Iterator[Asked]:
    """The first write, the last of each step, and all deletions."""
    last = set(_lasts(writes))
    yield from (one for one in writes if one == writes[0] or one in last or one.key.verb in DELETIONS)


def _lasts(writes: list[Asked]) -> Iterator[Asked]:
    """The last write of each step."""
    yield from {one.step: one for one in writes}.values()


def _first_gone(first: Record) -> float:
    """The step in which the first object went that is not of the operator's making."""
    made = {one.key.resource for one in first.asked if one.changed and one.key.verb == "create"}
    gone = (one.step for one in first.shown if one.key.verb == DELETED and one.key.resource not in made)
    return min(gone, default=math.inf)


def _first_of_steps(writes: list[Asked]) -> Iterator[Key]:
    """The first write of each step."""
    yield from {one.step: one.key for one in reversed(writes)}.values()


def shape(name: str) -> str:
    """The name without its digits."""
    return _DIGITS.sub("0", name)
