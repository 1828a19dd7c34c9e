"""Control groups of both versions, read from trees of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.stats.cgroups import read_cgroup, shares_of
from runtime.stats.host import LocalHostStats
from runtime.stats.readings import CgroupReading, CpuReading, DeviceIo, IoCost, MemoryReading, Stall, StallPressure

AT_NS = 7
STALL = "some avg10=1.00 avg60=2.00 avg300=3.00 total=4\n"
PRESSURE = StallPressure(some=Stall(4, 1.0, 2.0, 3.0))

V2 = {
    "cpu.stat": "usage_usec 1000\nuser_usec 600\nsystem_usec 400\nnr_periods 5\nnr_throttled 2\nthrottled_usec 30\n"
    "nr_bursts 1\nburst_usec 20\n",
    "cpu.max": "50000 100000\n",
    "cpu.weight": "39\n",
    "cpu.pressure": STALL,
    "memory.current": "5000\n",
    "memory.stat": "anon 2000\nfile 2500\nkernel 300\nfile_mapped 100\ninactive_file 1500\nactive_file 1000\n"
    "pgfault 11\npgmajfault 1\n",
    "memory.max": "8000\n",
    "memory.min": "1000\n",
    "memory.peak": "6000\n",
    "memory.events": "low 0\nmax 3\noom 1\noom_kill 1\n",
    "memory.swap.current": "64\n",
    "memory.swap.max": "max\n",
    "memory.pressure": STALL,
    "pids.current": "4\n",
    "pids.max": "max\n",
    "cgroup.procs": "10\n11\n",
    "io.stat": "8:0 rbytes=1 wbytes=2 rios=3 wios=4 cost.usage=5 cost.wait=6 cost.indebt=7 cost.indelay=8\n",
    "io.pressure": STALL,
}
READ_FROM_V2 = CgroupReading(
    "/kubepods/podx/c",
    cpu=CpuReading(
        AT_NS,
        1_000_000,
        user_ns=600_000,
        system_ns=400_000,
        periods=5,
        throttled_periods=2,
        throttled_ns=30_000,
        burst_periods=1,
        burst_ns=20_000,
        pressure=PRESSURE,
    ),
    memory=MemoryReading(
        AT_NS,
        working_set=3500,
        usage=5000,
        rss=2000,
        cache=2500,
        mapped_file=100,
        active_file=1000,
        inactive_file=1500,
        kernel=300,
        max_usage=6000,
        failures=3,
        page_faults=11,
        major_page_faults=1,
        limit=8000,
        reserved=1000,
        swap_usage=64,
        swap_limit=None,
        oom_kills=1,
        pressure=PRESSURE,
    ),
    tasks=4,
    processes=2,
    devices=(DeviceIo("8:0", 1, 2, 3, 4, IoCost(5, 6, 7, 8)),),
    io_pressure=PRESSURE,
    cpu_shares=shares_of(39),
    cpu_quota_us=50_000,
    cpu_period_us=100_000,
)

V1 = {
    "cpuacct/g/cpuacct.usage": "1000000\n",
    "cpuacct/g/cpuacct.stat": "user 6\nsystem 4\n",
    "cpu/g/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 30000\n",
    "cpu/g/cpu.shares": "512\n",
    "cpu/g/cpu.cfs_quota_us": "-1\n",
    "cpu/g/cpu.cfs_period_us": "100000\n",
    "memory/g/memory.usage_in_bytes": "5000\n",
    "memory/g/memory.limit_in_bytes": "8000\n",
    "memory/g/memory.soft_limit_in_bytes": "1000\n",
    "memory/g/memory.max_usage_in_bytes": "6000\n",
    "memory/g/memory.failcnt": "3\n",
    "memory/g/memory.kmem.usage_in_bytes": "300\n",
    "memory/g/memory.memsw.usage_in_bytes": "5064\n",
    "memory/g/memory.memsw.limit_in_bytes": "9000\n",
    "memory/g/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory/g/memory.stat": "cache 1\ntotal_cache 2500\ntotal_rss 2000\ntotal_mapped_file 100\ntotal_swap 64\n"
    "total_pgfault 11\ntotal_pgmajfault 1\ntotal_inactive_file 1500\ntotal_active_file 1000\n",
    "memory/g/cgroup.procs": "10\n11\n",
    "pids/g/pids.current": "4\n",
    "pids/g/pids.max": "100\n",
    "blkio/g/blkio.throttle.io_service_bytes": "8:0 Read 1\n8:0 Write 2\n",
    "blkio/g/blkio.throttle.io_serviced": "8:0 Read 3\n8:0 Write 4\n",
}
READ_FROM_V1 = CgroupReading(
    "/g",
    cpu=CpuReading(
        AT_NS,
        1_000_000,
        user_ns=60_000_000,
        system_ns=40_000_000,
        periods=5,
        throttled_periods=2,
        throttled_ns=30_000,
    ),
    memory=MemoryReading(
        AT_NS,
        working_set=3500,
        usage=5000,
        rss=2000,
        cache=2500,
        mapped_file=100,
        active_file=1000,
        inactive_file=1500,
        kernel=300,
        max_usage=6000,
        failures=3,
        page_faults=11,
        major_page_faults=1,
        limit=8000,
        reserved=1000,
        swap_usage=64,
        swap_limit=1000,
        oom_kills=1,
    ),
    tasks=4,
    tasks_limit=100,
    processes=2,
    devices=(DeviceIo("8:0", 1, 2, 3, 4),),
    cpu_shares=512,
    cpu_period_us=100_000,
)


def tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_a_group_of_version_2(tmp_path: Path) -> None:
    root = tree(tmp_path, {f"kubepods/podx/c/{name}": text for name, text in V2.items()})
    assert read_cgroup(root, 2, {"": "/kubepods/podx/c"}, AT_NS) == READ_FROM_V2


def test_a_group_of_version_1(tmp_path: Path) -> None:
    paths = dict.fromkeys(("cpu", "cpuacct", "memory", "pids", "blkio"), "/g")
    assert read_cgroup(tree(tmp_path, V1), 1, paths, AT_NS) == READ_FROM_V1


@pytest.mark.parametrize(
    ("present", "read_bytes"),
    [
        pytest.param({"bfq": "8:0 Read 9\n", "throttle": "8:0 Read 5\n"}, 9, id="the scheduler counts"),
        pytest.param({"bfq": "Total 0\n", "throttle": "8:0 Read 5\n"}, 5, id="the scheduler does not"),
    ],
)
def test_io_of_version_1_is_counted_with_the_groups_below(
    tmp_path: Path, present: dict[str, str], read_bytes: int
) -> None:
    counts = {f"blkio/g/blkio.{who}.io_service_bytes_recursive": text for who, text in present.items()}
    root = tree(tmp_path, {**V1, **counts})
    group = read_cgroup(root, 1, dict.fromkeys(("cpuacct", "memory", "blkio"), "/g"), AT_NS)
    assert group is not None
    assert [device.read_bytes for device in group.devices] == [read_bytes]


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_that_is_gone_is_none(tmp_path: Path, version: int) -> None:
    assert read_cgroup(tree(tmp_path, V1), version, {"": "/gone", "memory": "/gone", "cpuacct": "/gone"}, 1) is None


def test_cgroup_readings_missing_in_the_kernel_are_left_out(tmp_path: Path) -> None:
    root = tree(tmp_path, {"bare/cgroup.procs": ""})
    assert read_cgroup(root, 2, {"": "/bare"}, AT_NS) == CgroupReading("/bare")


def test_a_process_is_found_in_its_group_and_its_pod(tmp_path: Path) -> None:
    tree(tmp_path, {"cgroup.controllers": "cpu memory\n"})
    for where in ("kubepods/pod1234/c", "kubepods/pod1234"):
        tree(tmp_path, {f"{where}/{name}": text for name, text in V2.items()})
    process = tmp_path / "proc/42"
    (process / "net").mkdir(parents=True)
    (process / "cgroup").write_text("0::/kubepods/pod1234/c\n")
    (process / "net/dev").write_text("h\nh\n  eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n")
    (process / "status").write_text("Name:\tx\nThreads:\t3\n")
    (process / "limits").write_text("Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n")
    for pid, links in (("10", ("socket:[1]", "/dev/null")), ("11", ("socket:[2]",))):
        (tmp_path / f"proc/{pid}/fd").mkdir(parents=True)
        for number, link in enumerate(links):
            (tmp_path / f"proc/{pid}/fd/{number}").symlink_to(link)
    readings = LocalHostStats(str(tmp_path), root=str(tmp_path)).processes((42, 43))
    assert list(readings) == [42]
    found = readings[42]
    assert found.cgroup is not None
    assert found.pod is not None
    assert (found.cgroup.path, found.pod.path) == ("/kubepods/pod1234/c", "/kubepods/pod1234")
    assert found.network is not None
    assert (found.network.default, found.network.interfaces[0].tx_bytes) == ("eth0", 3)
    assert found.threads == 3
    assert (found.file_descriptors, found.sockets) == (3, 2), "of all processes of the group"
    assert found.ulimits == (("max_open_files", 1024),)


def test_a_machine_whose_root_group_has_no_memory_is_completed_from_proc(tmp_path: Path) -> None:
    root = tree(tmp_path, {"cgroup.controllers": "cpu memory\n", "cpu.stat": "usage_usec 1000\n"})
    proc = tmp_path / "proc"
    (proc / "sys/kernel").mkdir(parents=True)
    (proc / "meminfo").write_text(
        "MemTotal: 1000 kB\nMemFree: 400 kB\nInactive(file): 100 kB\nAnonPages: 50 kB\n"
        "SwapTotal: 8 kB\nSwapFree: 6 kB\n"
    )
    (proc / "stat").write_text("cpu  1 1 1 1 1 1 1\nbtime 5\n")
    (proc / "loadavg").write_text("0 0 0 1/99 1\n")
    (proc / "sys/kernel/pid_max").write_text("4194304\n")
    (proc / "sys/kernel/threads-max").write_text("1000\n")
    (proc / "pressure").mkdir()
    (proc / "pressure/memory").write_text(STALL)
    node = LocalHostStats(root, root=root).node()
    assert node.cgroup.cpu is not None
    assert node.cgroup.memory is not None
    assert node.cgroup.cpu.used_ns == 1_000_000
    memory = node.cgroup.memory
    assert (memory.working_set, memory.usage, memory.limit) == (500 * 1024, 600 * 1024, 1000 * 1024)
    assert memory.pressure == PRESSURE
    assert (node.pids, node.pids_limit, node.booted_ns) == (99, 1000, 5_000_000_000)
    assert (node.swap_bytes, node.swap_free_bytes) == (8 * 1024, 6 * 1024)


@pytest.mark.parametrize("place", ["own/kubepods", "own.slice/own-kubepods.slice"])
# (spec 7.1.6)
def test_7_1_allocatable_memory_use_is_read_below_the_cgroup_root(tmp_path: Path, place: str) -> None:
    files = {"cgroup.controllers": "memory\n", "kubepods/memory.current": "1\n"}
    own = {"memory.current": "700\n", "memory.max": "1000\n", "memory.stat": "inactive_file 100\n"}
    root = tree(tmp_path, {**files, **{f"{place}/{name}": text for name, text in own.items()}})
    node = LocalHostStats(root, root=root, cgroup_root="/own").node()
    [pods] = [each for each in node.system if each.name == "pods"]
    assert pods.memory is not None
    assert (pods.memory.working_set, pods.memory.available, pods.memory.limit) == (600, 400, 1000)


def test_the_agent_and_a_group_of_other_processes_are_told_by_their_groups(tmp_path: Path) -> None:
    groups = ("system.slice/agent.service", "own/kubepods", "system")
    files = {f"{group}/{name}": text for group in groups for name, text in V2.items()}
    root = tree(tmp_path, {"cgroup.controllers": "memory\n", **files})
    own = tmp_path / "proc/self"
    own.mkdir(parents=True)
    (own / "cgroup").write_text("0::/system.slice/agent.service\n")
    (own / "stat").write_text(f"1 (python) S {'0 ' * 20}500 0\n")
    node = LocalHostStats(root, root=root, cgroup_root="/own", system_cgroups="/system").node()
    kubelet, pods, misc = node.system
    assert [each.name for each in node.system] == ["kubelet", "pods", "misc"]
    assert [each.cgroup.path for each in node.system if each.cgroup] == [f"/{group}" for group in groups]
    for each in (kubelet, pods, misc):
        assert each.cgroup is not None
        assert each.memory is not None
        assert (each.cgroup.io_pressure, each.memory.pressure) == (PRESSURE, PRESSURE)
        assert (each.memory.page_faults, each.memory.major_page_faults, each.memory.swap_usage) == (11, 1, 64)


def test_an_agent_in_the_root_group_is_told_by_its_process_alone(tmp_path: Path) -> None:
    root = tree(tmp_path, {"cgroup.controllers": "memory\n", **V2})
    own = tmp_path / "proc/self"
    own.mkdir(parents=True)
    (own / "cgroup").write_text("0::/\n")
    (own / "stat").write_text("1 (python) S 1 1 1 0 0 0 7 0 2 0 3 1 0 0 0 0 0 0 500 0\n")
    (own / "statm").write_text("10 4\n")
    (kubelet,) = LocalHostStats(root, root=root).node().system
    assert kubelet.cgroup is None
    assert kubelet.cpu is not None
    assert kubelet.memory is not None
    assert kubelet.cpu.used_ns == 40_000_000
    assert (kubelet.memory.page_faults, kubelet.memory.major_page_faults) == (9, 2)
    assert kubelet.memory.working_set == 4 * os.sysconf("SC_PAGE_SIZE")


def test_this_machine_says_what_it_uses(tmp_path: Path) -> None:
    host = LocalHostStats(str(tmp_path))
    node = host.node()
    assert node.cgroup.cpu is not None
    assert node.cgroup.memory is not None
    assert 0 < node.cgroup.memory.working_set < node.memory_bytes
    assert node.cgroup.cpu.used_ns > 0
    assert node.system[0].name == "kubelet"
    assert 0 < host.filesystem("/").used < host.filesystem("/").capacity
