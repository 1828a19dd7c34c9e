"""Scenarios can fail: an agent that was changed so that an old pain comes back does not get through.

Each mutation is small: a rule or a limit of the agent, as it was in an agent that had the pain. Those of nodes that run
short are in `test_mutated_evictions`, those of what an agent says of itself in `test_mutated_words`.
"""

from __future__ import annotations

from typing import Any

import pytest

import actors.kernel.lanes
import actors.node.wiring.known_actors
import actors.node.wiring.runtime
import actors.pleg.pleg
import actors.pod.parts
import actors.pod.probes
import actors.pod.steps.images
import actors.volumes.reconciler
from actors.images.pull_rules import judge_image
from actors.messages.images import PullImage
from actors.messages.volumes import VolumesReleased
from actors.model.observed import observed_container, observed_sandbox
from actors.pleg.pleg import PlegActor
from actors.pod.container_stops import ContainerStops
from actors.pod.end import PodEnd
from actors.pod.one_pass import Outcome
from actors.pod.probes import PodProbes
from actors.pod.runtime import PodObserver
from actors.probes.runner import ProbeRunner
from actors.sync.workers import PodStarts
from actors.volumes.orphans import PodsListed, VolumeOrphans
from runtime.cri.messages import ContainerEventResponse, ContainerStatus, PodSandboxStatus
from tests.simulation.mutants import broken, is_found_out, played

DAY_NS = 24 * 3600 * 10**9
Mutate = pytest.MonkeyPatch


def test_pain_1_an_agent_that_looks_at_one_container_after_the_other_is_found_out(monkeypatch: Mutate):
    busy: list[object] = []

    class OneAtATime(PodObserver):
        """Queries one container at a time, over all pods: a lane with one place."""

        async def look_at_container(self, container_id: str) -> None:
            while busy:
                await self._actor.sleep(10**8)
            busy.append(self)
            try:
                await super().look_at_container(container_id)
            finally:
                busy.remove(self)

    monkeypatch.setattr(actors.pod.parts, "PodObserver", OneAtATime)
    assert is_found_out("one-hung-pod", 11, "starts-in-time", lasts="90s")


def test_pain_2_an_agent_that_trusts_the_events_of_the_runtime_alone_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(actors.pleg.pleg, "RELIST_NS", DAY_NS)
    monkeypatch.setattr(actors.pleg.pleg, "RELIST_WITH_EVENTS_NS", DAY_NS)
    outcome = played("lost-events", 20)
    assert "untrue" in broken(outcome)
    assert not outcome.converged


def test_pain_3_an_agent_that_lists_nothing_while_there_are_events_is_found_out(monkeypatch: Mutate):

    class ListingOnce(PlegActor):
        def list_within(self, ns: int) -> None:
            if self._listed_at_ns is None:
                super().list_within(ns)

    for module in (actors.node.wiring.known_actors, actors.node.wiring.runtime):
        monkeypatch.setattr(module, "PlegActor", ListingOnce)
    assert is_found_out("false-events", 20, "untrue")


def test_pain_3_an_agent_that_takes_an_event_for_what_is_there_is_found_out(monkeypatch: Mutate):
    """That is right only for events that come once and in time.

    Otherwise the agent makes containers twice.
    """
    told: dict[str, tuple[PodSandboxStatus, tuple[ContainerStatus, ...]]] = {}

    def keep(event: ContainerEventResponse) -> None:
        sandbox = event.pod_sandbox_status
        if sandbox is not None and sandbox.metadata is not None:
            told[sandbox.metadata.uid] = sandbox, event.containers_statuses

    class Believing(PodObserver):
        async def look(self) -> None:
            if self._actor.ref.name not in told:
                await super().look()
                return
            sandbox, containers = told.pop(self._actor.ref.name)
            self._complete = True
            self._doubtful.clear()
            self._sandboxes = {sandbox.id: observed_sandbox(sandbox)}
            self._containers = {each.id: observed_container(each) for each in containers}
            self._states = {sandbox.id: sandbox.state, **{each.id: each.state for each in containers}}
            self.changes += 1
            self._refreshed = None

    monkeypatch.setattr(actors.pleg.pleg, "shown_by", keep)
    monkeypatch.setattr(actors.pod.parts, "PodObserver", Believing)
    assert broken(played("false-events", 20, troubled=False)) == set()
    assert is_found_out("false-events", 20, "never-two-live-containers")


