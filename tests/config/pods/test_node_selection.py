"""Which taints of a node a pod bears, and for how long."""

from __future__ import annotations

import pytest

from config.objects import Taint, Toleration
from config.pods.node_selection import stays_seconds

DOWN = Taint(key="down", effect="NoExecute")
SOLD = Taint(key="sold", value="yes", effect="NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        ([], [], None),
        ([DOWN], [], 0),
        ([DOWN], [Toleration(operator="Exists")], None),
        ([DOWN], [Toleration(key="down", operator="Exists", effect="NoSchedule")], 0),
        ([DOWN], [Toleration(key="down", operator="Exists", toleration_seconds=300)], 300),
        ([DOWN], [Toleration(key="down", operator="Exists", toleration_seconds=-5)], 0),
        ([DOWN, SOLD], [Toleration(key="down", operator="Exists", toleration_seconds=300)], 0),
        (
            [DOWN, SOLD],
            [Toleration(key="down", operator="Exists", toleration_seconds=300), Toleration(key="sold", value="yes")],
            300,
        ),
        (
            [DOWN, SOLD],
            [
                Toleration(key="down", operator="Exists", toleration_seconds=300),
                Toleration(key="sold", value="yes", toleration_seconds=60),
            ],
            60,
        ),
    ],
)
def test_a_pod_stays_as_long_as_it_tolerates_every_taint(
    taints: list[Taint], tolerations: list[Toleration], seconds: int | None
):
    assert stays_seconds(taints, tolerations) == seconds
