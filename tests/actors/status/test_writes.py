"""The status manager's writes to the API: how often, in which order, without answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.mirrors import MirrorPodSeen
from actors.messages.pods import ListPods
from actors.messages.status import (
    PodFinished,
    PodForgotten,
    PodLeftApi,
    PodReconciled,
    PodStatusChanged,
    StatusManagerStarted,
    Unwritten,
    WantUnwritten,
)
from actors.status.manager import MAX_WRITES, SWEEP_NS, StatusManagerActor
from actors.status.urgency import ON_ITS_WAY_NS
from config.objects import ObjectMeta, Pod, PodCondition, PodStatus
from config.pods.identity import CONFIG_SOURCE
from runtime.api import ApiError
from tests.actors.manual_api import ManualApi, unreachable
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
SOON_NS = SECOND_NS // 100


def api_pod(name: str, version: int = 1, source: str = "api", status: PodStatus | None = None, **meta: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            resource_version=str(version),
            annotations={CONFIG_SOURCE: source},
            **meta,
        ),
        status=status or PodStatus(phase="Pending"),
    )


def ready(phase: str = "Running", value: str = "True", **fields: Any) -> PodStatus:
    return PodStatus(phase=phase, conditions=(PodCondition(type="Ready", status=value),), **fields)


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, _ = Recorder.spawn_in(self.system, "sync-loop", StatusManagerStarted)
        self.manager = self.system.spawn(StatusManagerActor, sync_loop, self.api, name="status")
        self.pods: dict[str, Pod] = {}

    def run(self, ns: int = SOON_NS) -> None:
        self.dispatcher.run_for(ns)

    def tell(self, name: str, status: PodStatus, *, final: bool = False, seen: bool = True, **meta: Any) -> None:
        """The worker of the pod has computed a status."""
        pod = self.pods.setdefault(name, api_pod(name, **meta))
        self.manager.tell(PodStatusChanged(pod, status, final, seen))
        self.run()

    def accept(self) -> dict[str, Any]:
        """The API server takes the oldest open write; its body."""
        call, _ = self.api.open_calls[0]
        name = call.path.removesuffix("/status").rsplit("/", 1)[1]
        known = self.pods[name]
        body: dict[str, Any] = json.loads(call.body or b"{}")
        if call.method == "DELETE":
            self.api.answer(None)
        else:
            shown = msgspec.to_builtins(known.status)
            shown.update({key: value for key, value in body["status"].items() if key != "conditions"})
            if "conditions" in body["status"]:
                shown["conditions"] = [c for c in body["status"]["conditions"] if "$patch" not in c]
            version = str(int(known.metadata.resource_version) + 1)
            meta = msgspec.structs.replace(known.metadata, resource_version=version)
            status = msgspec.convert({k: v for k, v in shown.items() if v is not None}, PodStatus)
            self.pods[name] = msgspec.structs.replace(known, metadata=meta, status=status)
            self.api.answer(self.pods[name])
        self.run()
        return body

    def names(self) -> list[str]:
        """Of the pods written to so far, in order."""
        return [call.path.removesuffix("/status").rsplit("/", 1)[1] for call in self.api.calls]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()


def test_a_pod_that_comes_to_run_costs_one_write(world: World):
    for _ in range(3):
        world.tell("web", PodStatus(phase="Pending", message="on its way"))
    world.tell("web", ready(pod_ip="10.0.0.7"))
    body = world.accept()
    assert body["metadata"] == {"uid": "uid-web"}
    assert body["status"]["phase"] == "Running"
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


def test_a_requester_hears_which_statuses_are_not_written_yet(world: World):
    asker, heard = Recorder.spawn_in(world.system, "asker", Unwritten)

    def unwritten() -> frozenset[str]:
        world.manager.tell(WantUnwritten(asker, frozenset({"uid-web", "uid-job", "uid-gone"})))
        world.run()
        return heard[-1].uids

    world.tell("web", ready())
    world.tell("job", ready("Failed"), final=True)
    world.tell("other", ready())
    assert unwritten() == {"uid-web", "uid-job"}
    while world.api.open_calls:
        world.accept()
    assert unwritten() == frozenset()
    world.tell("web", PodStatus(phase="Running", message="on its way"))
    assert unwritten() == {"uid-web"}, "what is kept back is not written"


def test_a_pod_that_stays_on_its_way_is_shown_after_a_while(world: World):
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS // 2)
    assert world.api.calls == []
    world.run(ON_ITS_WAY_NS)
    assert world.accept()["status"] == {"hostIP": "10.0.0.1"}


def test_an_alarm_for_a_pod_that_came_to_run_takes_nothing_from_the_next(world: World):
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS // 2)
    world.tell("web", ready())
    world.accept()
    world.tell("db", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS - SECOND_NS // 10)
    assert world.names() == ["web"], "the alarm has rung, for nobody"
    world.run(SECOND_NS // 10)
    assert world.names() == ["web", "db"]


def test_an_alarm_that_rings_while_the_mailbox_is_full_is_heard(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(StatusManagerActor, "mailbox_capacity", 1)
    world = World()
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS - 2 * SOON_NS)
    for _ in range(5 * SOON_NS // 1_000_000):
        world.manager.tell(PodReconciled(api_pod("one")))
        world.run(1_000_000)
    world.run(ON_ITS_WAY_NS)
    assert world.names() == ["web"]
    world.system.stop()


def test_changes_during_a_write_become_one(world: World):
    world.tell("web", ready())
    for phase in ("False", "True", "False"):
        world.tell("web", ready(value=phase))
    assert len(world.api.calls) == 1
    world.accept()
    assert len(world.api.calls) == 2
    body = world.accept()
    assert [each["status"] for each in body["status"]["conditions"]] == ["False"]
    assert len(world.api.calls) == 2


def test_the_worst_news_go_first(world: World):
    for number in range(MAX_WRITES):
        world.tell(f"busy-{number}", ready())
    world.tell("ready", ready())
    world.pods["unready"] = api_pod("unready", status=ready())
    world.tell("unready", ready(value="False"))
    world.tell("ended", ready("Failed", "False"), final=True)
    for _ in range(MAX_WRITES + 3):
        world.accept()
    assert world.names()[MAX_WRITES:] == ["ended", "unready", "ready"]


def test_no_more_writes_are_under_way_than_the_limit(world: World):
    for number in range(3 * MAX_WRITES):
        world.tell(f"pod-{number}", ready())
    assert len(world.api.open_calls) == MAX_WRITES


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


def test_while_nobody_answers_one_write_at_a_time_tries_it_and_afterwards_each_pod_costs_one(world: World):
    for number in range(100):
        world.tell(f"pod-{number}", ready())
    while world.api.open_calls:  # all that were under way when it went away
        world.api.fail(unreachable())
    world.run()
    tried = len(world.api.calls)
    for _ in range(60):  # ten minutes
        assert len(world.api.open_calls) <= 1
        if world.api.open_calls:
            world.api.fail(unreachable())
        world.run(10 * SECOND_NS)
    assert len(world.api.calls) - tried < 70
    before = len(world.api.calls) - len(world.api.open_calls)
    for round_number in range(5):
        world.tell("pod-5", ready(value=str(round_number % 2 == 0)))
    world.tell("worst", ready("Failed", "False"), final=True)
    world.run(15 * SECOND_NS)
    while world.api.open_calls:
        world.accept()
        world.run(SOON_NS)
    written = world.names()[before:]
    assert sorted(written) == sorted({*written}), "one write a pod"
    assert len(written) == 101
    assert "worst" in written[:2]


def test_a_refusal_is_tried_again_with_the_sweep_and_said_once(world: World, caplog: pytest.LogCaptureFixture):
    world.tell("web", ready())
    for _ in range(3):
        world.api.fail(ApiError(422, "Invalid", "no", "patch pods/status"))
        world.run(SWEEP_NS + SECOND_NS)
    assert len(world.api.calls) == 4
    assert caplog.text.count("is refused") == 1


ANOTHER = "Precondition failed: UID in precondition: uid-web, UID in object meta: another"
CONTENTION = "the object has been modified; please apply your changes to the latest version and try again"


@pytest.mark.parametrize("error", [ApiError(404, "NotFound", "", "patch"), ApiError(409, "Conflict", ANOTHER, "patch")])
def test_a_pod_that_is_gone_is_left_alone_until_it_is_seen_again(world: World, error: ApiError):
    world.tell("web", ready())
    world.api.fail(error)
    world.tell("web", ready(value="False"))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1
    world.manager.tell(PodReconciled(api_pod("web", 50)))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2


def test_a_write_that_lost_against_others_is_made_again_though_what_they_wrote_was_seen_before(
    world: World, caplog: pytest.LogCaptureFixture
):
    world.tell("web", ready())
    world.manager.tell(PodReconciled(api_pod("web", 50)))
    world.run()
    world.api.fail(ApiError(409, "Conflict", CONTENTION, "patch pods/status default/web"))
    world.run(SWEEP_NS + SECOND_NS)
    assert len(world.api.calls) == 2
    assert "refused" not in caplog.text


def test_a_status_overwritten_by_somebody_else_is_written_again(world: World):
    world.tell("web", ready())
    world.accept()
    meddled = api_pod("web", 77, status=ready(value="False"))
    world.manager.tell(PodReconciled(meddled))
    world.run()
    body = json.loads(world.api.calls[1].body or b"")
    assert body["status"]["conditions"][0]["status"] == "True"


def test_an_older_picture_of_a_pod_changes_nothing(world: World):
    world.tell("web", ready())
    world.accept()
    world.manager.tell(PodReconciled(api_pod("web", 1)))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


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


def test_a_status_without_a_look_does_not_replace_that_of_an_earlier_agent(world: World):
    world.tell("web", PodStatus(phase="Pending"), seen=False)
    world.manager.tell(PodReconciled(api_pod("web", 2, status=ready())))
    world.run(2 * ON_ITS_WAY_NS)
    assert world.api.calls == []
    world.tell("web", ready(value="False"))
    assert len(world.api.calls) == 1


def test_a_worker_that_begins_anew_and_has_seen_nothing_takes_nothing_back(world: World):
    world.tell("web", ready())
    world.accept()
    world.tell("web", PodStatus(phase="Pending"), seen=False)
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1
    assert next(iter(world.manager.ask(ListPods()))).status == ready()


def test_a_status_that_the_api_stores_differently_is_written_once(world: World):
    world.tell("web", ready(message="long"))
    world.api.answer(api_pod("web", 2, status=ready(message="lo")))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1
    world.tell("web", ready(message="other"))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2


def test_a_field_that_somebody_changed_during_a_write_is_written_after_it(world: World):
    world.pods["web"] = api_pod("web", status=ready())
    world.tell("web", ready(message="news"))
    world.run(2 * ON_ITS_WAY_NS)
    # The node was not heard of for a while, and the cluster has said so of its pods.
    world.api.answer(api_pod("web", 3, status=ready(value="False", message="news")))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 2
    body = json.loads(world.api.calls[1].body or b"")
    assert [(each["type"], each["status"]) for each in body["status"]["conditions"]] == [("Ready", "True")]


def test_a_status_seen_before_the_worker_reports_is_compared_later(world: World):
    world.pods["web"] = api_pod("web", 1, status=ready())
    world.manager.tell(PodReconciled(api_pod("web", 2, status=ready(value="False"))))
    world.tell("web", ready())
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


def test_a_pod_whose_last_status_the_api_keeps_otherwise_goes_all_the_same(world: World):
    world.tell(
        "web", PodStatus(phase="Succeeded", message="long"), final=True, deletion_timestamp="2026-11-21T00:00:00Z"
    )
    world.manager.tell(PodFinished("uid-web"))
    shown = PodStatus(phase="Succeeded", message="lo")
    world.api.answer(api_pod("web", 2, status=shown, deletion_timestamp="2026-11-21T00:00:00Z"))
    world.run()
    assert [call.method for call in world.api.calls] == ["PATCH", "DELETE"]


def test_an_answer_that_changes_nothing_ends_the_matter(world: World):
    world.tell("web", ready(message="long"))
    world.api.answer(world.pods["web"])  # the very same object, of the same version
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1


def test_a_write_whose_answer_was_lost_is_made_again(world: World):
    world.tell("web", ready())
    world.accept()
    world.tell("web", ready(value="False"))
    world.api.fail(unreachable())
    world.run(5 * SECOND_NS)
    assert world.accept()["status"]["conditions"][0]["status"] == "False"


def test_a_static_pod_is_never_deleted_here(world: World):
    world.tell("static", PodStatus(phase="Succeeded"), final=True, source="file")
    mirror = api_pod("static", deletion_timestamp="2026-11-21T00:00:00Z", status=PodStatus(phase="Succeeded"))
    world.manager.tell(MirrorPodSeen("uid-static", mirror))
    world.manager.tell(PodFinished("uid-static"))
    world.run(2 * SWEEP_NS)
    assert [call.method for call in world.api.calls] == []


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


def test_another_pod_of_the_name_is_not_written_to_again(world: World):
    world.tell("web", ready())
    message = 'Pod "web" is invalid: metadata.uid: Invalid value: "uid-web": field is immutable'
    world.api.fail(ApiError(422, "Invalid", message, "patch pods/status default/web"))
    world.tell("web", ready(value="False"))
    world.run(3 * SWEEP_NS)
    assert len(world.api.calls) == 1


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
