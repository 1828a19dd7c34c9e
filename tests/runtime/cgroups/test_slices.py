"""What systemd is told of slices (spec 10.2, 10.3)."""

from __future__ import annotations

import pytest

from config.frozen_map import FrozenMap
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.slices import INFINITY, limit_properties, new_slice

MIB = 2**20


def values(properties):
    assert all(signature in ("t", "b", "s", "as") for _, (signature, _) in properties)
    return {name: value for name, (_, value) in properties}


@pytest.mark.parametrize(
    ("words", "parent"),
    [
        (("kubepods",), "-.slice"),
        (("kubepods", "burstable"), "kubepods.slice"),
        (("kubepods", "burstable", "pod12-34"), "kubepods-burstable.slice"),
        (("my-root", "kubepods"), "my_root.slice"),
    ],
)
def test_a_slice_wants_the_one_above(words, parent):
    assert values(new_slice(words, 2))["Wants"] == [parent]


@pytest.mark.parametrize(("version", "name"), [(1, "BlockIOAccounting"), (2, "IOAccounting")])
def test_everything_is_counted(version, name):
    told = values(new_slice(("kubepods",), version))
    assert {name, "CPUAccounting", "MemoryAccounting", "TasksAccounting"} <= told.keys()
    assert told["DefaultDependencies"] is False
    assert "Delegate" not in told, "systemd delegates no slice"


@pytest.mark.parametrize(
    ("limits", "v1", "v2"),
    [
        (CgroupLimits(), {}, {}),
        (CgroupLimits(cpu_shares=2), {"CPUShares": 2}, {"CPUWeight": 1}),
        (CgroupLimits(cpu_shares=262_144), {"CPUShares": 262_144}, {"CPUWeight": 10_000}),
        (CgroupLimits(cpu_quota_us=-1), {"CPUQuotaPerSecUSec": INFINITY}, {"CPUQuotaPerSecUSec": INFINITY}),
        (
            CgroupLimits(cpu_quota_us=50_000, cpu_period_us=100_000),
            {"CPUQuotaPerSecUSec": 500_000, "CPUQuotaPeriodUSec": 100_000},
            {"CPUQuotaPerSecUSec": 500_000, "CPUQuotaPeriodUSec": 100_000},
        ),
        # A quota that is no whole percent is rounded up: what is below may want all of it.
        (CgroupLimits(cpu_quota_us=1_234), {"CPUQuotaPerSecUSec": 20_000}, {"CPUQuotaPerSecUSec": 20_000}),
        (CgroupLimits(memory_bytes=64 * MIB), {"MemoryLimit": 64 * MIB}, {"MemoryMax": 64 * MIB}),
        (CgroupLimits(memory_bytes=-1), {"MemoryLimit": INFINITY}, {"MemoryMax": INFINITY}),
        (
            CgroupLimits(memory_min_bytes=1, memory_low_bytes=2, memory_high_bytes=-1),
            {},
            {"MemoryMin": 1, "MemoryLow": 2, "MemoryHigh": INFINITY},
        ),
        (CgroupLimits(pids=100), {"TasksMax": 100}, {"TasksMax": 100}),
        (CgroupLimits(pids=-1), {"TasksMax": INFINITY}, {"TasksMax": INFINITY}),
        # There is no property for huge pages: a file says it.
        (CgroupLimits(huge_pages=FrozenMap({2 * MIB: 0})), {}, {}),
    ],
)
def test_limits_as_properties(limits, v1, v2):
    assert values(limit_properties(limits, 1, 252)) == v1
    assert values(limit_properties(limits, 2, 252)) == v2


def test_an_old_systemd_is_not_told_what_it_does_not_know():
    limits = CgroupLimits(cpu_quota_us=50_000, cpu_period_us=100_000, memory_min_bytes=1)
    assert values(limit_properties(limits, 2, 239)) == {"CPUQuotaPerSecUSec": 500_000}
