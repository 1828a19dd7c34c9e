"""CPUs and memory that pods have for themselves: who is given what, also after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from actors.messages.admission import AllocationReleased, PodAdmitted, PodRejected
from actors.messages.pods import KnownPods, NodeObserved
from actors.messages.shares import CompareCpus, ContainerBegins, SharesGiven
from actors.model.devices import Offer
from actors.model.shares import MemoryBlock, PodShares
from actors.resources.share_keeper import ShareSettings
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import MemoryReservation
from config.kubelet.feature_gates import FeatureGates
from config.objects import Container, Node, NodeStatus, ObjectMeta, Pod, PodSpec, ResourceRequirements
from runtime.state.share_files import CPU_STATE, MEMORY_STATE
from simulation.host.facts import SimulatedHostFacts
from simulation.host.file_tree import FileTree
from simulation.host.state_files import SimulatedShareFiles
from simulation.host.topologies import topology_of
from tests.actors.resources.test_manager import ROOT, SECOND_NS, Scene

NO_DEVICES: Mapping[str, str] = {}
STATIC: dict[str, Any] = {"cpu_manager_policy": "static", "reserved_system_cpus": "0"}
MEMORY: dict[str, Any] = {
    "memory_manager_policy": "Static",
    "eviction_hard": {"memory.available": "100Mi"},
    "reserved_memory": (MemoryReservation(numa_node=0, limits={"memory": "100Mi"}),),
}
ALLOCATABLE = {"cpu": "7", "memory": "30Gi", "pods": "100", "ephemeral-storage": "10Gi"}
NODE = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(allocatable=ALLOCATABLE))


def pinned(
    uid: str, cpu: str = "2", memory: str = "1Gi", init: str = "", devices: Mapping[str, str] = NO_DEVICES
) -> Pod:
    """A Guaranteed pod; `init`: the memory of an init container.

    `devices`: for each container, by resource.
    """

    def container(name: str, memory: str) -> Container:
        amounts = {"cpu": cpu, "memory": memory, **devices}
        return Container(name=name, resources=ResourceRequirements(requests=amounts, limits=amounts))

    inits = (container("init", init),) if init else ()
    spec = PodSpec(containers=(container("app", memory),), init_containers=inits)
    return Pod(metadata=ObjectMeta(name=uid, namespace="shop", uid=uid), spec=spec)


class ShareScene(Scene):
    """A node of eight CPUs with the static policy, on a machine that outlives it."""

    def __init__(
        self,
        topology: str = "2x4x1",
        before: ShareScene | None = None,
        *,
        offers: Mapping[str, Offer] | None = None,
        **fields: Any,
    ) -> None:
        tree = before.tree if before is not None else FileTree()
        self.host: SimulatedHostFacts = before.host if before is not None else SimulatedHostFacts("n1")
        if before is None or topology != "2x4x1":
            self.host.become(topology_of(topology))
        files = SimulatedShareFiles(tree, ROOT)
        configuration = KubeletConfiguration(**{**STATIC, **fields})
        settings = ShareSettings(configuration, FeatureGates({}), self.host, files, ROOT)
        any_node = configuration.topology_manager_policy == "none"
        super().__init__(tree, shares=settings, offers=offers, any_node=any_node)
        self.tell(NodeObserved(NODE))

    def given(self, uid: str) -> list[SharesGiven]:
        return [each for each in self.workers[uid][1] if isinstance(each, SharesGiven)]

    def cpus(self, uid: str) -> list[int]:
        """The CPUs that the app of the pod was given last."""
        share = self.given(uid)[-1].shares.containers.get("app")
        return sorted(share.cpus) if share is not None else []

    def file(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.tree.read(f"{ROOT}/{CPU_STATE}"))
        return found


def test_a_pod_is_told_its_cpus_before_it_is_admitted_and_the_file_has_them_by_then() -> None:
    scene = ShareScene()
    told = scene.ask(pinned("a"))
    assert [type(each) for each in told] == [SharesGiven, PodAdmitted]
    assert scene.cpus("a") == [1, 2]
    assert scene.file()["entries"] == {"a": {"app": "1-2"}}
    assert scene.file()["defaultCpuSet"] == "0,3-7"


def test_the_state_files_are_there_before_the_first_pod() -> None:
    scene = ShareScene(**MEMORY)
    scene.run_until_saved()
    assert (scene.file()["policyName"], scene.file()["defaultCpuSet"]) == ("static", "0-7")
    assert scene.tree.exists(f"{ROOT}/{MEMORY_STATE}")


def test_a_refused_pod_leaves_nothing_and_is_told_a_kubelets_reason() -> None:
    scene = ShareScene(topology_manager_policy="single-numa-node")
    scene.ask(pinned("a"))
    refused = scene.ask(pinned("b", "5"))[-1]
    assert isinstance(refused, PodRejected)
    assert (refused.reason, refused.message) == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )
    scene.ask(pinned("c", "4"))
    assert scene.cpus("c") == [4, 5, 6, 7]


def test_a_pod_larger_than_the_node_is_told_that_its_memory_cannot_be_pinned() -> None:
    scene = ShareScene(**MEMORY)
    refused = scene.ask(pinned("a", "1", "1000Gi"))[-1]
    assert isinstance(refused, PodRejected)
    assert refused.reason == "UnexpectedAdmissionError"
    assert refused.message.startswith("Allocate failed due to [memorymanager]")


def test_what_a_pod_had_comes_back_when_it_has_ended_and_the_others_hear_of_the_pool() -> None:
    scene = ShareScene()
    shared = Pod(
        metadata=ObjectMeta(name="s", namespace="shop", uid="s"), spec=PodSpec(containers=(Container(name="app"),))
    )
    scene.ask(shared)
    scene.ask(pinned("a"))
    scene.tell(AllocationReleased("a"))
    scene.run_until_saved()
    pools = [sorted(each.pool) for each in scene.given("s")]
    assert pools == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]
    assert "entries" not in scene.file()


def test_a_restart_changes_nothing_and_pods_that_run_are_not_admitted_again() -> None:
    before = ShareScene(topology_manager_policy="restricted")
    for uid in "abc":
        before.ask(pinned(uid))
    has = {uid: before.cpus(uid) for uid in "abc"}
    after = ShareScene(before=before, topology_manager_policy="restricted")
    for uid in "cab":
        told = after.ask(pinned(uid), runs=True)
        assert any(isinstance(each, PodAdmitted) for each in told)
    assert {uid: after.cpus(uid) for uid in "abc"} == has


def test_pods_that_went_while_no_agent_was_there_give_back_what_they_had() -> None:
    before = ShareScene()
    before.ask(pinned("a"))
    after = ShareScene(before=before)
    after.tell(KnownPods(frozenset()))
    after.ask(pinned("b", "7"))
    assert after.cpus("b") == [1, 2, 3, 4, 5, 6, 7]


def test_on_a_machine_that_changed_pods_that_fit_keep_theirs_and_the_others_are_told_why() -> None:
    before = ShareScene()
    before.ask(pinned("a"))
    before.ask(pinned("b"))
    after = ShareScene("2x4x1 offline=2", before)
    after.ask(pinned("b"), runs=True)
    after.ask(pinned("a"), runs=True)
    assert (after.cpus("b"), after.cpus("a")) == ([3, 4], [1, 5])
    (event,) = after.events
    assert event.reason == "ResourcesNotKept"
    assert "its CPUs 2 are not online on this machine; it was given others" in event.message


def test_a_pod_that_cannot_be_given_others_runs_on_in_the_shared_pool() -> None:
    before = ShareScene()
    before.ask(pinned("a", "7"))
    after = ShareScene("2x4x1 offline=2", before)
    told = after.ask(pinned("a", "7"), runs=True)
    assert any(isinstance(each, PodAdmitted) for each in told)
    assert after.cpus("a") == []
    assert "it uses those that all share: " in after.events[0].message


def test_a_file_of_another_policy_is_not_overwritten_and_pods_wait_with_the_way_out() -> None:
    before = ShareScene()
    before.ask(pinned("a"))
    content = before.file()
    after = ShareScene(before=before, cpu_manager_policy="none", topology_manager_policy="best-effort")
    told = after.ask(pinned("b"))
    assert 'configured policy "none" differs from state checkpoint policy "static", please drain' in told[-1].text
    assert after.file() == content


def test_a_part_that_a_crash_between_the_files_left_is_not_taken_for_the_whole() -> None:
    before = ShareScene()
    before.ask(pinned("a"))
    before.tree.remove_all(f"{ROOT}/allocated_pods_state")
    after = ShareScene(before=before, **MEMORY)
    after.tree.remove_all(f"{ROOT}/memory_manager_state")
    after = ShareScene(before=after, **MEMORY)
    after.ask(pinned("a"))
    share = after.given("a")[-1].shares.containers["app"]
    assert (sorted(share.cpus), share.memory) == ([1, 2], (MemoryBlock((0,), "memory", 2**30),))


def test_an_init_container_gives_its_memory_back_when_the_next_container_begins() -> None:
    scene = ShareScene("2x4x1 memory=4Gi", **MEMORY)
    first = pinned("a", "1", "1Gi", init="3Gi")
    scene.ask(first)
    (refused,) = [each for each in scene.ask(pinned("b", "4", "6Gi")) if isinstance(each, PodRejected)]
    assert refused.reason == "UnexpectedAdmissionError"
    scene.tell(ContainerBegins(first, "app"))
    scene.ask(pinned("c", "1", "2Gi"))
    assert scene.given("c")[-1].shares.containers["app"].memory == (MemoryBlock((0,), "memory", 2 * 2**30),)


def test_a_cpu_that_went_offline_is_not_given_out_and_workers_compare_each_period() -> None:
    scene = ShareScene()
    scene.ask(pinned("a"))
    scene.host.become(topology_of("2x4x1 offline=3"))
    scene.dispatcher.run_for(11 * SECOND_NS)
    scene.ask(pinned("b"))
    assert scene.cpus("b") == [4, 5]
    assert any(isinstance(each, CompareCpus) for each in scene.workers["a"][1])
    assert sorted(scene.given("a")[-1].pool) == [0, 6, 7]


def test_without_policies_nothing_is_read_written_or_told() -> None:
    scene = ShareScene(cpu_manager_policy="none")
    assert [type(each) for each in scene.ask(pinned("a"))] == [PodAdmitted]
    assert not scene.tree.exists(f"{ROOT}/{CPU_STATE}")


@pytest.mark.parametrize("cpu", ["1500m", "2"])
def test_only_whole_cpus_are_exclusive(cpu: str) -> None:
    scene = ShareScene()
    scene.ask(pinned("a", cpu))
    assert (scene.given("a")[0].shares != PodShares()) == (cpu == "2")
