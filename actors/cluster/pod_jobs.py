"""`PodJobs`: an actor's long work about one pod, in slices.

A job is an iterator: each step is a bounded piece of work. A job that takes more than `STEPS` goes on in a later turn
of the actor, behind the messages that wait by then. So an actor that serves all pods is never busy for long with one
that refers to thousands of objects. The jobs of one pod, by its UID or another key, run in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from actors.kernel import Actor, Message, handles

STEPS = 100


class GoOnWithPod(Message, frozen=True):
    """To itself: the next slice of the pod's jobs is due."""

    uid: str


class PodJobs:
    """See the module. A part of `actor`."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._jobs: dict[str, deque[Iterator[object]]] = {}

    def do(self, uid: str, job: Iterator[object]) -> None:
        """Do the first slice of this job at once, unless an earlier job of the pod is not over."""
        jobs = self._jobs.get(uid)
        if jobs is not None:
            jobs.append(job)
        elif not _is_over(job):
            self._jobs[uid] = deque((job,))
            self._go_on_later(uid)

    def is_busy(self, uid: str) -> bool:
        """Whether a job of the pod is not over."""
        return uid in self._jobs

    @handles(GoOnWithPod)
    def go_on(self, message: GoOnWithPod) -> None:
        """Work: one slice of one pod."""
        jobs = self._jobs[message.uid]
        if _is_over(jobs[0]):
            jobs.popleft()
        if jobs:
            self._go_on_later(message.uid)
        else:
            del self._jobs[message.uid]

    def _go_on_later(self, uid: str) -> None:
        # A timer, because its tick fits into the mailbox however full that is.
        self._actor.after(0, GoOnWithPod(uid), key=("job", uid))


def _is_over(job: Iterator[object]) -> bool:
    """Do one slice; whether nothing is left."""
    return sum(1 for _ in islice(job, STEPS)) < STEPS
