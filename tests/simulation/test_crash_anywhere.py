"""The agent is killed anywhere: before any turn, call or change on the disk.

And again while the next one is starting.

A sample at every change; `python -m tests.simulation.crashes` (or `tox -e crashes`) goes through all moments of the
whole library, and `actorlet simulate crash-anywhere --kill-everywhere` through those of one world.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import actors.pod.probes
import actors.volumes.reconciler
from actors.messages.volumes import VolumesReleased
from actors.pod.end import PodEnd
from actors.pod.one_pass import Outcome
from actors.pod.probes import PodProbes
from actors.pod.runtime import PodObserver
from actors.sync.workers import PodStarts
from actors.volumes.orphans import PodsListed, VolumeOrphans
from cli.silence import silence
from simulation.play.kill_sweep import KillOutcome, killable, kills, kind_of, moments_of, play_kill
from simulation.scenarios.scenario import library
from tests.seeds import over_seeds
from tests.simulation.sizes import tiny

WORLD = "crash-anywhere"
SAMPLE = 24
TRIED = 60
"""So many kills an agent with a fault may survive before the test gives up."""


def outcomes(name: str, at_most: int, seed: int = 1) -> Iterator[KillOutcome]:
    """What a sample of kills comes to, one after the other."""
    scenario = killable(tiny(name))
    with silence():
        for kill in kills(moments_of(scenario, seed), seed, at_most):
            yield play_kill(scenario, seed, kill)
            gc.collect()


def broken(name: str, at_most: int, seed: int = 1) -> list[KillOutcome]:
    return [each for each in outcomes(name, at_most, seed) if each.broken]


def is_found_out(rule: str) -> bool:
    """Whether some kill shows that the agent breaks the rule."""
    return any(told.startswith(rule) for each in outcomes(WORLD, TRIED) for told in each.broken)


@over_seeds(1)
def test_an_agent_that_is_killed_anywhere_disturbs_nobody_and_leaves_nothing(seed: int):
    assert broken(WORLD, SAMPLE, seed) == []


@pytest.mark.parametrize("name", [name for name in library() if name != WORLD])
def test_every_scenario_of_the_library_survives_kills_at_moments_of_its_own(name: str):
    assert broken(name, 2) == []


def test_moments_are_at_each_turn_and_around_each_call_and_change_of_the_disk():
    kinds = {kind_of(what) for what in moments_of(killable(tiny(WORLD)), 1)}
    for call in ("RunPodSandbox", "StartContainer", "StopContainer", "RemovePodSandbox", "patch pods/status"):
        assert {f"before {call}", f"after {call}"} <= kinds
    assert {"turn of /node/sync-loop/*", "turn of /node/volume-reconciler", "turn of /node/status-manager"} <= kinds
    assert {"before save_allocations", "after save_allocations"} <= kinds
    assert "before a change of /var/lib/actorlet/pods/*/volumes/kubernetes.io~secret/secret/word" in kinds
    assert "before unmount /var/lib/actorlet/pods/*/volumes/kubernetes.io~nfs/share" in kinds


def test_a_play_up_to_its_kill_is_the_play_without_one():
    scenario = killable(tiny(WORLD))
    undisturbed = moments_of(scenario, 1)
    for kill in kills(undisturbed, 1, 3):
        assert undisturbed[kill.moments[0] - 1] == kill.what
        assert play_kill(scenario, 1, kill).kill == kill


def test_a_sample_has_each_kind_of_moment_once_before_any_comes_twice():
    moments = moments_of(killable(tiny(WORLD)), 1)
    kinds = {kind_of(what) for what in moments}
    assert {kind_of(each.what) for each in kills(moments, 1, len(kinds))} == kinds
    assert len(kills(moments, 1)) == 2 * len(moments)


# --- agents that forget -----------------------------------------------------------------------------------------------


def test_an_agent_that_forgets_volumes_it_was_taking_down_is_found_out(monkeypatch: pytest.MonkeyPatch):
    clean_up = PodEnd.clean_up

    async def without_volumes(self: PodEnd) -> Outcome:
        self.volumes_released(VolumesReleased("any"))
        return await clean_up(self)

    monkeypatch.setattr(PodEnd, "clean_up", without_volumes)
    monkeypatch.setattr(VolumeOrphans, "known_pods", lambda *_: None)
    assert is_found_out("left-behind")


def test_an_agent_that_takes_what_it_does_not_know_yet_for_left_over_is_found_out(monkeypatch: pytest.MonkeyPatch):
    class KnowingNobody(VolumeOrphans):
        def listed(self, message: PodsListed) -> None:
            self._known = frozenset()
            super().listed(message)

        def is_orphan(self, uid: str) -> bool:
            return True

    monkeypatch.setattr(actors.volumes.reconciler, "VolumeOrphans", KnowingNobody)
    assert is_found_out("no-live-volume-is-touched")


def test_an_agent_that_forgets_who_was_ready_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PodProbes, "undecided", lambda _: False)
    seen_first = actors.pod.probes.seen_first
    monkeypatch.setattr(actors.pod.probes, "seen_first", lambda container, found, _: seen_first(container, found, None))
    assert is_found_out("the-steady-stay-ready")


def test_an_agent_that_takes_for_gone_what_it_has_not_seen_yet_is_found_out(monkeypatch: pytest.MonkeyPatch):
    look, looked = PodObserver.look, set[int]()

    async def look_in_vain(self: PodObserver) -> None:
        """The first look of a worker finds nothing, as if all that an agent knows were in its memory."""
        await look(self)
        if id(self) not in looked:
            looked.add(id(self))
            self._sandboxes, self._containers, self._states, self._refreshed = {}, {}, {}, None

    monkeypatch.setattr(PodObserver, "look", look_in_vain)
    assert is_found_out("restart-counts-never-fall")


def test_an_agent_that_leaves_pods_alone_that_nobody_wants_any_more_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PodStarts, "end_orphans", lambda _: None)
    assert is_found_out("left-behind")
