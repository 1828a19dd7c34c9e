"""Pods on which the sync loop itself fails: none of them may keep the others from being heard.

A sync loop that fails begins anew, asks for all pods again, and comes to the same one again: whoever is told of behind
that, and all who wait until every pod has been told of, would never be heard. So the second time that it fails on one
form of a pod it sets that pod aside. A worker that the pod has goes on with what it knows, nothing of the pod is taken
for left over, and its name stays taken. The pod is tried again when it changes, once after a minute, since what was
wrong may be over, and every ten minutes then: each try may cost one more failure.

The book of such pods gets over the failure as a message to the life to come, which goes before all that waits there.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Message
from actors.messages import Operation, PodChanged
from actors.pod_merge import differs_in_meaning
from config.objects import Pod

FAILURES_AT_MOST = 1
"""On one form of a pod, before it is set aside: what happens once need not happen again."""
FIRST_TRY_NS = 60 * 1_000_000_000
TRY_AGAIN_NS = 600 * 1_000_000_000


class Trouble(msgspec.Struct, frozen=True):
    """In which form, how often, and why the last time. `tried_again`: it is to be met once more."""

    pod: Pod
    failures: int
    cause: str
    tried_again: bool = False

    @property
    def aside(self) -> bool:
        return self.failures > FAILURES_AT_MOST and not self.tried_again

    @property
    def try_in_ns(self) -> int:
        """How long one that is set aside is left alone."""
        return FIRST_TRY_NS if self.failures == FAILURES_AT_MOST + 1 else TRY_AGAIN_NS


class PodsFailed(Message, frozen=True):
    """SyncLoopActor to its next life: it has failed on these pods, by UID."""

    interrupts: ClassVar[bool] = True

    troubles: dict[str, Trouble]


class TryAgain(Message, frozen=True):
    """SyncLoopActor to itself: see whether those that were set aside do no harm any more."""


class SetAside:
    """See the module. The book."""

    def __init__(self) -> None:
        self._troubles: dict[str, Trouble] = {}
        self._last: BaseException | None = None

    def failed(self, pod: Pod, failure: Exception) -> PodsFailed | None:
        """The word to the next life; None where it was given already, for a pod nearer to what has failed."""
        if failure is self._last:
            return None
        self._last = failure
        uid = pod.metadata.uid
        known = self._troubles.get(uid)
        failures = 1 if known is None or differs_in_meaning(known.pod, pod) else known.failures + 1
        trouble = Trouble(pod, failures, f"{type(failure).__name__}: {failure}")
        return PodsFailed({**self._troubles, uid: trouble})

    def remember(self, message: PodsFailed) -> dict[str, Trouble]:
        """Take over the book of the life before; those that are set aside now."""
        self._troubles = dict(message.troubles)
        return {uid: trouble for uid, trouble in self._troubles.items() if trouble.aside}

    def holds(self, change: PodChanged) -> bool:
        """Whether this pod is left alone. Another form of it is not, nor is its end; they are met as if nothing had
        been.
        """
        uid = change.pod.metadata.uid
        trouble = self._troubles.get(uid)
        if trouble is None:
            return False
        if change.operation is Operation.REMOVE or differs_in_meaning(trouble.pod, change.pod):
            del self._troubles[uid]
            return False
        return trouble.aside

    def form_of(self, uid: str) -> Pod | None:
        """In which it is known here."""
        trouble = self._troubles.get(uid)
        return None if trouble is None else trouble.pod

    def try_again(self) -> None:
        """Each of them may be met once more."""
        for uid, trouble in self._troubles.items():
            self._troubles[uid] = msgspec.structs.replace(trouble, tried_again=True)
