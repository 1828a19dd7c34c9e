"""The pods on which the sync loop fails, and when to retry each. Pure.

A pod is retried when it changes or goes. The form that failed is retried after a second, because a single failure may
not repeat. The next retry follows after a minute, because the cause may be gone, then one every ten minutes.
"""

from __future__ import annotations

import msgspec

from actors.messages.pods import Operation, PodChanged
from actors.sources.merge import differs_in_meaning
from config.objects import Pod

SECOND_NS = 1_000_000_000
RETRIES_NS = (SECOND_NS, 60 * SECOND_NS, 600 * SECOND_NS)
"""The pauses after the first, second and later failures in the same form."""


class QuarantinedPod(msgspec.Struct, frozen=True):
    """What remains to be done for a pod, and how often and why that failed."""

    change: PodChanged
    failures: int
    cause: str

    @property
    def retry_in_ns(self) -> int:
        return RETRIES_NS[min(self.failures, len(RETRIES_NS)) - 1]


class Quarantine:
    """See the module. Usually empty."""

    def __init__(self) -> None:
        self._pods: dict[str, QuarantinedPod] = {}

    def find(self, uid: str) -> QuarantinedPod | None:
        return self._pods.get(uid)

    def failed(self, change: PodChanged, failure: Exception) -> QuarantinedPod:
        """Put a pod into quarantine, or count one more failure of it."""
        uid = change.pod.metadata.uid
        known = self._pods.get(uid)
        failures = 1 if known is None or differs_in_meaning(known.change.pod, change.pod) else known.failures + 1
        # Nothing of the pod counts as told, so the retry adds it.
        operation = Operation.REMOVE if change.operation is Operation.REMOVE else Operation.ADD
        change = msgspec.structs.replace(change, operation=operation)
        quarantined = self._pods[uid] = QuarantinedPod(change, failures, f"{type(failure).__name__}: {failure}")
        return quarantined

    def release(self, quarantined: QuarantinedPod) -> None:
        """The change succeeded: forget it, unless the pod has failed once more meanwhile."""
        if self._pods.get(quarantined.change.pod.metadata.uid) is quarantined:
            del self._pods[quarantined.change.pod.metadata.uid]

    def holds(self, change: PodChanged) -> bool:
        """Whether the pod stays in quarantine; its retry then uses this form. A removal or a real change releases
        it.
        """
        uid = change.pod.metadata.uid
        quarantined = self._pods.get(uid)
        if quarantined is None or change.operation is Operation.REMOVE:
            return False
        if differs_in_meaning(quarantined.change.pod, change.pod):
            return False
        newest = msgspec.structs.replace(change, operation=Operation.ADD)
        self._pods[uid] = msgspec.structs.replace(quarantined, change=newest)
        return True

    def form_of(self, uid: str) -> Pod | None:
        """The newest form of a quarantined pod, or None."""
        quarantined = self._pods.get(uid)
        return None if quarantined is None else quarantined.change.pod
