"""What a whole pod has while it is resized, by rows (spec 10.16)."""

from __future__ import annotations

import pytest

from actors.pod_rules.resize_whole import lowered_memory_of, whole_numbers, wider_numbers
from actors.start.resources import ResourceRules
from config.objects import Container, Pod, PodSpec, ResourceRequirements

RULES = ResourceRules()
MIB = 2**20


def pod(*limits: dict[str, str], whole: dict[str, str] | None = None, overhead: str = "") -> Pod:
    """Containers that ask for 100m CPU each, with these limits."""
    containers = tuple(
        Container(name=f"c{number}", resources=ResourceRequirements(requests={"cpu": "100m"}, limits=each))
        for number, each in enumerate(limits)
    )
    resources = ResourceRequirements(limits=whole) if whole is not None else None
    more = {"memory": overhead} if overhead else {}
    return Pod(spec=PodSpec(containers=containers, resources=resources, overhead=more))


ONE, TWO = {"cpu": "1", "memory": "64Mi"}, {"cpu": "2", "memory": "128Mi"}


@pytest.mark.parametrize(
    ("had", "has", "expected"),
    [
        (pod(TWO), pod(ONE), 64),
        (pod(TWO), pod(ONE, overhead="8Mi"), 72),
        (pod(ONE), pod(ONE), 0),
        (pod(ONE), pod(TWO), 0),
        (pod(ONE, TWO), pod(TWO, ONE), 0),
        (pod(ONE, TWO), pod(ONE, ONE), 128),
        (pod({}), pod(ONE), 64),
        (pod({}), pod({}), 0),
        (pod(ONE, {}), pod(ONE, ONE), 128),
        (pod(ONE, whole=TWO), pod(ONE, whole=ONE), 64),
    ],
)
def test_the_memory_limit_of_the_pod_counts_where_it_is_lowered(had: Pod, has: Pod, expected: int) -> None:
    assert lowered_memory_of(had, has, RULES) == expected * MIB


@pytest.mark.parametrize(
    ("had", "has", "quota", "memory"),
    [
        (pod(ONE), pod(TWO), 200_000, 128),
        (pod(TWO), pod(ONE), 200_000, 128),
        (pod({"cpu": "2", "memory": "64Mi"}), pod({"cpu": "1", "memory": "128Mi"}), 200_000, 128),
        (pod({}), pod(ONE), -1, 0),
        (pod(ONE, {"cpu": "1"}), pod(ONE, ONE), 200_000, 0),
    ],
)
def test_meanwhile_the_pod_has_the_wider_of_both(had: Pod, has: Pod, quota: int, memory: int) -> None:
    wide = wider_numbers(whole_numbers(has, RULES), whole_numbers(had, RULES))
    assert (wide.cpu_quota, wide.cpu_period, wide.memory_limit_in_bytes) == (quota, 100_000, memory * MIB)
