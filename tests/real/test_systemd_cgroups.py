"""Cgroups as slices of systemd (spec 10.2), over a real D-Bus.

A stand-in for systemd makes the directories.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.frozen_map import FrozenMap
from runtime.cgroups.capability import CgroupLimits, Cgroups
from runtime.cgroups.names import SYSTEMD
from runtime.cgroups.slices import INFINITY
from runtime.cgroups.systemd_units import BusSystemdUnits, version_of
from runtime.cgroups.tree import LocalCgroupTree
from runtime.io.event_loop import LoopThread
from tests.real.system_bus import PrivateBus, StandInSystemd

MIB = 2**20
KUBEPODS = ("kubepods",)
TIER = ("kubepods", "burstable")
POD = ("kubepods", "burstable", "pod12-34")
POD_SLICE = "kubepods-burstable-pod12_34.slice"
POD_PATH = f"kubepods.slice/kubepods-burstable.slice/{POD_SLICE}"
V1_OF_SYSTEMD = ("cpu", "cpuacct", "memory", "pids")
V1_OTHERS = ("cpuset", "hugetlb")


@pytest.fixture
def v2(bus: PrivateBus, tmp_path: Path) -> Iterator[StandInSystemd]:
    stand_in = StandInSystemd(bus.address, tmp_path)
    yield stand_in
    stand_in.close()


def cgroups_at(loop: LoopThread, bus: PrivateBus, tree: Path, version: int = 2) -> Cgroups:
    return LocalCgroupTree(str(tree), version, units=BusSystemdUnits(loop, bus.address)).driven_by(SYSTEMD)


def test_10_2_slices_come_change_and_go_on_v2(bus, loop, v2, tmp_path):
    cgroups = cgroups_at(loop, bus, tmp_path)
    assert cgroups.name(POD) == f"/{POD_PATH}"
    for words in (KUBEPODS, TIER):
        assert cgroups.apply(words, CgroupLimits()) == ()
    limits = CgroupLimits(cpu_shares=1024, cpu_quota_us=50_000, cpu_period_us=100_000, memory_bytes=64 * MIB, pids=99)
    assert cgroups.apply(POD, limits) == ()
    assert cgroups.exists(POD)
    assert cgroups.pod_uids(TIER) == ("12-34",)
    told = v2.values(POD_SLICE)
    assert told["Wants"] == ["kubepods-burstable.slice"]
    assert (told["CPUWeight"], told["CPUQuotaPerSecUSec"], told["MemoryMax"], told["TasksMax"]) == (
        39,
        500_000,
        64 * MIB,
        99,
    )
    assert (tmp_path / POD_PATH / "memory.max").read_text() == str(64 * MIB)
    assert (tmp_path / POD_PATH / "cpu.weight").read_text() == "39"

    more = CgroupLimits(memory_bytes=-1, memory_min_bytes=MIB, huge_pages=FrozenMap({2 * MIB: 4 * MIB}))
    assert cgroups.apply(POD, more) == ()
    told = v2.values(POD_SLICE)
    assert (told["MemoryMax"], told["MemoryMin"], told["CPUWeight"]) == (INFINITY, MIB, 39)
    assert (tmp_path / POD_PATH / "hugetlb.2MB.max").read_text() == str(4 * MIB)
    assert len(v2.asked("StartTransientUnit")) == 3

    assert cgroups.remove(POD) == ()
    assert not cgroups.exists(POD)
    assert set(v2.units) == {"kubepods.slice", "kubepods-burstable.slice"}
    assert cgroups.remove(POD) == (), "what is not there is removed"


def test_10_2_cgroups_that_systemd_does_not_manage_on_v1_are_made_directly(bus, loop, tmp_path):
    for controller in (*V1_OF_SYSTEMD, *V1_OTHERS):
        (tmp_path / controller).mkdir()
    for file in ("cpuset.cpus", "cpuset.mems"):
        (tmp_path / "cpuset" / file).write_text("0-1\n")
    v1 = StandInSystemd(bus.address, tmp_path, V1_OF_SYSTEMD, version="v239")
    cgroups = cgroups_at(loop, bus, tmp_path, version=1)
    limits = CgroupLimits(
        cpu_shares=512,
        cpu_quota_us=20_000,
        cpu_period_us=50_000,
        memory_bytes=MIB,
        pids=-1,
        huge_pages=FrozenMap({2 * MIB: 0}),
    )
    for words in (KUBEPODS, TIER):
        assert cgroups.apply(words, CgroupLimits()) == ()
    assert cgroups.apply(POD, limits) == ()
    told = v1.values(POD_SLICE)
    assert (told["CPUShares"], told["CPUQuotaPerSecUSec"], told["MemoryLimit"]) == (512, 400_000, MIB)
    assert told["TasksMax"] == INFINITY
    assert "CPUQuotaPeriodUSec" not in told, "that systemd does not know it"
    for file, text in (
        ("cpu/{}/cpu.shares", "512"),
        ("cpu/{}/cpu.cfs_period_us", "50000"),
        ("memory/{}/memory.limit_in_bytes", str(MIB)),
        ("pids/{}/pids.max", "max"),
        ("hugetlb/{}/hugetlb.2MB.limit_in_bytes", "0"),
        ("cpuset/{}/cpuset.cpus", "0-1"),
    ):
        assert (tmp_path / file.format(POD_PATH)).read_text() == text
    v1.close()


def test_slices_that_an_earlier_agent_has_left_are_changed(bus, loop, v2, tmp_path):
    assert cgroups_at(loop, bus, tmp_path).apply(KUBEPODS, CgroupLimits(pids=10)) == ()
    later = cgroups_at(loop, bus, tmp_path)
    assert later.apply(KUBEPODS, CgroupLimits(pids=20)) == ()
    assert v2.values("kubepods.slice")["TasksMax"] == 20
    v2.units.clear()  # somebody stops it, and leaves the directory
    assert later.apply(KUBEPODS, CgroupLimits(pids=30)) == ()
    assert v2.values("kubepods.slice")["TasksMax"] == 30


def test_a_job_that_has_ended_at_once_is_not_missed(bus, loop, v2, tmp_path):
    v2.early = True
    cgroups = cgroups_at(loop, bus, tmp_path)
    assert cgroups.apply(KUBEPODS, CgroupLimits()) == ()
    assert cgroups.remove(KUBEPODS) == ()


def test_many_are_made_at_a_time(bus, loop, v2, tmp_path):
    cgroups = cgroups_at(loop, bus, tmp_path)
    pods = [("kubepods", f"pod{number}") for number in range(30)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda words: cgroups.apply(words, CgroupLimits(pids=5)), pods)) == {()}
    assert len(v2.units) == 30


def test_a_slice_that_systemd_refuses_is_reported_and_not_made_otherwise(bus, loop, v2, tmp_path):
    cgroups = cgroups_at(loop, bus, tmp_path)
    v2.result = "failed"
    (problem,) = cgroups.apply(KUBEPODS, CgroupLimits(pids=10))
    assert problem == "systemd was asked to start kubepods.slice: its job on kubepods.slice has ended as failed"
    assert not cgroups.exists(KUBEPODS)


def test_a_bus_that_comes_back_is_used_again(bus, loop, v2, tmp_path):
    cgroups = cgroups_at(loop, bus, tmp_path)
    assert cgroups.apply(KUBEPODS, CgroupLimits()) == ()
    bus.stop()
    (problem,) = cgroups.apply(TIER, CgroupLimits())
    assert "systemd was asked" in problem
    assert any("cannot be reached" in each for each in cgroups.problems())
    bus.start()
    back = StandInSystemd(bus.address, tmp_path)
    assert cgroups.apply(TIER, CgroupLimits()) == ()
    assert "kubepods-burstable.slice" in back.units
    back.close()


@pytest.mark.parametrize(("text", "number"), [("252.22-1~deb12u1", 252), ("v245", 245), ("systemd 239", 239), ("", 0)])
def test_the_version_of_systemd(text, number):
    assert version_of(text) == number
