"""Classifies the changes of a pod for this node. Pure.

Nearly every change of a status is the echo of the node's own write.
"""

from __future__ import annotations

from operator import attrgetter

from actors.messages.pods import Operation
from actors.pod_status.conditions import foreign
from config.objects import Pod, PodCondition
from config.pods.identity import comparable_annotations, has_ended


def compare(known: Pod, read: Pod) -> Operation | None:
    """How `read` differs from the `known` object of the same UID (spec 1.4); None if a node need not care."""
    if differs_in_meaning(known, read):
        return Operation.UPDATE if read.metadata.deletion_timestamp is None else Operation.DELETE
    return Operation.RECONCILE if known.status != read.status else None


def differs_in_meaning(known: Pod, read: Pod) -> bool:
    """Whether a node that knows `known` has to act on `read`, leaving the status aside."""
    old, new = known.metadata, read.metadata
    return (
        _what_counts(old) != _what_counts(new)
        or (old.annotations != new.annotations and comparable_annotations(known) != comparable_annotations(read))
        or known.spec != read.spec
    )


# In the API the name of a UID never changes; in a manifest with an explicit UID it can.
_what_counts = attrgetter("name", "namespace", "deletion_timestamp", "deletion_grace_period_seconds", "labels")


def is_echo(before: Pod, now: Pod) -> bool:
    """Whether a change concerns only the status manager.

    It mostly knows the change from the answer to its write. A terminal status is no echo unless the pod is being
    deleted: its worker must hear of it at once.
    """
    return (
        not differs_in_meaning(before, now)
        and not depends_on_others(before, now)
        and (now.metadata.deletion_timestamp is not None or not has_ended(now))
    )


def concerns_worker(before: Pod | None, now: Pod) -> bool:
    """Whether the pod's worker needs a change of only the status.

    It needs the end of the pod, conditions that others wrote, and the names of claims that were made for the pod.
    """
    return has_ended(now) or depends_on_others(before, now) or _claims_made(before) != _claims_made(now)


def depends_on_others(before: Pod | None, now: Pod) -> bool:
    """Whether what the node computes depends on what others wrote into the status since `before`."""
    return bool(now.spec.readiness_gates) or _of_others(before) != _of_others(now)


def _claims_made(pod: Pod | None) -> tuple[object, ...]:
    if pod is None or pod.status is None:
        return ()
    status = pod.status
    return (status.resource_claim_statuses, status.extended_resource_claim_status)


def _of_others(pod: Pod | None) -> tuple[PodCondition, ...]:
    return () if pod is None or pod.status is None else foreign(pod.status.conditions)
