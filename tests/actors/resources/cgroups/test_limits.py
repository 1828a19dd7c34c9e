"""What is written into cgroups (spec 10.3 to 10.5)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.resources.cgroups.limits import (
    CgroupRules,
    TierDemand,
    demand_of,
    node_limits,
    pod_limits,
    reserved_limits,
    tier_limits,
)
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, ResourceRequirements
from config.pods.identity import QosClass, qos_class
from config.pods.requests import pod_requests
from runtime.cgroups.capability import CgroupLimits
from tests.actors.pod_pictures import container, pod, sidecar

PAGES = (2**21, 2**30)
GI = 2**30


def of(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> ResourceRequirements:
    """As the API server defaults it: a resource with a limit and no request requests its limit."""
    return ResourceRequirements(requests={**(limits or {}), **(requests or {})}, limits=limits or {})


def app(name: str = "app", **fields: Any) -> Container:
    return container(name, resources=of(**fields))


def limits_of(desired: Pod, rules: CgroupRules) -> CgroupLimits:
    return pod_limits(desired, qos_class(desired), pod_requests(desired), rules)


def seen(limits: CgroupLimits) -> tuple[int | None, ...]:
    return limits.cpu_shares, limits.cpu_quota_us, limits.memory_bytes


FULL = {"cpu": "1", "memory": "1Gi"}
HALF = {"cpu": "500m", "memory": "512Mi"}


@pytest.mark.parametrize(
    ("containers", "fields", "expected"),
    [
        pytest.param([app(limits=FULL)], {}, (1024, 100_000, GI), id="guaranteed"),
        pytest.param([app("a", limits=FULL), app("b", limits=HALF)], {}, (1536, 150_000, 3 * GI // 2), id="added up"),
        pytest.param([app(requests=HALF)], {}, (512, -1, -1), id="burstable without limits"),
        pytest.param([app("a", limits=FULL), app("b")], {}, (1024, -1, -1), id="one without a limit"),
        pytest.param([app(requests=HALF, limits=FULL)], {}, (512, 100_000, GI), id="burstable, all with limits"),
        pytest.param(
            [app(requests=HALF, limits={"cpu": "1"})], {}, (512, 100_000, -1), id="of each resource by itself"
        ),
        pytest.param(["app"], {}, (2, -1, -1), id="best effort"),
        pytest.param(
            [app(limits={"cpu": "1m", "memory": "1"})], {}, (2, 1000, 1), id="the least that the kernel takes"
        ),
        pytest.param([app()], {"resources": of(HALF, FULL)}, (512, 100_000, GI), id="of the pod as a whole"),
        pytest.param([app(limits=FULL)], {"overhead": HALF}, (1536, 150_000, 3 * GI // 2), id="with overhead"),
        pytest.param(
            [app(limits=HALF)], {"init": (app("setup", limits=FULL),)}, (1024, 100_000, GI), id="init asks for more"
        ),
        pytest.param(
            [app(limits=HALF)],
            {"init": (sidecar("proxy", resources=of(limits=FULL)),)},
            (1536, 150_000, 3 * GI // 2),
            id="sidecars run beside",
        ),
    ],
)
# (spec 10.3.5)
def test_10_3_pods(containers: list[Any], fields: dict[str, Any], expected: tuple[int, int, int]) -> None:
    desired = pod(*containers, **fields)
    assert seen(limits_of(desired, CgroupRules())) == expected


# (spec 10.3.6)
def test_10_3_a_quota_is_switched_off_for_the_node() -> None:
    limits = limits_of(pod(app(requests=FULL, limits=FULL)), CgroupRules(cpu_quota=False))
    assert limits.cpu_quota_us == -1
    assert limits.memory_bytes == GI


@pytest.mark.parametrize(("limit", "written"), [(-1, -1), (0, -1), (100, 100)])
# (spec 10.3.7)
def test_10_3_processes(limit: int, written: int) -> None:
    assert limits_of(pod("app"), CgroupRules(pids_limit=limit)).pids == written


# (spec 10.3.4)
def test_10_3_huge_pages_of_every_size() -> None:
    desired = pod(app(requests={"hugepages-2Mi": "4Mi", **FULL}, limits={"hugepages-2Mi": "4Mi", **FULL}))
    assert limits_of(desired, CgroupRules(page_sizes=PAGES)).huge_pages == {2**21: 2**22, 2**30: 0}


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (1500, 1536), (1_000_000, 262_144)])
# (spec 10.4.1)
def test_10_4_tiers(milli: int, shares: int) -> None:
    tiers = tier_limits(TierDemand(5000), TierDemand(milli), CgroupRules(page_sizes=PAGES))
    assert tiers[QosClass.GUARANTEED] == CgroupLimits()
    every_page = {2**21: -1, 2**30: -1}
    assert tiers[QosClass.BURSTABLE] == CgroupLimits(cpu_shares=shares, huge_pages=FrozenMap(every_page))
    assert tiers[QosClass.BEST_EFFORT] == CgroupLimits(cpu_shares=2, huge_pages=FrozenMap(every_page))


@pytest.mark.parametrize(
    ("percent", "middle", "low"),
    [(None, None, None), (0, 8 * GI, 8 * GI), (50, 7 * GI, 13 * GI // 2), (100, 6 * GI, 5 * GI)],
)
# (spec 10.4.2)
def test_10_4_memory_that_better_classes_ask_for_is_kept_from_the_others(
    percent: int | None, middle: int | None, low: int | None
) -> None:
    tiers = tier_limits(TierDemand(0, 2 * GI), TierDemand(0, GI), CgroupRules(held_back=percent), 8 * GI)
    assert (tiers[QosClass.BURSTABLE].memory_bytes, tiers[QosClass.BEST_EFFORT].memory_bytes) == (middle, low)


@pytest.mark.parametrize(
    ("resources", "kept"),
    [
        (of(limits=FULL), (GI, None)),
        (of(requests=HALF), (None, GI // 2)),
        (of(requests={"cpu": "1"}), (None, 0)),
        (None, (None, None)),
    ],
)
# (spec 10.3.9)
def test_10_3_memory_is_kept_for_pods_by_their_class(resources: Any, kept: tuple[int | None, int | None]) -> None:
    limits = limits_of(pod(container("app", resources=resources)), CgroupRules(keeps_memory=True))
    assert (limits.memory_min_bytes, limits.memory_low_bytes) == kept


@pytest.mark.parametrize(
    ("keeps", "of_all", "of_burstable"), [(None, (None, None), None), (False, (0, 0), 0), (True, (3 * GI, GI), GI)]
)
def test_10_3_memory_is_kept_for_tiers_as_for_all_pods_in_them_or_given_back(
    keeps: bool | None, of_all: tuple[int | None, int | None], of_burstable: int | None
) -> None:
    tiers = tier_limits(TierDemand(0, 2 * GI), TierDemand(0, GI), CgroupRules(keeps_memory=keeps))
    assert (tiers[QosClass.GUARANTEED].memory_min_bytes, tiers[QosClass.GUARANTEED].memory_low_bytes) == of_all
    assert (tiers[QosClass.BURSTABLE].memory_min_bytes, tiers[QosClass.BURSTABLE].memory_low_bytes) == (
        None,
        of_burstable,
    )


def test_a_demand_added_and_taken_off_is_what_it_was() -> None:
    one, other = demand_of({"cpu": 15 * 10**8, "memory": 2**20 * 10**9}), TierDemand(3, 4)
    assert one == TierDemand(1500, 2**20)
    assert one.plus(other).less(other) == one


@pytest.mark.parametrize(
    ("compressible", "expected"),
    [
        (False, CgroupLimits(cpu_shares=512, memory_bytes=GI, pids=100)),
        (True, CgroupLimits(cpu_shares=512)),
    ],
)
# (spec 10.5.1)
def test_10_5_reserved_resources_become_limits(compressible: bool, expected: CgroupLimits) -> None:
    amounts = {"cpu": "500m", "memory": "1Gi", "pid": "100", "ephemeral-storage": "1Gi"}
    assert reserved_limits(amounts, compressible_only=compressible) == expected
    kept = reserved_limits(amounts, compressible_only=compressible, keeps_memory=True)
    assert kept.memory_min_bytes == expected.memory_bytes
    assert reserved_limits({}) == CgroupLimits()


# (spec 10.5.2)
def test_10_5_the_node() -> None:
    capacity = {"cpu": "4", "memory": "8Gi", "pid": "1000", "hugepages-2Mi": "4Mi", "pods": "110"}
    reserved = ({"cpu": "300m", "memory": "1Gi"}, {"cpu": "200m", "pid": "100", "unknown": "1"})
    limits = node_limits(capacity, reserved, CgroupRules(page_sizes=PAGES))
    assert limits == CgroupLimits(
        cpu_shares=3584, memory_bytes=7 * GI, pids=900, huge_pages=FrozenMap({2**21: 2**22, 2**30: 0})
    )
