"""Who is to go now, and with which words: from the pods that are here, what they use, and what is short. Pure.

What `ranking` and `local_limits` say of pods becomes a decision here (`Victim`): the order of the worker, the message
of the status, and what the eviction is counted as.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from actors.eviction.decisions import Victim
from actors.eviction.local_limits import over_limits
from actors.eviction.ranking import victims
from actors.eviction.signals import SignalReading
from actors.eviction.thresholds import Layout, Threshold
from actors.eviction.usage import Candidate, is_said, parts_on
from actors.eviction.words import eviction_words
from actors.messages.eviction import PodHere
from runtime.stats.samples import PodSample

HARD_GRACE_SECONDS = 1
"""Of whoever goes at once (spec 7.5, 7.6)."""


def candidates_among(pods: Sequence[PodHere], samples: Sequence[PodSample], doomed: Set[str]) -> list[Candidate]:
    """Those of them that run and have not been decided on, with what they use. `doomed`: UIDs."""
    by_uid = {each.uid: each for each in samples}
    return [
        Candidate(each.pod, by_uid.get(each.pod.metadata.uid), each.worker)
        for each in pods
        if each.may_be_evicted() and not each.has_ended() and each.pod.metadata.uid not in doomed
    ]


def those_said(candidates: Sequence[Candidate], threshold: Threshold, layout: Layout) -> list[Candidate]:
    """Those of whom is known what they use of what is short, though the runtime has failed to say it.

    Who is not among them would go before all others, as one of whom nothing is known (spec 7.4): by chance.
    """
    parts = parts_on(threshold.signal, layout)
    return [each for each in candidates if is_said(each, threshold.resource, parts)]


def over_their_limits(candidates: Sequence[Candidate], layout: Layout) -> tuple[Victim, ...]:
    """All that use more of the disk than they may. That is no disruption by the node (spec 7.5)."""
    return tuple(
        Victim(each.candidate.pod.metadata.uid, each.message, HARD_GRACE_SECONDS, False, each.signal)
        for each in over_limits(candidates, layout)
    )


def first_to_go(
    threshold: Threshold,
    reading: SignalReading | None,
    candidates: Sequence[Candidate],
    layout: Layout,
    longest_grace_seconds: int,
) -> Victim | None:
    """The one that goes for a threshold; None: there is nobody who may."""
    ranked = victims(threshold.signal, threshold.resource, candidates, layout)
    if not ranked:
        return None
    first = ranked[0]
    message, annotations = eviction_words(threshold, reading, first, layout)
    grace = grace_of(threshold, first, longest_grace_seconds)
    return Victim(first.pod.metadata.uid, message, grace, True, threshold.signal, annotations)


def grace_of(threshold: Threshold, candidate: Candidate, longest_seconds: int) -> int:
    """Seconds that it gets. A soft threshold leaves it its own time, as far as the node allows."""
    if threshold.grace_ns is None:
        return HARD_GRACE_SECONDS
    own = candidate.pod.spec.termination_grace_period_seconds
    return longest_seconds if own is None else min(longest_seconds, own)
