"""The last status of a pod, its deletion, and what is no longer written after that."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.messages.status import PodFinished, PodForgotten, PodLeftApi, PodReconciled
from actors.status.manager import MAX_WRITES, SWEEP_NS
from config.objects import PodStatus
from tests.actors.status.written_pods import World, api_pod, ready


# (spec 2.9.1, 4.5.10)
def test_a_pod_to_be_deleted_goes_after_its_last_status_and_when_nothing_is_left_of_it(world: World):
    world.tell("web", ready(), deletion_timestamp="2026-11-21T00:00:00Z")
    world.accept()
    world.tell("web", PodStatus(phase="Succeeded"), final=True)
    assert world.accept()["status"]["phase"] == "Succeeded"
    assert len(world.api.calls) == 2  # it waits for the volumes
    world.manager.tell(PodFinished("uid-web"))
    world.run()
    assert world.api.calls[2].method == "DELETE"
    assert world.accept() == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-web"},
    }
    world.run(2 * SWEEP_NS)
    assert len(world.api.calls) == 3


# (spec 4.5.10)
def test_a_pod_is_deleted_once_though_the_api_marks_it_before_it_goes(world: World):
    ending: dict[str, Any] = {"deletion_timestamp": "2026-11-21T00:00:00Z"}
    world.tell("web", PodStatus(phase="Succeeded"), final=True, deletion_grace_period_seconds=30, **ending)
    world.accept()
    world.manager.tell(PodFinished("uid-web"))
    world.run()
    world.accept()
    # A real API server sets the grace to 0 and tells so, then removes the pod and tells that, and its answer may be
    # here before. A pod with finalizers stays until others have taken the last of them away, and goes by itself then.
    for version, finalizers in ((8, ("batch.kubernetes.io/job-tracking",)), (9, ())):
        marked = api_pod("web", version, deletion_grace_period_seconds=0, finalizers=finalizers, **ending)
        shown = world.pods["web"].status
        world.manager.tell(PodReconciled(msgspec.structs.replace(marked, status=shown)))
        world.run(2 * SWEEP_NS)
    assert [call.method for call in world.api.calls] == ["PATCH", "DELETE"]


# (spec 2.10.5)
def test_a_pod_that_has_finished_goes_when_its_deletion_is_asked_for(world: World):
    world.tell("job", PodStatus(phase="Succeeded"), final=True)
    world.accept()
    world.manager.tell(PodFinished("uid-job"))
    world.run()
    assert len(world.api.calls) == 1
    known = world.pods["job"]
    meta = msgspec.structs.replace(known.metadata, deletion_timestamp="2026-11-21T00:00:00Z", resource_version="9")
    world.manager.tell(PodReconciled(msgspec.structs.replace(known, metadata=meta)))
    world.run()
    assert world.api.calls[1].method == "DELETE"


def test_a_pod_whose_last_status_the_api_keeps_otherwise_goes_all_the_same(world: World):
    world.tell(
        "web", PodStatus(phase="Succeeded", message="long"), final=True, deletion_timestamp="2026-11-21T00:00:00Z"
    )
    world.manager.tell(PodFinished("uid-web"))
    shown = PodStatus(phase="Succeeded", message="lo")
    world.api.answer(api_pod("web", 2, status=shown, deletion_timestamp="2026-11-21T00:00:00Z"))
    world.run()
    assert [call.method for call in world.api.calls] == ["PATCH", "DELETE"]


def test_a_pod_that_has_left_the_api_is_not_written_any_more_though_it_still_ends(world: World):
    world.tell("web", ready())
    world.accept()
    world.manager.tell(PodLeftApi("uid-web"))
    world.tell("web", ready(value="False"))
    world.tell("web", PodStatus(phase="Failed"), final=True)
    world.manager.tell(PodFinished("uid-web"))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1


def test_a_pod_that_waits_to_be_written_and_leaves_the_api_is_not_written(world: World):
    for number in range(MAX_WRITES):
        world.tell(f"busy-{number}", ready())
    world.tell("web", ready())
    world.manager.tell(PodLeftApi("uid-web"))
    world.run()
    for _ in range(MAX_WRITES):
        world.accept()
    assert "web" not in world.names()


def test_a_pod_that_is_forgotten_and_taken_again_has_one_write_at_a_time(world: World):
    world.tell("web", ready())
    world.run()
    assert len(world.api.calls) == 1
    world.manager.tell(PodForgotten("uid-web"))
    world.tell("web", ready(value="False"))
    world.run()
    assert len(world.api.calls) == 1, "the write for the first record is under way"
    world.accept()
    world.run()
    assert len(world.api.calls) == 2
    (condition,) = world.accept()["status"]["conditions"]
    assert condition["status"] == "False"
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 2


def test_a_forgotten_pod_is_not_written_any_more(world: World):
    for number in range(MAX_WRITES):
        world.tell(f"busy-{number}", ready())
    world.tell("web", ready())
    world.manager.tell(PodForgotten("uid-web"))
    world.run()
    for _ in range(MAX_WRITES):
        world.accept()
    assert "web" not in world.names()
