"""Saved runs: files read back, people can read them, and faults name their place."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from simulation.play.saved_run import FORMAT, FoundIn, SavedRun, Violated, read_saved_run, written
from simulation.scenarios.faults import AgentKills, RuntimeCalls
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import Scenario, ScenarioError

RUN = SavedRun(
    format=FORMAT,
    violated=Violated(invariant="untrue", what="a-1 is shown ready, and its container app does not run", at_ns=17),
    seed=7,
    step=1234,
    trace_hash="00ff" * 8,
    actorlet="0.1.0",
    found_in=FoundIn(scenario="lost-events", seed=3, pods=500, nodes=3, runs=31),
    scenario=Scenario(
        about="one pod: that crashes",
        pods=(PodMix(name="a", count=1, containers=(ContainerMix(runs_for="3s", exit_code="1"),), lives=("0", "1m")),),
        faults=(RuntimeCalls(verb="*", lose=0.25), AgentKills(times=2)),
        lasts="1m",
    ),
)


def test_a_saved_run_reads_back():
    assert read_saved_run(written(RUN)) == RUN


@pytest.mark.parametrize("trace_hash", ["1" * 32, "12345678e9012345", "0x" + "1" * 30, "null", "1_000"])
def test_a_hash_that_looks_like_a_number_stays_a_hash(trace_hash: str):
    run = replace(RUN, trace_hash=trace_hash)
    assert read_saved_run(written(run)) == run


def test_json_is_read_as_well():
    value = {"format": FORMAT, "violated": {"invariant": "untrue", "what": "so", "atNs": 1}, "seed": 1, "step": 2}
    value |= {"traceHash": "ab", "actorlet": "0.1.0", "foundIn": {"scenario": "x", "seed": 1, "pods": 1, "nodes": 1}}
    value |= {"scenario": {"about": "one", "pods": [{"name": "a", "count": 1}]}}
    assert read_saved_run(json.dumps(value).encode()).scenario.pod_count() == 1


def test_a_person_finds_what_matters_at_the_top_and_no_defaults():
    lines = written(RUN).decode().splitlines()
    assert lines[:2] == ["format: actorlet.saved-run.v1", "violated:"]
    assert not any("hopeless" in line for line in lines)


@pytest.mark.parametrize(
    "copy", [lambda run: read_saved_run(written(run)), lambda run: pickle.loads(pickle.dumps(run))]
)
def test_a_copy_is_written_as_the_first_one(copy: Callable[[SavedRun], SavedRun]):
    assert written(copy(RUN)) == written(RUN)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "$: must be a map, not null"),
        ("format: actorlet.saved-run.v9", "$.format"),
        (written(RUN).decode().replace("seed: 7", "seed: seven"), "$.seed"),
        (written(RUN).decode().replace("count: 1", "count: -1"), "$.scenario.pods[0].count"),
        (written(RUN).decode().replace("lasts: 1m", "about2: x"), "about2"),
    ],
)
def test_a_fault_of_a_saved_run_is_told_with_its_place(text: str, told: str):
    with pytest.raises(ScenarioError) as refused:
        read_saved_run(text.encode())
    assert told in str(refused.value)
