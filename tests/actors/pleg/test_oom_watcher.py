"""The events of a node whose kernel kills processes for lack of memory (spec 9.8)."""

from __future__ import annotations

import logging

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.events import RecordEvent
from actors.pleg.oom_watcher import AGAIN_NS, OomWatcherActor, concerns_node, scope_of
from runtime.metrics import own as names
from runtime.metrics.meters import Meters
from runtime.oom import OomKill
from simulation.host.oom_log import SimulatedOomLog
from tests.actors.recorders import Recorder

POD = "/kubepods/burstable/pod1/c"
OF_THE_MACHINE = OomKill(7, "stress", True, POD)


class Scene:
    def __init__(self, log: SimulatedOomLog) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.log = log
        self.meters = Meters()
        self.recorder, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.watcher = self.system.spawn(OomWatcherActor, log, self.recorder, "n", self.meters, name="oom")
        self.dispatcher.run_for(10**9)

    def kill(self, kill: OomKill) -> None:
        self.log.kill(kill)
        self.dispatcher.run_for(10**9)

    def counted(self, scope: str) -> float:
        return self.meters.value(names.OOM_KILLS, scope)


@pytest.mark.parametrize(
    ("kill", "concerns", "scope"),
    [
        (OF_THE_MACHINE, True, "node"),
        (OomKill(7, "x", True), True, "node"),
        (OomKill(7, "x", False, "/", "/"), True, "node"),
        (OomKill(7, "x", False, POD, POD), False, "pod"),
        (OomKill(7, "x", False, POD, "/kubepods"), False, "pod"),
        (OomKill(7, "x", False, "/kubepods.slice/kubepods-pod1.slice/c.scope"), False, "pod"),
        (OomKill(7, "x", False, "/system.slice/a.service", "/system.slice/a.service"), False, "other"),
        (OomKill(7, "x", False), False, "other"),
    ],
)
def test_it_concerns_the_node_when_the_machine_had_no_memory_left(kill: OomKill, concerns: bool, scope: str) -> None:
    assert (concerns_node(kill), scope_of(kill)) == (concerns, scope)


# (spec 9.8.4)
def test_a_kill_for_the_machine_is_an_event_of_the_node_and_is_counted() -> None:
    scene = Scene(SimulatedOomLog())
    scene.kill(OF_THE_MACHINE)
    message = "System OOM encountered, victim process: stress, pid: 7"
    assert scene.events == [RecordEvent("Node", "n", "", "n", "Warning", "SystemOOM", message)]
    assert (scene.counted("node"), scene.counted("pod")) == (1, 0)


# (spec 9.8.4)
def test_a_container_over_its_own_limit_is_counted_and_is_no_event_of_the_node() -> None:
    scene = Scene(SimulatedOomLog())
    scene.kill(OomKill(7, "x", False, POD, POD))
    assert scene.events == []
    assert (scene.counted("node"), scene.counted("pod")) == (0, 1)


def test_missing_rights_for_the_kernel_log_are_one_warning_without_a_retry(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        scene = Scene(SimulatedOomLog(deaf="Operation not permitted"))
        scene.log.deaf = ""
        scene.dispatcher.run_for(100 * AGAIN_NS)
    assert caplog.text.count("out-of-memory kills cannot be observed: [Errno 1] Operation not permitted") == 1
    assert not scene.log.is_followed


def test_a_log_that_ends_is_listened_to_again_after_a_pause() -> None:
    scene = Scene(SimulatedOomLog())
    scene.log.end("it has ended")
    scene.dispatcher.run_for(AGAIN_NS // 2)
    assert not scene.log.is_followed
    scene.dispatcher.run_for(AGAIN_NS)
    scene.kill(OF_THE_MACHINE)
    assert len(scene.events) == 1


def test_a_stopped_oom_watcher_stops_following_the_log() -> None:
    scene = Scene(SimulatedOomLog())
    scene.watcher.stop()
    scene.dispatcher.run_for(10**9)
    assert not scene.log.is_followed
