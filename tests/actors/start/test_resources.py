"""Amounts in the units of the kernel (spec 3.8, 10.3, 10.6)."""

from __future__ import annotations

import pytest

from actors.start.resources import (
    MemoryRules,
    ResourceRules,
    SwapRules,
    container_resources,
    cpu_quota_us,
    cpu_shares,
    oom_score,
    pod_overhead,
    pod_sum,
)
from config.objects import Container, Pod, ResourceRequirements
from runtime.cri.messages import HugepageLimit, LinuxContainerResources
from tests.actors.pod_pictures import container, pod, sidecar

GIB = 2**30
RULES = ResourceRules(memory_capacity_bytes=10 * GIB)


def needs(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> ResourceRequirements:
    return ResourceRequirements(requests=requests or {}, limits=limits or {})


@pytest.mark.parametrize(
    ("milli", "shares"), [(0, 2), (1, 2), (100, 102), (1000, 1024), (256_000, 262_144), (999_999_999, 262_144)]
)
# (spec 3.8.5, 10.3.1)
def test_shares(milli: int, shares: int) -> None:
    assert cpu_shares(milli) == shares


@pytest.mark.parametrize(("milli", "quota"), [(0, 0), (1, 1000), (10, 1000), (500, 50_000), (2000, 200_000)])
# (spec 3.8.5, 10.3.2)
def test_quota(milli: int, quota: int) -> None:
    assert cpu_quota_us(milli) == quota


@pytest.mark.parametrize(
    ("resources", "shares", "quota", "memory"),
    [
        pytest.param(None, 2, 0, 0, id="nothing"),
        pytest.param(needs({"cpu": "500m"}), 512, 0, 0, id="a request weighs"),
        pytest.param(needs(limits={"cpu": "2"}), 2048, 200_000, 0, id="a limit stands in for the request"),
        pytest.param(needs({"cpu": "100m"}, {"cpu": "1"}), 102, 100_000, 0, id="both"),
        pytest.param(needs(limits={"memory": "1Gi"}), 2, 0, GIB, id="memory"),
    ],
)
# (spec 3.8.5)
def test_container(resources: ResourceRequirements | None, shares: int, quota: int, memory: int) -> None:
    web = container("web", resources=resources)
    made = container_resources(pod(web), web, RULES)
    assert (made.cpu_shares, made.cpu_quota, made.memory_limit_in_bytes, made.cpu_period) == (
        shares,
        quota,
        memory,
        100_000,
    )


# (spec 3.8.7)
def test_limits_of_the_pod_hold_for_those_without_their_own() -> None:
    web, db = container("web"), container("db", resources=needs(limits={"memory": "1Gi"}))
    whole = pod(web, db, resources=needs(limits={"cpu": "1", "memory": "2Gi"}))
    assert container_resources(whole, web, RULES).memory_limit_in_bytes == 2 * GIB
    assert container_resources(whole, db, RULES).memory_limit_in_bytes == GIB
    assert container_resources(whole, db, RULES).cpu_quota == 100_000


# (spec 3.8.6)
def test_the_rules_of_the_node() -> None:
    web = container("web", resources=needs(limits={"cpu": "1"}))
    assert container_resources(pod(web), web, ResourceRules(cpu_quota=False)).cpu_quota == -1
    slow = container_resources(pod(web), web, ResourceRules(cpu_period_us=10_000))
    assert (slow.cpu_quota, slow.cpu_period) == (10_000, 10_000)
    assert container_resources(pod(web), web, RULES).unified == {"memory.oom.group": "1"}
    assert container_resources(pod(web), web, ResourceRules(single_process_oom_kill=True)).unified == {}
    assert container_resources(pod(web), web, ResourceRules(cgroup_version=1)).unified == {}


BURST = container("a", resources=needs({"memory": "1Gi"}))
SURE = container("a", resources=needs({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}))
SIDE = sidecar("s", resources=needs({"memory": "100Mi"}))


@pytest.mark.parametrize(
    ("the_pod", "of", "score"),
    [
        pytest.param(pod("a"), container("a"), 1000, id="BestEffort"),
        pytest.param(pod(SURE), SURE, -997, id="Guaranteed"),
        pytest.param(
            pod("a", priority=2_000_001_000, priority_class_name="system-node-critical"),
            container("a"),
            -997,
            id="critical",
        ),
        pytest.param(pod(BURST), BURST, 900, id="Burstable, by its share of the node"),
        pytest.param(pod(BURST, "b"), container("b"), 999, id="Burstable, asks for nothing"),
        pytest.param(
            pod(container("a", resources=needs({"memory": "99Gi"}))),
            container("a", resources=needs({"memory": "99Gi"})),
            3,
            id="Burstable, asks for all",
        ),
        pytest.param(pod(BURST, init=(SIDE,)), SIDE, 900, id="a sidecar is not killed before whom it serves"),
    ],
)
# (spec 10.6.3)
def test_oom_score(the_pod: Pod, of: Container, score: int) -> None:
    assert oom_score(the_pod, of, 10 * GIB) == score


@pytest.mark.parametrize(
    ("own", "shares"),
    [
        pytest.param(None, 1024, id="the pod's limit stands in for a request"),
        pytest.param(needs({"cpu": "100m"}), 102, id="a request of its own"),
        pytest.param(needs(limits={"cpu": "500m"}), 512, id="a limit of its own"),
    ],
)
def test_cpu_shares_below_the_limit_of_a_pod(own: ResourceRequirements | None, shares: int) -> None:
    web = container("web", resources=own)
    made = container_resources(pod(web, resources=needs(limits={"cpu": "1"})), web, RULES)
    assert made.cpu_shares == shares


def test_the_sum_counts_what_runs_together() -> None:
    def ask(cpu: str) -> ResourceRequirements:
        return needs({"cpu": cpu}, {"cpu": cpu, "memory": "1Gi"})

    init = (container("big", resources=ask("3")), sidecar("s", resources=ask("1")), container("i", resources=ask("1")))
    total = pod_sum(pod(container("a", resources=ask("1")), init=init), RULES)
    assert (total.cpu_shares, total.cpu_quota, total.memory_limit_in_bytes) == (3 * 1024, 300_000, 2 * GIB)


# (spec 10.3.5)
def test_one_container_without_a_limit_leaves_the_pod_without_one() -> None:
    total = pod_sum(pod(container("a", resources=needs(limits={"cpu": "1"})), "b"), RULES)
    assert (total.cpu_shares, total.cpu_quota, total.cpu_period) == (1024, 0, 0)


@pytest.mark.parametrize(
    ("whole", "of_each", "shares"),
    [
        pytest.param(needs({"cpu": "2"}), None, 2048, id="no container asks"),
        pytest.param(needs({"cpu": "2"}), {"cpu": "500m"}, 2048, id="it is more than the containers ask for"),
        pytest.param(needs({"cpu": "2"}, {"cpu": "3"}), None, 2048, id="it is less than the limit"),
        pytest.param(needs({"memory": "1Gi"}), {"cpu": "500m"}, 1024, id="it asks for other things"),
        pytest.param(needs(limits={"cpu": "3"}), None, 3072, id="a limit stands in for a request"),
        pytest.param(needs(limits={"cpu": "3"}), {"cpu": "500m"}, 1024, id="a limit beside requests of containers"),
    ],
)
# (spec 3.9.2)
def test_3_9_what_the_whole_pod_asks_for_takes_the_place_of_the_sum(
    whole: ResourceRequirements, of_each: dict[str, str] | None, shares: int
) -> None:
    own = needs(of_each) if of_each else None
    total = pod_sum(pod(container("a", resources=own), container("b", resources=own), resources=whole), RULES)
    assert total.cpu_shares == shares


# (spec 3.9.2, 10.3.8)
def test_3_9_overhead_is_request_and_limit_of_the_sandbox() -> None:
    made = pod_overhead(pod("a", overhead={"cpu": "250m", "memory": "64Mi"}), ResourceRules())
    assert (made.cpu_shares, made.cpu_quota, made.cpu_period) == (256, 25_000, 100_000)
    assert made.memory_limit_in_bytes == 64 * 2**20
    assert pod_overhead(pod("a"), ResourceRules()) == LinuxContainerResources()


@pytest.mark.parametrize(
    ("requests", "limits", "behaviour", "critical", "swap"),
    [
        ({"memory": "1Gi"}, {"memory": "2Gi"}, True, False, GIB // 5),
        ({"memory": "1Gi"}, {}, True, False, GIB // 5),
        ({"memory": "1Gi"}, {"memory": "2Gi"}, False, False, 0),
        ({"memory": "1Gi"}, {"memory": "2Gi"}, True, True, 0),
        ({"memory": "2Gi"}, {"memory": "2Gi"}, True, False, 0),
        ({"cpu": "1"}, {}, True, False, 0),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, True, False, 0),
        ({}, {}, True, False, 0),
    ],
    ids=["burstable", "no limit", "NoSwap", "critical", "limit is request", "no memory", "guaranteed", "best effort"],
)
# (spec 9.8.3)
def test_9_8_the_swap_limit_follows_class_and_requests(
    requests: dict[str, str], limits: dict[str, str], behaviour: bool, critical: bool, swap: int
) -> None:
    one = container("a", resources=ResourceRequirements(requests=requests, limits=limits))
    rules = ResourceRules(memory_capacity_bytes=10 * GIB, swap=SwapRules(behaviour, 2 * GIB))
    desired = pod(one, priority_class_name="system-node-critical", priority=2_000_001_000) if critical else pod(one)
    assert container_resources(desired, one, rules).unified["memory.swap.max"] == str(swap)


def test_9_8_where_nobody_counts_what_is_swapped_nothing_is_said_of_it() -> None:
    one = container("a")
    assert "memory.swap.max" not in container_resources(pod(one), one, ResourceRules()).unified
    old = ResourceRules(cgroup_version=1, swap=SwapRules(True, GIB))
    assert container_resources(pod(one), one, old).unified == {}


@pytest.mark.parametrize(
    ("requests", "limits", "tiered", "expected"),
    [
        (
            {"memory": "1Gi"},
            {"memory": "2Gi"},
            True,
            {"memory.low": GIB, "memory.high": GIB + GIB * 9 // 10 // 4096 * 4096},
        ),
        ({"memory": "1Gi"}, {"memory": "2Gi"}, False, {"memory.high": GIB + GIB * 9 // 10 // 4096 * 4096}),
        ({"memory": "1Gi"}, {}, False, {"memory.high": GIB + 7 * GIB * 9 // 10 // 4096 * 4096}),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, True, {"memory.min": GIB}),
        ({}, {}, True, {}),
    ],
    ids=["burstable", "nothing is kept", "up to what the node has", "guaranteed", "best effort"],
)
# (spec 10.3.9)
def test_10_3_memory_that_is_kept_and_memory_that_is_slow(
    requests: dict[str, str], limits: dict[str, str], tiered: bool, expected: dict[str, int]
) -> None:
    one = container("a", resources=ResourceRequirements(requests=requests, limits=limits))
    rules = ResourceRules(single_process_oom_kill=True, memory=MemoryRules(tiered, 0.9, 8 * GIB))
    said = container_resources(pod(one), one, rules).unified
    assert {file: int(text) for file, text in said.items()} == expected


# (spec 3.8.5)
def test_10_3_huge_pages_of_every_size() -> None:
    one = container("a", resources=ResourceRequirements(limits={"hugepages-2Mi": "4Mi"}))
    rules = ResourceRules(page_sizes=(2**21, 2**30))
    assert container_resources(pod(one), one, rules).hugepage_limits == (
        HugepageLimit(page_size="2MB", limit=2**22),
        HugepageLimit(page_size="1GB", limit=0),
    )
    assert container_resources(pod(one), one, ResourceRules()).hugepage_limits == ()


def test_a_container_without_huge_pages_of_its_own_may_use_those_of_the_pod() -> None:
    rules = ResourceRules(page_sizes=(2 * 2**20, 2**30))
    none, own = container("a"), container("b", resources=ResourceRequirements(limits={"hugepages-2Mi": "2Mi"}))
    whole = ResourceRequirements(limits={"hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi"})
    both = pod(none, own, resources=whole)
    limits = [[each.limit for each in container_resources(both, one, rules).hugepage_limits] for one in (none, own)]
    assert limits == [[6 * 2**20, 2**30], [2 * 2**20, 2**30]]


# (spec 10.6.4)
def test_10_6_pod_level_memory_beyond_the_containers_lowers_their_oom_scores() -> None:
    small, other = container("a", resources=ResourceRequirements(requests={"memory": "1Gi"})), container("b")
    whole = pod(small, other, resources=ResourceRequirements(requests={"memory": "5Gi"}))
    assert [oom_score(whole, each, 10 * GIB) for each in (small, other)] == [700, 800]
