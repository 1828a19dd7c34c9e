"""What is done to cgroups for the actor that owns them, on a tree of directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.cgroup_hands import CgroupHands, PodGroup
from actors.cgroup_plan import CgroupPlan
from config.pod_identity import QosClass
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.tree import LocalCgroupTree
from runtime.metrics.meters import Meters


@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_a_cgroup_that_gets_less_is_made_nowhere_else(tmp_path: Path, driver: str) -> None:
    hands = CgroupHands(LocalCgroupTree(str(tmp_path), 2), driver, CgroupPlan("node"), Meters(), lambda: 0)
    (made,) = hands.make([PodGroup("1-2", QosClass.BURSTABLE, CgroupLimits(cpu_shares=512))])
    assert made.parent
    assert hands.weaken(("1-2", "gone"), CgroupLimits(cpu_shares=2)) == ()
    assert [path.read_text() for path in tmp_path.rglob("cpu.weight")] == ["1"]
    assert hands.uids() == ("1-2",)
