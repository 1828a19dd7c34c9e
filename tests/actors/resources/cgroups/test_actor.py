"""`CgroupActor` on simulated cgroups: who is told what, and what is there, when (spec 10.2 to 10.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher
from actors.messages.admission import AdmissionWaits, AllocationReleased, MakeCgroup, PodAdmitted
from actors.messages.events import RecordEvent
from actors.messages.pods import KnownPods, NodeObserved
from actors.model.allocation import allocation_of
from actors.resources.cgroups.actor import ASK_AGAIN_NS, LANE_NS, SETTLE_NS, CgroupActor
from actors.resources.cgroups.book import CgroupBook
from actors.resources.cgroups.making import PATIENCE_NS, TRY_AGAIN_NS, CgroupTools
from actors.resources.cgroups.operations import CgroupOperations, PodGroup, PodGroupMade
from actors.resources.cgroups.outcomes import Removed
from actors.resources.cgroups.plan import CgroupPlan
from config.objects import Node, NodeStatus, ObjectMeta, Pod, ResourceRequirements
from config.pods.identity import QosClass, qos_class
from runtime.cgroups.capability import CgroupLimits, Cgroups
from runtime.cgroups.names import CGROUPFS, KUBEPODS, SYSTEMD, Words, pod_words, root_words, tier_words
from runtime.cri import StatusCode
from runtime.cri.messages import (
    CgroupDriver,
    ContainerConfig,
    ContainerMetadata,
    ContainerState,
    CreateContainerRequest,
    ImageSpec,
    LinuxPodSandboxConfig,
    PodSandboxConfig,
    PodSandboxMetadata,
    RunPodSandboxRequest,
    StartContainerRequest,
)
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER
from runtime.metrics.kubelet import CGROUP_MANAGER, LOSING_SUPPORT
from runtime.metrics.meters import Meters
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri import Settings, SimulatedCri
from simulation.cri.state import POD_UID_LABEL
from simulation.host.cgroups import SimulatedCgroups
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes
from tests.actors.pod_pictures import container, pod
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
GI = 2**30
ROOT = "/var/lib/actorlet"
PLACE = root_words("/")
GUARANTEED, BURSTABLE, BEST_EFFORT = QosClass.GUARANTEED, QosClass.BURSTABLE, QosClass.BEST_EFFORT
NODE = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(capacity={"cpu": "4", "memory": "8Gi", "pods": "110"}))


class Tree(SimulatedCgroups):
    """Simulated cgroups that may refuse one pod, and count what is written."""

    def __init__(self, cri: SimulatedCri) -> None:
        super().__init__(cri)
        self.refused = ""
        self.stuck = ""
        self.lacks: tuple[str, ...] = ()
        """What each write says in vain, though the rest is written."""
        self.calls: list[tuple[str, Words]] = []

    def driven_by(self, driver: str) -> Cgroups:
        return Watched(self, super().driven_by(driver))


class Watched:
    def __init__(self, tree: Tree, inner: Cgroups) -> None:
        self._tree = tree
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        self._tree.calls.append(("apply", words))
        if self._tree.refused and words[-1].endswith(self._tree.refused):
            return ("no space left",)
        return (*self._inner.apply(words, limits), *self._tree.lacks)

    def remove(self, words: Words) -> tuple[str, ...]:
        self._tree.calls.append(("remove", words))
        return ("it is busy",) if words[-1].endswith(self._tree.stuck or "nobody") else self._inner.remove(words)


class Scene:
    """The actor, with a recorder in place of each worker."""

    def __init__(self, plan: CgroupPlan | None = None, *, faults: FaultPlan | None = None, **settings: Any) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.faults = None if faults is None else Faults(faults, 1)
        cri = SimulatedCri(self.dispatcher, Settings(**settings), faults=self.faults)
        self.tree, self.files = Tree(cri), FileTree()
        self.meters = Meters()
        self.events: list[Any]
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.tools = CgroupTools(self.tree, cri, SimulatedNodeVolumes(self.files, ROOT), events, self.meters)
        self.plan, self.book = plan or CgroupPlan("n1"), CgroupBook()
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        self.actor: ActorRef

    def start(self) -> Scene:
        self.actor = self.system.spawn(CgroupActor, self.tools, self.plan, self.book, name="cgroups")
        self.tell(NodeObserved(NODE))
        return self

    def tell(self, *messages: Any) -> None:
        for message in messages:
            self.actor.tell(message)
        self.dispatcher.run_for(SECOND_NS // 10)

    def end(self, uid: str) -> None:
        """Nothing of the pod runs any more; a moment later."""
        self.tell(AllocationReleased(uid))
        self.dispatcher.run_for(SETTLE_NS)

    def ask(self, desired: Pod, *, runs: bool = False) -> list[Any]:
        """Ask for the pod's cgroup; all that its worker was told so far."""
        uid = desired.metadata.uid
        if uid not in self.workers:
            self.workers[uid] = Recorder.spawn_in(self.system, f"worker-{uid}", PodAdmitted, AdmissionWaits)
        ref, told = self.workers[uid]
        self.tell(MakeCgroup(ref, desired, allocation_of(desired), runs))
        return told

    def warnings(self) -> list[str]:
        return [each.message for each in self.events if each.type == "Warning"]

    def reasons(self) -> list[str]:
        return [each.reason for each in self.events]

    def handled_by_actor(self) -> int:
        return next(each.handled for each in self.system.report().actors if each.path == "/cgroups")

    def there(self, desired: Pod) -> bool:
        return pod_words(PLACE, qos_class(desired), desired.metadata.uid) in self.tree.written

    def shares(self, qos: QosClass) -> int | None:
        return self.tree.written[tier_words(PLACE, qos)].cpu_shares


