"""How agents with an old pain are played: a scenario of the library with few pods, for less time, on one seed."""

from __future__ import annotations

import msgspec

from simulation.play import Outcome, Play
from simulation.scenario import library_scenario, with_pods

STEP_NS = 10 * 10**9


def played(name: str, pods: int | None, *, lasts: str | None = None, seed: int = 1, troubled: bool = True) -> Outcome:
    """What comes of it; all must be as desired two minutes after the world was healed. `troubled` False: nothing goes
    wrong there.
    """
    scenario = library_scenario(name)
    scenario = scenario if troubled else msgspec.structs.replace(scenario, faults=())
    scenario = scenario if pods is None else with_pods(scenario, pods)
    scenario = msgspec.structs.replace(scenario, converges_within="2m", lasts=lasts or scenario.lasts)
    play = Play(scenario, seed)
    while not play.done:
        play.advance(STEP_NS)
    return play.outcome()


def broken(outcome: Outcome) -> set[str]:
    """Names of the rules that were violated."""
    return {violation["invariant"] for violation in outcome.violations}
