"""What is written into cgroups (spec 10.3 to 10.5)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.cgroup_limits import CgroupRules, node_limits, pod_limits, tier_limits
from config.objects import Container, ResourceRequirements
from config.pod_identity import QosClass
from runtime.cgroups.capability import CgroupLimits
from tests.actors.pod_pictures import container, pod, sidecar

PAGES = (2**21, 2**30)
GI = 2**30


def of(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> ResourceRequirements:
    """As the API fills it in: what is limited but not asked for is asked for to the limit."""
    return ResourceRequirements(requests={**(limits or {}), **(requests or {})}, limits=limits or {})


def app(name: str = "app", **fields: Any) -> Container:
    return container(name, resources=of(**fields))


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
def test_10_3_pods(containers: list[Any], fields: dict[str, Any], expected: tuple[int, int, int]) -> None:
    desired = pod(*containers, **fields)
    assert seen(pod_limits(desired, CgroupRules())) == expected


def test_10_3_a_quota_is_switched_off_for_the_node() -> None:
    limits = pod_limits(pod(app(requests=FULL, limits=FULL)), CgroupRules(cpu_quota=False))
    assert limits.cpu_quota_us == -1
    assert limits.memory_bytes == GI


@pytest.mark.parametrize(("limit", "written"), [(-1, -1), (0, -1), (100, 100)])
def test_10_3_processes(limit: int, written: int) -> None:
    assert pod_limits(pod("app"), CgroupRules(pids_limit=limit)).pids == written


def test_10_3_huge_pages_of_every_size() -> None:
    desired = pod(app(requests={"hugepages-2Mi": "4Mi", **FULL}, limits={"hugepages-2Mi": "4Mi", **FULL}))
    assert pod_limits(desired, CgroupRules(page_sizes=PAGES)).huge_pages == {2**21: 2**22, 2**30: 0}


def test_10_4_tiers() -> None:
    rows = [{"cpu": 10**9}, {"cpu": 5 * 10**8}, {}]
    assert tier_limits(QosClass.BURSTABLE, rows).cpu_shares == 1536
    assert tier_limits(QosClass.BURSTABLE, []).cpu_shares == 2
    assert tier_limits(QosClass.BEST_EFFORT, rows).cpu_shares == 2


def test_10_5_the_node() -> None:
    capacity = {"cpu": "4", "memory": "8Gi", "pid": "1000", "hugepages-2Mi": "4Mi", "pods": "110"}
    reserved = {"cpu": "500m", "memory": "1Gi", "pid": "100"}
    limits = node_limits(capacity, reserved, CgroupRules(page_sizes=PAGES))
    assert limits == CgroupLimits(cpu_shares=3584, memory_bytes=7 * GI, pids=900, huge_pages={2**21: 2**22, 2**30: 0})
