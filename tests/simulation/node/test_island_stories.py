"""Random stories of an island node keep its promises, and an agent that breaks one is found out."""

from __future__ import annotations

from collections import Counter

import pytest

import actors.island.actor
import actors.island.memory
import actors.status.manager
from actors.island.rules import Age, refusal
from config.objects import Pod
from tests.seeds import over_seeds
from tests.simulation.node.island_stories import play

FEW = 4
SEEDS = range(1, 25)


@over_seeds(FEW)
def test_an_island_node_keeps_its_promises(seed: int):
    play(seed)


def is_found_out() -> bool:
    """Whether one of a few stories breaks a promise."""
    for seed in SEEDS:
        try:
            play(seed)
        except AssertionError:
            return True
    return False


def test_an_agent_that_ignores_the_age_of_its_memory_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.island.actor, "age_of", lambda *_: Age(0))
    assert is_found_out()


def test_an_agent_that_starts_what_has_finished_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.status.manager, "FINAL_PHASES", ())
    assert is_found_out()


def test_an_agent_that_starts_pods_of_stateful_sets_is_found_out(monkeypatch: pytest.MonkeyPatch):

    def careless(pod: Pod) -> str:
        return "" if pod.metadata.owner_references else refusal(pod)

    for module in (actors.island.actor, actors.island.memory):
        monkeypatch.setattr(module, "refusal", careless)
    assert is_found_out()


def test_the_stories_reach_what_they_are_about():
    reached = Counter[str]()
    for seed in range(1, 13):
        reached += play(seed)
    for what in ("all run again", "too old", "deleted meanwhile", "power cut in touch", "started from memory"):
        assert reached[what], f"no story reaches: {what}"
