"""What one seed came to, without its world: what is shown of it, and what it takes to shrink a failure of it.

It goes from one process to another, so that it does not matter in which a seed was played, and a world that is over
takes no memory while its failure is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from cli.simulation_report import Json, report_of
from simulation.failure import Failure, first_failure
from simulation.play import Play


@dataclass(frozen=True, slots=True)
class SeedPlayed:
    """See the module. `failure`: what went wrong first, None: nothing. `turns`: of actors, all that it took."""

    seed: int
    report: Json
    failure: Failure | None
    turns: int


def seed_played(play: Play, wall_s: float) -> SeedPlayed:
    """Of a play that is over, or was interrupted."""
    return SeedPlayed(play.seed, report_of(play, wall_s), first_failure(play), play.world.dispatcher.steps)
