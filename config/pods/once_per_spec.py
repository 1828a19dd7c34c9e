"""Results that depend on a pod's spec alone, computed once.

A spec never changes, and thousands of pods of one template may share one. Every pass over a pod asks the same questions
of it: its references, its requests, its unsupported fields. One bounded cache per process, `_memory`, owns all results.
It finds a spec by identity and holds it weakly, so results go with their spec. A result must not hold its spec.

`OncePerSpecAnd` serves results that depend on other objects too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, TypeVar
from weakref import ref

from config.caches import QuickCache
from config.objects import PodSpec

T = TypeVar("T")

SPECS_AT_MOST = 16_384
FACTS_AT_MOST = 256
"""Results that one `OncePerSpecAnd` keeps for one spec.

Thousands of pods that share the spec may have facts of their own.
"""


class _AnswersAboutSpecs:
    """The results for every spec, by function. Any thread may read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._known: QuickCache[int, tuple[ref[PodSpec], dict[object, Any]]] = QuickCache(SPECS_AT_MOST)
        self._found = self._known.quick.get
        self._dead: deque[int] = deque()

    def about(self, spec: PodSpec) -> dict[object, Any]:
        number = id(spec)
        found = self._found(number)
        if found is not None and found[0]() is spec:
            return found[1]
        answers: dict[object, Any] = {}
        mark = ref(spec, lambda _: self._ended(number))
        with self.lock:
            self._drop_dead()
            self._known[number] = mark, answers
        return answers

    def _ended(self, number: int) -> None:
        """A spec is gone.

        The collector may call this while this thread holds the lock; then the entry is removed later.
        """
        self._dead.append(number)
        if self.lock.acquire(blocking=False):
            try:
                self._drop_dead()
            finally:
                self.lock.release()

    def _drop_dead(self) -> None:
        while self._dead:
            number = self._dead.popleft()
            known = self._known.get(number)
            if known is not None and known[0]() is None:  # the id has not been reused by another spec
                del self._known[number]


_memory = _AnswersAboutSpecs()


def once_per_spec(work: Callable[[PodSpec], T]) -> Callable[[PodSpec], T]:
    """Cache the results of `work`, a pure function. Nobody may change a result; exceptions are not cached.

    Any thread may call it; two concurrent calls may both do the work.
    """

    @wraps(work)
    def answer(spec: PodSpec) -> T:
        answers = _memory.about(spec)
        try:
            value: T = answers[work]
        except KeyError:
            value = answers[work] = work(spec)
        return value

    return answer


class OncePerSpecAnd(Generic[T]):
    """Results that depend on a spec, other objects and facts together.

    Objects are compared by identity: they never change, and neither they nor a result may hold the spec. Facts are
    compared by value. `at_most`: how many results are kept for one spec; the oldest go first.
    """

    def __init__(self, at_most: int = FACTS_AT_MOST) -> None:
        self._at_most = at_most

    def of(self, spec: PodSpec, objects: tuple[object, ...], facts: Hashable, work: Callable[[], T]) -> T:
        """The result of `work`, from the cache or new.

        It must depend on nothing else; exceptions are not cached.
        """
        about = _memory.about(spec)
        answers: dict[tuple[Hashable, ...], tuple[tuple[object, ...], T]] = about.setdefault(self, {})
        key = (facts, *map(id, objects))
        try:
            return answers[key][1]
        except KeyError:
            pass
        value = work()
        with _memory.lock:
            if len(answers) >= self._at_most:
                del answers[next(iter(answers))]
            answers[key] = objects, value  # the entry holds the objects, so that their ids are not reused
        return value
