"""Writes of the statuses of static pods: they go to the mirror."""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.messages.mirrors import MirrorPodSeen
from actors.messages.pods import ListPods
from actors.messages.status import PodFinished
from actors.status.manager import SWEEP_NS
from actors.status.urgency import ON_ITS_WAY_NS
from config.objects import PodCondition, PodStatus
from tests.actors.manual_api import unreachable
from tests.actors.status.written_pods import SECOND_NS, SOON_NS, World, api_pod, ready


# (spec 1.6.1, 4.5.7)
def test_the_status_of_a_static_pod_is_written_to_its_mirror(world: World):
    world.tell("static", ready(), source="file")
    world.run(2 * ON_ITS_WAY_NS)
    assert world.api.calls == []  # nothing shows it yet
    mirror = msgspec.structs.replace(
        api_pod("static"), metadata=msgspec.structs.replace(api_pod("static").metadata, uid="uid-mirror")
    )
    world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.run()
    assert json.loads(world.api.calls[0].body or b"")["metadata"] == {"uid": "uid-mirror"}


def test_a_mirror_may_go_while_a_status_of_its_static_pod_is_written_in_vain(
    world: World, caplog: pytest.LogCaptureFixture
):
    world.tell("static", ready(), source="file")
    mirror = api_pod("static", version=7)
    world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.run()
    world.manager.tell(MirrorPodSeen("uid-static", None))
    world.run()
    world.api.fail(unreachable())
    world.run(SECOND_NS)
    assert (len(world.api.calls), "failed on" in caplog.text) == (1, False)
    world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.run()
    assert len(world.api.calls) == 2


@pytest.mark.parametrize("mirror_first", [True, False])
@pytest.mark.parametrize("unknown_first", [True, False])
def test_after_a_restart_a_static_pod_keeps_what_its_mirror_shows(
    world: World, mirror_first: bool, unknown_first: bool
):
    def at(time: str) -> PodStatus:
        return PodStatus(
            phase="Running", conditions=(PodCondition(type="Ready", status="True", last_transition_time=time),)
        )

    world.pods["static"] = api_pod("static", source="file")
    mirror = api_pod("static", version=7, status=at("2026-11-21T09:00:00Z"))
    if mirror_first:
        world.manager.tell(MirrorPodSeen("uid-static", mirror))
    if unknown_first:
        world.tell("static", PodStatus())
    world.tell("static", at("2026-11-21T10:00:00Z"))
    if not mirror_first:
        world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.run(2 * ON_ITS_WAY_NS)
    assert world.api.calls == []
    world.tell("static", ready(value="False"))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


@pytest.mark.parametrize("mirror_at", [0, 1, 2])
def test_a_static_pod_runs_again_whose_mirror_shows_that_it_failed_before_the_boot(world: World, mirror_at: int):
    world.pods["static"] = api_pod("static", source="file")
    mirror = MirrorPodSeen("uid-static", api_pod("static", version=7, status=PodStatus(phase="Failed")))
    told = [lambda: world.tell("static", PodStatus(), seen=False), lambda: world.tell("static", ready())]
    for tell in [*told[:mirror_at], lambda: world.manager.tell(mirror), *told[mirror_at:]]:
        tell()
        world.run(SOON_NS)
    world.run(2 * ON_ITS_WAY_NS)
    assert next(iter(world.manager.ask(ListPods()))).status == ready()
    assert json.loads(world.api.calls[-1].body or b"")["status"]["phase"] == "Running"


# (spec 4.5.10)
def test_a_static_pod_is_never_deleted_here(world: World):
    world.tell("static", PodStatus(phase="Succeeded"), final=True, source="file")
    mirror = api_pod("static", deletion_timestamp="2026-11-21T00:00:00Z", status=PodStatus(phase="Succeeded"))
    world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.manager.tell(PodFinished("uid-static"))
    world.run(2 * SWEEP_NS)
    assert [call.method for call in world.api.calls] == []