def asking(uid: str, cpu: str = "500m", **fields: Any) -> Pod:
    """A burstable pod."""
    own = ResourceRequirements(requests={"cpu": cpu, "memory": "1Gi"})
    return pod(container("app", resources=own), meta={"uid": uid, "name": uid}, **fields)


@pytest.fixture
def scene() -> Scene:
    return Scene().start()


def test_10_2_a_pod_is_told_its_cgroup_when_that_is_there(scene: Scene) -> None:
    assert scene.ask(asking("a")) == [PodAdmitted("/kubepods/burstable/poda")]
    assert scene.tree.written[pod_words(PLACE, BURSTABLE, "a")].cpu_shares == 512
    assert scene.ask(pod("app", meta={"uid": "b"})) == [PodAdmitted("/kubepods/besteffort/podb")]
    assert scene.warnings() == []


# (spec 10.1.5)
def test_10_2_the_runtime_says_who_manages_cgroups() -> None:
    scene = Scene(cgroup_driver=CgroupDriver.SYSTEMD).start()
    assert scene.ask(asking("a-1")) == [
        PodAdmitted("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_1.slice")
    ]
    assert scene.meters.value(LOSING_SUPPORT, "1.37.0") == 0


def let_directory_hang(monkeypatch: pytest.MonkeyPatch, uid: str) -> None:
    """The lane hangs at the cgroup of this pod."""
    make = CgroupOperations.make

    def hangs_there(
        self: CgroupOperations, wanted: Iterable[PodGroup], told: Callable[[PodGroupMade], None]
    ) -> Promise[None] | None:
        for each in wanted:
            if each.uid == uid:
                return Promise()  # what the simulated lane takes for a hang
            make(self, (each,), told)
        return None

    monkeypatch.setattr(CgroupOperations, "make", hangs_there)


