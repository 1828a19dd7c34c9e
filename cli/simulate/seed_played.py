"""The result of one seed, without its worlds.

It has what the report shows, and what shrinking a failure needs.

It is made of the results of its parts (`simulation.play.parts`). These can be sent between processes, so it does not
matter which process played a part. A finished world takes no memory while its failure is reported.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence

import msgspec

from cli.simulate.report import Json, report_of
from simulation.play.failure import Failure, failures_of
from simulation.play.parts import PlayPart, together
from simulation.play.play import Play, PlayOutcome
from simulation.play.promises import promises_first, promises_of
from simulation.scenarios.scenario import Scenario


class PartPlayed(msgspec.Struct, frozen=True):
    """`failures`: the first of each rule. `turns`: all turns of actors.

    `peak_rss_bytes`: the most memory of the process that has played it.
    """

    part: PlayPart
    outcome: PlayOutcome
    failures: tuple[Failure, ...]
    turns: int
    peak_rss_bytes: int


class FailurePlayed(msgspec.Struct, frozen=True):
    """`turns`: all turns of the part that failed. `within` names that part."""

    failure: Failure
    turns: int
    within: str

    @property
    def rule(self) -> str:
        return self.failure.violated.invariant


class SeedPlayed(msgspec.Struct, frozen=True):
    """`failures`: one of each rule, that of the first part that broke it; promises of the scenario first."""

    seed: int
    report: Json
    failures: tuple[FailurePlayed, ...] = ()


def part_played(part: PlayPart, play: Play) -> PartPlayed:
    """The result of a play that is over, or was interrupted."""
    return PartPlayed(part, play.outcome(), failures_of(play), play.world.dispatcher.steps, peak_rss_bytes())


def seed_played(
    scenario: Scenario, seed: int, parts: Sequence[PartPlayed], *, wall_s: float, memory: int
) -> SeedPlayed:
    """The result of all its parts, or of those begun before an interrupt.

    `memory`: `peak_rss_bytes` of the report.
    """
    outcome = together([(each.part, each.outcome) for each in parts])
    report = report_of(outcome, seed=seed, nodes=scenario.nodes, wall_s=wall_s, memory=memory)
    by_rule: dict[str, FailurePlayed] = {}
    for each in parts:
        for failure in each.failures:
            by_rule.setdefault(failure.violated.invariant, FailurePlayed(failure, each.turns, name_of(each.part, seed)))
    return SeedPlayed(seed, report, tuple(by_rule[rule] for rule in promises_first(by_rule, promises_of(scenario))))


def name_of(part: PlayPart, seed: int) -> str:
    """The name of a part for people: its seed, and its node if it is one of several."""
    return f"seed {seed}" if part.seed == seed else f"seed {seed}, {part.node}"


def peak_rss_bytes() -> int:
    """The most memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts KiB


def memory_of(parts: Sequence[PartPlayed], jobs: int) -> int:
    """The most memory that a seed took.

    Its parts were played in processes of their own, `jobs` at a time.

    This is an upper bound: the largest processes plus the one that waited for them. Shared memory counts each time.
    """
    peaks = sorted(part.peak_rss_bytes for part in parts)
    return peaks[0] if len(peaks) == 1 else peak_rss_bytes() + sum(peaks[-jobs:])
