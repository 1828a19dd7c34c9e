"""What is done to cgroups for the actor that owns them, on a tree of directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.resources.cgroups.limits import CgroupRules, TierDemand, tier_limits
from actors.resources.cgroups.operations import CgroupOperations, PodGroup, PodGroupMade
from actors.resources.cgroups.plan import CgroupPlan
from config.pods.identity import QosClass
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.tree import LocalCgroupTree
from runtime.metrics.meters import Meters


@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_a_cgroup_that_gets_less_is_made_nowhere_else(tmp_path: Path, driver: str) -> None:
    operations = CgroupOperations(LocalCgroupTree(str(tmp_path), 2), driver, CgroupPlan("node"), Meters(), lambda: 0)
    told: list[PodGroupMade] = []
    operations.make([PodGroup("1-2", QosClass.BURSTABLE, CgroupLimits(cpu_shares=512))], told.append)
    assert told[0].parent
    assert operations.weaken(("1-2", "gone"), CgroupLimits(cpu_shares=2)) == ()
    assert [path.read_text() for path in tmp_path.rglob("cpu.weight")] == ["1"]
    assert operations.uids() == ("1-2",)


TIERS = tuple(tier_limits(TierDemand(), TierDemand(500), CgroupRules()).items())
POD = PodGroup("1-2", QosClass.BURSTABLE, CgroupLimits(cpu_shares=512, memory_bytes=2**30, pids=7))


def machine(path: Path, version: int) -> LocalCgroupTree:
    if version == 2:
        (path / "cgroup.controllers").write_text("cpuset cpu memory hugetlb pids\n")
    else:
        for controller in ("cpu", "cpuacct", "cpuset", "memory", "pids", "freezer"):
            (path / controller).mkdir()
    return LocalCgroupTree(str(path), version)


@pytest.mark.parametrize(
    ("version", "driver", "burstable", "parent", "file"),
    [
        (1, "cgroupfs", "cpu/kubepods/burstable", "/kubepods/burstable/pod1-2", "cpu.shares"),
        (
            1,
            "systemd",
            "cpu/kubepods.slice/kubepods-burstable.slice",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
            "cpu.shares",
        ),
        (2, "cgroupfs", "kubepods/burstable", "/kubepods/burstable/pod1-2", "cpu.weight"),
        (
            2,
            "systemd",
            "kubepods.slice/kubepods-burstable.slice",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
            "cpu.weight",
        ),
    ],
)
# (spec 10.2.1)
def test_10_2_the_tree_of_either_version_and_driver(
    tmp_path: Path, version: int, driver: str, burstable: str, parent: str, file: str
) -> None:
    meters = Meters()
    plan = CgroupPlan("node", pids=100)
    operations = CgroupOperations(machine(tmp_path, version), driver, plan, meters, lambda: 0)
    ground = operations.prepare(TIERS)
    assert (ground.usable, ground.problems, ground.uids) == (True, (), ())
    assert (tmp_path / burstable / file).read_text() == ("512" if version == 1 else "20")
    [whole] = plan.enforcements({"cpu": "4", "memory": "1Gi"}, driver)
    assert operations.enforce(whole) == ()
    limit = next(tmp_path.rglob("memory.max" if version == 2 else "memory.limit_in_bytes"))
    assert limit.read_text() == str(2**30)
    told: list[PodGroupMade] = []
    operations.make((POD,), told.append)
    assert [(made.parent, made.problems) for made in told] == [(parent, ())]
    pod = tmp_path / burstable / Path(parent).name
    assert (pod / file).read_text() == ("512" if version == 1 else "20")
    assert operations.prepare(TIERS).uids == ("1-2",)
    _clear(tmp_path)
    assert operations.remove(("1-2",)) == (("1-2", ()),)
    assert not pod.exists()
    assert operations.uids() == ()


def _clear(path: Path) -> None:
    """The kernel's files vanish with their directory. Those of a plain directory must be removed."""
    for file in path.rglob("*"):
        if file.is_file() and "pod1" in file.parent.name:
            file.unlink()


def test_10_7_cgroups_of_the_runtime_in_other_hierarchies_are_removed_too(tmp_path: Path) -> None:
    operations = CgroupOperations(machine(tmp_path, 1), "cgroupfs", CgroupPlan("node"), Meters(), lambda: 0)
    inside = tmp_path / "freezer/kubepods/burstable/pod1-2/container"
    inside.mkdir(parents=True)
    assert operations.uids() == ("1-2",)
    assert operations.remove(("1-2",)) == (("1-2", ()),)
    assert not inside.parent.exists()
    assert inside.parent.parent.exists()


def test_10_1_a_root_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    tree = machine(tmp_path, 2)
    operations = CgroupOperations(tree, "cgroupfs", CgroupPlan("node", root="/own"), Meters(), lambda: 0)
    ground = operations.prepare(TIERS)
    assert (ground.usable, ground.problems) == (
        False,
        ("the cgroup /own does not exist: make it, or change cgroupRoot",),
    )
    (tmp_path / "own").mkdir()
    assert operations.prepare(TIERS).usable
    assert (tmp_path / "own/kubepods/besteffort/cpu.weight").read_text() == "1"


def test_a_root_that_systemd_could_not_tell_from_others_is_refused_with_its_reason(tmp_path: Path) -> None:
    tree = machine(tmp_path, 2)
    operations = CgroupOperations(tree, "systemd", CgroupPlan("node", root="/a_b"), Meters(), lambda: 0)
    ground = operations.prepare(TIERS)
    assert not ground.usable
    assert ground.problems == ("cgroupRoot: 'a_b' cannot be a part of a cgroup's name: it has a '_'",)
