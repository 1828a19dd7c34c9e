"""What is asked of the `NodeStatsActor` and what it says. See `actors/messages/pods.py`."""

from __future__ import annotations

from actors.kernel import ActorRef, Message
from runtime.stats.samples import NodeSample

HOUSEKEEPING_NS = 10_000_000_000
"""How old a sample may be that is given to whoever asks (spec 11.6)."""


class TakeStats(Message, frozen=True):
    """Edge -> NodeStatsActor (ask): a `NodeSample` that is at most so old."""

    max_age_ns: int = HOUSEKEEPING_NS


class WantStats(Message, frozen=True):
    """EvictionActor -> NodeStatsActor: tell me a sample that is at most so old; `StatsTaken` is the answer.

    Not `pods`: the machine and its disks are enough, which costs little; such a sample is always new.
    """

    asker: ActorRef
    max_age_ns: int = 0
    pods: bool = True


class StatsTaken(Message, frozen=True):
    """NodeStatsActor -> who wanted it. What could not be had is None in it, and named among its problems.

    `pods`: as it was asked for.
    """

    sample: NodeSample
    pods: bool = True
