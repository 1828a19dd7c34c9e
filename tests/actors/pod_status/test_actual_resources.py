"""Spec 4.2: the status shows the resources that the runtime reports, in the notation of the spec.

For a container that runs.
"""

from __future__ import annotations

import pytest

from actors.pod_status.actual_resources import actual_resources
from actors.start.resources import ResourceRules, container_resources
from config.objects import ResourceRequirements
from runtime.cri.messages import LinuxContainerResources
from tests.actors.pod_pictures import container, pod

MIB = 2**20


def asked(requests: dict[str, str], limits: dict[str, str]) -> ResourceRequirements:
    return ResourceRequirements(requests=requests, limits=limits)


@pytest.mark.parametrize(
    ("requests", "limits", "actual", "shown"),
    [
        pytest.param(
            {"cpu": "0.1", "memory": "8Mi"},
            {"cpu": "1", "memory": "64Mi"},
            LinuxContainerResources(
                cpu_shares=102, cpu_quota=100_000, cpu_period=100_000, memory_limit_in_bytes=64 * MIB
            ),
            ({"cpu": "0.1", "memory": "8Mi"}, {"cpu": "1", "memory": "64Mi"}),
            id="the same in its own words",
        ),
        pytest.param(
            {"cpu": "200m", "memory": "8Mi"},
            {"cpu": "500m", "memory": "128Mi"},
            LinuxContainerResources(
                cpu_shares=102, cpu_quota=25_000, cpu_period=100_000, memory_limit_in_bytes=64 * MIB
            ),
            ({"cpu": "100m", "memory": "8Mi"}, {"cpu": "250m", "memory": "64Mi"}),
            id="a resize that is not done is not shown as done",
        ),
        pytest.param(
            {"cpu": "1m"},
            {"cpu": "5m"},
            LinuxContainerResources(cpu_shares=2, cpu_quota=1_000, cpu_period=100_000),
            ({"cpu": "1m"}, {"cpu": "5m"}),
            id="the kernel's least amounts are not held against the spec",
        ),
        pytest.param(
            {"cpu": "100m"},
            {"cpu": "100m"},
            LinuxContainerResources(cpu_shares=2, cpu_quota=1_000, cpu_period=100_000),
            ({"cpu": "2m"}, {"cpu": "10m"}),
            id="unless the spec is above them",
        ),
        pytest.param(
            {"cpu": "1"},
            {"cpu": "2", "memory": "1Gi"},
            LinuxContainerResources(cpu_quota=-1),
            ({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}),
            id="what is not told is as in the spec",
        ),
        pytest.param(
            {"cpu": "1"},
            {},
            LinuxContainerResources(cpu_shares=1024, cpu_quota=50_000, cpu_period=100_000, memory_limit_in_bytes=MIB),
            ({"cpu": "1"}, {}),
            id="limits of the pod are none of the container's",
        ),
        pytest.param(
            {"memory": "8Mi"},
            {"memory": "64Mi"},
            LinuxContainerResources(
                cpu_shares=204, cpu_quota=20_000, cpu_period=100_000, memory_limit_in_bytes=64 * MIB
            ),
            ({"memory": "8Mi", "cpu": "200m"}, {"memory": "64Mi", "cpu": "200m"}),
            id="unless it has some of its own",
        ),
        pytest.param(
            {"vendor.example/gpu": "1"},
            {"vendor.example/gpu": "1"},
            LinuxContainerResources(cpu_shares=2, cpu_quota=1_000, cpu_period=100_000, memory_limit_in_bytes=8 * MIB),
            ({"vendor.example/gpu": "1"}, {"vendor.example/gpu": "1", "memory": "8Mi"}),
            id="but never the kernel's least amounts",
        ),
    ],
)
def test_resources_of_what_runs_spec_4_2(
    requests: dict[str, str], limits: dict[str, str], actual: LinuxContainerResources, shown
) -> None:
    found = actual_resources(asked(requests, limits), actual)
    assert found is not None
    assert (dict(found.requests), dict(found.limits)) == shown


@pytest.mark.parametrize("milli", [*range(1, 300), 999, 1001, 2500, 63_999])
# (spec 4.2.12)
def test_resources_set_by_the_agent_are_shown_as_requested_spec_4_2(milli: int) -> None:
    amounts = asked({"cpu": f"{milli}m"}, {"cpu": f"{milli}m", "memory": "100M"})
    one = container("a", resources=amounts)
    assert actual_resources(amounts, container_resources(pod(one), one, ResourceRules())) is amounts


def test_without_anything_asked_or_told_nothing_is_made_up_spec_4_2() -> None:
    amounts = asked({"cpu": "1"}, {})
    assert actual_resources(None, LinuxContainerResources(cpu_shares=2)) is None
    assert actual_resources(amounts, None) is amounts
