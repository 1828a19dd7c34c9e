"""The rejection of a pod."""

from __future__ import annotations

import msgspec

PREFIX = "Pod was rejected: "
"""The start of every rejection message in a status."""
SHORTAGE = "OutOf"
"""The start of the reason of a pod that lacks a resource, before its name."""
_COUNTED = frozenset(
    {
        *("AppArmor", "Evicted", "NodeShutdown"),
        *("OutOfcpu", "OutOfephemeral-storage", "OutOfmemory", "OutOfpods"),
        *("PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported"),
        *("SysctlForbidden", "UnexpectedAdmissionError", "VolumeAttachmentLimitExceeded"),
    }
)


class Rejected(msgspec.Struct, frozen=True):
    """The node will never take the pod: it ends as Failed. `reason` is a word of the API (spec 10.14)."""

    reason: str
    message: str


def counted_reason(reason: str) -> str:
    """The reason as the metric has it (`recordAdmissionRejection` of the kubelet).

    A pod may ask for a resource of any name; so these have one series, and do not stay for ever.
    """
    if reason in _COUNTED:
        return reason
    return "OutOfExtendedResources" if reason.startswith(SHORTAGE) else "Other"
