"""Which pods may be started from memory, and how old the memory may be. Pure.

The API server may have deleted any remembered pod meanwhile, and others may have started it elsewhere. So only pods
are started whose second copy does no harm, and that have not run to their end. A pod that must not run twice is left
out: one of a StatefulSet, and one with restartPolicy Never. Nobody can tell whether it ran.

The clock of a machine may be wrong after a power cut: many have none that goes on. So the age counts in both
directions. A clock that stands before the last agreement by no more than the allowed age is taken as it is.
"""

from __future__ import annotations

import msgspec

from config.objects import Pod
from config.pods.identity import has_ended, is_mirror
from config.values.ages import spoken

ANNOTATION = "island.actorlet.dev/from-memory"
NEVER = "never"
STATEFUL_SET = "StatefulSet"


def refusal(pod: Pod) -> str:
    """Why the pod is never started from memory; empty if it may be."""
    meta = pod.metadata
    if is_mirror(pod):
        return "it stands for a static pod"
    if meta.deletion_timestamp is not None:
        return "it is being deleted"
    if has_ended(pod):
        return "it has run to its end"
    if meta.annotations.get(ANNOTATION, "").lower() == NEVER:
        return f"its annotation {ANNOTATION} says so"
    if any(owner.kind == STATEFUL_SET for owner in meta.owner_references):
        return "it belongs to a StatefulSet, and may run elsewhere by now"
    if pod.spec.restart_policy == "Never":
        return "its restartPolicy is Never, and it may have run already"
    return ""


class Age(msgspec.Struct, frozen=True):
    """The age of the memory in ns, and why it is of no use (empty: it is of use)."""

    ns: int
    refusal: str = ""


def age_of(agreed_wall_ns: int, wall_ns: int, max_age_ns: int) -> Age:
    """The age of a memory with which the API server agreed last at `agreed_wall_ns`."""
    age_ns = wall_ns - agreed_wall_ns
    if age_ns > max_age_ns:
        return Age(age_ns, f"it is {spoken(age_ns)} old, and may be {spoken(max_age_ns)}")
    if age_ns < -max_age_ns:
        return Age(0, f"the clock stands {spoken(-age_ns)} before the API server was last heard")
    return Age(max(0, age_ns))
