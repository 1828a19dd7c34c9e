"""The published status of pods: what it keeps, what it refuses, and who hears of a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.pods import ListPods
from actors.messages.status import PodForgotten, PodStatusChanged, StatusManagerStarted
from actors.status.manager import StatusManagerActor
from actors.status.published import next_status
from config.objects import HostIP, ObjectMeta, Pod, PodCondition, PodIP, PodStatus
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from tests.actors.recorders import Recorder


def status(phase: str | None = "Running", **fields: Any) -> PodStatus:
    return PodStatus(phase=phase, **fields)


def ready(value: str, since: str | None) -> PodCondition:
    return PodCondition(type="Ready", status=value, last_transition_time=since)


@pytest.mark.parametrize(
    ("before", "computed", "after"),
    [
        (None, "Pending", "Pending"),
        ("Pending", "Running", "Running"),
        ("Running", "Pending", "Pending"),
        ("Running", "Failed", "Failed"),
        ("Running", None, "Running"),
        ("Failed", "Failed", "Failed"),
        ("Failed", None, "Failed"),
        ("Failed", "Running", None),
        ("Failed", "Succeeded", None),
        ("Succeeded", "Pending", None),
    ],
)
# (spec 4.5.2)
def test_a_terminal_phase_is_the_end(before: str | None, computed: str | None, after: str | None):
    published = None if before is None else status(before)
    following = next_status(published, status(computed))
    assert (None if following is None else following.phase) == after


def test_unknown_status_fields_keep_their_last_value_and_the_start_time_stays():
    published = status(host_ip="h", pod_ip="p", pod_ips=(PodIP(ip="p"),), start_time="1")
    following = next_status(published, status(reason="x", start_time="2"))
    assert following == status(host_ip="h", pod_ip="p", pod_ips=(PodIP(ip="p"),), start_time="1", reason="x")
    assert next_status(published, status(pod_ip="q", start_time="1")).pod_ip == "q"  # type: ignore[union-attr]


def test_a_pod_that_the_node_does_not_take_shows_no_address():
    published = status("Pending", host_ip="h", host_ips=(HostIP(ip="h"),), conditions=(ready("False", "1"),))
    gate = PodCondition(type="example.com/gate", status="True")
    refused = status("Failed", reason="OutOfcpu", conditions=(gate,))
    assert next_status(published, refused) == refused
    ended = status("Failed", conditions=(ready("False", "1"), gate))
    assert next_status(published, ended).host_ip == "h"  # type: ignore[union-attr]


def test_a_transition_time_changes_with_the_status_only():
    published = status(conditions=(ready("True", "1"),))
    assert next_status(published, status(conditions=(ready("True", "2"),))) is published
    following = next_status(published, status(conditions=(ready("False", "2"),)))
    assert following is not None
    assert following.conditions == (ready("False", "2"),)


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.loop, self.told = Recorder.spawn_in(self.system, "sync-loop", StatusManagerStarted)
        self.manager: ActorRef = self.system.spawn(StatusManagerActor, self.loop, name="status")

    def tell(self, uid: str, computed: PodStatus, name: str = "web", final: bool = False) -> None:
        pod = Pod(metadata=ObjectMeta(name=name, namespace="default", uid=uid))
        self.manager.tell(PodStatusChanged(pod, computed, final))

    def pods(self) -> dict[str, tuple[str, str | None]]:
        pods: tuple[Pod, ...] = self.manager.ask(ListPods())
        return {p.metadata.uid: (p.metadata.name, p.status.phase if p.status else None) for p in pods}


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_every_pod_is_listed_with_its_published_status(world: World):
    world.tell("1", status("Pending"))
    world.tell("2", status("Pending"))
    world.tell("1", status("Running"), name="renamed")
    assert world.pods() == {"1": ("renamed", "Running"), "2": ("web", "Pending")}


def test_a_pod_that_has_ended_stays_ended_until_it_is_forgotten(world: World):
    world.tell("1", status("Failed"), final=True)
    world.dispatcher.run_until_idle()
    world.tell("1", status("Running"))
    assert world.pods() == {"1": ("web", "Failed")}
    world.manager.tell(PodForgotten("1"))
    assert world.pods() == {}
    world.tell("1", status("Pending"))
    assert world.pods() == {"1": ("web", "Pending")}


def test_workers_are_asked_to_tell_again_at_the_start(world: World):
    world.dispatcher.run_until_idle()
    assert world.told == [StatusManagerStarted()]


# (spec 4.5.1)
def test_versions_count_changes_not_messages(world: World, caplog: pytest.LogCaptureFixture):
    with caplog.at_level("DEBUG", logger="actorlet"):
        for phase in ("Pending", "Pending", "Running", "Running"):
            world.tell("1", status(phase))
            world.dispatcher.run_for(StatusManagerActor.batch_window_ns)
    said = [record.message for record in caplog.records if "status" in record.message]
    assert said == ["pod default/web: status 1, phase Pending", "pod default/web: status 2, phase Running"]


def test_the_status_of_a_new_life_is_not_forgotten_with_that_of_the_one_before(world: World):
    pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="1"))
    world.manager.tell(PodStatusChanged(pod, status("Succeeded"), final=True, life=1))
    world.manager.tell(PodForgotten("1"))
    world.manager.tell(PodStatusChanged(pod, status("Pending"), life=2))
    assert world.pods() == {"1": ("web", "Pending")}


def test_a_pod_that_runs_before_anybody_has_looked_is_counted_as_one_that_came_to_run(world: World):
    meters = Meters()
    manager = world.system.spawn(StatusManagerActor, world.loop, None, meters, name="measured")
    pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="1"))
    running = msgspec.structs.replace(status("Running"), start_time="1970-01-01T00:00:00Z")
    for each in (status("Pending"), status("Pending"), running):
        manager.tell(PodStatusChanged(pod, each))
    world.dispatcher.run_for(StatusManagerActor.batch_window_ns)
    (told,) = meters.told(names.POD_START)
    assert [row.value for row in told.rows if row.ending == "_count"] == [1]