@pytest.mark.parametrize("number", [0, 5, 31, 39])
def test_only_the_pod_whose_cgroup_directory_hangs_waits(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    scene = Scene(faults=silent(StatusCode.UNAVAILABLE)).start()
    let_directory_hang(monkeypatch, f"p{number}")
    told = {f"p{each}": scene.ask(asking(f"p{each}", "1m")) for each in range(40)}
    assert scene.faults is not None
    scene.faults.heal()
    scene.dispatcher.run_for(ASK_AGAIN_NS + 3 * PATIENCE_NS)
    assert {uid for uid, answers in told.items() if not answers} == {f"p{number}"}
    assert all(len(answers) <= 1 for answers in told.values())
    applied = Counter(words for operation, words in scene.tree.calls if operation == "apply")
    assert {applied[pod_words(PLACE, BURSTABLE, uid)] for uid, answers in told.items() if answers} == {1}
    scene.dispatcher.run_for(LANE_NS)
    assert isinstance(told[f"p{number}"][-1], AdmissionWaits)
    assert "the cgroup of the pod cannot be made" in scene.warnings()[-1]


def test_a_cgroup_whose_removal_hangs_keeps_no_other_here(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, remove = Scene().start(), CgroupOperations.remove
    pods = {uid: asking(uid) for uid in ("hangs", "old-0", "old-1")}
    for desired in pods.values():
        scene.ask(desired)

    def hangs_there(self: CgroupOperations, uids: tuple[str, ...]) -> Removed | Promise[None]:
        done: list[tuple[str, tuple[str, ...]]] = []
        for uid in uids:
            if uid == "hangs":
                return Promise()  # what the simulated lane takes for a hang
            done += remove(self, (uid,))
        return tuple(done)

    monkeypatch.setattr(CgroupOperations, "remove", hangs_there)
    for uid in pods:
        scene.tell(AllocationReleased(uid))
    scene.dispatcher.run_for(SETTLE_NS + LANE_NS + TRY_AGAIN_NS)
    assert [uid for uid, desired in pods.items() if scene.there(desired)] == ["hangs"]
    late = asking("late")
    scene.ask(late)
    scene.end("late")
    assert not scene.there(late), "the next try hangs beside it"


def silent(code: StatusCode) -> FaultPlan:
    return FaultPlan(calls={"RuntimeConfig": CallFaults(fail=1.0, codes=(code,))})


# (spec 10.1.5)
def test_10_1_where_the_runtime_will_not_say_it_the_configuration_does() -> None:
    scene = Scene(CgroupPlan("n1", driver=SYSTEMD), faults=silent(StatusCode.UNIMPLEMENTED)).start()
    assert scene.ask(asking("a")) == [
        PodAdmitted("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda.slice")
    ]
    assert scene.meters.value(LOSING_SUPPORT, "1.37.0") == 1


def test_10_1_a_runtime_that_is_away_is_waited_for() -> None:
    scene = Scene(faults=silent(StatusCode.UNAVAILABLE)).start()
    assert scene.ask(asking("a")) == []
    assert scene.faults is not None
    scene.faults.heal()
    scene.dispatcher.run_for(3 * SECOND_NS)
    assert scene.ask(asking("a"))[-1] == PodAdmitted("/kubepods/burstable/poda")


# (spec 10.4.1)
def test_10_4_tiers_follow_their_pods_all_of_them_together(scene: Scene) -> None:
    for number in range(100):
        scene.ask(asking(f"p{number}", "100m"))
    scene.dispatcher.run_for(2 * SECOND_NS)
    assert scene.shares(BURSTABLE) == 10_240
    assert scene.shares(BEST_EFFORT) == 2
    written = [
        words for operation, words in scene.tree.calls if operation == "apply" and words == tier_words(PLACE, BURSTABLE)
    ]
    assert len(written) <= 1 + 10 + 2, "at the start, and once a second at most"
    for number in range(50):
        scene.tell(AllocationReleased(f"p{number}"))
    scene.dispatcher.run_for(2 * SECOND_NS)
    assert scene.shares(BURSTABLE) == 5_120


def test_many_pods_that_come_together_are_few_calls(scene: Scene) -> None:
    ref, told = Recorder.spawn_in(scene.system, "worker", PodAdmitted)
    pods = [asking(f"p{number}") for number in range(100)]
    scene.tell(*(MakeCgroup(ref, each, allocation_of(each)) for each in pods))
    assert len(told) == 100
    lanes = {lane.name: lane for lane in scene.system.report().lanes}
    assert lanes["disk"].waiting == 0
    assert scene.handled_by_actor() <= 100 + 20


# (spec 2.9.1, 10.7.1)
def test_10_7_the_cgroup_of_a_pod_is_removed_when_nothing_of_it_runs(scene: Scene) -> None:
    desired = asking("a")
    scene.ask(desired)
    scene.end("a")
    assert not scene.there(desired)
    scene.end("a")
    assert [words for operation, words in scene.tree.calls if operation == "remove"].count(
        pod_words(PLACE, BURSTABLE, "a")
    ) == 1


# (spec 10.7.1)
def test_10_7_a_failed_cgroup_removal_is_tried_again(scene: Scene) -> None:
    desired = asking("a")
    scene.ask(desired)
    scene.tree.stuck = "poda"
    scene.end("a")
    assert scene.there(desired)
    scene.tree.stuck = ""
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert not scene.there(desired)


# (spec 1.5.2, 2.10.4)
def test_10_7_cgroups_of_unknown_pods_are_removed_once_every_source_has_reported() -> None:
    scene = Scene()
    for name in ("podold", "podvolumes", "podknown"):
        scene.tree.make((KUBEPODS, "burstable", name))
    scene.files.make_directories(f"{ROOT}/pods/volumes/volumes/kubernetes.io~empty-dir/data")
    scene.start()
    scene.ask(asking("mine"))
    assert len(scene.tree.names_below(tier_words(PLACE, BURSTABLE))) == 4, "nobody has said yet whose they are"
    scene.tell(KnownPods(frozenset({"known", "mine"})))
    assert set(scene.tree.names_below(tier_words(PLACE, BURSTABLE))) == {"podvolumes", "podknown", "podmine"}
    assert scene.tree.written[pod_words(PLACE, BURSTABLE, "volumes")].cpu_shares == 2, "it gets next to nothing"
    scene.files.remove_all(f"{ROOT}/pods/volumes")
    scene.tell(KnownPods(frozenset({"known"})))
    assert set(scene.tree.names_below(tier_words(PLACE, BURSTABLE))) == {"podknown"}


def test_10_7_known_pods_may_arrive_before_the_runtime_names_its_cgroup_driver() -> None:
    scene = Scene(faults=silent(StatusCode.UNAVAILABLE))
    scene.tree.make((KUBEPODS, "burstable", "podold"))
    scene.start()
    scene.tell(KnownPods(frozenset()))
    scene.ask(asking("new"))
    assert scene.faults is not None
    scene.faults.heal()
    scene.dispatcher.run_for(3 * SECOND_NS)
    assert scene.tree.names_below(tier_words(PLACE, BURSTABLE)) == ("podnew",)


def test_10_7_the_cgroup_of_an_earlier_life_goes_with_its_pod() -> None:
    scene = Scene()
    scene.tree.make((KUBEPODS, "podold"))
    scene.start()
    scene.end("old")
    assert scene.tree.names_below((KUBEPODS,)) == ("burstable", "besteffort")


def test_a_pod_that_runs_stays_where_it_was_begun() -> None:
    scene = Scene()
    scene.tree.make(pod_words(PLACE, BURSTABLE, "inside"))
    scene.start()
    assert scene.ask(asking("inside"), runs=True) == [PodAdmitted("/kubepods/burstable/podinside")]
    assert scene.tree.written[pod_words(PLACE, BURSTABLE, "inside")].cpu_shares == 512
    assert scene.ask(asking("outside"), runs=True) == [PodAdmitted(outside=True)]
    assert not scene.there(asking("outside"))
    assert scene.ask(asking("outside"))[-1] == PodAdmitted("/kubepods/burstable/podoutside"), "for another sandbox"


def test_without_the_rights_pods_run_outside_and_it_is_said_once_until_there_are_some() -> None:
    scene = Scene()
    scene.tree.broken = "Permission denied"
    scene.start()
    assert scene.ask(asking("a")) == [PodAdmitted(outside=True)]
    scene.dispatcher.run_for(5 * MINUTE_NS)
    assert scene.ask(asking("b")) == [PodAdmitted(outside=True)]
    [warning] = scene.warnings()
    assert "/kubepods cannot be made: Permission denied" in warning
    assert set(scene.reasons()) == {"FailedNodeAllocatableEnforcement"}
    scene.tree.broken = ""
    scene.dispatcher.run_for(MINUTE_NS)
    assert scene.ask(asking("c")) == [PodAdmitted("/kubepods/burstable/podc")]
    assert scene.reasons()[-1] == "NodeAllocatableEnforced"


# (spec 2.7.4)
def test_2_7_a_pod_whose_cgroup_cannot_be_made_says_so_once_and_is_tried_again(scene: Scene) -> None:
    scene.tree.refused = "poda"
    told = scene.ask(asking("a"))
    assert scene.ask(asking("b")) == [PodAdmitted("/kubepods/burstable/podb")], "others are not held up by it"
    scene.dispatcher.run_for(25 * SECOND_NS)
    assert [type(each) for each in told] == [AdmissionWaits] * 3
    assert scene.reasons().count("FailedCreatePodContainer") == 1
    scene.tree.refused = ""
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert told[-1] == PodAdmitted("/kubepods/burstable/poda")


# (spec 10.5.2)
def test_10_5_the_limits_of_all_pods_and_of_what_is_reserved() -> None:
    plan = CgroupPlan(
        "n1",
        enforced=("pods", "system-reserved", "kube-reserved-compressible"),
        system_reserved={"cpu": "1", "memory": "1Gi", "pid": "100"},
        kube_reserved={"cpu": "500m", "memory": "1Gi"},
        system_reserved_cgroup="/system.slice",
        kube_reserved_cgroup="/agent",
        pids=1000,
    )
    scene = Scene(plan)
    scene.tree.make(("agent",))
    scene.start()
    assert scene.tree.written[PLACE] == CgroupLimits(cpu_shares=2560, memory_bytes=6 * GI, pids=900)
    assert scene.tree.written[("agent",)] == CgroupLimits(cpu_shares=512), "what nobody dies of"
    [warning] = scene.warnings()
    assert "limits of system-reserved are not enforced: the cgroup /system.slice does not exist" in warning
    scene.tree.make(("system.slice",))
    scene.dispatcher.run_for(MINUTE_NS)
    assert scene.tree.written[("system.slice",)] == CgroupLimits(cpu_shares=1024, memory_bytes=GI, pids=100)
    enforced = [each.message for each in scene.events if each.reason == "NodeAllocatableEnforced"]
    assert enforced == [
        "Updated Node Allocatable limit across pods",
        "Updated limits on kube reserved cgroup /agent",
        "Updated limits on system reserved cgroup /system.slice",
    ]
    scene.dispatcher.run_for(5 * MINUTE_NS)
    assert scene.reasons().count("NodeAllocatableEnforced") == 3


HUGE_PAGES = "hugetlb.2MB.limit_in_bytes cannot be set to '4194304': there is no hierarchy /sys/fs/cgroup/hugetlb"
MEMORY = "/sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes cannot be set to '1': Device or resource busy"


@pytest.mark.parametrize(
    ("lacks", "warnings", "enforced"),
    [
        ((), [], True),
        ((HUGE_PAGES,), [f"not every limit of cgroups holds: {HUGE_PAGES}"], True),
        ((MEMORY,), [f"some limits of pods are not enforced: {MEMORY}"], False),
        (
            (HUGE_PAGES, MEMORY),
            [
                f"not every limit of cgroups holds: {HUGE_PAGES}",
                f"some limits of pods are not enforced: {MEMORY}",
            ],
            False,
        ),
    ],
)
def test_10_5_limits_of_pods_are_enforced_without_a_controller_of_huge_pages_and_not_without_memory(
    lacks: tuple[str, ...], warnings: list[str], enforced: bool
) -> None:
    scene = Scene().start()
    scene.events.clear()
    scene.tree.lacks = lacks
    more = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(capacity={"cpu": "8", "memory": "16Gi"}))
    scene.tell(NodeObserved(more))
    assert scene.warnings() == warnings
    assert ("NodeAllocatableEnforced" in scene.reasons()) is enforced


def test_10_5_another_machine_has_other_limits(scene: Scene) -> None:
    more = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(capacity={"cpu": "8", "memory": "16Gi"}))
    scene.tell(NodeObserved(more))
    assert scene.tree.written[PLACE].memory_bytes == 16 * GI


