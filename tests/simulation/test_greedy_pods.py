"""No pod takes another pod's turn, whichever of its fields is as large as the API server takes it.

`test_scenario_library` plays the scenario over seeds, which draw the field. Here each field has its turn. The other
pods are compared with one play without a greedy pod, which is the same for all fields.
"""

from __future__ import annotations

import gc
import os
from functools import lru_cache

import pytest

from cli.silence import silence
from simulation.cri.behaviour_values import size_bytes
from simulation.greedy.fields import greedy_fields
from simulation.greedy.pods import large_fields
from simulation.play.greedy_pods import without_greedy
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import library_scenario
from simulation.world.timings import Timings
from tests.seeds import VARIABLE
from tests.simulation.sizes import with_greedy

STEP_NS = 10 * 10**9
SEED = 1
PARTS = 50
ALL_SIZE, FEW_SIZE = "256Ki", "64Ki"
FEW = (
    "metadata.annotations{*}",
    "spec.containers[].env[*]",
    "spec.containers[*]",
    "spec.initContainers[*]",
    "spec.volumes[*]",
    "spec.volumes[*].nfs",
    "spec.volumes[].configMap.items[*]",
    "spec.volumes[].downwardAPI.items[*]",
    "spec.volumes[].projected.sources[*].serviceAccountToken",
)


@lru_cache(maxsize=1)
def usual() -> Timings:
    """How long pods wait without a greedy one."""
    play = Play(without_greedy(library_scenario("greedy-pods")), SEED)
    to_the_end(play)
    assert play.outcome().violations == ()
    return play.world.chronicle.timings


def played(field: str, size: str) -> PlayOutcome:
    """The scenario with a pod that grows that field up to that size."""
    scenario = with_greedy(library_scenario("greedy-pods"), field=field, size=size)
    play = Play(scenario, SEED, usual=usual())
    to_the_end(play)
    outcome = play.outcome()
    del play
    gc.collect()
    return outcome


def to_the_end(play: Play) -> None:
    """Play all of it."""
    with silence():
        while not play.done:
            play.advance(STEP_NS)


def fields_of_part(part: int) -> list[str]:
    """Every so many-th of the fields that can be large."""
    return list(large_fields(size_bytes(ALL_SIZE)))[part::PARTS]


@pytest.mark.parametrize("field", FEW)
def test_others_do_not_notice_a_pod_that_is_large_in_a_field(field: str):
    assert field in greedy_fields()
    outcome = played(field, FEW_SIZE)
    assert (outcome.violations, outcome.converged) == ((), True)


@pytest.mark.seeds
@pytest.mark.parametrize("part", range(PARTS if VARIABLE in os.environ else 0))
def test_others_do_not_notice_a_pod_that_is_large_in_any_field(part: int):
    for field in fields_of_part(part):
        outcome = played(field, ALL_SIZE)
        assert (outcome.violations, outcome.converged) == ((), True), field
