"""One control group, of version 1 or 2, from its files (spec 11.6, 11.7).

The directory of the mounts is a parameter, so any tree of files can be a kernel. Nothing fails: unreadable values are
absent. The working set is usage without the inactive file pages, at least 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from runtime.files.text_file import text_or_empty
from runtime.stats import kernel_files as files
from runtime.stats.readings import CgroupReading, CpuReading, MemoryReading

MOUNT = "sys/fs/cgroup"
TICK_NS = 10_000_000
_MICRO = 1_000


def pids_in(root: str, version: int, paths: Mapping[str, str]) -> tuple[str, ...]:
    """The processes in the group at `paths`, without those of the groups below it."""
    if version == 2:
        own = os.path.join(root, MOUNT, paths.get("", "/").lstrip("/"))
    else:
        own = os.path.join(root, MOUNT, "memory", paths.get("memory", "/").lstrip("/"))
    return tuple(text_or_empty(os.path.join(own, "cgroup.procs")).split())


def read_cgroup(root: str, version: int, paths: Mapping[str, str], at_ns: int) -> CgroupReading | None:
    """The group at `paths` (controller -> path, as in `/proc/<pid>/cgroup`); None when it is gone."""
    mount = os.path.join(root, MOUNT)
    if version == 2:
        path = paths.get("", "/")
        directory = os.path.join(mount, path.lstrip("/"))
        return _v2(directory, path, at_ns) if os.path.isdir(directory) else None
    memory = paths.get("memory", paths.get("cpuacct", "/"))

    def at(controller: str) -> str:
        return os.path.join(mount, controller, paths.get(controller, memory).lstrip("/"))

    return _v1(at, memory, at_ns) if os.path.isdir(at("memory")) or os.path.isdir(at("cpuacct")) else None


# --- version 2 ------------------------------------------------------------------------------------------------------


def _v2(directory: str, path: str, at_ns: int) -> CgroupReading:
    def text(name: str) -> str:
        return text_or_empty(os.path.join(directory, name))

    stat = files.flat(text("cpu.stat"))
    cpu = None
    if "usage_usec" in stat:
        cpu = CpuReading(
            at_ns,
            stat["usage_usec"] * _MICRO,
            user_ns=_times(stat.get("user_usec")),
            system_ns=_times(stat.get("system_usec")),
            periods=stat.get("nr_periods"),
            throttled_periods=stat.get("nr_throttled"),
            throttled_ns=_times(stat.get("throttled_usec")),
            burst_periods=stat.get("nr_bursts"),
            burst_ns=_times(stat.get("burst_usec")),
            pressure=files.pressure(text("cpu.pressure")),
        )
    quota, _, period = text("cpu.max").strip().partition(" ")
    weight = files.whole(text("cpu.weight"))
    return CgroupReading(
        path,
        cpu=cpu,
        memory=_v2_memory(directory, at_ns),
        tasks=files.whole(text("pids.current")),
        tasks_limit=files.whole(text("pids.max")),
        processes=_lines(text("cgroup.procs")),
        devices=files.io_stat(text("io.stat")),
        io_pressure=files.pressure(text("io.pressure")),
        cpu_shares=None if weight is None else shares_of(weight),
        cpu_quota_us=files.whole(quota),
        cpu_period_us=files.whole(period),
    )


def _v2_memory(directory: str, at_ns: int) -> MemoryReading | None:
    def text(name: str) -> str:
        return text_or_empty(os.path.join(directory, name))

    usage, stat = files.whole(text("memory.current")), files.flat(text("memory.stat"))
    if usage is None:
        return None
    inactive, events = stat.get("inactive_file", 0), files.flat(text("memory.events"))
    return MemoryReading(
        at_ns,
        working_set=max(0, usage - inactive),
        usage=usage,
        rss=stat.get("anon"),
        cache=stat.get("file"),
        mapped_file=stat.get("file_mapped"),
        active_file=stat.get("active_file"),
        inactive_file=inactive,
        kernel=stat.get("kernel"),
        max_usage=files.whole(text("memory.peak")),
        failures=events.get("max"),
        page_faults=stat.get("pgfault"),
        major_page_faults=stat.get("pgmajfault"),
        limit=files.limit(text("memory.max")),
        reserved=files.limit(text("memory.min")),
        swap_usage=files.whole(text("memory.swap.current")),
        swap_limit=files.limit(text("memory.swap.max")),
        oom_kills=events.get("oom_kill"),
        pressure=files.pressure(text("memory.pressure")),
    )


def shares_of(weight: int) -> int:
    """`cpu.weight` (1 to 10000) as shares of version 1 (2 to 262144): the inverse of the runtimes'
    conversion.
    """
    return 2 + (weight - 1) * 262142 // 9999


# --- version 1 ------------------------------------------------------------------------------------------------------


def _v1(at: Callable[[str], str], path: str, at_ns: int) -> CgroupReading:
    def text(controller: str, name: str) -> str:
        return text_or_empty(os.path.join(at(controller), name))

    used = files.whole(text("cpuacct", "cpuacct.usage"))
    cpu = None
    if used is not None:
        times, stat = files.flat(text("cpuacct", "cpuacct.stat")), files.flat(text("cpu", "cpu.stat"))
        cpu = CpuReading(
            at_ns,
            used,
            user_ns=_ticks(times.get("user")),
            system_ns=_ticks(times.get("system")),
            periods=stat.get("nr_periods"),
            throttled_periods=stat.get("nr_throttled"),
            throttled_ns=stat.get("throttled_time"),
            burst_periods=stat.get("nr_bursts"),
            burst_ns=stat.get("burst_time"),
        )
    quota = text("cpu", "cpu.cfs_quota_us").strip()
    return CgroupReading(
        path,
        cpu=cpu,
        memory=_v1_memory(at("memory"), at_ns),
        tasks=files.whole(text("pids", "pids.current")),
        tasks_limit=files.whole(text("pids", "pids.max")),
        processes=_lines(text("memory", "cgroup.procs")),
        devices=files.blkio(_counts(text, "io_service_bytes"), _counts(text, "io_serviced")),
        cpu_shares=files.whole(text("cpu", "cpu.shares")),
        cpu_quota_us=files.whole(quota),
        cpu_period_us=files.whole(text("cpu", "cpu.cfs_period_us")),
    )


def _counts(text: Callable[[str, str], str], name: str) -> str:
    """The name of the file that has counts: of the scheduler BFQ, or of the limits.

    The counts include those of groups below.
    """
    for place in (f"bfq.{name}_recursive", f"throttle.{name}_recursive", f"throttle.{name}"):
        told = text("blkio", f"blkio.{place}")
        if " Read " in told:
            return told
    return ""


def _v1_memory(directory: str, at_ns: int) -> MemoryReading | None:
    def text(name: str) -> str:
        return text_or_empty(os.path.join(directory, name))

    usage, stat = files.whole(text("memory.usage_in_bytes")), files.flat(text("memory.stat"))
    if usage is None:
        return None
    inactive = stat.get("total_inactive_file", 0)
    both, both_limit = (
        files.whole(text("memory.memsw.usage_in_bytes")),
        files.limit(text("memory.memsw.limit_in_bytes")),
    )
    most = files.limit(text("memory.limit_in_bytes"))
    swap_limit = None if both_limit is None or most is None else max(0, both_limit - most)
    return MemoryReading(
        at_ns,
        working_set=max(0, usage - inactive),
        usage=usage,
        rss=stat.get("total_rss"),
        cache=stat.get("total_cache"),
        mapped_file=stat.get("total_mapped_file"),
        active_file=stat.get("total_active_file"),
        inactive_file=inactive,
        kernel=files.whole(text("memory.kmem.usage_in_bytes")),
        max_usage=files.whole(text("memory.max_usage_in_bytes")),
        failures=files.whole(text("memory.failcnt")),
        page_faults=stat.get("total_pgfault"),
        major_page_faults=stat.get("total_pgmajfault"),
        limit=most,
        reserved=files.limit(text("memory.soft_limit_in_bytes")),
        swap_usage=stat.get("total_swap", None if both is None else max(0, both - usage)),
        swap_limit=swap_limit,
        oom_kills=files.flat(text("memory.oom_control")).get("oom_kill"),
    )


def _times(us: int | None) -> int | None:
    return None if us is None else us * _MICRO


def _ticks(ticks: int | None) -> int | None:
    return None if ticks is None else ticks * TICK_NS


def _lines(text: str) -> int | None:
    return len(text.split()) if text else None
