"""The choice of victims, from the pods here, their usage and what is short. Pure.

It turns the results of `ranking` and `local_limits` into a `EvictionVictim`: the order for the worker, the status
message, and the signal that the eviction is counted under.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from actors.eviction.decisions import EvictionVictim
from actors.eviction.local_limits import over_limits
from actors.eviction.ranking import victims
from actors.eviction.signals import SignalReading
from actors.eviction.thresholds import Layout, Threshold
from actors.eviction.usage import Candidate, is_said, parts_on
from actors.eviction.words import eviction_words
from actors.messages.eviction import PodHere
from runtime.stats.samples import PodSample

HARD_GRACE_SECONDS = 1
"""The grace of a pod that has to end at once (spec 7.5, 7.6)."""


def candidates_among(pods: Sequence[PodHere], samples: Sequence[PodSample], doomed: Set[str]) -> list[Candidate]:
    """The running pods without a decision, each with its sample. `doomed`: UIDs."""
    by_uid = {each.uid: each for each in samples}
    return [
        Candidate(each.pod, by_uid.get(each.pod.metadata.uid))
        for each in pods
        if each.may_be_evicted() and not each.has_ended() and each.pod.metadata.uid not in doomed
    ]


def those_said(candidates: Sequence[Candidate], threshold: Threshold, layout: Layout) -> list[Candidate]:
    """The candidates whose usage of the short resource is known although the runtime did not report it.

    Ranking puts pods of unknown usage first (spec 7.4). Without this filter the victim would be random.
    """
    parts = parts_on(threshold.signal, layout)
    return [each for each in candidates if is_said(each, threshold.resource, parts)]


def over_their_limits(candidates: Sequence[Candidate], layout: Layout) -> tuple[EvictionVictim, ...]:
    """All pods over a disk limit of their own. Such an eviction is no disruption by the node (spec 7.5)."""
    return tuple(
        EvictionVictim(each.candidate.pod.metadata.uid, each.message, HARD_GRACE_SECONDS, False, each.signal)
        for each in over_limits(candidates, layout)
    )


def first_to_go(
    threshold: Threshold,
    reading: SignalReading | None,
    candidates: Sequence[Candidate],
    layout: Layout,
    longest_grace_seconds: int,
) -> EvictionVictim | None:
    """The victim for a threshold; None when no pod may be evicted."""
    ranked = victims(threshold.signal, threshold.resource, candidates, layout)
    if not ranked:
        return None
    first = ranked[0]
    message, annotations = eviction_words(threshold, reading, first, layout)
    grace = grace_of(threshold, first, longest_grace_seconds)
    return EvictionVictim(first.pod.metadata.uid, message, grace, True, threshold.signal, annotations)


def grace_of(threshold: Threshold, candidate: Candidate, longest_seconds: int) -> int:
    """Seconds of grace. Under a soft threshold a pod gets its own grace, up to `longest_seconds`."""
    if threshold.grace_ns is None:
        return HARD_GRACE_SECONDS
    own = candidate.pod.spec.termination_grace_period_seconds
    return longest_seconds if own is None else min(longest_seconds, own)
