"""Every scenario of the library over a few seeds.

No invariant breaks, and all is as desired at the end.

Each seed is played twice, the second time in another process and under other hashes of strings, and the two must be
the same to the last message. `tox -e seeds` plays 200 of each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulation.scenarios.scenario import library, library_scenario
from tests.seeds import over_sets_of_seeds
from tests.simulation.played_again import OtherProcess
from tests.simulation.sizes import MIDDLE, played


@pytest.fixture(scope="module")
def other() -> Iterator[OtherProcess]:
    with OtherProcess() as process:
        yield process


@pytest.mark.parametrize("name", library())
@over_sets_of_seeds(2)
def test_a_scenario_holds_over_seeds_is_played_twice_alike_and_reaches_what_it_means_to_try(
    name: str, seeds: range, other: OtherProcess
):
    reached = dict.fromkeys(library_scenario(name).reaches, 0)
    for seed in seeds:
        other.begin(name, seed)
        outcome = played(name, seed)
        same = other.ends_like(outcome)
        assert outcome.violations == (), f"seed {seed}: {outcome.violations}"
        assert outcome.converged, f"seed {seed}"
        assert same, f"seed {seed} played twice is not the same"
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
def test_seeds_that_once_failed_hold(name: str, seed: int):
    outcome = played(name, seed, MIDDLE[name])
    assert (outcome.violations, outcome.converged) == ((), True)


def test_another_seed_is_another_trace():
    first, other = (played("unhonoured-fields", seed) for seed in (7, 8))
    assert first.trace_hash != other.trace_hash
