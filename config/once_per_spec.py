"""What follows from the spec of a pod alone, worked out once and not again at every look at the pod.

A spec never changes, and thousands of pods of one template may share one. What is asked of it at every turn of its pod
(what it refers to, which of its fields are not honoured) is remembered here by the identity of the spec: as long as an
answer is kept, so is its spec, and nothing else can take its place in memory. A bounded number is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from config.objects import PodSpec

T = TypeVar("T")

SPECS_AT_MOST = 1024


def once_per_spec(work: Callable[[PodSpec], T]) -> Callable[[PodSpec], T]:
    """`work`, which is pure, with its answers kept. What it gives is shared: nobody may change it."""
    known: dict[int, tuple[PodSpec, T]] = {}

    @wraps(work)
    def answer(spec: PodSpec) -> T:
        kept = known.get(id(spec))
        if kept is not None:
            return kept[1]
        value = work(spec)
        if len(known) >= SPECS_AT_MOST:
            known.clear()  # in one step, whatever other threads ask
        known[id(spec)] = spec, value
        return value

    return answer
