"""Scenarios of nodes that run short can fail (pains 11, 12, 15).

Agents that were changed so that a pain comes back break a rule. As `tests.simulation.test_mutated_agents`.
"""

from __future__ import annotations

import pytest

import actors.containers.gc_rules
import actors.eviction.choice
import actors.eviction.manager
import actors.images.gc_rules
from actors.eviction.choice import first_to_go
from actors.eviction.decisions import EvictionVictim, Remembered
from actors.eviction.manager import EvictionActor
from actors.eviction.thresholds import Layout, Threshold
from actors.eviction.usage import Candidate
from actors.images.leases import ImageLeases
from actors.messages.eviction import PodHere
from tests.simulation.mutants import broken, is_found_out, played


def by_priority(candidates: list[Candidate]) -> list[Candidate]:
    """The most important pods are evicted first."""
    return sorted(candidates, key=lambda each: -(each.pod.spec.priority or 0))


# --- pain 11: image GC deletes what is needed -------------------------------------------------------------------------


def test_pain_11_an_agent_without_leases_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ImageLeases, "needed", lambda _: frozenset())
    monkeypatch.setattr(ImageLeases, "nobody_has", lambda *_: True)
    assert is_found_out("image-collections", 8, "what-is-leased-stays", lasts="90s", nodes=1)


def test_pain_11_an_agent_that_takes_images_of_dead_containers_for_unused_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(ImageLeases, "needed", lambda _: frozenset())
    monkeypatch.setattr(ImageLeases, "nobody_has", lambda *_: True)
    monkeypatch.setattr(actors.images.gc_rules, "needed_by", lambda _: frozenset())
    assert is_found_out("image-collections", 8, "what-is-in-use-stays", lasts="90s", nodes=1)


# --- pain 12: eviction too late, too much, forgotten ------------------------------------------------------------------


def test_pain_12_an_agent_that_ends_two_for_one_look_is_found_out(monkeypatch: pytest.MonkeyPatch):
    def two(manager: EvictionActor, threshold: Threshold, candidates: list[Candidate], *, unsaid: bool) -> None:
        found = [first_to_go(threshold, None, [each], Layout(), 0) for each in candidates]
        chosen = [each for each in found if each is not None][:2]
        if chosen:
            manager.evict(chosen)
        else:
            manager.end_pass()

    monkeypatch.setattr(EvictionActor, "choose", two)
    assert is_found_out("evictions", 20, "one-kill-for-one-reading", lasts="150s", nodes=1)


def test_pain_12_an_agent_that_ends_critical_pods_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.eviction.choice, "victims", lambda _, __, candidates, ___: by_priority(candidates))
    assert is_found_out("evictions", 20, "a-critical-pod-stays", lasts="150s", nodes=1)


def test_pain_12_an_agent_that_ends_a_pod_before_it_has_said_so_is_found_out(monkeypatch: pytest.MonkeyPatch):
    def save(manager: EvictionActor, *, decides: bool = False) -> None:
        if decides:
            manager.ask_for_pods()

    monkeypatch.setattr(EvictionActor, "save", save)
    assert is_found_out("evictions", 20, "evictions-are-published-first", lasts="150s", nodes=1)


def test_pain_12_an_agent_that_forgets_whom_it_has_chosen_is_found_out(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []

    def tell(manager: EvictionActor, victim: EvictionVictim, there: PodHere) -> None:
        told.append(victim.uid)  # and dies before the worker hears of it

    monkeypatch.setattr(actors.eviction.manager, "remembered_in", lambda _: Remembered())
    monkeypatch.setattr(EvictionActor, "tell_worker", tell)
    assert is_found_out("evictions", 20, "forgotten-victims", lasts="150s", nodes=1)
    assert told


# --- pain 15: too many dead containers --------------------------------------------------------------------------------


def test_pain_15_an_agent_that_lets_dead_containers_lie_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actors.containers.gc_rules, "is_dead", lambda *_: False)
    monkeypatch.setattr(actors.containers.gc_rules, "DEAD_STATES", ())
    outcome = played("dead-containers", 4, lasts="30s", dead=50)
    assert "left-behind" in broken(outcome)
    assert not outcome.converged