def test_10_2_without_tiers_the_runtime_is_told_the_root() -> None:
    scene = Scene(CgroupPlan("n1", root="/own", per_qos=False, enforced=())).start()
    assert scene.ask(asking("a")) == [PodAdmitted("/own")]
    assert scene.tree.written == {}
    assert Scene(CgroupPlan("n1", per_qos=False, enforced=())).start().ask(asking("a")) == [PodAdmitted()]


# (spec 10.1.3)
def test_10_1_a_root_that_does_not_exist_is_not_made() -> None:
    scene = Scene(CgroupPlan("n1", root="/own")).start()
    assert scene.ask(asking("a")) == [PodAdmitted(outside=True)]
    assert "the cgroup /own does not exist" in scene.warnings()[0]


# (spec 10.6.1)
def test_10_6_processes_are_moved_where_they_belong_each_minute() -> None:
    scene = Scene(CgroupPlan("n1", kubelet_cgroups="/agent", system_cgroups="/system")).start()
    scene.dispatcher.run_for(MINUTE_NS)
    assert scene.tree.entered == ["/agent", "/system"] * 2


def test_an_actor_that_fails_forgets_no_pod_of_a_tier(scene: Scene) -> None:
    scene.ask(asking("a"))
    successor = scene.system.spawn(CgroupActor, scene.tools, scene.plan, scene.book, name="successor")
    successor.tell(AllocationReleased("nobody"))
    scene.dispatcher.run_for(2 * SECOND_NS)
    assert scene.shares(BURSTABLE) == 512
    scene.tell(KnownPods(frozenset({"a"})))
    assert scene.there(asking("a"))


