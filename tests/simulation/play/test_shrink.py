"""Shrinking as a search over scenarios: artificial failures, and those of an agent with an old pain."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

import actors.pleg.pleg
from simulation.cri.behaviour_values import duration_ns
from simulation.play.failure import Again, Failure, failures_of, shrunk_failure
from simulation.play.play import Play
from simulation.play.saved_run import Violated
from simulation.play.shrink import shrink
from simulation.scenarios.faults import AgentKills, ApiOutage, NodeShortage, RuntimeCalls, RuntimeEvents
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import Scenario, library_scenario, with_pods
from simulation.world.trace import Moment

BIG = Scenario(
    about="much at once",
    nodes=7,
    pods=(
        PodMix(name="steady", count=300, steady=True),
        PodMix(
            name="crashing",
            count=500,
            lives=("1m", "5m"),
            replaced=True,
            behaviour={"image-size": "20Mi"},
            containers=(
                ContainerMix(runs_for="3s", exit_code="1", readiness_every=10, behaviour={"memory": "64Mi"}),
                ContainerMix(name="side"),
            ),
        ),
        PodMix(name="none", count=0),
    ),
    faults=(
        RuntimeCalls(fail=0.1, slow=0.2),
        RuntimeEvents(lose=0.5, double=0.1),
        ApiOutage(at="1m", lasts="2m", forgets=True),
        AgentKills(times=9),
    ),
    lasts="10m",
)


def count_of(scenario: Scenario, mix: str) -> int:
    return sum(each.count for each in scenario.pods if each.name == mix)


def test_shrinking_drops_pods_nodes_faults_and_time_that_the_failure_does_not_need():
    found = shrink(BIG, lambda scenario: True).scenario
    assert [mix.count for mix in found.pods] == [1]
    assert (found.nodes, found.faults, found.lasts) == (1, (), "0s")


def test_shrinking_keeps_what_the_failure_needs():
    def fails(scenario: Scenario) -> bool:
        kills = sum(fault.times for fault in scenario.faults if isinstance(fault, AgentKills))
        lost = any(fault.lose >= 0.5 for fault in scenario.faults if isinstance(fault, RuntimeEvents))
        return count_of(scenario, "crashing") >= 23 and scenario.nodes >= 2 and kills >= 3 and lost

    found = shrink(BIG, fails).scenario
    assert [(mix.name, mix.count) for mix in found.pods] == [("crashing", 23)]
    assert found.nodes == 2
    assert found.faults == (RuntimeEvents(lose=0.5), AgentKills(times=3, away=("0s", "0s")))
    mix = found.pods[0]
    assert mix.containers == (ContainerMix(),)
    assert (mix.replaced, mix.behaviour, mix.lives) == (False, {}, ("0s", "0s"))


def test_stretches_of_faults_become_short():
    def fails(scenario: Scenario) -> bool:
        return any(isinstance(fault, ApiOutage) and duration_ns(fault.lasts) >= 10**9 for fault in scenario.faults)

    assert shrink(BIG, fails).scenario.faults == (ApiOutage(at="0s", lasts="1875ms"),)


def test_no_scenario_is_asked_about_twice_nor_more_than_so_many():
    asked: list[Scenario] = []

    def fails(scenario: Scenario) -> bool:
        asked.append(scenario)
        return count_of(scenario, "steady") >= 200

    found = shrink(BIG, fails)
    assert found.runs == len(asked) < 100
    assert all(asked.count(scenario) == 1 for scenario in asked)
    few = shrink(BIG, fails, runs_at_most=3)
    assert few.runs == 3
    assert count_of(few.scenario, "steady") >= 200


def test_a_shortage_stays_one_with_all_its_numbers():
    short = NodeShortage(what="disk", leaves=("5Gi", "12Gi"), lasts=("5s", "40s"), pauses=("1m", "4m"))
    small = shrink(replace(BIG, faults=(short,)), lambda scenario: bool(scenario.faults)).scenario
    (fault,) = small.faults
    assert isinstance(fault, NodeShortage)
    assert fault.leaves == ("5Gi", "12Gi")
    assert max(duration_ns(fault.lasts[1]), duration_ns(fault.pauses[1])) > 0


def test_every_candidate_can_be_played():
    seen: list[Scenario] = []

    def every_third(scenario: Scenario) -> bool:
        seen.append(scenario)
        return len(seen) % 3 == 0

    shrink(BIG, every_third)
    assert all(mix.lives is not None for scenario in seen for mix in scenario.pods if mix.replaced)


def test_the_search_depends_on_the_answers_alone():
    def fails(scenario: Scenario) -> bool:
        return scenario.pod_count() % 7 != 0

    assert shrink(BIG, fails) == shrink(BIG, fails)


def failing(fails: Callable[[Scenario, int], bool], ran: list[int]) -> Again:
    """Runs of 100 turns that fail as told; `ran` gets their seeds."""

    def again(scenario: Scenario, seed: int, invariant: str, *, go_on: Callable[[int], bool]) -> Failure | None:
        ran.append(seed)
        if not go_on(100) or not fails(scenario, seed):
            return None
        return Failure(scenario, seed, Violated(invariant=invariant, what="so", at_ns=1), Moment(100, 1, "ff", ()))

    return again


FOUND = Failure(BIG, 7, Violated(invariant="untrue", what="so", at_ns=9), Moment(200, 9, "00", ()))


def test_a_rare_failure_is_shrunk_with_several_seeds():
    ran: list[int] = []

    def seldom(scenario: Scenario, seed: int) -> bool:
        # Of ten pods, one seed in three.
        return scenario.pod_count() >= 10 and (scenario == BIG or (seed + scenario.pod_count()) % 3 == 0)

    small, runs = shrunk_failure(FOUND, 200, stop=lambda: False, told=ran.append, again=failing(seldom, []))
    assert small.scenario.pod_count() == 10
    assert seldom(small.scenario, small.seed)
    assert ran == list(range(1, runs + 1))


def test_looking_for_something_smaller_has_a_price_that_is_not_exceeded():
    ran: list[int] = []
    small, runs = shrunk_failure(
        FOUND, 200, stop=lambda: False, told=lambda _: None, again=failing(lambda *_: False, ran)
    )
    assert small == FOUND
    assert runs == len(ran) == 80


def test_an_interrupted_shrink_returns_the_smallest_so_far():
    ran: list[int] = []
    small, runs = shrunk_failure(
        FOUND, 200, stop=lambda: len(ran) >= 2, told=lambda _: None, again=failing(lambda *_: True, ran)
    )
    assert runs == 2
    assert small.scenario != BIG


def test_an_agent_that_trusts_events_alone_is_found_out_with_a_pod_or_two(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.pleg.pleg, "RELIST_NS", 24 * 3600 * 10**9)
    monkeypatch.setattr(actors.pleg.pleg, "RELIST_WITH_EVENTS_NS", 24 * 3600 * 10**9)
    scenario = replace(with_pods(library_scenario("lost-events"), 40), converges_within="2m")
    play = Play(scenario, 1)
    while not play.done:
        play.advance(10**9)
    failure = failures_of(play)[0]
    small, _ = shrunk_failure(failure, play.world.dispatcher.steps, stop=lambda: False, told=lambda _: None)
    assert small.violated.invariant == failure.violated.invariant
    assert small.scenario.pod_count() <= 2
    assert len(small.scenario.faults) <= 1
    assert small.moment.step < failure.moment.step
