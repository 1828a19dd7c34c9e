"""A pod gets all of its CPUs and memory, or none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.model.devices import DeviceBook, HeldDevices, Offer
from actors.model.shares import NO_SHARES, PodShares, Share, ShareBook
from actors.resources.cpus.static import CpuRules
from actors.resources.devices.choosing import DeviceSearch
from actors.resources.memory.amounts import MemoryRules
from actors.resources.shares.assigning import assign
from actors.resources.shares.book import shared_cpus, with_pod, with_started, without_container, without_pod
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import wanted_of
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Pod
from config.values.cpu_sets import format_cpu_set
from runtime.device_plugins.capability import Device
from simulation.host.topologies import topology_of

GIB = 2**30
SINGLE = TopologyRules(TopologyPolicy.SINGLE_NODE)
CPU_0 = CpuRules(frozenset({0}))
MEMORY = MemoryRules({0: {"memory": GIB}})


def box(name: str, cpu: str, memory: str = "1Gi", *, sidecar: bool = False, **other: str) -> dict[str, Any]:
    """A container whose limits are its requests; underscores of `other` are dashes."""
    amounts = {"cpu": cpu, "memory": memory, **{kind.replace("_", "-"): size for kind, size in other.items()}}
    found: dict[str, Any] = {"name": name, "resources": {"requests": amounts, "limits": amounts}}
    return {**found, "restartPolicy": "Always"} if sidecar else found


def pod(*containers: dict[str, Any], init: list[dict[str, Any]] | None = None, uid: str = "u", **spec: Any) -> Pod:
    document = {"metadata": {"uid": uid}, "spec": {"containers": containers, "initContainers": init or [], **spec}}
    return msgspec.convert(document, Pod)


def given(shares: PodShares | Rejected) -> dict[str, str]:
    """The CPUs by container."""
    assert isinstance(shares, PodShares), shares
    return {name: format_cpu_set(share.cpus) for name, share in shares.containers.items() if share.cpus}


def nodes(shares: PodShares | Rejected) -> dict[str, list[tuple[tuple[int, ...], int]]]:
    """The NUMA nodes and GiB of memory by container."""
    assert isinstance(shares, PodShares), shares
    return {
        name: [(block.nodes, block.size_bytes // GIB) for block in share.memory]
        for name, share in shares.containers.items()
    }


# (spec 10.8.1)
def test_containers_with_whole_cpus_get_them_for_themselves() -> None:
    machine = topology_of("2x4x1")
    found = assign(machine, NO_SHARES, pod(box("a", "2"), box("b", "1500m"), box("c", "4")), ShareRules(CPU_0))
    assert given(found) == {"a": "1-2", "c": "4-7"}


@pytest.mark.parametrize("missing", ["cpu", "memory"])
# (spec 10.8.1)
def test_pods_that_are_not_guaranteed_get_nothing(missing: str) -> None:
    container = box("a", "2")
    limits = {kind: size for kind, size in container["resources"]["limits"].items() if kind != missing}
    burstable = {**container, "resources": {**container["resources"], "limits": limits}}
    assert assign(topology_of("1x4x1"), NO_SHARES, pod(burstable), ShareRules(CPU_0, MEMORY)) == PodShares()


# (spec 10.8.2)
def test_later_containers_reuse_the_cpus_of_init_containers_and_not_those_of_sidecars() -> None:
    init = [box("first", "3"), box("side", "1", sidecar=True), box("second", "4")]
    found = assign(topology_of("1x8x1"), NO_SHARES, pod(box("a", "3"), init=init), ShareRules(CPU_0))
    assert given(found) == {"first": "1-3", "side": "1", "second": "2-5", "a": "2-4"}


def test_a_pod_that_is_refused_at_its_last_container_leaves_nothing_behind() -> None:
    # kubernetes/kubernetes#137317
    machine, rules = topology_of("1x4x1"), ShareRules(CPU_0)
    found = assign(machine, NO_SHARES, pod(box("a", "2"), box("b", "2")), rules)
    message = "Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1"
    assert found == Rejected("UnexpectedAdmissionError", f"{message}, which is unexpected")
    assert given(assign(machine, NO_SHARES, pod(box("a", "3")), rules)) == {"a": "1-3"}


def test_a_pod_in_the_book_keeps_what_it_has() -> None:
    # kubernetes/kubernetes#118559: it is not admitted again when the node is full.
    machine, rules = topology_of("1x4x1"), ShareRules(CPU_0)
    shares = assign(machine, NO_SHARES, pod(box("a", "3")), rules)
    assert isinstance(shares, PodShares)
    assert assign(machine, with_pod(NO_SHARES, "u", shares), pod(box("a", "3")), rules) is shares


def test_an_offline_cpu_is_never_given() -> None:
    # kubernetes/kubernetes#124066
    machine = topology_of("1x4x1 offline=2")
    assert given(assign(machine, NO_SHARES, pod(box("a", "2")), ShareRules(CPU_0))) == {"a": "1,3"}
    assert isinstance(assign(machine, NO_SHARES, pod(box("a", "3")), ShareRules(CPU_0)), Rejected)


# (spec 10.9.1, 10.10.2)
def test_cpus_and_memory_are_on_one_node_or_the_pod_is_refused() -> None:
    machine = topology_of("2x4x1 memory=4Gi")
    rules = ShareRules(CPU_0, MEMORY, SINGLE)
    found = assign(machine, NO_SHARES, pod(box("a", "2", "4Gi")), rules)
    assert given(found) == {"a": "4-5"}
    assert nodes(found) == {"a": [((1,), 4)]}
    refusal = assign(machine, NO_SHARES, pod(box("a", "5")), rules)
    assert refusal == Rejected("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


# (spec 10.10.1)
def test_the_containers_of_a_pod_can_be_on_one_node_together() -> None:
    machine = topology_of("2x4x1")
    two = pod(box("a", "3"), box("b", "3"))
    apart = assign(machine, NO_SHARES, two, ShareRules(CPU_0, None, SINGLE))
    assert given(apart) == {"a": "1-3", "b": "4-6"}
    together = TopologyRules(TopologyPolicy.SINGLE_NODE, whole_pods=True)
    assert isinstance(assign(machine, NO_SHARES, two, ShareRules(CPU_0, None, together)), Rejected)


def test_a_pod_whose_memory_fits_on_no_node_together_is_refused() -> None:
    # A kubelet would put its containers on two nodes.
    machine = topology_of("2x4x1 memory=4Gi")
    together = TopologyRules(TopologyPolicy.SINGLE_NODE, whole_pods=True)
    rules = ShareRules(None, MemoryRules({0: {"memory": 2 * GIB}, 1: {"memory": 2 * GIB}}), together)
    two = pod(box("a", "1", "2Gi"), box("b", "1", "3Gi"))
    assert isinstance(assign(machine, NO_SHARES, two, rules), Rejected)


# (spec 10.8.5)
def test_only_whole_cores_are_given_if_asked_for() -> None:
    machine = topology_of("1x4x2")
    rules = ShareRules(CpuRules(frozenset({0}), full_cores=True))
    refusal = assign(machine, NO_SHARES, pod(box("a", "3")), rules)
    assert refusal == Rejected(
        "SMTAlignmentError", "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    )
    # CPU 4 is alone: its sibling is reserved.
    assert given(assign(machine, NO_SHARES, pod(box("a", "6")), rules)) == {"a": "1-3,5-7"}
    assert isinstance(assign(machine, NO_SHARES, pod(box("a", "8")), rules), Rejected)


@pytest.mark.parametrize(
    ("machine", "wanted", "taken"),
    [
        ("1x4x2 offline=6", "2", "1,5"),  # CPU 2 is alone
        ("1x4x2 offline=6", "4", "1,3,5,7"),
        ("1x4x2 offline=5,6", "2", "1-2"),  # two that are alone split no core
        ("1x4x2 offline=5,6", "4", "1-3,7"),
        ("2x2x4 offline=8", "4", "1,5,9,13"),  # three CPUs of a core, of which one is reserved
        ("2x2x4 offline=8", "8", "2-3,6-7,10-11,14-15"),
        ("1x8x2 nodes=2 offline=5,11-12", "6", "4,6-7,13-15"),  # with both that are alone
        ("2x4x2 offline=13", "6", "1-3,9-11"),  # on one NUMA node: on the other are too few cores of full size
    ],
)
# (spec 10.8.5)
def test_whole_cores_are_given_beside_cores_with_an_offline_cpu(machine: str, wanted: str, taken: str) -> None:
    rules = ShareRules(CpuRules(frozenset({0}), full_cores=True), topology=SINGLE)
    assert given(assign(topology_of(machine), NO_SHARES, pod(box("a", wanted)), rules)) == {"a": taken}


# (spec 10.9.1)
def test_memory_that_fits_on_no_node_is_on_a_group_that_stays_closed_for_others() -> None:
    machine = topology_of("2x4x1 memory=4Gi")
    rules = ShareRules(None, MEMORY)
    first = assign(machine, NO_SHARES, pod(box("a", "1", "5Gi")), rules)
    assert nodes(first) == {"a": [((0, 1), 5)]}
    assert isinstance(first, PodShares)
    book = with_pod(NO_SHARES, "u", first)
    second = assign(machine, book, pod(box("a", "1", "1Gi"), uid="v"), rules)
    assert nodes(second) == {"a": [((0, 1), 1)]}
    assert isinstance(assign(machine, book, pod(box("a", "1", "3Gi"), uid="v"), rules), Rejected)


# (spec 10.9.1)
def test_huge_pages_are_on_the_node_of_the_memory() -> None:
    machine = topology_of("2x4x1 memory=4Gi,4Gi huge=2Mi:4")
    rules = ShareRules(None, MemoryRules({0: {"memory": GIB, "hugepages-2Mi": 4 * 2**20}}))
    found = assign(machine, NO_SHARES, pod(box("a", "1", "1Gi", hugepages_2Mi="8Mi")), rules)
    assert isinstance(found, PodShares)
    assert [(block.nodes, block.kind) for block in found.containers["a"].memory] == [
        ((1,), "hugepages-2Mi"),
        ((1,), "memory"),
    ]


def test_a_kind_of_huge_pages_that_the_machine_does_not_have_refuses_the_pod() -> None:
    # A kubelet crashes here.
    found = assign(topology_of("2x4x1"), NO_SHARES, pod(box("a", "1", hugepages_1Gi="1Gi")), ShareRules(None, MEMORY))
    assert isinstance(found, Rejected)


# (spec 10.8.1)
def test_the_shared_pool_is_what_nobody_has() -> None:
    machine = topology_of("1x4x1")
    shares = assign(machine, NO_SHARES, pod(box("a", "2")), ShareRules(CPU_0))
    assert isinstance(shares, PodShares)
    book = with_pod(NO_SHARES, "u", shares)
    strict = ShareRules(CpuRules(frozenset({0}), strict=True))
    assert shared_cpus(machine, ShareRules(CPU_0), book) == {0, 3}
    assert shared_cpus(machine, strict, book) == {3}
    assert shared_cpus(machine, ShareRules(CPU_0), without_pod(book, "u")) == machine.online


def test_cpus_of_an_ended_init_container_stay_with_the_container_that_reuses_them() -> None:
    # kubernetes/kubernetes#107906
    machine, rules = topology_of("1x8x1"), ShareRules(CPU_0, MEMORY)
    the_pod = pod(box("a", "2", "2Gi"), init=[box("first", "3", "3Gi")])
    shares = assign(machine, NO_SHARES, the_pod, rules)
    assert isinstance(shares, PodShares)
    book: ShareBook = with_pod(NO_SHARES, "u", shares)
    assert nodes(shares) == {"first": [((0,), 1)], "a": [((0,), 2)]}
    assert shared_cpus(machine, rules, without_container(book, "u", "first")) == {0, 3, 4, 5, 6, 7}
    started = with_started(book, "u", wanted_of(the_pod), "a")
    assert nodes(started["u"]) == {"first": [], "a": [((0,), 2)]}
    assert without_container(without_container(started, "u", "first"), "u", "a") == NO_SHARES


WHOLE = {"cpu": "4", "memory": "4Gi"}


def whole(*containers: dict[str, Any], **other: Any) -> Pod:
    return pod(*containers, resources={"requests": WHOLE, "limits": WHOLE}, **other)


# (spec 10.8.6)
def test_a_pod_with_resources_of_its_own_is_divided_among_its_containers() -> None:
    machine = topology_of("2x4x1 memory=8Gi")
    together = TopologyRules(TopologyPolicy.SINGLE_NODE, whole_pods=True)
    rules = ShareRules(CPU_0, MEMORY, together, pod_level=True)
    init = [{"name": "first"}, box("side", "1", sidecar=True)]
    found = assign(machine, NO_SHARES, whole({"name": "rest"}, box("own", "2"), init=init), rules)
    assert given(found) == {"first": "4-7", "side": "4", "rest": "7", "own": "5-6"}
    assert nodes(found)["rest"] == [((1,), 2)]
    assert isinstance(found, PodShares)
    assert found.whole is not None
    assert found.whole.cpus == {4, 5, 6, 7}
    book = without_container(with_pod(NO_SHARES, "u", found), "u", "own")
    # The share of the pod goes with its last container.
    assert shared_cpus(machine, rules, book) == {0, 1, 2, 3}


def test_a_pod_whose_own_containers_leave_nothing_to_share_is_refused() -> None:
    together = TopologyRules(TopologyPolicy.BEST_EFFORT, whole_pods=True)
    rules = ShareRules(CPU_0, None, together, pod_level=True)
    found = assign(topology_of("2x4x1"), NO_SHARES, whole({"name": "rest"}, box("own", "4")), rules)
    assert isinstance(found, Rejected)
    assert found.reason == "EmptyPodSharedPoolError"


# (spec 10.8.6)
def test_without_the_gate_a_pod_with_resources_of_its_own_gets_nothing() -> None:
    rules = ShareRules(CPU_0, MEMORY, SINGLE)
    assert assign(topology_of("2x4x1"), NO_SHARES, whole(box("own", "2")), rules) == PodShares()


GPU = "vendor.example/gpu"
GPUS = {GPU: Offer(tuple(Device(f"gpu-{number}", nodes=(number // 2,)) for number in range(4)))}


def with_devices(
    the_pod: Pod, policy: TopologyPolicy, taken: tuple[str, ...] = (), **rules: Any
) -> tuple[PodShares | Rejected, dict[str, tuple[str, ...]]]:
    """What the pod gets on a machine with 4 CPUs on each of two nodes, and its GPUs by container."""
    held = FrozenMap({GPU: HeldDevices(tuple(Device(each) for each in taken))})
    book: DeviceBook = FrozenMap({"other": FrozenMap({"c": held})})
    search = DeviceSearch(GPUS, book, the_pod)
    topology = TopologyRules(policy, **rules)
    shares = assign(topology_of("2x4x1"), NO_SHARES, the_pod, ShareRules(CPU_0, topology=topology), search)
    return shares, {name: held[GPU].ids for name, held in search.found().items()}


def gpus(name: str, cpu: str, count: int) -> dict[str, Any]:
    found = box(name, cpu)
    found["resources"]["requests"][GPU] = str(count)  # its limits are the same object
    return found


def test_cpus_and_devices_are_on_one_node() -> None:
    shares, devices = with_devices(pod(gpus("a", "2", 1)), TopologyPolicy.SINGLE_NODE, taken=("gpu-0", "gpu-1"))
    assert (given(shares), devices) == ({"a": "4-5"}, {"a": ("gpu-2",)})


def test_devices_of_a_pod_without_cpus_for_itself_are_on_one_node_too() -> None:
    shares, devices = with_devices(pod(gpus("a", "100m", 2)), TopologyPolicy.SINGLE_NODE, taken=("gpu-0",))
    assert (given(shares), devices) == ({}, {"a": ("gpu-2", "gpu-3")})


def test_devices_that_no_node_has_together_refuse_the_pod() -> None:
    shares, devices = with_devices(pod(gpus("a", "1", 2)), TopologyPolicy.SINGLE_NODE, taken=("gpu-0", "gpu-2"))
    assert isinstance(shares, Rejected)
    assert (shares.reason, devices) == ("TopologyAffinityError", {})


def test_without_a_policy_devices_come_from_any_node() -> None:
    shares, devices = with_devices(pod(gpus("a", "1", 2)), TopologyPolicy.NONE, taken=("gpu-0", "gpu-2"))
    assert (given(shares), devices) == ({"a": "1"}, {"a": ("gpu-1", "gpu-3")})


def test_the_containers_of_a_pod_have_their_devices_on_one_node() -> None:
    shares, devices = with_devices(
        pod(gpus("a", "1", 1), gpus("b", "1", 1)), TopologyPolicy.SINGLE_NODE, taken=("gpu-0",), whole_pods=True
    )
    assert devices == {"a": ("gpu-2",), "b": ("gpu-3",)}
    assert given(shares) == {"a": "4", "b": "5"}


def test_a_pod_that_gets_no_devices_gets_no_cpus_either() -> None:
    shares, devices = with_devices(pod(gpus("a", "1", 4)), TopologyPolicy.NONE, taken=("gpu-0",))
    assert isinstance(shares, Rejected)
    assert "requested number of devices unavailable for vendor.example/gpu" in shares.message
    assert devices == {}


def test_devices_of_a_pod_that_has_its_cpus_already_are_on_one_node() -> None:
    the_pod = pod(gpus("a", "2", 2))
    held = FrozenMap({GPU: HeldDevices((Device("gpu-0"),))})
    search = DeviceSearch(GPUS, FrozenMap({"other": FrozenMap({"c": held})}), the_pod)
    has = PodShares(FrozenMap({"a": Share(frozenset({1, 2}))}))
    book = with_pod(NO_SHARES, the_pod.metadata.uid, has)
    rules = ShareRules(CPU_0, topology=TopologyRules(TopologyPolicy.SINGLE_NODE))
    assert assign(topology_of("2x4x1"), book, the_pod, rules, search) == has
    assert search.found()["a"][GPU].ids == ("gpu-2", "gpu-3")
