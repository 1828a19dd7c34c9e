"""Every scenario of the library over a few seeds: nothing that must not be, and all as desired at the end.

Each seed is played twice, and the two must be the same to the last message. `tox -e seeds` plays 200 of each.
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
from tests.seeds import over_sets_of_seeds

REPOSITORY = Path(__file__).parents[2]
STEP_NS = 10 * 10**9
SMALL = {
    "a-day": 40,
    "agent-restarts": 50,
    "everyday": 60,
    "everything-fails": 60,
    "frozen-actor": 4,
    "lost-events": 60,
    "one-hung-pod": 61,
    "probes": 55,
    "torn-down": 20,
}
"""Pods where a smaller crowd shows the same."""
SHORT = {"a-day": "1h"}
"""How long, where a shorter time shows the same."""


def played(name: str, seed: int, pods: int | None = None) -> Outcome:
    scenario = library_scenario(name)
    scenario = msgspec.structs.replace(scenario, lasts=SHORT.get(name, scenario.lasts))
    play = Play(with_pods(scenario, pods) if pods else scenario, seed)
    while not play.done:
        play.advance(STEP_NS)
    return play.outcome()


@pytest.mark.parametrize("name", library())
@over_sets_of_seeds(2)
def test_a_scenario_holds_over_seeds_and_reaches_what_it_means_to_try(name: str, seeds: range):
    reached = dict.fromkeys(library_scenario(name).reaches, 0)
    for seed in seeds:
        outcome = played(name, seed, SMALL.get(name))
        assert outcome.violations == (), f"seed {seed}: {outcome.violations}"
        assert outcome.converged, f"seed {seed}"
        assert played(name, seed, SMALL.get(name)) == outcome, f"seed {seed} played twice is not the same"
        for each in reached:
            reached[each] += outcome.sometimes[each]
    assert all(reached.values()), reached


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        (
            "everything-fails",
            119,
        ),  # the sandbox that a killed agent had asked for came when the pod had been taken down
    ],
)
def test_what_one_seed_in_a_hundred_has_shown_holds(name: str, seed: int):
    outcome = played(name, seed, SMALL.get(name))
    assert (outcome.violations, outcome.converged) == ((), True)


def test_another_seed_is_another_trace():
    first, other = (played("everything-fails", seed, 30) for seed in (7, 8))
    assert first.trace_hash != other.trace_hash


@pytest.mark.parametrize(("name", "pods"), [("agent-restarts", 40), ("static-pods", 4)])
def test_the_trace_does_not_depend_on_the_hashes_of_strings(name: str, pods: int):
    here = played(name, 3, pods).trace_hash
    for hash_seed in ("0", "4242"):
        command = [sys.executable, "-m", "tests.simulation.test_scenario_library", name, "3", str(pods)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
        assert ran.stdout.strip() == here, ran.stderr


if __name__ == "__main__":
    print(played(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])).trace_hash)
