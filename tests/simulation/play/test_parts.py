"""Nodes that are apart: the parts add up to the scenario, and each is a normal play.

The result of the whole is made of theirs.
"""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from simulation.play.parts import PlayPart, parts_of, together
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.pods import PodMix
from simulation.scenarios.scenario import Scenario, ScenarioError, read_scenario

APART = read_scenario(b"""
about: two nodes that have nothing to do with each other
nodes: 2
apart: true
pods:
  - {name: web, count: 3, lives: [5s, 9s]}
  - {name: job, count: 1, lives: [5s, 9s], restartPolicy: Never, containers: [{runsFor: 1s}]}
""")


def played(part: PlayPart) -> tuple[PlayPart, PlayOutcome]:
    play = Play(part.scenario, part.seed)
    while not play.done:
        play.advance(10**9)
    return part, play.outcome()


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=4),
    nodes=st.integers(1, 20),
    seed=st.integers(-(2**40), 2**40),
)
def test_every_pod_is_on_one_node_and_no_node_has_two_more_than_another(counts: list[int], nodes: int, seed: int):
    mixes = tuple(PodMix(name=f"mix-{number}", count=count) for number, count in enumerate(counts))
    parts = parts_of(Scenario(about="x", pods=mixes, nodes=nodes, apart=True), seed)

    assert [part.scenario.nodes for part in parts] == [1] * nodes
    assert [part.scenario.first_node for part in parts] == [*range(nodes)]
    assert len({part.seed for part in parts}) == nodes
    for number, count in enumerate(counts):
        assert sum(part.scenario.pods[number].count for part in parts) == count
    on_nodes = [part.scenario.pod_count() for part in parts]
    assert max(on_nodes) - min(on_nodes) <= 1


@pytest.mark.parametrize("scenario", [replace(APART, apart=False), replace(APART, nodes=1)])
def test_a_scenario_of_one_world_is_one_part_with_its_seed(scenario: Scenario):
    assert parts_of(scenario, 7) == (PlayPart(replace(scenario, apart=False), 7),)


def test_no_seed_has_a_part_of_another():
    crowd = replace(APART, nodes=1000)
    assert not {part.seed for part in parts_of(crowd, 7)} & {part.seed for part in parts_of(crowd, 8)}


def test_a_part_can_be_played_by_itself_again_since_nothing_in_it_is_apart():
    assert [part.scenario.apart for part in parts_of(APART, 7)] == [False, False]


def test_the_whole_is_what_all_parts_came_to():
    plays = [played(part) for part in parts_of(APART, 7)]
    whole, (first, second) = together(plays), [outcome for _, outcome in plays]

    assert (whole.pods, whole.converged, whole.violations) == (4, True, ())
    assert whole.messages == first.messages + second.messages
    assert whole.virtual_ns == max(first.virtual_ns, second.virtual_ns)
    assert whole.startups_ns == tuple(sorted(first.startups_ns + second.startups_ns))
    name = "container-restarted"
    assert whole.sometimes[name] == first.sometimes[name] + second.sometimes[name]


def test_it_makes_no_difference_to_the_whole_which_part_was_played_first_and_another_seed_is_another_trace():
    forwards = [played(part) for part in parts_of(APART, 7)]
    backwards = [played(part) for part in reversed(parts_of(APART, 7))]
    assert together(forwards) == together(backwards[::-1])
    assert together(forwards).trace_hash != together([played(part) for part in parts_of(APART, 8)]).trace_hash


def test_the_whole_is_broken_where_the_first_part_that_is_was():
    told = tuple({"invariant": "never", "at_seconds": float(n), "what": "x"} for n in range(60))
    parts = parts_of(replace(APART, nodes=3), 7)
    _, fine = played(parts[0])
    moments = [Play(part.scenario, part.seed).world.moment() for part in parts[1:]]
    broken = [dataclasses.replace(fine, violations=told, broken_at={"never": moment}) for moment in moments]

    whole = together(list(zip(parts, [fine, *broken], strict=True)))
    assert whole.broken_at == {"never": moments[0]}
    assert len(whole.violations) == 100
    assert [whole.violations[number]["what"] for number in (0, 60)] == ["node-1: x", "node-2: x"]


def test_a_fault_that_names_a_node_of_many_is_refused_where_each_is_alone():
    text = b"""
about: x
nodes: 3
apart: true
lasts: 1m
pods: [{name: a, count: 1}]
faults: [{fault: network, node: node-2, loss: 0.1}]
"""
    with pytest.raises(ScenarioError, match=r"\$\.faults\[0\]\.node: there is no 'node-2'; nodes are node-0"):
        read_scenario(text)
