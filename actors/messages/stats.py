"""Questions to `NodeStatsActor`, and its answers. See `actors/messages/pods.py`."""

from __future__ import annotations

from actors.kernel import ActorRef, Message
from runtime.stats.samples import NodeSample

HOUSEKEEPING_NS = 10_000_000_000
"""The greatest age of a sample given to a requester (spec 11.6)."""


class TakeStats(Message, frozen=True):
    """Edge -> NodeStatsActor (ask): a `NodeSample` of at most this age."""

    max_age_ns: int = HOUSEKEEPING_NS


class WantStats(Message, frozen=True):
    """EvictionActor -> NodeStatsActor: tell me a sample of at most this age; `StatsTaken` is the answer.

    Not `pods`: only the machine and its disks, which costs little; such a sample is always new.
    """

    asker: ActorRef
    max_age_ns: int = 0
    pods: bool = True


class StatsTaken(Message, frozen=True):
    """NodeStatsActor -> requester.

    A value that could not be read is None in the sample, and named among its problems.

    `pods`: as requested.
    """

    sample: NodeSample
    pods: bool = True
