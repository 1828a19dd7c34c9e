"""Containers are started in order; only a postStart hook holds up those after it."""

from __future__ import annotations

import pytest

from actors.pod.one_pass import CONTINUE, PodPass, StartPlace
from actors.pod_rules.action_types import Kill, KillCause, Start
from actors.pod_rules.actions import PodActions
from actors.pod_rules.termination import Ending
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import PodSandboxConfig
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, pod

NAMES = ("debug", "first", "app", "other")
DEBUG, FIRST, APP, OTHER = (Start(container(name), 0) for name in NAMES)
ACTIONS = PodActions(start_ephemeral=(DEBUG,), start_init=(FIRST,), start=(APP, OTHER))
PLACE = StartPlace(0, "box-0", PodSandboxConfig())


def started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, fails: str = "", place: StartPlace | None = PLACE
) -> list[str]:
    """Names of the containers whose start was tried. `fails`: for this one the runtime fails."""
    names: list[str] = []

    async def start(this: PodPass, place: StartPlace, start: Start) -> None:
        names.append(start.container.name)
        if start.container.name == fails:
            raise CriError(StatusCode.UNKNOWN, "no", "StartContainer")

    monkeypatch.setattr(bench.parts.containers, "start", start)
    this = bench.passing(pod("app", "other"), actions=ACTIONS, place=place)
    if fails:
        with pytest.raises(CriError):
            bench.take(bench.parts.containers.step, this)
    else:
        assert bench.take(bench.parts.containers.step, this) is CONTINUE
    return names


# (spec 3.6.6)
def test_ephemeral_containers_come_first_and_then_init_containers(monkeypatch: pytest.MonkeyPatch):
    assert started(Bench(), monkeypatch) == list(NAMES)


def test_nothing_is_started_without_a_sandbox(monkeypatch: pytest.MonkeyPatch):
    assert started(Bench(), monkeypatch, place=None) == []


# (spec 2.7.9)
def test_a_container_that_fails_to_start_holds_up_no_other(monkeypatch: pytest.MonkeyPatch):
    assert started(Bench(), monkeypatch, fails="first") == list(NAMES)


def test_a_container_is_not_started_before_the_one_before_it_has_ended(monkeypatch: pytest.MonkeyPatch):
    bench = Bench()
    kill = Kill("app-0", "app", KillCause.CHANGED, APP.container)
    bench.parts.stops.request(Ending(kill.id, kill.name, 30), APP.container)
    assert started(bench, monkeypatch) == ["debug", "first", "other"]


def test_a_post_start_hook_holds_up_all_but_ephemeral_containers(monkeypatch: pytest.MonkeyPatch):
    bench = Bench()
    bench.parts.view.start_lives.unstarted = frozenset({"first-0"})
    assert started(bench, monkeypatch) == ["debug"]
