"""`FairTurns`: what is to be done for pods, with a limit in total and for each pod. Pure.

Pods take turns, critical ones first. So a pod that wants thousands of things delays the first of another by one turn.
What is for the node (`NODE`) takes turns like a pod, and has no limit of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Generic, TypeVar

from runtime.io.fair_queue import FairQueue

T = TypeVar("T")
NODE = ""
"""Stands for the node among UIDs."""


class FairTurns(Generic[T]):
    """See the module.

    `at_most` turns go on at a time, `of_pod` of one pod. `is_wanted`: whether a thing still counts.
    """

    def __init__(self, *, at_most: int, of_pod: int, is_wanted: Callable[[T], bool] = lambda _: True) -> None:
        self._at_most = at_most
        self._of_pod = of_pod
        self._is_wanted = is_wanted
        self._queue: FairQueue[tuple[str, T]] = FairQueue()
        self._going_on: Counter[str] = Counter()
        self._total = 0

    def __len__(self) -> int:
        """How many things wait."""
        return len(self._queue)

    def wait(self, uid: str, thing: T, *, urgent: bool = False) -> None:
        """Add a thing for the pod of that UID; `begin` says when its turn has come."""
        self._queue.append(uid, (uid, thing), urgent=urgent)

    def begin(self) -> tuple[str, T] | None:
        """The thing whose turn begins now, and its pod; None: no turn may begin, or nothing waits."""
        while self._total < self._at_most and (first := self._queue.first()) is not None:
            uid, thing = first
            if not self._is_wanted(thing):
                self._queue.drop()
                continue
            self._queue.take()
            self._total += 1
            self._going_on[uid] += 1
            if uid != NODE and self._going_on[uid] >= self._of_pod:
                self._queue.pause(uid)
            return uid, thing
        return None

    def over(self, uid: str) -> None:
        """A turn of this pod is over."""
        self._total -= 1
        self._going_on[uid] -= 1
        if not self._going_on[uid]:
            del self._going_on[uid]
        self._queue.resume(uid)

    def forget(self, uid: str) -> None:
        """Drop what waits for this pod; its turns go on."""
        self._queue.forget(uid)
