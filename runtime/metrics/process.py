"""Metrics of the agent's own process: `process_*`, with the names of Prometheus clients."""

from __future__ import annotations

import contextlib
import os
import resource

from runtime.files.text_file import text_or_empty
from runtime.metrics import kubelet as names
from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import Family
from runtime.stats import kernel_files as files

TICKS_PER_SECOND = 100
NS_PER_SECOND = 1_000_000_000


def process_metrics() -> list[FamilyRows]:
    """The process as it is now. Unreadable values are left out."""
    found: dict[str, float] = {}
    times = files.process_times(text_or_empty("/proc/self/stat"))
    if times is not None:
        used_ns, began_ticks = times
        found[names.PROCESS_CPU.name] = used_ns / NS_PER_SECOND
        booted_s = files.boot_time_s(text_or_empty("/proc/stat"))
        found[names.PROCESS_START.name] = booted_s + began_ticks / TICKS_PER_SECOND
        found[names.STARTUP_PRE_KUBELET.name] = began_ticks / TICKS_PER_SECOND
    sizes = [int(each) for each in text_or_empty("/proc/self/statm").split()[:2]]
    if len(sizes) == 2:
        page = os.sysconf("SC_PAGE_SIZE")
        found[names.PROCESS_VIRTUAL.name] = sizes[0] * page
        found[names.PROCESS_RESIDENT.name] = sizes[1] * page
    with contextlib.suppress(OSError):
        found[names.PROCESS_FDS.name] = len(os.listdir("/proc/self/fd"))
    interfaces = files.net_dev(text_or_empty("/proc/self/net/dev"))
    found[names.PROCESS_RECEIVED.name] = sum(each.rx_bytes for each in interfaces)
    found[names.PROCESS_SENT.name] = sum(each.tx_bytes for each in interfaces)
    found[names.PROCESS_VIRTUAL_MAX.name] = resource.getrlimit(resource.RLIMIT_AS)[0]
    found[names.PROCESS_MAX_FDS.name] = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return [FamilyRows(family, [MetricRow((), found[family.name])]) for family in OF_PROCESS if family.name in found]


OF_PROCESS: tuple[Family, ...] = (
    names.PROCESS_CPU,
    names.PROCESS_RECEIVED,
    names.PROCESS_SENT,
    names.PROCESS_VIRTUAL_MAX,
    names.PROCESS_MAX_FDS,
    names.PROCESS_FDS,
    names.PROCESS_RESIDENT,
    names.PROCESS_START,
    names.STARTUP_PRE_KUBELET,
    names.PROCESS_VIRTUAL,
)
