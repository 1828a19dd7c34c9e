"""A scenario with separate nodes as a set of plays, one for each node, and their combined result.

Where nodes are `apart`, each has an API server and a scheduler of its own, and its share of the pods. Nothing on one
node can be seen from another, so each is a scenario by itself. It may be played in any order and any process, and be
shrunk, saved and replayed like every other. Its seed is derived from the common seed and its number. The combined hash
is made of the parts' hashes, in their order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

import msgspec
from msgspec.structs import replace

from simulation.play.play import PlayOutcome
from simulation.scenarios.faults import names_of_nodes
from simulation.scenarios.scenario import Scenario
from simulation.world.chronicle import VIOLATIONS_KEPT
from simulation.world.trace import Moment

SEEDS_APART = 1009
"""More than the limit of nodes: no part of one seed has the seed of a part of another."""


class PlayPart(msgspec.Struct, frozen=True):
    """A play in a world of its own."""

    scenario: Scenario
    seed: int

    @property
    def node(self) -> str:
        """The name of its first node."""
        return names_of_nodes(1, self.scenario.first_node)[0]


def parts_of(scenario: Scenario, seed: int) -> tuple[PlayPart, ...]:
    """One part for each node.

    If the nodes share a world, or there is only one, it is one part with the seed unchanged.
    """
    nodes = scenario.nodes
    if not scenario.apart or nodes == 1:
        return (PlayPart(replace(scenario, apart=False), seed),)
    return tuple(
        PlayPart(
            replace(share, nodes=1, first_node=scenario.first_node + number, apart=False), seed * SEEDS_APART + number
        )
        for number, share in enumerate(_dealt(scenario, nodes))
    )


def _dealt(scenario: Scenario, nodes: int) -> Iterator[Scenario]:
    """The pods, dealt to the nodes in turn, one mix after the other."""
    for number in range(nodes):
        before = 0
        mixes = []
        for mix in scenario.pods:
            first = (number - before) % nodes  # of the pods of the mix that this node gets
            mixes.append(replace(mix, count=len(range(first, mix.count, nodes))))
            before += mix.count
        yield replace(scenario, pods=tuple(mixes))


def together(plays: Sequence[tuple[PlayPart, PlayOutcome]]) -> PlayOutcome:
    """The combined result of the parts, in their order. A single one is returned unchanged."""
    outcomes = [outcome for _, outcome in plays]
    if len(outcomes) == 1:
        return outcomes[0]
    whole_trace = hashlib.blake2b(digest_size=16)
    sometimes: Counter[str] = Counter()
    broken_at: dict[str, Moment] = {}
    for outcome in outcomes:
        whole_trace.update(bytes.fromhex(outcome.trace_hash))
        sometimes.update(outcome.sometimes)
        broken_at = {**outcome.broken_at, **broken_at}  # where a rule was broken first, in the order of the parts
    return PlayOutcome(
        pods=sum(outcome.pods for outcome in outcomes),
        virtual_ns=max(outcome.virtual_ns for outcome in outcomes),
        messages=sum(outcome.messages for outcome in outcomes),
        trace_hash=whole_trace.hexdigest(),
        violations=tuple(_violations(plays))[:VIOLATIONS_KEPT],
        sometimes=dict(sometimes),
        startups_ns=tuple(merge(*(outcome.startups_ns for outcome in outcomes))),
        converged=all(outcome.converged for outcome in outcomes),
        broken_at=broken_at,
    )


def _violations(plays: Sequence[tuple[PlayPart, PlayOutcome]]) -> Iterator[dict[str, Any]]:
    """Violations with their node, because pods have the same names on each."""
    for part, outcome in plays:
        for violation in outcome.violations:
            yield {**violation, "what": f"{part.node}: {violation['what']}"}
