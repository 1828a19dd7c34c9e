"""The faults of a sweep: what each does, where it strikes, and which milder one is part of it. Pure.

A run has one fault at most. It strikes once, at the moment with its key, and is over some minutes of the cluster's time
later. So a correct operator ends where it ends without the fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from config.values.nearest import did_you_mean
from simulation.operators.keys import Key, read_key

Where = Literal["write", "update", "read", "event", "pod"]


class FaultKind(msgspec.Struct, frozen=True):
    """`where`: at which moments it strikes. `did` and `sees` tell a finding, with the moment as `{at}`.

    `milder`: the fault at the same moment that is part of this one. What breaks under it is not this one's finding.
    """

    where: tuple[Where, ...]
    did: str
    sees: str
    milder: str = ""


_RESTARTED = "it was killed before it had the answer to {at}, and started again"
_LAGS = "reads that allow any version, and watches, showed the world as it was before "
KINDS: Mapping[str, FaultKind] = {
    "kill-before": FaultKind(
        ("write",),
        "it was killed as it sent {at}, which the server never got, and started again",
        "after the start, that this write is still to be done",
    ),
    "kill-after": FaultKind(
        ("write",),
        _RESTARTED,
        "after the start, that this write is done, and what must follow it is not",
    ),
    "stale-write": FaultKind(
        ("write",),
        f"{_RESTARTED}; for a while {_LAGS}this write",
        "that a cache may lag behind its own writes: names of its own making, or a read that must be new, tell",
        "kill-after",
    ),
    "stale-step": FaultKind(
        ("write",),
        f"{_RESTARTED}; for a while {_LAGS}the last change of the user",
        "that what it reads may be older than what it did: uids and resourceVersions as preconditions tell",
        "stale-write",
    ),
    "stale-before": FaultKind(
        ("write",),
        f"{_RESTARTED}; for a while {_LAGS}the change of the user before the last",
        "that what it reads may be older than what it did: uids and resourceVersions as preconditions tell",
        "stale-step",
    ),
    "stale-spec": FaultKind(
        ("write",),
        f"{_RESTARTED}; for a while reads that allow any version, and watches, showed what users make as it was "
        "before their last change, and all that was made from it as it is",
        "that each cache lags behind by itself: what it made may be newer than what it was made from",
        "kill-after",
    ),
    "stale-deletion": FaultKind(
        ("write",),
        f"{_RESTARTED}; for a while reads that allow any version, and watches, showed what users make as it was "
        "when the last of it was being deleted, and all that was made from it as it is",
        "that an object that goes may be an earlier one of the same name: compare uids before something is deleted",
        "stale-spec",
    ),
    "conflict": FaultKind(
        ("update",),
        "{at} got 409 Conflict",
        "that the object has changed meanwhile: read it again and decide anew",
    ),
    "throttle": FaultKind(
        ("write", "read"),
        "{at} got 429 Too Many Requests with Retry-After: 1",
        "that nothing was done, and try again later",
    ),
    "error": FaultKind(
        ("write", "read"),
        "{at} got 500 Internal Server Error",
        "that nothing was done, and try again later",
    ),
    "timeout": FaultKind(
        ("write",),
        "{at} took effect, and got 504 Timeout",
        "that the write may have been done: read before it is done again",
    ),
    "slow": FaultKind(
        ("write", "read"),
        "the answer to {at} took ten seconds of the cluster's time",
        "what has changed meanwhile, from its watches",
    ),
    "cut": FaultKind(
        ("event",),
        "its watches were cut before {at}",
        "the event from a new watch, which it has to begin",
    ),
    "late": FaultKind(
        ("event",),
        "{at} and all later events came late, after the next change of the user or a minute",
        "that an object may be gone or replaced by the time it acts",
        "cut",
    ),
    "miss": FaultKind(
        ("event",),
        "its watches never showed {at} and what came soon after it: they ended with 410 Expired",
        "the new state from a list, where what is not listed is gone, and another uid is another object",
        "late",
    ),
    "pod-late": FaultKind(
        ("pod",),
        "the pods like the one of {at} took 40 s longer to start",
        "pods that are there and not Ready",
    ),
    "pod-no-image": FaultKind(
        ("pod",),
        "the first three pulls for the pods like the one of {at} failed",
        "pods that wait, and come up by themselves",
        "pod-late",
    ),
    "pod-stuck": FaultKind(
        ("pod",),
        "the pods like the one of {at} ignored SIGTERM, and stayed Terminating for their grace period",
        "that a pod with a deletionTimestamp is still there",
    ),
    "pod-oom": FaultKind(
        ("pod",),
        "the pod was OOM-killed 5 s after {at}",
        "a pod that is not Ready for a moment, or is Failed and to be replaced",
    ),
    "pod-unready": FaultKind(
        ("pod",),
        "the readiness probe of the pod failed for 30 s after {at}",
        "a pod that is not Ready for a while",
    ),
    "pod-evicted": FaultKind(
        ("pod",),
        "the pod was evicted, as a drain does, 5 s after {at}",
        "that the pod is gone, and replace it",
    ),
    "node-drained": FaultKind(
        ("pod",),
        "the node of the pod was cordoned and drained 5 s after {at}",
        "that the pod is gone, and replace it",
        "pod-evicted",
    ),
    "node-dies": FaultKind(
        ("pod",),
        "the node of the pod lost power 5 s after {at}, for ten minutes",
        "a pod that is Unknown, then Terminating, and gone only when the node is back",
        "pod-evicted",
    ),
}
WRITES = ("create", "update", "patch", "delete", "deletecollection")
UPDATES = ("update", "patch")
DELETIONS = ("delete", "deletecollection")
READS = ("get", "list", "watch")
_STALE = ("stale-write", "stale-step", "stale-before", "stale-spec", "stale-deletion")
RESTARTS = ("kill-before", "kill-after", *_STALE)
DONE_FIRST = ("kill-after", *_STALE, "timeout")
"""They strike at a write that has changed something."""
REFUSALS = ("conflict", "throttle", "error", "timeout")
OF_SPECS = ("stale-spec", "stale-deletion")
"""Old is only what nobody owns, and the operator never makes: what users make."""
LAGS = (*_STALE, "late", "miss")
Target = Literal["requests", "views", "nodes"]


def target_of(kind: str) -> Target:
    """What a fault is about: what the operator asks, even if it is killed then; what it sees; its pods."""
    if KINDS[kind].where == ("pod",):
        return "nodes"
    return "views" if kind in LAGS or kind == "cut" else "requests"


class Fault(msgspec.Struct, frozen=True, order=True):
    """One fault at one moment. Its text is what a user types to play it again."""

    kind: str
    at: Key

    def __str__(self) -> str:
        return f"{self.kind} {self.at}"

    @property
    def milder(self) -> Fault | None:
        """The next milder one at the same moment."""
        kind = KINDS[self.kind].milder
        return Fault(kind, self.at) if kind else None


def read_fault(text: str) -> Fault:
    """The opposite of `str`. Raises ValueError."""
    kind, _, at = text.partition(" ")
    if kind not in KINDS:
        raise ValueError(did_you_mean(kind, KINDS, f"there is no fault {kind!r}; there are {', '.join(KINDS)}"))
    return Fault(kind, read_key(at))
