"""Faults of kubelets with CPUs and memory that must not happen here.

Each scenario is played over some seeds: once without a kill, then with a kill at one of its moments, play after play. A
moment is before a turn (so at each await), around a call, before a change of the disk. The seeds share the moments:
each plays every hundredth, so 200 seeds (`ACTORLET_SEEDS=200`) kill the agent at each moment, in two orders of events.
An agent that was changed to have the fault is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec
import pytest

import actors.resources.share_keeper as keeper
import actors.resources.shares.assigning as assigning
import actors.resources.shares.book as share_book
from actors.messages.shares import NodeShares
from actors.model.shares import NO_SHARES, PodShares, Share, ShareBook, exclusive_cpus
from actors.node.numbers import NodeNumbers
from actors.resources.manager import ResourceManagerActor
from actors.resources.share_keeper import MachineRead, ShareKeeper
from actors.resources.shares.assigning import assign
from actors.resources.shares.rules import ShareRules
from actors.resources.topology.hints import Hint, Hints
from actors.resources.topology.merging import merge
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import MemoryReservation
from config.kubelet.feature_gates import FeatureGates
from config.objects import Pod
from config.values.cpu_sets import format_cpu_set, parse_cpu_set
from runtime.cri.messages import ContainerState
from runtime.host.topology import MachineTopology
from simulation.host.facts import MAX_PODS
from simulation.host.topologies import topology_of
from tests.seeds import over_seeds
from tests.simulation.node.test_shares import pinned
from tests.simulation.node.worlds import SECOND, World, manifest, replace_handler

MACHINE = "1x6x1"
CPUS = KubeletConfiguration(max_pods=MAX_PODS, cpu_manager_policy="static", reserved_system_cpus="0")
WHOLE_CORES = msgspec.structs.replace(
    CPUS, reserved_system_cpus="0,3", cpu_manager_policy_options={"full-pcpus-only": "true"}
)
WHOLE_PODS = msgspec.structs.replace(CPUS, topology_manager_policy="restricted", topology_manager_scope="pod")
ALIGNED = msgspec.structs.replace(
    CPUS,
    topology_manager_policy="best-effort",
    memory_manager_policy="Static",
    eviction_hard={"memory.available": "100Mi"},
    reserved_memory=(MemoryReservation(numa_node=0, limits={"memory": "100Mi"}),),
)
COMBINATIONS_AT_MOST = 10_000
"""A third resource would make hours of these."""
EVERY = 100
"""Each seed kills at one of so many moments."""
RECOVERS_NS = 70 * SECOND
"""A new agent looks once a minute for pods that went while it was away."""
Mutate = pytest.MonkeyPatch


class Life:
    """A node with six CPUs, one of them reserved. Its agent dies at moment `kill_at`; 0: it lives."""

    def __init__(self, seed: int, kill_at: int = 0, **options: Any) -> None:
        options = {"topology": MACHINE, "configuration": CPUS, **options}
        self.world = World(seed=seed, **options).start()
        self._kill_at = kill_at
        self.moments = 0
        self._runs = False
        """No agent dies while the scenario asks it something."""
        self.died = ""
        """What the agent was doing when it died."""
        self._recovers_ns = 0
        self._had: dict[str, str] = {}
        """Container id -> the CPUs on which it was seen first."""
        self.world.node.tell_each_moment(self._moment)

    def _moment(self, what: str) -> None:
        self.moments += self._runs
        if self._runs and self.moments == self._kill_at:
            self.died = what
            self._recovers_ns = self.world.dispatcher.now_ns() + RECOVERS_NS
            self.world.dispatcher.schedule(SECOND, self.world.node.restart_agent)
            self.world.node.kill()

    def put(self, name: str, *containers: Mapping[str, Any], **spec: Any) -> None:
        self.world.node.put_manifest(f"{name}.yaml", manifest(name, containers, **spec))

    def remove(self, name: str) -> None:
        self.world.node.remove_manifest(f"{name}.yaml")

    def run(self, seconds: int) -> None:
        """Let time pass, and look at the running containers each half second.

        An agent that has just died gets the time to begin again.
        """
        self._runs = True
        until_ns = self.world.dispatcher.now_ns() + seconds * SECOND
        while self.world.dispatcher.now_ns() < max(until_ns, self._recovers_ns):
            self.world.run(SECOND // 2)
            self._check()
        self._runs = False

    def _check(self) -> None:
        """No CPU is in two running pods, and no container changes its CPUs while it runs."""
        owners: dict[int, str] = {}
        for each in self.world.node.containers():
            if each.state is not ContainerState.CONTAINER_RUNNING or each.resources is None:
                continue
            cpus, pod = each.resources.cpuset_cpus, each.config.labels["io.kubernetes.pod.uid"]
            assert self._had.setdefault(each.id, cpus) == cpus, "a container that runs is on other CPUs"
            for cpu in parse_cpu_set(cpus):
                assert owners.setdefault(cpu, pod) == pod, f"CPU {cpu} is in two pods"

    def phases(self) -> dict[str, str]:
        return self.world.phases()

    def shares(self) -> NodeShares:
        found = self.world.node.node.shares()
        assert found is not None
        return found

    def taken(self) -> str:
        """The CPUs that the book has given."""
        return format_cpu_set(frozenset[int]().union(*map(exclusive_cpus, self.shares().book.values())))


def failed_allocation(life: Life) -> None:
    life.put("a", pinned("2"), pinned("1", name="more"))
    life.run(30)
    assert life.phases()["a"] == "Failed"
    assert life.taken() == ""
    life.remove("a")
    life.put("b", pinned("4"))
    life.run(60)
    assert life.phases()["b"] == "Running"


def running_pods(life: Life) -> None:
    life.put("a", pinned("2"))
    life.run(20)
    life.put("b", pinned("2"))
    life.run(20)
    life.remove("a")
    life.run(60)
    assert life.taken() == "3-4"
    life.world.node.restart_agent()
    life.run(30)
    assert life.phases()["b"] == "Running"
    assert life.taken() == "3-4"


def pod_level(life: Life) -> None:
    amounts = {"cpu": "3", "memory": "2Gi"}
    life.put("a", pinned("1"), pinned("1", name="more"), resources={"requests": amounts, "limits": amounts})
    life.run(30)
    assert life.phases()["a"] == "Running"
    assert life.taken() == "1-3"
    life.world.node.restart_agent()
    life.run(20)
    life.remove("a")
    life.run(90)
    assert life.taken() == ""
    assert life.shares().pool == frozenset(range(6))


def init_in_use(life: Life) -> None:
    life.put("a", pinned("2"), initContainers=[pinned("4", name="init")], behaviour={"run-for.init": "60s"})
    life.run(20)
    assert life.taken() == "1-4"
    life.put("b", pinned("2"))
    life.run(60)


def gauges(life: Life) -> None:
    life.put("a", pinned("2"))
    life.run(20)
    life.world.node.restart_agent()
    life.run(20)
    life.put("b", pinned("1"))
    life.run(20)
    life.remove("a")
    life.run(60)
    page = NodeNumbers(life.world.node.node, "1").metrics().decode().splitlines()
    assert "kubelet_cpu_manager_exclusive_cpu_allocation_count 1" in page
    assert "kubelet_cpu_manager_shared_pool_size_millicores 4000" in page


def many_nodes(life: Life) -> None:
    amounts = {"cpu": "9", "memory": "9Gi"}
    life.put("a", {**pinned(), "resources": {"requests": amounts, "limits": amounts}})
    life.run(30)
    assert life.phases().get("a") in ("Running", "Failed")


def goes_offline(life: Life) -> None:
    life.put("a", pinned("1"))
    life.run(20)
    life.world.node.machine.become(topology_of(f"{MACHINE} offline=2"))
    life.run(30)
    life.put("b", pinned("2"))
    life.run(30)
    assert life.phases() == {"a": "Running", "b": "Running"}
    assert life.taken() == "1,3-4"


Scenario = Callable[[Life], None]
SCENARIOS: Mapping[str, tuple[Scenario, Mapping[str, Any]]] = {
    "137317-a-failed-allocation-leaves-no-part-behind": (
        failed_allocation,
        {"configuration": WHOLE_CORES, "topology": "1x3x2"},
    ),
    "118559-running-pods-are-not-admitted-again": (running_pods, {}),
    "141041-cpus-of-a-whole-pod-come-back-after-a-restart": (
        pod_level,
        {"gates": FeatureGates({"PodLevelResourceManagers": True}), "configuration": WHOLE_PODS},
    ),
    "107906-cpus-of-an-init-container-are-not-given-while-it-runs": (init_in_use, {}),
    "141261-gauges-are-those-of-the-book": (gauges, {}),
    "140730-an-admission-ends-on-many-numa-nodes": (
        many_nodes,
        {"configuration": ALIGNED, "topology": "8x4x1"},
    ),
    "124066-an-offline-cpu-is-not-given-out": (goes_offline, {}),
}


def play(number: str, seed: int, kill_at: int = 0) -> int:
    """Returns the number of moments."""
    scenario, options = next(each for name, each in SCENARIOS.items() if name.startswith(number))
    life = Life(seed, kill_at, **options)
    try:
        scenario(life)
    except AssertionError as broken:
        raise AssertionError(f"killed at moment {kill_at} ({life.died}): {broken}") from broken
    return life.moments


def is_found_out(number: str) -> bool:
    """Whether the scenario fails without a kill. It passes so with an agent that is as it should be."""
    try:
        play(number, 1)
    except AssertionError:
        return True
    return False


@over_seeds(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_fault_does_not_happen_whenever_the_agent_dies(name: str, seed: int) -> None:
    moments = play(name, seed)
    for kill_at in range((seed - 1) % EVERY + 1, moments + 1, EVERY):
        play(name, seed, kill_at)


def test_137317_an_agent_that_leaves_a_part_of_a_failed_allocation_is_found_out(monkeypatch: Mutate) -> None:
    left: dict[str, PodShares] = {}

    def leaves_a_part(machine: MachineTopology, book: ShareBook, pod: Pod, rules: ShareRules) -> PodShares | Rejected:
        found = assign(machine, book | left, pod, rules)
        if isinstance(found, Rejected):
            left[pod.metadata.uid] = PodShares(FrozenMap({"app": Share(frozenset({1, 4}))}))
        return found

    monkeypatch.setattr(keeper, "assign", leaves_a_part)
    assert is_found_out("137317")


def test_118559_an_agent_that_admits_running_pods_again_is_found_out(monkeypatch: Mutate) -> None:
    monkeypatch.setattr(keeper, "what_fits", lambda *_: (NO_SHARES, {}))
    assert is_found_out("118559")


def test_141041_an_agent_that_keeps_the_cpus_of_whole_pods_is_found_out(monkeypatch: Mutate) -> None:
    def keeps_whole(book: ShareBook, uid: str) -> ShareBook:
        return book if uid in book and book[uid].whole is not None else share_book.without_pod(book, uid)

    monkeypatch.setattr(keeper, "without_pod", keeps_whole)
    assert is_found_out("141041")


def test_107906_an_agent_that_gives_the_cpus_of_an_init_container_is_found_out(monkeypatch: Mutate) -> None:
    def app_alone(book: ShareBook, uid: str, shares: PodShares) -> ShareBook:
        last = {name: share for name, share in shares.containers.items() if name != "init"}
        return share_book.with_pod(book, uid, PodShares(FrozenMap(last), shares.whole))

    monkeypatch.setattr(keeper, "with_pod", app_alone)
    assert is_found_out("107906")


def test_141261_an_agent_that_counts_gauges_beside_its_book_is_found_out(monkeypatch: Mutate) -> None:
    told, ever = ShareKeeper.told, dict[str, PodShares]()
    give = ShareKeeper.give

    def counts_up(self: ShareKeeper, pod: Pod) -> Rejected | None:
        refused = give(self, pod)
        ever.update(self.book)
        return refused

    monkeypatch.setattr(ShareKeeper, "give", counts_up)
    monkeypatch.setattr(
        ShareKeeper, "told", lambda self, uids: msgspec.structs.replace(told(self, uids), book=FrozenMap(ever))
    )
    assert is_found_out("141261")


def test_140730_an_agent_that_tries_every_combination_of_hints_is_found_out(monkeypatch: Mutate) -> None:
    def every_combination(resources: Sequence[Hints], *rest: Any) -> Hint | None:
        for tried, _ in enumerate(product(*(each for each in resources if each))):
            assert tried < COMBINATIONS_AT_MOST, "this does not end within an hour"
        return merge(resources, *rest)

    monkeypatch.setattr(assigning, "merge", every_combination)
    assert is_found_out("140730")


def test_124066_an_agent_that_never_looks_at_the_machine_again_is_found_out(monkeypatch: Mutate) -> None:
    replace_handler(monkeypatch, ResourceManagerActor, MachineRead, lambda *_: None)
    assert is_found_out("124066")
