"""Every scenario of the library over a few seeds: nothing that must not be, and all as desired at the end.

All 200 seeds of each: `actorlet simulate NAME --seeds 1..200`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from simulation.play import Outcome, Play
from simulation.scenario import library, library_scenario, with_pods

REPOSITORY = Path(__file__).parents[2]
SEEDS = range(1, 3)
STEP_NS = 10 * 10**9
SMALL = {
    "a-day": 40,
    "everyday": 60,
    "everything-fails": 60,
    "frozen-actor": 8,
    "lost-events": 60,
    "one-hung-pod": 61,
    "probes": 55,
}
"""Pods where a smaller crowd shows the same."""
SHORT = {"a-day": "2h"}
"""How long, where a shorter time shows the same."""


def played(name: str, seed: int, pods: int | None = None) -> Outcome:
    scenario = library_scenario(name)
    scenario = msgspec.structs.replace(scenario, lasts=SHORT.get(name, scenario.lasts))
    play = Play(with_pods(scenario, pods) if pods else scenario, seed)
    while not play.done:
        play.advance(STEP_NS)
    return play.outcome()


@pytest.mark.parametrize("name", library())
def test_a_scenario_holds_over_a_few_seeds_and_reaches_what_it_means_to_try(name: str):
    reached = dict.fromkeys(library_scenario(name).reaches, 0)
    for seed in SEEDS:
        outcome = played(name, seed, SMALL.get(name))
        assert outcome.violations == (), f"seed {seed}: {outcome.violations}"
        assert outcome.converged, f"seed {seed}"
        for each in reached:
            reached[each] += outcome.sometimes[each]
    assert all(reached.values()), reached


def test_what_is_replaced_by_the_hour_is_replaced_so_often_and_what_is_left_of_the_gone_is_nothing():
    outcome = played("a-day", 5, 20)
    assert outcome.pods == 20 + 2 * 2, "one in ten each hour, for two hours"
    assert outcome.violations == ()
    assert outcome.converged


def test_a_probe_that_finds_nothing_new_costs_one_message():
    scenario = with_pods(library_scenario("a-day"), 20)
    messages = []
    for minutes in (5, 15):
        play = Play(msgspec.structs.replace(scenario, lasts=f"{minutes}m"), 1)
        while not play.done:
            play.advance(STEP_NS)
        messages.append(play.outcome().messages)
    probes, of_the_node_itself = 20 * 20, 2500
    assert messages[1] - messages[0] <= probes + of_the_node_itself


def test_one_seed_is_one_trace_and_another_is_another():
    first, again, other = (played("everything-fails", seed, 30) for seed in (7, 7, 8))
    assert first == again
    assert first.trace_hash != other.trace_hash


def test_the_trace_does_not_depend_on_the_hashes_of_strings():
    here = played("agent-restarts", 3, 40).trace_hash
    for hash_seed in ("0", "4242"):
        command = [sys.executable, "-m", "tests.simulation.test_scenario_library", "agent-restarts", "3", "40"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
        assert ran.stdout.strip() == here, ran.stderr


if __name__ == "__main__":
    print(played(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])).trace_hash)
