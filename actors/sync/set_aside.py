"""Pods on which the sync loop itself fails: none of them may keep the others from being heard.

A sync loop that began anew for each would ask for all pods again, come to the same one again, and begin later each
time: whoever is told of behind that, and all who wait until every pod has been told of, would not be heard for minutes.
So what fails on behalf of a pod is put down to it, and the pod is set aside, however many they are. A worker that it
has goes on with what it knows, nothing of the pod is taken for left over, and its name stays taken.

It is met again when it changes or goes; in the form in which it failed after a second, since what happens once need not
happen again, after a minute, since what was wrong may be over, and every ten minutes then.
"""

from __future__ import annotations

import msgspec

from actors.kernel import Message
from actors.messages.pods import Operation, PodChanged
from actors.sources.storage import differs_in_meaning
from config.objects import Pod

SECOND_NS = 1_000_000_000
TRIES_NS = (SECOND_NS, 60 * SECOND_NS, 600 * SECOND_NS)
"""Until it is met again in one form, after one failure, two, and more."""


class Trouble(msgspec.Struct, frozen=True):
    """What is still to be done about a pod, and how often and why that failed."""

    change: PodChanged
    failures: int
    cause: str

    @property
    def try_in_ns(self) -> int:
        """How long it is left alone."""
        return TRIES_NS[min(self.failures, len(TRIES_NS)) - 1]


class TryAgain(Message, frozen=True):
    """SyncLoopActor to itself: see whether this pod does no harm any more."""

    uid: str


class SetAside:
    """See the module. The book."""

    def __init__(self) -> None:
        self.troubles: dict[str, Trouble] = {}
        """By UID of the pod, to read: nearly always there are none."""

    def failed(self, change: PodChanged, failure: Exception) -> Trouble:
        """This could not be done."""
        uid = change.pod.metadata.uid
        known = self.troubles.get(uid)
        failures = 1 if known is None or differs_in_meaning(known.change.pod, change.pod) else known.failures + 1
        # Whoever meets it again knows nothing of it.
        operation = Operation.REMOVE if change.operation is Operation.REMOVE else Operation.ADD
        change = msgspec.structs.replace(change, operation=operation)
        trouble = self.troubles[uid] = Trouble(change, failures, f"{type(failure).__name__}: {failure}")
        return trouble

    def met(self, trouble: Trouble) -> None:
        """What there was to do about that pod is done, unless it has failed once more within."""
        if self.troubles.get(trouble.change.pod.metadata.uid) is trouble:
            del self.troubles[trouble.change.pod.metadata.uid]

    def holds(self, change: PodChanged) -> bool:
        """Whether this pod is left alone, in this newest form. Another one in meaning is not, nor is its end."""
        uid = change.pod.metadata.uid
        trouble = self.troubles.get(uid)
        if trouble is None or change.operation is Operation.REMOVE:
            return False
        if differs_in_meaning(trouble.change.pod, change.pod):
            return False
        newest = msgspec.structs.replace(change, operation=Operation.ADD)
        self.troubles[uid] = msgspec.structs.replace(trouble, change=newest)
        return True

    def form_of(self, uid: str) -> Pod | None:
        """In which it is known here."""
        trouble = self.troubles.get(uid)
        return None if trouble is None else trouble.change.pod
