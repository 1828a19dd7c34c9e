"""`ResourceManagerActor`: who is told what, and when (spec 10.14 to 10.16).

The rules have tables of their own.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages.admission import (
    AdmissionWaits,
    AdmitPod,
    AllocationReleased,
    PodAdmitted,
    PodAllocated,
    PodRejected,
    ResizeDecided,
    ResizePod,
    ResourceManagerStarted,
    ResourcesActuated,
)
from actors.messages.devices import (
    AllocateDevices,
    DevicesAllocated,
    DevicesGiven,
    DevicesOffered,
    DevicesPreferred,
    PreferDevices,
    TellOffers,
)
from actors.messages.events import RecordEvent
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.node import NodePressureObserved
from actors.messages.pods import KnownPods, NodeObserved, TerminatePod
from actors.messages.shares import CompareCpus, SharesGiven
from actors.model.devices import Offer
from actors.model.kubelet_records import record_of
from actors.model.pod_resources import PodResources, resources_of
from actors.resources.abilities import Abilities
from actors.resources.device_keeper import DeviceSettings
from actors.resources.manager import WAITS_FOR_BOOK, WAITS_FOR_NODE, ResourceManagerActor
from actors.resources.resize.resizes import RetryResizes
from actors.resources.share_keeper import ShareSettings
from config.objects import (
    Affinity,
    Container,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from runtime.device_plugins.capability import DeviceSetup
from simulation.host.file_tree import FileTree
from simulation.host.state_files import SimulatedAllocationFile, SimulatedDeviceFile
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
ROOT = "/var/lib/actorlet"
CRITICAL = 2_000_000_000


def node(cpu: str = "4", pods: str = "10", labels: dict[str, str] | None = None) -> Node:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": pods}
    return Node(metadata=ObjectMeta(name="n1", labels=labels or {}), status=NodeStatus(allocatable=allocatable))


def pod(uid: str, cpu: str = "1", **spec: Any) -> Pod:
    resources = ResourceRequirements(requests={"cpu": cpu})
    meta = ObjectMeta(name=uid, namespace="shop", uid=uid)
    return Pod(metadata=meta, spec=PodSpec(containers=(Container(name="app", resources=resources),), **spec))


class SyncLoop(Actor):
    """Says which pods are there; notes who began, and the questions that it does not hear."""

    def __init__(self, here: list[PodHere], began: list[Message], deaf: set[str], unheard: list[WantPods]) -> None:
        super().__init__()
        self._here = here
        self._unheard = unheard
        self._began = began
        self._deaf = deaf

    @handles(WantPods)
    def want_pods(self, message: WantPods) -> None:
        if self._deaf:
            self._unheard.append(message)
        else:
            message.asker.tell(PodsHere(tuple(self._here), complete=True, number=message.number))

    @handles(ResourceManagerStarted)
    def began(self, message: ResourceManagerStarted) -> None:
        self._began.append(message)


class Plugins(Actor):
    """In place of `DevicePluginsActor`: each plugin gives what it is asked for, and has no wishes."""

    @handles(TellOffers)
    def tell_offers(self, _: TellOffers) -> None:
        """The scene tells them."""

    @handles(AllocateDevices)
    def allocate(self, asked: AllocateDevices) -> None:
        answer = DevicesAllocated(asked.resource, asked.uid, asked.container, asked.ids, DeviceSetup())
        asked.asker.tell(answer)

    @handles(PreferDevices)
    def prefer(self, asked: PreferDevices) -> None:
        asked.asker.tell(DevicesPreferred(asked.resource, asked.uid, asked.container, ()))


class Scene:
    """The actor with a disk of its own, and a recorder in place of each worker.

    `offers`: resource -> what its plugin offers. `any_node`: there is no topology policy.
    """

    def __init__(
        self,
        tree: FileTree | None = None,
        first: Node | None = None,
        seed: int = 1,
        *,
        deaf: bool = False,
        shares: ShareSettings | None = None,
        offers: Mapping[str, Offer] | None = None,
        any_node: bool = True,
    ) -> None:
        self.tree = tree or FileTree()
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.events: list[Any]
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.here: list[PodHere] = []
        self.loop: list[Message] = []
        self.deaf = {"to questions"} if deaf else set()
        self.unheard: list[WantPods] = []
        loop = self.system.spawn(SyncLoop, self.here, self.loop, self.deaf, self.unheard, name="loop")
        file = SimulatedAllocationFile(self.tree, ROOT)
        eviction, self.eviction = Recorder.spawn_in(self.system, "eviction", ResourceManagerStarted)
        self.manager = self.system.spawn(
            ResourceManagerActor,
            file,
            "n1",
            Abilities(),
            events,
            loop,
            eviction=eviction,
            shares=shares,
            devices=None if offers is None else self._with_plugins(any_node),
            name="resources",
        )
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        if first is not None:
            self.tell(NodeObserved(first))
        if offers is not None:
            self.tell(*(DevicesOffered(resource, offer) for resource, offer in offers.items()))

    def _with_plugins(self, any_node: bool) -> DeviceSettings:
        plugins = self.system.spawn(Plugins, name="plugins")
        file = SimulatedDeviceFile(self.tree, ROOT)
        return DeviceSettings(file, plugins, patience_ns=600 * SECOND_NS, any_node=any_node)

    def tell(self, *messages: Any) -> None:
        for message in messages:
            self.manager.tell(message)
        self.dispatcher.run_for(SECOND_NS // 100)

    def ask(self, desired: Pod, **fields: Any) -> list[Any]:
        """Ask for the pod; all that its worker was told so far."""
        uid = desired.metadata.uid
        if uid not in self.workers:
            kinds = (
                *(PodAdmitted, PodAllocated, PodRejected, AdmissionWaits, TerminatePod, ResizeDecided),
                *(SharesGiven, CompareCpus, DevicesGiven),
            )
            self.workers[uid] = Recorder.spawn_in(self.system, f"worker-{uid}", *kinds)
        ref, told = self.workers[uid]
        self.tell(AdmitPod(ref, desired, **fields))
        return told

    def resize(self, desired: Pod) -> list[Any]:
        """Ask for other resources of a pod that was asked for; what its worker is told of that."""
        ref, told = self.workers[desired.metadata.uid]
        told.clear()
        self.tell(ResizePod(ref, desired))
        return told

    def answer(self, *here: PodHere) -> PodsHere:
        """The answer to the first question that the sync loop has not heard."""
        return PodsHere(here, complete=True, number=self.unheard.pop(0).number)

    def run_until_saved(self) -> None:
        """Changes that nobody waits for are written together, a second later."""
        self.dispatcher.run_for(2 * SECOND_NS)

    def told(self, uid: str) -> list[str]:
        return [type(message).__name__ for message in self.workers[uid][1]]


@pytest.fixture
def scene() -> Scene:
    return Scene(first=node())


def test_pods_are_taken_while_there_is_room_and_again_when_one_has_ended(scene: Scene) -> None:
    for uid in ("a", "b"):
        assert scene.ask(pod(uid, "2")) == [PodAdmitted()]
    [refused] = scene.ask(pod("c", "1m"))
    assert isinstance(refused, PodRejected)
    assert refused.reason == "OutOfcpu"
    scene.tell(AllocationReleased("a"))
    assert scene.ask(pod("d", "2")) == [PodAdmitted()]


def test_a_question_that_is_asked_again_gets_the_same_answer(scene: Scene) -> None:
    scene.ask(pod("a", "3"))
    assert scene.ask(pod("a", "3")) == [PodAdmitted(), PodAdmitted()]


def test_a_pod_that_asks_for_more_keeps_what_it_has_until_that_fits(scene: Scene) -> None:
    scene.ask(pod("a", "1"))
    scene.ask(pod("b", "2"))
    told = scene.resize(pod("a", "3"))
    [waits] = told
    assert isinstance(waits, ResizeDecided)
    assert (waits.reason, waits.resources) == ("OutOfcpu", resources_of(pod("a", "1").spec))
    scene.tell(AllocationReleased("b"))
    scene.run_until_saved()
    assert told[1:] == [ResizeDecided(resources_of(pod("a", "3").spec), None)]
    [refused] = scene.ask(pod("c", "2"))
    assert isinstance(refused, PodRejected)


@pytest.mark.parametrize("goes", ["is refused", "is admitted and ends", "is deleted"])
def test_nobody_grows_into_the_room_of_a_pod_that_is_yet_to_be_admitted(scene: Scene, goes: str) -> None:
    scene.ask(pod("a", "1"))
    scene.here[:] = [PodHere(pod("a", "1"), None), PodHere(pod("new", "2"), None)]
    told = scene.resize(pod("a", "3"))
    assert [each.reason for each in told] == ["OutOfcpu"]
    if goes == "is admitted and ends":
        assert scene.ask(pod("new", "2")) == [PodAdmitted()]
        scene.tell(AllocationReleased("new"))
    scene.here[1:] = [PodHere(pod("new", "2"), None, turned_away=True)] if goes == "is refused" else []
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert told[1:] == [ResizeDecided(resources_of(pod("a", "3").spec), None)]


def test_a_pod_grows_into_room_that_a_newcomer_leaves(scene: Scene) -> None:
    scene.ask(pod("a", "1"))
    scene.here[:] = [PodHere(pod("new", "1"), None)]
    assert scene.resize(pod("a", "3")) == [ResizeDecided(resources_of(pod("a", "3").spec), None)]
    assert scene.ask(pod("new", "1")) == [PodAdmitted()]


def test_a_critical_pod_that_grows_has_others_ended_once_they_are_admitted(scene: Scene) -> None:
    scene.ask(pod("a", "1", priority=CRITICAL))
    scene.here[:] = [PodHere(pod("new", "2"), None)]
    told = scene.resize(pod("a", "3", priority=CRITICAL))
    assert [each.reason for each in told] == ["UnexpectedAdmissionError"]
    assert scene.ask(pod("new", "2")) == [PodAdmitted()]
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert [each.reason for each in told] == ["UnexpectedAdmissionError", "Preempting"]
    assert scene.told("new") == ["PodAdmitted", "TerminatePod"]


def test_a_resize_that_is_asked_for_after_the_question_sees_the_pods_that_came_before_it() -> None:
    """The answer on its way was given before the newcomer came."""
    scene = Scene(first=node(), deaf=True)
    for uid in ("a", "b"):
        scene.ask(pod(uid, "1"))
    first, late = scene.resize(pod("a", "1500m")), scene.resize(pod("b", "2"))
    scene.here[:] = [PodHere(pod("new", "1500m"), None)]
    scene.deaf.clear()
    scene.tell(scene.answer())
    scene.run_until_saved()
    assert [each.reason for each in first] == [""]
    assert [each.reason for each in late] == ["OutOfcpu"]
    assert scene.ask(pod("new", "1500m")) == [PodAdmitted()]


def test_a_resize_that_is_asked_for_twice_needs_no_second_answer() -> None:
    scene = Scene(first=node(), deaf=True)
    scene.ask(pod("a", "1"))
    scene.resize(pod("a", "3"))
    told = scene.resize(pod("a", "3"))
    scene.tell(scene.answer())
    assert told == [ResizeDecided(resources_of(pod("a", "3").spec), None)]


def test_a_late_answer_decides_no_resize_that_was_asked_for_after_its_question() -> None:
    """A busy manager repeats its question before it reads the answer to the first.

    The newcomer is not in that answer. The resize takes the place of an older one in the mailbox, so it is read first.
    """
    scene = Scene(first=node(), deaf=True)
    for uid in ("a", "b"):
        scene.ask(pod(uid, "1"))
    scene.resize(pod("a", "1500m"))
    (worker, told) = scene.workers["b"]
    told.clear()
    scene.manager.tell(ResizePod(worker, pod("b", "1100m")))
    scene.manager.tell(RetryResizes())
    scene.manager.tell(scene.answer())
    scene.here[:] = [PodHere(pod("new", "1500m"), None)]
    scene.manager.tell(ResizePod(worker, pod("b", "2")))
    scene.deaf.clear()
    scene.run_until_saved()
    assert scene.ask(pod("new", "1500m")) == [PodAdmitted()]
    assert [each.reason for each in told if isinstance(each, ResizeDecided)] == ["OutOfcpu"]


def test_answers_that_always_come_late_decide_what_was_asked_for_before_their_question() -> None:
    scene = Scene(first=node(), deaf=True)
    scene.ask(pod("a", "1"))
    told = scene.resize(pod("a", "3"))
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert len(scene.unheard) == 2
    scene.tell(scene.answer())
    assert told == [ResizeDecided(resources_of(pod("a", "3").spec), None)]


def test_an_answer_to_an_earlier_life_of_the_manager_decides_nothing() -> None:
    scene = Scene(first=node(), deaf=True)
    scene.ask(pod("a", "1"))
    scene.resize(pod("a", "2"))
    of_earlier_life = scene.answer()
    scene.run_until_saved()
    scene = Scene(scene.tree, node(), deaf=True)
    scene.dispatcher.run_for(5 * SECOND_NS)
    scene.ask(pod("a", "1"))
    told = scene.resize(pod("a", "3"))
    assert len(scene.unheard) == 1
    scene.tell(of_earlier_life)
    assert told == []
    scene.tell(scene.answer())
    assert told == [ResizeDecided(resources_of(pod("a", "3").spec), None)]


def test_a_question_that_the_sync_loop_loses_is_asked_again() -> None:
    scene = Scene(first=node(), deaf=True)
    scene.ask(pod("a", "1"))
    assert scene.resize(pod("a", "3")) == []
    scene.deaf.clear()
    scene.dispatcher.run_for(11 * SECOND_NS)
    assert scene.workers["a"][1] == [ResizeDecided(resources_of(pod("a", "3").spec), None)]


def test_a_pod_that_asks_for_less_makes_room(scene: Scene) -> None:
    scene.ask(pod("a", "3"))
    assert scene.resize(pod("a", "1")) == [ResizeDecided(resources_of(pod("a", "1").spec), None)]
    assert scene.ask(pod("b", "2")) == [PodAdmitted()]


def test_a_pod_that_asks_for_what_it_has_hears_so(scene: Scene) -> None:
    scene.ask(pod("a", "1"))
    assert scene.resize(pod("a", "1000m")) == [ResizeDecided(resources_of(pod("a", "1").spec), None)]


# (spec 10.16.1)
def test_the_next_manager_knows_what_was_given_and_what_the_runtime_was_told_for_sure(scene: Scene) -> None:
    """The manager before may have died while the runtime was told of the resize."""
    asked, given = pod("a", "1"), pod("a", "2")
    scene.ask(asked)
    scene.resize(given)
    again = Scene(scene.tree, first=node())
    told = again.ask(asked, runs=True)
    assert allocated_to(told) == (resources_of(given.spec), PodResources())
    again.tell(ResourcesActuated("a", record_of(given.spec)))
    again.run_until_saved()
    told = Scene(scene.tree, first=node()).ask(given, runs=True)
    assert allocated_to(told) == (resources_of(given.spec), resources_of(given.spec))


def allocated_to(told: list[Any]) -> tuple[PodResources, PodResources]:
    allocated, admitted = told
    assert admitted == PodAdmitted()
    return allocated.resources, allocated.actuated


def long_affinity(wanted: str) -> Affinity:
    """Thousands of terms; the last one is for nodes of that disk."""
    terms = [_term(f"label-{number}", "x") for number in range(3_000)]
    required = NodeSelector(node_selector_terms=(*terms, _term("disk", wanted)))
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


def _term(key: str, value: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator="In", values=(value,)),))


def test_a_pod_with_thousands_of_terms_of_affinity_is_judged_beside_the_manager() -> None:
    scene = Scene(first=node(labels={"disk": "ssd"}))
    evaluated: list[str] = []
    lane: Any = scene.dispatcher.lane("affinities", size=1, per_key=1)
    submit = lane.submit

    def noted(key: str, *args: Any, **options: Any) -> Any:
        evaluated.append(key)
        return submit(key, *args, **options)

    lane.submit = noted
    assert scene.ask(pod("fits", affinity=long_affinity("ssd"))) == [PodAdmitted()]
    [refused] = scene.ask(pod("does-not", affinity=long_affinity("tape")))
    assert isinstance(refused, PodRejected)
    assert refused.reason == "NodeAffinity"
    assert scene.ask(pod("plain")) == [PodAdmitted()]
    assert evaluated == ["fits", "does-not"]
    scene.tell(NodeObserved(node(labels={"disk": "tape"})))
    assert scene.ask(pod("later", affinity=long_affinity("tape"))) == [PodAdmitted()]


def test_no_pod_is_rejected_before_the_node_is_known() -> None:
    scene = Scene()
    told = scene.ask(pod("a"))
    assert told == [AdmissionWaits(WAITS_FOR_BOOK), AdmissionWaits(WAITS_FOR_NODE)]
    scene.tell(NodeObserved(node()))
    assert told[-1] == PodAdmitted()


def test_a_pod_that_wants_room_on_the_disk_waits_until_the_disk_is_measured(scene: Scene) -> None:
    wants = Pod(
        metadata=ObjectMeta(name="a", namespace="shop", uid="a"),
        spec=PodSpec(
            containers=(Container(name="app", resources=ResourceRequirements(requests={"ephemeral-storage": "1Gi"})),)
        ),
    )
    assert [type(message) for message in scene.ask(wants)] == [AdmissionWaits]
    allocatable = {"cpu": "4", "pods": "10", "ephemeral-storage": "10Gi"}
    scene.tell(NodeObserved(Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(allocatable=allocatable))))
    assert scene.told("a")[-1] == "PodAdmitted"


def test_a_running_pod_is_admitted_without_room_and_before_the_node_is_known() -> None:
    scene = Scene()
    assert scene.ask(pod("a", "9"), runs=True)[1:] == [PodAdmitted()]
    scene.tell(NodeObserved(node()))
    [refused] = scene.ask(pod("b"))
    assert isinstance(refused, PodRejected), "what runs is counted"


def test_the_next_agent_knows_what_was_given_away_before_it_has_heard_of_the_pods() -> None:
    tree = FileTree()
    scene = Scene(tree, node())
    scene.ask(pod("a", "3"))
    after = Scene(tree, node())
    [refused] = after.ask(pod("b", "2"))
    assert isinstance(refused, PodRejected)
    assert after.ask(pod("a", "3")) == [PodAdmitted()], "it was taken before, and is taken without a look"
    after.tell(KnownPods(frozenset({"b"})))
    assert [type(told) for told in after.ask(pod("c", "2"))] == [PodRejected], "its worker says that a is still there"


# (spec 2.10.3)
def test_allocations_of_pods_removed_during_downtime_are_released() -> None:
    tree = FileTree()
    Scene(tree, node()).ask(pod("a", "3"))
    after = Scene(tree, node())
    after.tell(KnownPods(frozenset()))
    assert after.ask(pod("b", "4")) == [PodAdmitted()]


def test_a_book_that_cannot_be_read_is_begun_anew(caplog: pytest.LogCaptureFixture) -> None:
    tree = FileTree()
    SimulatedAllocationFile(tree, ROOT).save(b"{torn", b"")
    scene = Scene(tree, node())
    assert scene.ask(pod("a")) == [PodAdmitted()]
    assert "the allocations of pods cannot be read, and are made anew" in caplog.text


def test_a_disk_that_keeps_nothing_holds_up_no_pod() -> None:
    scene = Scene(first=node())
    scene.tree.fail(ROOT, errno.ENOSPC)
    assert scene.ask(pod("a")) == [PodAdmitted()]
    scene.tree.heal(ROOT)
    scene.dispatcher.run_for(31 * SECOND_NS)
    after = Scene(scene.tree, node())
    [refused] = after.ask(pod("b", "4"))
    assert isinstance(refused, PodRejected), "it was kept when the disk was better"


# (spec 2.4.1)
def test_a_node_under_pressure_turns_pods_away(scene: Scene) -> None:
    scene.tell(NodePressureObserved(disk=True))
    [refused] = scene.ask(pod("a"))
    assert refused == PodRejected("Evicted", "The node had condition: [DiskPressure]. ")
    scene.tell(NodePressureObserved())
    assert scene.ask(pod("b")) == [PodAdmitted()]


# (spec 10.15.3)
def test_a_critical_pod_preempts_others_and_starts_when_they_have_ended(scene: Scene) -> None:
    scene.ask(pod("small", "1"))
    scene.ask(pod("large", "3"))
    told = scene.ask(pod("critical", "2", priority=CRITICAL))
    assert [type(message) for message in told] == [AdmissionWaits]
    assert "shop/large" in told[0].text
    end = scene.workers["large"][1][-1]
    assert (end.evicted, end.reason) == (True, "Preempting")
    assert [event.reason for event in scene.events] == ["Preempting"]
    assert scene.told("small") == ["PodAdmitted"]
    assert [type(message) for message in scene.ask(pod("sneaky", "1"))] == [PodRejected], "the room is promised"
    scene.tell(AllocationReleased("large"))
    assert told[-1] == PodAdmitted()


def test_a_preempted_pod_without_a_known_worker_ends_when_its_worker_asks() -> None:
    tree = FileTree()
    Scene(tree, node()).ask(pod("large", "4"))
    after = Scene(tree, node())
    told = after.ask(pod("critical", "2", priority=CRITICAL))
    assert [type(message) for message in told] == [AdmissionWaits]
    after.ask(pod("large", "4"), runs=True)
    assert "TerminatePod" in after.told("large")
    after.tell(AllocationReleased("large"))
    assert told[-1] == PodAdmitted()


def test_a_critical_pod_removed_during_preemption_frees_the_room(scene: Scene) -> None:
    scene.ask(pod("large", "4"))
    scene.ask(pod("critical", "2", priority=CRITICAL))
    scene.tell(AllocationReleased("critical"), AllocationReleased("large"))
    assert scene.ask(pod("next", "4")) == [PodAdmitted()]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("come"), st.integers(0, 30), st.integers(0, 3000), st.booleans()),
            st.tuples(st.just("go"), st.integers(0, 30), st.just(0), st.just(False)),
        ),
        max_size=40,
    ),
    st.integers(0, 100),
)
def test_the_sum_of_what_is_given_away_never_passes_what_there_is(story: list[tuple[str, int, int, bool]], seed: int):
    """Over random arrivals and departures.

    Victims end at once, as `go` of the story or when they are told to.
    """
    scene = Scene(first=node(pods="6"), seed=seed)
    there: dict[str, int] = {}
    for verb, number, millis, critical in story:
        uid = f"p{number}"
        if verb == "come" and uid not in scene.workers:
            scene.ask(pod(uid, f"{millis}m", **({"priority": CRITICAL} if critical else {})))
            there[uid] = millis
        elif verb == "go" and uid in scene.workers:
            scene.tell(AllocationReleased(uid))
            there.pop(uid, None)
        for name in list(there):
            if "TerminatePod" in scene.told(name):
                del there[name]
                scene.tell(AllocationReleased(name))
        given_away = [there[name] for name in there if scene.told(name)[-1] == "PodAdmitted"]
        assert sum(given_away) <= 4000
        assert len(given_away) <= 6


def test_the_resource_manager_asks_for_node_pressure_at_its_start() -> None:
    scene = Scene()
    scene.dispatcher.run_for(SECOND_NS)
    assert scene.eviction == [ResourceManagerStarted()]
    assert scene.system.stop()
