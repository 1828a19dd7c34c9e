"""Plays of agents with an old pain.

A scenario of the library with few pods, for less time, on a few seeds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import library_scenario, with_pods

STEP_NS = 10 * 10**9
SEEDS = range(1, 13)


def played(
    name: str,
    pods: int | None,
    *,
    lasts: str | None = None,
    seed: int = 1,
    troubled: bool = True,
    nodes: int | None = None,
    dead: int | None = None,
) -> PlayOutcome:
    """The outcome; all must be as desired two minutes after the world was healed.

    `troubled` False: nothing goes wrong there. `dead`: containers that lie on the node before.
    """
    scenario = library_scenario(name)
    scenario = scenario if troubled else msgspec.structs.replace(scenario, faults=())
    scenario = scenario if pods is None else with_pods(scenario, pods)
    if dead is not None:
        scenario = msgspec.structs.replace(scenario, node=msgspec.structs.replace(scenario.node, dead_containers=dead))
    scenario = msgspec.structs.replace(
        scenario, converges_within="2m", lasts=lasts or scenario.lasts, nodes=nodes or scenario.nodes
    )
    play = Play(scenario, seed)
    while not play.done:
        play.advance(STEP_NS)
    return play.outcome()


def broken(outcome: PlayOutcome) -> set[str]:
    """Names of the rules that were violated."""
    return {violation["invariant"] for violation in outcome.violations}


def is_found_out(name: str, pods: int | None, rule: str, **how: Any) -> bool:
    """Whether that rule is violated on one of a few seeds.

    Mostly on the first. Which seed shows it changes with the order of the agent's messages.
    """
    return any(rule in broken(played(name, pods, seed=seed, **how)) for seed in SEEDS)
