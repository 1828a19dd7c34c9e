"""Whether this node itself was too slow to judge a timeout (spec 5).

Only the node's own delay counts. An answer that the container or its runtime gave late is an answer.
"""

from __future__ import annotations

from runtime.probes.capability import ProbeAnswer, ProbeOutcome

MAX_LAG = 10
"""A timeout counts if this node was late by no more than this part of it, or than `SLACK_NS`."""
SLACK_NS = 100_000_000


def unless_held_up(answer: ProbeAnswer, late_ns: int, timeout_ns: int) -> ProbeAnswer:
    """The answer to a check that has timed out, or LATE.

    `late_ns`: how late this node was in its own turns.
    """
    if late_ns <= max(SLACK_NS, timeout_ns // MAX_LAG):
        return answer
    return ProbeAnswer(ProbeOutcome.LATE, f"this node is too busy to tell: {late_ns / 1e6:.0f} ms late")
