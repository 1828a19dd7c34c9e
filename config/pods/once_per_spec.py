"""What follows from the spec of a pod alone, worked out once and not again at every look at the pod.

A spec never changes, and thousands of pods of one template may share one. What is asked of it at every turn of its pod
(what it refers to, which of its fields are not honoured, what it requests) is remembered here by the identity of the
spec, which is held weakly: an answer is kept as long as its spec is there, and must not hold it.

Where more than the spec decides, `OncePerSpecAnd` is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, TypeVar
from weakref import ref

from config.objects import PodSpec

T = TypeVar("T")

FACTS_AT_MOST = 256
"""Kept of one spec. Thousands of pods that share it may each have facts of their own."""

_all_answers: list[dict[int, Any]] = []
_specs: dict[int, ref[PodSpec]] = {}
"""One reference for all answers about a spec: where no two pods share theirs, each pod pays for it."""


def once_per_spec(work: Callable[[PodSpec], T]) -> Callable[[PodSpec], T]:
    """`work`, which is pure, with its answers kept. What it gives is shared: nobody may change it. What it raises is
    not kept. May be called from any thread.
    """
    known: dict[int, T] = {}
    _all_answers.append(known)

    @wraps(work)
    def answer(spec: PodSpec) -> T:
        try:
            return known[id(spec)]
        except KeyError:
            pass
        value = work(spec)
        _forget_with(spec)
        known[id(spec)] = value
        return value

    return answer


def _forget_with(spec: PodSpec) -> None:
    """The end of a spec is told before another one can come where it was in memory."""
    number = id(spec)
    if number not in _specs:
        _specs[number] = ref(spec, lambda _: _forget(number))


def _forget(number: int) -> None:
    for answers in _all_answers:
        answers.pop(number, None)
    _specs.pop(number, None)


class OncePerSpecAnd(Generic[T]):
    """Answers to one question that other objects decide beside the spec, known by identity, and facts, by what they
    are. Objects never change, and none may hold the spec, nor may an answer. What it gives is shared. `at_most`: how
    many are kept of one spec.
    """

    __slots__ = ("_answers", "_at_most")

    def __init__(self, at_most: int = FACTS_AT_MOST) -> None:
        self._at_most = at_most

        @once_per_spec
        def answers(_: PodSpec) -> dict[tuple[Hashable, ...], tuple[tuple[object, ...], T]]:
            return {}

        self._answers = answers

    def of(self, spec: PodSpec, objects: tuple[object, ...], facts: Hashable, work: Callable[[], T]) -> T:
        """What `work` gives or has given, which is pure and depends on nothing else. What it raises is not kept."""
        answers = self._answers(spec)
        key = (facts, *map(id, objects))
        kept = answers.get(key)
        if kept is not None:
            return kept[1]
        value = work()
        if len(answers) >= self._at_most:
            answers.clear()
        answers[key] = objects, value  # with the objects: else others may come where they were in memory
        return value
