"""When a `PodWorker` asks for volumes.

It asks once, again when its pod uses more volumes or shows other content, and when it is told to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorRef, ActorSystem, Pending, SimulatedDispatcher
from actors.messages.admission import PodAdmitted
from actors.messages.pods import Operation, RuntimeStateObserved, RuntimeTold, SyncPod, TerminatePod
from actors.messages.status import PodStatusChanged
from actors.messages.volumes import PrepareVolumes, ReleaseVolumes, RenewVolumes, VolumesPrepared
from actors.pod.services import NodeFacts, PodServices
from actors.pod.steps.volumes_ready import VOLUME_ASK_AGAIN_NS
from actors.pod.worker import PodWorker
from actors.start.cri_configs import ContainerNodeRules
from config.frozen_map import FrozenMap
from config.kubelet import KubeletConfiguration
from config.objects import (
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralContainer,
    Pod,
    PodSpec,
    PodStatus,
    Volume,
    VolumeMount,
)
from runtime.cri import Cri
from runtime.cri.verbs import Req, Res, Verb
from simulation.cri import Settings, SimulatedCri
from simulation.host.host import SimulatedHost
from simulation.node.hook_caller import SimulatedHookCaller
from simulation.node.prober import SimulatedProber
from tests.actors.pod_pictures import PERIODS, RUNNING, container, pod
from tests.actors.recorders import Recorder
from tests.actors.services import TakesAll

SECOND_NS = 1_000_000_000
DOWN = Volume(name="down", downward_api=DownwardAPIVolumeSource())
DATA = Volume(name="data", empty_dir=EmptyDirVolumeSource())
READY = VolumesPrepared(FrozenMap({"down": "/pods/down"}))


def web(*volumes: Volume, labels: dict[str, str] | None = None, **fields: Any) -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in volumes)
    meta = {"labels": labels or {}}
    return pod(
        container("app", volume_mounts=mounts, termination_message_path="/dev/log"),
        volumes=(DOWN, DATA),
        meta=meta,
        **fields,
    )


def with_debugger(desired: Pod) -> Pod:
    debugger = EphemeralContainer(name="debug", volume_mounts=(VolumeMount(name="data", mount_path="/data"),))
    spec: PodSpec = msgspec.structs.replace(desired.spec, ephemeral_containers=(debugger,))
    return msgspec.structs.replace(desired, spec=spec)


class CountedCri:
    """The runtime, and how often it was asked anything."""

    def __init__(self, cri: Cri) -> None:
        self._cri = cri
        self.calls = 0
        self.stream = cri.stream

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> Pending[Res]:
        self.calls += 1
        return self._cri.call(verb, request, timeout_ns=timeout_ns)


class World:
    def __init__(self, *, node_is_slow: bool = False) -> None:
        """`node_is_slow`: nobody says whether the node takes the pod."""
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        host = SimulatedHost()
        cri = SimulatedCri(self.dispatcher, Settings(images=("image:1",)), files=host.container_files)
        self.cri = CountedCri(cri)
        volumes, self.asked = Recorder.spawn_in(self.system, "volumes", PrepareVolumes, ReleaseVolumes)
        others, _ = Recorder.spawn_in(self.system, "others", PodStatusChanged)
        services = PodServices(
            cri=self.cri,
            prober=SimulatedProber(self.dispatcher, cri, cri),
            hooks=SimulatedHookCaller(self.dispatcher, cri),
            files=host.pod_files,
            node=NodeFacts("node", "/root", ("192.0.2.1",), "simulated", 2, 2**30, ContainerNodeRules("/root")),
            configuration=KubeletConfiguration(),
            crash_loop=PERIODS,
            sync_loop=others,
            pleg=others,
            images=others,
            volumes=volumes,
            container_gc=others,
            status_manager=others,
            events=others,
            objects=others,
            tokens=others,
            ids=others,
            cluster=others,
            historian=others,
            resources=others if node_is_slow else self.system.spawn(TakesAll, name="resources"),
        )
        self.worker: ActorRef = self.system.spawn(PodWorker, "uid-1", services, None, name="worker")
        self.tell(RuntimeStateObserved("", "", "simulated"))

    def tell(self, *messages: Any, seconds: float = 1) -> None:
        for message in messages:
            self.worker.tell(message)
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def desire(self, desired: Pod, operation: Operation = Operation.UPDATE) -> None:
        self.tell(SyncPod(desired, operation))

    def renewals(self) -> list[bool]:
        """For each request, whether it was a renewal."""
        return [message.renewal for message in self.asked]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.system.stop()


@pytest.fixture
def slow_world() -> Iterator[World]:
    world = World(node_is_slow=True)
    yield world
    world.system.stop()


def test_a_pod_that_the_node_takes_asks_at_once_and_looks_at_nothing_again(slow_world: World):
    slow_world.desire(web(DOWN), Operation.ADD)
    assert slow_world.renewals() == []
    looks = slow_world.cri.calls
    slow_world.tell(PodAdmitted())
    assert (slow_world.renewals(), slow_world.cri.calls) == ([False], looks)


def test_runtime_news_before_admission_is_looked_at_after_it(slow_world: World):
    slow_world.desire(web(DOWN), Operation.ADD)
    looks = slow_world.cri.calls
    slow_world.tell(RuntimeTold(FrozenMap({"never-seen": int(RUNNING)})), PodAdmitted(), seconds=0)
    slow_world.tell()
    assert slow_world.renewals() == [False]
    assert slow_world.cri.calls > looks


def test_an_order_to_end_the_pod_goes_before_the_answer_of_admission(slow_world: World):
    slow_world.desire(web(DOWN), Operation.ADD)
    slow_world.tell(TerminatePod(None, removed=True), PodAdmitted(), seconds=5)
    assert [type(message) for message in slow_world.asked] == [ReleaseVolumes]


def test_volumes_are_asked_for_once(world: World):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(READY, seconds=600)
    assert world.renewals() == [False]


# (spec 8.3.5)
def test_a_change_of_metadata_that_a_volume_shows_renews_the_volumes(world: World):
    world.desire(web(DOWN, labels={"a": "1"}), Operation.ADD)
    world.tell(READY)
    changed = web(DOWN, labels={"a": "2"})
    world.desire(changed)
    assert world.renewals() == [False, True]
    assert world.asked[-1].pod is changed


def test_a_change_before_the_first_volume_answer_is_not_lost(world: World):
    world.desire(web(DOWN, labels={"a": "1"}), Operation.ADD)
    world.desire(web(DOWN, labels={"a": "2"}))
    world.tell(READY, seconds=30)
    assert world.renewals() == [False, True]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(web(DOWN, status=PodStatus(phase="Running")), id="the status"),
        pytest.param(web(DOWN), id="nothing"),
    ],
)
def test_a_change_that_no_volume_shows_renews_nothing(world: World, changed: Pod):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(READY)
    world.desire(changed)
    assert world.renewals() == [False]


def test_a_pod_without_such_volumes_is_not_asked_for_again(world: World):
    world.desire(web(DATA), Operation.ADD)
    world.tell(VolumesPrepared(FrozenMap({"data": "/pods/data"})))
    world.desire(web(DATA, labels={"a": "2"}))
    assert world.renewals() == [False]


def test_a_volume_that_comes_into_use_is_asked_for(world: World):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(READY)
    world.desire(with_debugger(web(DOWN)))
    assert world.renewals() == [False, False]


def test_a_worker_asks_for_its_volumes_again_on_request(world: World):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(READY)
    world.tell(RenewVolumes())
    assert world.renewals() == [False, True]
    world.tell(READY, seconds=60)
    assert world.renewals() == [False, True]


def test_failed_volumes_are_asked_for_again_after_a_wait_without_news(world: World):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(VolumesPrepared(FrozenMap(), "no"), seconds=VOLUME_ASK_AGAIN_NS / SECOND_NS - 5)
    assert world.renewals() == [False]
    world.tell(seconds=10)
    assert world.renewals() == [False, False]


def test_an_ending_pod_renews_no_volumes(world: World):
    world.desire(web(DOWN), Operation.ADD)
    world.tell(READY)
    world.tell(TerminatePod(None, removed=True), RenewVolumes(), seconds=5)
    assert [type(message) for message in world.asked] == [PrepareVolumes, ReleaseVolumes]
    world.tell(RenewVolumes())  # whoever takes them away has begun anew, and has forgotten it
    assert [type(message) for message in world.asked] == [PrepareVolumes, ReleaseVolumes, ReleaseVolumes]
