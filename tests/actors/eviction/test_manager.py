"""`EvictionActor` alone, among actors that record its messages.

The tests show the course of a pass, and what a pass survives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.eviction.decisions import remembered_in
from actors.eviction.manager import END_NS, PASS_NS, SECOND_NS, STEP_NS, EvictionActor
from actors.eviction.steps import EvictionTools
from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.admission import ResourceManagerStarted
from actors.messages.events import RecordEvent
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.node import NodePressureObserved, NodeStatusStarted
from actors.messages.pods import TerminatePod
from actors.messages.reclaim import ContainersReclaimed, ImagesReclaimed, ReclaimContainers, ReclaimImages
from actors.messages.stats import StatsTaken, WantStats
from config.kubelet import KubeletConfiguration
from config.objects import Pod, PodStatus
from runtime.stats.readings import CgroupReading, FsReading, MemoryReading, NetworkReading, NodeReading
from runtime.stats.samples import NodeSample, PodSample
from simulation.host.file_tree import FileTree
from simulation.host.host import SimulatedPodFiles
from tests.actors.recorders import Recorder

FILE = "/root/evictions"
GIB = 2**30
TOTAL = 16 * GIB
MEMORY = {"memory.available": "1Gi"}
DISK = {"nodefs.available": "10%"}


class Scene:
    """The actor and its partners.

    `left`: memory of the node; `disk`: percent of its disk that is free.
    """

    def __init__(self, seed: int = 1, **configuration: Any) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.tree = FileTree()
        self.tree.make_directories("/root")
        self.stats, self.looks = Recorder.spawn_in(self.system, "stats", WantStats)
        self.loop, self.questions = Recorder.spawn_in(self.system, "sync-loop", WantPods)
        self.events, self.said = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.listener, self.told = Recorder.spawn_in(self.system, "listener", NodePressureObserved)
        self.containers, self.freeing = Recorder.spawn_in(self.system, "containers", ReclaimContainers)
        self.images, self.imaging = Recorder.spawn_in(self.system, "images", ReclaimImages)
        self.workers: dict[str, ActorRef] = {}
        self.orders: dict[str, list[TerminatePod]] = {}
        self.pods: list[PodHere] = []
        self.left, self.disk = 8 * GIB, 50
        self.runtime_answers = True
        self.unsaid = False
        """The runtime lists pods, and not what they use."""
        self.configuration = KubeletConfiguration(enforce_node_allocatable=(), **configuration)
        self.lives = 0
        self.actor = self._begin()

    def _begin(self) -> ActorRef:
        self.lives += 1
        tools = EvictionTools(
            self.stats,
            self.loop,
            self.events,
            (self.listener,),
            self.containers,
            self.images,
            SimulatedPodFiles(self.tree),
        )
        name = f"eviction {self.lives}"
        return self.system.spawn(EvictionActor, tools, self.configuration, "node", FILE, name=name)

    def begin_anew(self) -> None:
        """Another agent, on the same disk."""
        self.actor.stop()
        self.run(1)
        for kept in (self.looks, self.questions):
            kept.clear()
        self.actor = self._begin()
        self.run(0)

    def pod(self, name: str, priority: int = 0, uses: int = GIB) -> None:
        """A pod that runs."""
        worker, self.orders[name] = Recorder.spawn_in(self.system, f"worker {name}", TerminatePod)
        document = {
            "metadata": {"name": name, "uid": name},
            "spec": {"containers": [{"name": "app"}], "priority": priority},
        }
        self.pods.append(PodHere(msgspec.convert(document, Pod), worker))

    def changes(self, name: str, **fields: Any) -> None:
        """Something is known of the pod that was not."""
        self.pods = [
            msgspec.structs.replace(each, **fields) if each.pod.metadata.uid == name else each for each in self.pods
        ]

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def answer_look(self) -> None:
        """The sample that was asked for."""
        asked = self.looks.pop(0)
        at_ns = self.dispatcher.wall_ns()
        memory = MemoryReading(at_ns, TOTAL - self.left)
        group, network = CgroupReading("/", memory=memory), NetworkReading(at_ns, "eth0", ())
        node = NodeReading(at_ns, 0, 4, group, TOTAL, 0, 0, network, None, None)
        disk = FsReading(at_ns, 100 * GIB, self.disk * GIB, (100 - self.disk) * GIB, 100, self.disk, 0)
        pods = tuple(
            PodSample("s", each.pod.metadata.uid, "", "", 0, memory=None if self.unsaid else MemoryReading(at_ns, GIB))
            for each in self.pods
            if asked.pods and self.runtime_answers
        )
        blind = asked.pods and not self.runtime_answers
        sample = NodeSample(
            0,
            node=node,
            root_fs=disk,
            image_fs=disk,
            container_fs=disk,
            pods=pods,
            blind=blind,
            unsaid=self.unsaid,
        )
        asked.asker.tell(StatsTaken(sample, asked.pods))
        self.run(0.01)

    def answer_question(self, *, complete: bool = True) -> None:
        """The pods that were asked for."""
        self.questions.pop(0).asker.tell(PodsHere(tuple(self.pods), complete))
        self.run(0.01)

    def until_somebody_is_to_go_or_not(self) -> None:
        """A pass by the book, as far as it comes."""
        self.run(0.01)
        while self.looks or self.questions:
            if self.decided():
                return
            if self.questions:
                self.answer_question()
            else:
                self.answer_look()
            self.run(0.1)

    def until_somebody_is_to_go(self) -> None:
        """A pass by the book, up to the decision."""
        self.run(0.01)
        self.answer_question()
        while self.looks:
            self.answer_look()
        self.answer_question()
        self.run(0.1)

    def decided(self) -> list[str]:
        """The victims in the file."""
        return [each.uid for each in remembered_in(self.tree.read(FILE)).victims] if self.tree.exists(FILE) else []

    def ordered(self) -> list[str]:
        """The pods whose workers were told to end them."""
        return [name for name, orders in self.orders.items() if orders]


@pytest.fixture
def scenes() -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    for scene in made:
        assert scene.system.stop()


def short_scene(scenes: list[Scene], **configuration: Any) -> Scene:
    scenes.append(scene := Scene(**({"eviction_hard": MEMORY} | configuration)))
    scene.left = GIB // 2
    return scene


def test_the_conditions_are_told_and_the_decision_is_on_the_disk_before_a_worker_is_told(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("web")
    scene.until_somebody_is_to_go()
    assert scene.told[-1] == NodePressureObserved(True, False, False)
    assert scene.decided() == ["web"]
    assert scene.ordered() == [], "the workers as they are now are asked for first"
    scene.answer_question()
    (order,) = scene.orders["web"]
    assert (order.grace_seconds, order.evicted, order.disrupted, order.reason) == (1, True, True, "Evicted")
    assert [each.reason for each in scene.said] == ["EvictionThresholdMet", "Evicted"]


@pytest.mark.parametrize("begun", [NodeStatusStarted(), ResourceManagerStarted()], ids=["node", "admission"])
def test_a_restarted_status_or_resource_manager_hears_the_node_pressure_at_once(
    scenes: list[Scene], begun: NodeStatusStarted | ResourceManagerStarted
) -> None:
    scene = short_scene(scenes)
    scene.actor.tell(begun)
    scene.run(1)
    assert scene.told == [], "nothing is known yet"
    scene.until_somebody_is_to_go()
    scene.told.clear()
    scene.actor.tell(begun)
    scene.run(0.1)
    assert scene.told == [NodePressureObserved(True, False, False)]


# (spec 2.1.9)
def test_no_pod_is_evicted_while_the_runtime_reports_no_usage(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("web")
    scene.runtime_answers = False
    scene.until_somebody_is_to_go_or_not()
    assert scene.told[-1] == NodePressureObserved(True, False, False), "that it is short is known all the same"
    assert (scene.questions, scene.decided(), scene.ordered()) == ([], [], [])
    scene.runtime_answers = True
    scene.run(PASS_NS / SECOND_NS)
    scene.until_somebody_is_to_go_or_not()
    assert scene.decided() == ["web"]


# (spec 7.2.4)
def test_one_pod_is_evicted_and_the_next_look_waits_for_its_volumes(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    for name in ("a", "b", "c"):
        scene.pod(name)
    scene.until_somebody_is_to_go()
    scene.answer_question()
    assert len(scene.ordered()) == 1
    scene.run(5)
    assert len(scene.questions) == 1, "it is asked whether the pod has ended"
    assert scene.looks == []
    (first,) = scene.ordered()
    pod = next(each.pod for each in scene.pods if each.pod.metadata.uid == first)
    ended = msgspec.structs.replace(pod, status=PodStatus(phase="Failed"))
    scene.changes(first, pod=ended, released=True)
    scene.answer_question()
    scene.run(1.1)
    assert scene.looks == [], "an emptyDir in memory still holds what it took"
    assert scene.decided() == [], "the API shows its end, so no successor has to end it"
    scene.changes(first, finished=True)
    scene.answer_question()
    scene.run(0.1)
    assert len(scene.looks) == 1, "at once, not after ten seconds"
    scene.answer_look()
    scene.answer_question()
    scene.run(0.1)
    scene.answer_question()
    assert len(scene.ordered()) == 2


# (spec 7.2.5)
def test_a_victim_that_does_not_end_holds_the_next_look_up_for_half_a_minute(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("web")
    scene.until_somebody_is_to_go()
    scene.answer_question()
    for _ in range(END_NS // SECOND_NS):
        scene.run(1)
        while scene.questions and not scene.looks:
            scene.answer_question()
    scene.run(1)
    assert scene.looks or scene.questions
    assert len(scene.orders["web"]) == 1, "it was told once"


def test_a_new_agent_ends_the_victim_already_chosen_before_it_looks_for_another(
    scenes: list[Scene],
) -> None:
    scene = short_scene(scenes)
    for name in ("a", "b"):
        scene.pod(name)
    scene.until_somebody_is_to_go()
    (chosen,) = scene.decided()
    scene.begin_anew()
    assert scene.looks == []
    pods, scene.pods = scene.pods, []
    scene.answer_question(complete=False)
    scene.run(1.1)
    assert scene.decided() == [chosen]
    assert scene.looks == [], "its pods are not here yet"
    scene.pods = pods
    scene.answer_question()
    assert scene.ordered() == [chosen]


def test_a_victim_that_the_api_shows_as_ended_is_forgotten(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("web")
    scene.until_somebody_is_to_go()
    scene.answer_question()
    pod = scene.pods[0].pod
    ended = PodStatus(phase="Failed")
    scene.changes("web", pod=msgspec.structs.replace(pod, status=ended), released=True)
    scene.run(1.1)
    scene.answer_question()
    scene.run(0.1)
    assert scene.decided() == []


def test_a_disk_that_cannot_be_written_to_keeps_no_pod_alive(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("web")
    scene.tree.fail(FILE, 28)
    scene.run(6)
    scene.until_somebody_is_to_go()
    scene.run(6)
    scene.answer_question()
    assert scene.ordered() == ["web"]


# (spec 7.2.4)
def test_dead_containers_and_unused_images_are_freed_before_a_pod_is_evicted(scenes: list[Scene]) -> None:
    scenes.append(scene := Scene(eviction_hard=DISK))
    scene.pod("web")
    scene.disk = 5
    scene.until_somebody_is_to_go()
    assert scene.decided() == []
    scene.freeing[0].asker.tell(ContainersReclaimed())
    scene.run(0.1)
    scene.imaging[0].asker.tell(ImagesReclaimed(0, "one could not be removed"))
    scene.run(0.1)
    scene.disk = 50
    scene.answer_look()
    scene.run(1)
    assert scene.decided() == []
    assert scene.told[-1] == NodePressureObserved(False, True, False), "the condition stays for its time"


def test_each_silent_reclaimer_is_waited_for_one_minute(scenes: list[Scene]) -> None:
    scenes.append(scene := Scene(eviction_hard=DISK))
    scene.pod("web")
    scene.disk = 5
    scene.until_somebody_is_to_go()
    scene.run(2 * STEP_NS // SECOND_NS + 1)
    assert len(scene.imaging) == 1
    scene.answer_look()
    scene.answer_question()
    scene.run(0.1)
    assert scene.decided() == ["web"]


def test_an_unanswered_measurement_ends_the_pass_and_the_next_begins(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.run(0.01)
    scene.answer_question()
    assert len(scene.looks) == 1
    scene.run((STEP_NS + PASS_NS) // SECOND_NS + 1)
    assert len(scene.looks) == 2
    assert scene.told == []


def test_having_no_pod_to_evict_is_no_failure(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.pod("critical", priority=2_000_000_000)
    scene.pod("away")
    scene.changes("away", turned_away=True)
    scene.until_somebody_is_to_go()
    scene.run(PASS_NS // SECOND_NS + 1)
    assert scene.decided() == []
    assert scene.looks, "it goes on looking"


@pytest.mark.parametrize(
    ("priority", "because"),
    [(2_000_000_000, "none may be evicted"), (0, "the runtime does not report their usage")],
)
def test_the_log_says_why_no_pod_is_evicted(
    scenes: list[Scene], caplog: pytest.LogCaptureFixture, priority: int, because: str
) -> None:
    scene = short_scene(scenes)
    scene.unsaid = True
    scene.pod("only", priority=priority)
    scene.until_somebody_is_to_go()
    assert f"the node is short of memory, and no pod is evicted: {because}" in caplog.messages


def test_a_new_agent_reports_a_lasting_condition_before_its_first_look(scenes: list[Scene]) -> None:
    scene = short_scene(scenes)
    scene.until_somebody_is_to_go()
    scene.told.clear()
    scene.begin_anew()
    scene.run(0.1)
    assert scene.told == [NodePressureObserved(True, False, False)]
