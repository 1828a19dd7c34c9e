"""Scenarios can fail: an agent that was changed so that an old pain comes back does not get through."""

from __future__ import annotations

import msgspec
import pytest

import actors.container_starts
import actors.pleg
from actors.image_rules import judge_image
from simulation.play import Outcome, Play
from simulation.scenario import library_scenario, with_pods

DAY_NS = 24 * 3600 * 10**9
STEP_NS = 10 * 10**9


def played(name: str, pods: int) -> Outcome:
    scenario = msgspec.structs.replace(with_pods(library_scenario(name), pods), converges_within="2m")
    play = Play(scenario, 1)
    while not play.done:
        play.advance(STEP_NS)
    return play.outcome()


def broken(outcome: Outcome) -> set[str]:
    return {violation["invariant"] for violation in outcome.violations}


def test_pain_2_an_agent_that_trusts_the_events_of_the_runtime_alone_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.pleg, "RELIST_NS", DAY_NS)
    monkeypatch.setattr(actors.pleg, "RELIST_WITH_EVENTS_NS", DAY_NS)
    outcome = played("lost-events", 40)
    assert "untrue" in broken(outcome)
    assert not outcome.converged


def test_pain_10_an_agent_that_pulls_what_is_there_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        actors.container_starts, "judge_image", lambda image, policy, present: judge_image(image, policy, False)
    )
    assert "starts-in-time" in broken(played("endless-pull", 10))
