"""What follows from the spec of a pod alone, worked out once and not again at every look at the pod.

A spec never changes, and thousands of pods of one template may share one. What is asked of it at every turn of its pod
(what it refers to, which of its fields are not honoured, what it requests) is remembered here by the identity of the
spec, which is held weakly: an answer is kept as long as its spec is there, and must not hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from config.objects import PodSpec

T = TypeVar("T")


def once_per_spec(work: Callable[[PodSpec], T]) -> Callable[[PodSpec], T]:
    """`work`, which is pure, with its answers kept. What it gives is shared: nobody may change it. What it raises is
    not kept. May be called from any thread.
    """
    known: dict[int, tuple[ref[PodSpec], T]] = {}
    find = known.get

    @wraps(work)
    def answer(spec: PodSpec) -> T:
        number = id(spec)
        kept = find(number)
        if kept is not None:
            return kept[1]
        value = work(spec)
        # The end of a spec is told before another one can come where it was in memory.
        known[number] = (ref(spec, lambda _: known.pop(number, None)), value)
        return value

    return answer
