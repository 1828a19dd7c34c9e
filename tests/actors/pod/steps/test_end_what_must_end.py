"""Containers that must end are asked to, and no sandbox is made beside one that may still serve."""

from __future__ import annotations

import pytest

from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from actors.pod.steps.end_what_must_end import EndWhatMustEnd
from actors.pod_rules.action_types import Kill, KillCause
from actors.pod_rules.actions import PodActions
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, picture, pod, seen

APP = container("app")
KILL = Kill("app-0", "app", KillCause.LIVENESS, APP)


@pytest.mark.parametrize(
    ("actions", "kind", "ending"),
    [
        pytest.param(PodActions(), type(CONTINUE), frozenset(), id="nothing must end"),
        pytest.param(PodActions(kill=(KILL,)), type(CONTINUE), {"app"}, id="one container"),
        pytest.param(PodActions(kill_pod=True), PassWait, {"app"}, id="the pod: not over before its containers are"),
    ],
)
# (spec 3.6.2)
def test_containers_are_asked_to_end(actions: PodActions, kind: type[Outcome], ending: set[str]):
    bench = Bench()
    this = bench.passing(pod(APP), observed=picture(seen("app")), actions=actions)
    assert type(bench.take(bench.step_of(EndWhatMustEnd), this)) is kind
    assert bench.parts.stops.not_gone() == ending


def test_a_pod_of_which_nothing_runs_goes_on_without_its_old_sandbox():
    bench = Bench()
    actions = PodActions(kill_pod=True, create_sandbox=True)
    this = bench.passing(pod(APP), observed=picture(), actions=actions)
    assert bench.take(bench.step_of(EndWhatMustEnd), this, seconds=30) is CONTINUE


def test_why_a_container_was_killed_is_remembered():
    bench = Bench()
    this = bench.passing(pod(APP), observed=picture(seen("app")), actions=PodActions(kill=(KILL,)))
    bench.take(bench.step_of(EndWhatMustEnd), this)
    assert bench.parts.view.decided.killed == {"app-0": KillCause.LIVENESS}
