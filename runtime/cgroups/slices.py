"""The properties of a systemd slice, as set over the bus (spec 10.2, 10.3). Pure.

A slice is a unit for an inner cgroup without processes. Accounting is on for each, so that systemd enables every
controller that it manages there. Systemd derives the place of a slice from its name. A slice wants its parent slice, so
systemd starts the parent with it. A slice cannot be delegated, and need not be: everything below it is a slice or a
scope of systemd again.

Systemd has no property for huge pages, and on v1 none for cpusets: these are written to files. The limits set over the
bus are written to files too, because children may need them before systemd has applied them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import cpu_weight
from runtime.cgroups.names import SLICE, Words, unit_of

Property: TypeAlias = tuple[str, tuple[str, Any]]
"""Name, and the value with its D-Bus signature."""

INFINITY = 2**64 - 1
ROOT_SLICE = "-" + SLICE
SECOND_US = 1_000_000
DEFAULT_PERIOD_US = 100_000
WHOLE_PERCENT_US = 10_000
"""Systemd keeps a quota as whole percents of a CPU, and rounds down."""
PERIOD_SINCE = 242
"""The first version of systemd with a period for quotas."""
MEMORY_MIN_SINCE = 240


def new_slice(words: Words, cgroup_version: int) -> tuple[Property, ...]:
    """The properties of every slice for pods, besides limits."""
    above = words[:-1]
    parent = unit_of(above) if above else ROOT_SLICE
    return (
        ("Description", ("s", f"pods of the node agent: {'/'.join(words)}")),
        ("Wants", ("as", [parent])),
        ("DefaultDependencies", ("b", False)),
        ("MemoryAccounting", ("b", True)),
        ("CPUAccounting", ("b", True)),
        ("IOAccounting" if cgroup_version == 2 else "BlockIOAccounting", ("b", True)),
        ("TasksAccounting", ("b", True)),
    )


def limit_properties(limits: CgroupLimits, cgroup_version: int, systemd_version: int) -> tuple[Property, ...]:
    """The limits that systemd has a property for."""
    memory = _memory_v2(limits, systemd_version) if cgroup_version == 2 else _memory_v1(limits)
    return (*_cpu(limits, cgroup_version, systemd_version), *memory, *_pids(limits))


def _cpu(limits: CgroupLimits, cgroup_version: int, systemd_version: int) -> Iterator[Property]:
    shares, quota_us, period_us = limits.cpu_shares, limits.cpu_quota_us, limits.cpu_period_us
    if shares is not None:
        yield ("CPUWeight", ("t", cpu_weight(shares))) if cgroup_version == 2 else ("CPUShares", ("t", shares))
    if quota_us is not None:
        if period_us is not None and systemd_version >= PERIOD_SINCE:
            yield "CPUQuotaPeriodUSec", ("t", period_us)
        yield "CPUQuotaPerSecUSec", ("t", _per_second_us(quota_us, period_us or DEFAULT_PERIOD_US))


def _per_second_us(quota_us: int, period_us: int) -> int:
    if quota_us <= 0:
        return INFINITY
    per_second = quota_us * SECOND_US // period_us
    return -(-per_second // WHOLE_PERCENT_US) * WHOLE_PERCENT_US


def _memory_v1(limits: CgroupLimits) -> Iterator[Property]:
    if limits.memory_bytes is not None:
        yield "MemoryLimit", ("t", _or_infinity(limits.memory_bytes))


def _memory_v2(limits: CgroupLimits, systemd_version: int) -> Iterator[Property]:
    if limits.memory_min_bytes is not None and systemd_version >= MEMORY_MIN_SINCE:
        yield "MemoryMin", ("t", limits.memory_min_bytes)
    for name, amount in (
        ("MemoryLow", limits.memory_low_bytes),
        ("MemoryHigh", limits.memory_high_bytes),
        ("MemoryMax", limits.memory_bytes),
    ):
        if amount is not None:
            yield name, ("t", _or_infinity(amount))


def _pids(limits: CgroupLimits) -> Iterator[Property]:
    if limits.pids is not None:
        yield "TasksMax", ("t", _or_infinity(limits.pids))


def _or_infinity(amount: int) -> int:
    return INFINITY if amount < 0 else amount