# (spec 11.7.3)
def test_11_7_every_operation_is_timed(scene: Scene) -> None:
    scene.ask(asking("a"))
    scene.end("a")
    [told] = scene.meters.told(CGROUP_MANAGER)
    assert {row.labels[0] for row in told.rows} >= {"create", "update", "destroy"}


def test_taking_away_the_cgroup_of_a_pod_that_runs_would_be_seen() -> None:
    """The simulated kernel kills the processes of a removed cgroup."""
    dispatcher = SimulatedDispatcher(1)
    cri = SimulatedCri(dispatcher, Settings(images=("busybox",)))
    config = PodSandboxConfig(
        metadata=PodSandboxMetadata(name="a", uid="a", namespace="shop"),
        linux=LinuxPodSandboxConfig(cgroup_parent="/kubepods/poda"),
    )
    made = cri.call(RUN_POD_SANDBOX, RunPodSandboxRequest(config=config))
    dispatcher.run_for(SECOND_NS)
    request = CreateContainerRequest(
        pod_sandbox_id=made.result().pod_sandbox_id,
        config=ContainerConfig(
            metadata=ContainerMetadata(name="app"), image=ImageSpec(image="busybox"), labels={POD_UID_LABEL: "a"}
        ),
        sandbox_config=config,
    )
    created = cri.call(CREATE_CONTAINER, request)
    dispatcher.run_for(SECOND_NS)
    cri.call(START_CONTAINER, StartContainerRequest(container_id=created.result().container_id))
    dispatcher.run_for(SECOND_NS)
    cgroups = SimulatedCgroups(cri)
    cgroups.make((KUBEPODS, "poda"))
    [record] = cri.state.containers.values()
    assert record.state is ContainerState.CONTAINER_RUNNING
    cgroups.driven_by(CGROUPFS).remove((KUBEPODS,))
    [ended] = cri.state.containers.values()
    assert ended.state is ContainerState.CONTAINER_EXITED
