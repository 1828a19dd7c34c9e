"""What is written where, on trees of directories for both versions.

On this machine's own where it may be written.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from config.frozen_map import FrozenMap
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import LocalCgroups, cpu_weight
from runtime.cgroups.names import SYSTEMD, page_name
from tests.runtime.files.trees import deepest, make_deep

WORDS = ("kubepods", "burstable", "pod1-2")
LIMITS = CgroupLimits(
    cpu_shares=512,
    cpu_quota_us=50_000,
    cpu_period_us=100_000,
    memory_bytes=2**30,
    pids=100,
    huge_pages=FrozenMap({2**21: 2**22, 2**30: 0}),
)
NONE = CgroupLimits(cpu_shares=2, cpu_quota_us=-1, cpu_period_us=100_000, memory_bytes=-1, pids=-1)


def v1(path: Path) -> LocalCgroups:
    """A node with all hierarchies but that of hugetlb at first."""
    for controller in ("cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb"):
        (path / controller).mkdir()
    (path / "cpuset" / "cpuset.cpus").write_text("0-3\n")
    (path / "cpuset" / "cpuset.mems").write_text("0\n")
    return LocalCgroups(str(path), 1)


def v2(path: Path, driver: str = "cgroupfs") -> LocalCgroups:
    (path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    (path / "cgroup.subtree_control").write_text("")
    return LocalCgroups(str(path), 2, driver)


def written(path: Path) -> dict[str, str]:
    return {str(file.relative_to(path)): file.read_text() for file in sorted(path.rglob("*")) if file.is_file()}


def test_10_3_files_of_v1(tmp_path: Path) -> None:
    assert v1(tmp_path).apply(WORDS, LIMITS) == ()
    pod = "kubepods/burstable/pod1-2"
    found = {name: text for name, text in written(tmp_path).items() if pod in name}
    assert found == {
        f"cpu/{pod}/cpu.shares": "512",
        f"cpu/{pod}/cpu.cfs_period_us": "100000",
        f"cpu/{pod}/cpu.cfs_quota_us": "50000",
        f"cpuset/{pod}/cpuset.cpus": "0-3",
        f"cpuset/{pod}/cpuset.mems": "0",
        f"memory/{pod}/memory.limit_in_bytes": str(2**30),
        f"pids/{pod}/pids.max": "100",
        f"hugetlb/{pod}/hugetlb.2MB.limit_in_bytes": str(2**22),
        f"hugetlb/{pod}/hugetlb.1GB.limit_in_bytes": "0",
    }


def test_10_3_files_of_v2(tmp_path: Path) -> None:
    assert v2(tmp_path).apply(WORDS, LIMITS) == ()
    pod = "kubepods/burstable/pod1-2"
    found = {name: text for name, text in written(tmp_path).items() if pod in name}
    assert found == {
        f"{pod}/cpu.weight": "20",
        f"{pod}/cpu.max": "50000 100000",
        f"{pod}/memory.max": str(2**30),
        f"{pod}/pids.max": "100",
        f"{pod}/hugetlb.2MB.max": str(2**22),
        f"{pod}/hugetlb.1GB.max": "0",
    }


def test_10_3_without_limits(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    v1(tmp_path / "one").apply(("p",), NONE)
    v2(tmp_path / "two").apply(("p",), NONE)
    one, two = written(tmp_path / "one"), written(tmp_path / "two")
    assert (one["cpu/p/cpu.cfs_quota_us"], one["memory/p/memory.limit_in_bytes"], one["pids/p/pids.max"]) == (
        "-1",
        "-1",
        "max",
    )
    assert (two["p/cpu.max"], two["p/memory.max"], two["p/pids.max"]) == ("max 100000", "max", "max")


def test_limits_that_are_not_set_leave_their_files_unchanged(tmp_path: Path) -> None:
    cgroups = v1(tmp_path)
    cgroups.apply(("p",), LIMITS)
    cgroups.apply(("p",), CgroupLimits(cpu_shares=2))
    assert written(tmp_path)["memory/p/memory.limit_in_bytes"] == str(2**30)
    assert written(tmp_path)["cpu/p/cpu.shares"] == "2"


# (spec 10.2.2)
def test_slices_of_systemd_lie_in_each_other(tmp_path: Path) -> None:
    cgroups = v2(tmp_path, SYSTEMD)
    cgroups.apply(WORDS, CgroupLimits(pids=7))
    whole = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/pids.max"
    assert written(tmp_path)[whole] == "7"
    assert cgroups.pod_uids(WORDS[:2]) == ("1-2",)


# (spec 10.2.3)
def test_a_cgroup_is_there_when_it_is_in_every_hierarchy_that_counts(tmp_path: Path) -> None:
    cgroups = v1(tmp_path)
    assert not cgroups.exists(WORDS)
    cgroups.apply(WORDS, LIMITS)
    assert cgroups.exists(WORDS)
    os.remove(tmp_path / "memory" / "kubepods/burstable/pod1-2/memory.limit_in_bytes")
    os.rmdir(tmp_path / "memory" / "kubepods/burstable/pod1-2")
    assert not cgroups.exists(WORDS)


def test_a_failed_cgroup_write_is_reported_and_the_others_are_done(tmp_path: Path) -> None:
    cgroups = v1(tmp_path)
    cgroups.apply(("p",), LIMITS)
    file = tmp_path / "memory/p/memory.limit_in_bytes"
    file.unlink()
    file.mkdir()
    [problem] = cgroups.apply(("p",), CgroupLimits(memory_bytes=1, pids=5))
    assert str(file) in problem
    assert "'1'" in problem
    assert written(tmp_path)["pids/p/pids.max"] == "5"


def test_controllers_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    problems = LocalCgroups(str(tmp_path), 1).problems()
    assert [each.split()[2] for each in problems] == ["cpuacct", "cpuset", "memory"]
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids cpuset")
    assert LocalCgroups(str(tmp_path), 2).problems() == ("the kernel offers no controller hugetlb",)


@pytest.mark.parametrize(("shares", "weight"), [(2, 1), (1024, 39), (512, 20), (262_144, 10_000)])
# (spec 10.3.3)
def test_10_3_weight(shares: int, weight: int) -> None:
    assert cpu_weight(shares) == weight


@pytest.mark.parametrize(("size", "name"), [(2**21, "2MB"), (2**30, "1GB"), (2**16, "64KB")])
def test_huge_pages_have_the_kernels_names(size: int, name: str) -> None:
    assert page_name(size) == name


def _writable() -> bool:
    return os.path.isdir("/sys/fs/cgroup/pids") and os.access("/sys/fs/cgroup/pids", os.W_OK) and os.geteuid() == 0


@pytest.mark.skipif(not _writable(), reason="needs root and cgroups of v1 that may be written")
def test_10_7_on_this_machine_a_cgroup_is_made_bounds_its_processes_and_goes_with_them() -> None:
    cgroups = LocalCgroups("/sys/fs/cgroup", 1)
    top = (f"actorlet-test-{os.getpid()}",)
    words = (*top, "pod1")
    try:
        assert cgroups.apply(words, CgroupLimits(pids=20, memory_bytes=64 * 2**20, cpu_shares=2)) == ()
        assert Path("/sys/fs/cgroup/pids", *words, "pids.max").read_text().strip() == "20"
        assert Path("/sys/fs/cgroup/memory", *words, "memory.limit_in_bytes").read_text().strip() == str(64 * 2**20)
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            Path("/sys/fs/cgroup/pids", *words, "cgroup.procs").write_text(str(sleeper.pid))
            assert cgroups.exists(words)
            cgroups.remove(words)
            assert sleeper.wait(120) == -9
        assert cgroups.remove(top) == ()
        assert not cgroups.exists(top)
    finally:
        cgroups.remove(top)


# (spec 10.7.1)
def test_a_cgroup_goes_however_deep_a_container_has_nested_others_in_it(tmp_path: Path) -> None:
    top = tmp_path / "kubepods" / "pod1"
    top.mkdir(parents=True)
    make_deep(top, 1500)
    lowest = deepest(top)
    os.unlink("deepest", dir_fd=lowest)
    os.close(lowest)
    assert LocalCgroups(str(tmp_path), 2).remove(("kubepods", "pod1")) == ()
    assert os.listdir(tmp_path / "kubepods") == []


def test_a_cgroup_that_cannot_be_removed_is_told_and_the_others_go(tmp_path: Path) -> None:
    for name in ("a/b", "c"):
        (tmp_path / "kubepods" / "pod1" / name).mkdir(parents=True)
    (tmp_path / "kubepods/pod1/a/b/busy").touch()
    problems = LocalCgroups(str(tmp_path), 2).remove(("kubepods", "pod1"))
    top = f"{tmp_path}/kubepods/pod1"
    assert [each.partition(" cannot be removed")[0] for each in problems] == [f"{top}/a/b", f"{top}/a", top]
    assert os.listdir(top) == ["a"]