def test_pain_4_an_agent_that_waits_for_calls_that_hang_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(actors.kernel.lanes, "PATIENCE_NS", DAY_NS)
    assert is_found_out("dead-mounts", 10, "starts-in-time")


def test_pain_5_an_agent_that_stops_eight_containers_at_a_time_is_found_out(monkeypatch: Mutate):
    under_way: list[str] = []
    stop, ended = ContainerStops.stop_container, ContainerStops.stop_ended

    def in_lanes(self: ContainerStops, end: Any) -> None:
        if len(under_way) < 8:
            under_way.append(end.ending.id)
            stop(self, end)

    def leave(self: ContainerStops, message: Any) -> None:
        if message.container_id in under_way:
            under_way.remove(message.container_id)
        ended(self, message)

    monkeypatch.setattr(ContainerStops, "stop_container", in_lanes)
    monkeypatch.setattr(ContainerStops, "stop_ended", leave)
    assert {"ends-in-time", "unsettled"} & broken(played("stuck-terminating", 18))


def test_pain_6_an_agent_that_leaves_volumes_where_they_are_is_found_out(monkeypatch: Mutate):
    clean_up = PodEnd.clean_up

    async def without_volumes(self: PodEnd) -> Outcome:
        self.volumes_released(VolumesReleased("any"))
        return await clean_up(self)

    monkeypatch.setattr(PodEnd, "clean_up", without_volumes)
    monkeypatch.setattr(VolumeOrphans, "known_pods", lambda *_: None)
    assert is_found_out("torn-down", 12, "left-behind", lasts="70s")


def test_pain_6_an_agent_that_takes_what_it_does_not_know_yet_for_left_over_is_found_out(monkeypatch: Mutate):
    class KnowingNobody(VolumeOrphans):
        def listed(self, message: PodsListed) -> None:
            self._known = frozenset()
            super().listed(message)

        def is_orphan(self, uid: str) -> bool:
            return True

    monkeypatch.setattr(actors.volumes.reconciler, "VolumeOrphans", KnowingNobody)
    assert is_found_out("torn-down", 12, "no-live-volume-is-touched", lasts="70s")


def test_pain_7_an_agent_whose_static_pods_do_not_wait_for_each_other_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(PodStarts, "may_start_static", lambda *_: True)
    assert is_found_out("static-pods", 4, "one-live-incarnation")


def test_pain_8_an_agent_that_thinks_nobody_ready_until_asked_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(PodProbes, "undecided", lambda _: False)
    seen_first = actors.pod.probes.seen_first
    monkeypatch.setattr(actors.pod.probes, "seen_first", lambda container, found, _: seen_first(container, found, None))
    assert is_found_out("agent-restarts", 20, "the-steady-stay-ready")


def test_pain_10_an_agent_that_pulls_what_is_there_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(
        actors.pod.steps.images, "judge_image", lambda image, policy, present: judge_image(image, policy, False)
    )
    # The pull actor looks a second time, unless it hears that the image is not there.
    monkeypatch.setattr(
        actors.pod.steps.images, "PullImage", lambda **fields: PullImage(**{**fields, "present": False})
    )
    assert is_found_out("endless-pull", 10, "starts-in-time")


def test_pain_13_an_agent_that_asks_nobody_any_more_is_found_out(monkeypatch: Mutate):
    wait_for = ProbeRunner.wait_for_next

    def wait_for_ever(self: ProbeRunner, key: Any, life: Any) -> None:
        wait_for(self, key, life)
        if self.now_ns() > 15 * 10**9:
            self.cancel_timer(key)

    monkeypatch.setattr(ProbeRunner, "wait_for_next", wait_for_ever)
    outcome = played("probes", 11, troubled=False, lasts="20s")
    assert "unprobed" in broken(outcome)
    assert not outcome.converged
