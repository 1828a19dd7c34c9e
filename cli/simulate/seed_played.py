"""What one seed came to, without its worlds: what is shown of it, and what it takes to shrink a failure of it.

It is made of what its parts came to (`simulation.play.parts`). They go from one process to another, so that it does not
matter in which a part was played, and a world that is over takes no memory while its failure is told.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence

import msgspec

from cli.simulate.report import Json, report_of
from simulation.play.failure import Failure, first_failure
from simulation.play.parts import PlayPart, together
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import Scenario


class PartPlayed(msgspec.Struct, frozen=True):
    """`failure`: what went wrong first, None: nothing. `turns`: of actors, all that it took.
    `peak_rss_bytes`: the most memory of the process that has played it.
    """

    part: PlayPart
    outcome: PlayOutcome
    failure: Failure | None
    turns: int
    peak_rss_bytes: int


class SeedPlayed(msgspec.Struct, frozen=True):
    """See the module. `failure` and `turns`: of the first part in which something went wrong; `within` says which."""

    seed: int
    report: Json
    failure: Failure | None
    turns: int
    within: str


def part_played(part: PlayPart, play: Play) -> PartPlayed:
    """Of a play that is over, or was interrupted."""
    return PartPlayed(part, play.outcome(), first_failure(play), play.world.dispatcher.steps, peak_rss_bytes())


def seed_played(
    scenario: Scenario, seed: int, parts: Sequence[PartPlayed], *, wall_s: float, memory: int
) -> SeedPlayed:
    """Of all its parts, or of those that were begun before an interrupt. `memory`: `peak_rss_bytes` of the report."""
    outcome = together([(each.part, each.outcome) for each in parts])
    report = report_of(outcome, seed=seed, nodes=scenario.nodes, wall_s=wall_s, memory=memory)
    for each in parts:
        if each.failure is not None:
            return SeedPlayed(seed, report, each.failure, each.turns, name_of(each.part, seed))
    return SeedPlayed(seed, report, None, 0, "")


def name_of(part: PlayPart, seed: int) -> str:
    """To people; of a world that is all there is, its seed."""
    return f"seed {seed}" if part.seed == seed else f"seed {seed}, {part.node}"


def peak_rss_bytes() -> int:
    """The most memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts KiB


def memory_of(parts: Sequence[PartPlayed], jobs: int) -> int:
    """The most that a seed has taken whose parts were played in processes of their own, `jobs` at a time: no more than
    the largest of them and the one that waited for them took together. What they share counts each time.
    """
    peaks = sorted(part.peak_rss_bytes for part in parts)
    return peaks[0] if len(peaks) == 1 else peak_rss_bytes() + sum(peaks[-jobs:])
