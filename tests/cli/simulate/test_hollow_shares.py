"""How hollow nodes are spread over processes, and what is said of all of them."""

from __future__ import annotations

import pytest

from cli.simulate.hollow_shares import shares_of, sum_of
from config.kubelet import KubeletConfiguration
from simulation.node.hollow_nodes import HollowPlan, HollowStatus


@pytest.mark.parametrize(
    ("count", "processes", "shares"),
    [
        (1, 1, [(5, 1)]),
        (4, 2, [(5, 2), (7, 2)]),
        (5, 2, [(5, 2), (7, 3)]),
        (5, 3, [(5, 1), (6, 2), (8, 2)]),
        (2, 8, [(5, 1), (6, 1)]),
    ],
)
def test_every_process_has_a_part_of_the_nodes(count: int, processes: int, shares: list[tuple[int, int]]) -> None:
    plan = HollowPlan(count, KubeletConfiguration(), prefix="crowd-", first=5)
    parts = shares_of(plan, processes)
    assert [(each.first, each.count) for each in parts] == shares
    assert [each.name(number) for each in parts for number in each.numbers()] == [
        plan.name(number) for number in plan.numbers()
    ]


def test_the_status_of_all_is_the_sum_with_the_last_failure_that_is_known() -> None:
    statuses = [HollowStatus(3, 2, 5, 4, 100, 1, "patch nodes: no answer"), HollowStatus(2, 2, 1, 1, 50, 0, "")]
    assert sum_of(statuses) == HollowStatus(5, 4, 6, 5, 150, 1, "patch nodes: no answer")
