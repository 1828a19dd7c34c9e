"""The event text of a failed pass.

A failure that already has its own event gets no second one.
"""

from __future__ import annotations

from runtime.cri.errors import CriError
from runtime.cri.torn_network import with_way_out

STATUS_VERBS = frozenset({"ContainerStatus", "PodSandboxStatus", "ListContainers", "ListPodSandbox"})


class ToldError(CriError):
    """A call failed, and an event of its own has told of it: `Failed`, `FailedCreatePodSandBox`."""


def failed_sync_text(failure: Exception) -> str:
    """The message of the event FailedSync; empty when there is none.

    Upstream sends it when the status of a pod cannot be had, in these words. Other failures of a call to the runtime
    have their own events there; those that have none here are told in words of our own.
    """
    if isinstance(failure, ToldError):
        return ""
    if isinstance(failure, CriError) and failure.verb in STATUS_VERBS:
        return f"error determining status: {failure.in_go}"
    return f"error syncing pod, trying again: {with_way_out(failure)}"
