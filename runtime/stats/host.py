"""`LocalHostStats`: resource usage on this machine, from /proc and /sys/fs/cgroup.

The root of the file system is a parameter, so any tree of files can be a machine. File systems are always this
machine's.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from runtime.cgroups.names import pods_paths
from runtime.files.text_file import text_or_empty
from runtime.host.machine import MachineFacts, cgroup_version, read_machine
from runtime.stats import disk
from runtime.stats import kernel_files as files
from runtime.stats.cgroups import TICK_NS, pids_in, read_cgroup
from runtime.stats.open_files import OpenFiles
from runtime.stats.readings import (
    CgroupReading,
    CpuReading,
    FsReading,
    MemoryReading,
    NetworkReading,
    NodeReading,
    PodDisk,
    ProcessReading,
    SystemContainer,
)

SECOND_NS = 1_000_000_000
_CONTROLLERS = ("", "memory", "cpuacct", "cpu", "pids", "blkio")
_PASSING = ("veth", "docker", "nerdctl", "ifb")
"""Interfaces of pods: not part of the node's network."""
_OF_POD = re.compile(r"(^|-)pod[0-9a-f]")
"""The groups of pods, as the kubelet names them: `pod<uid>`, `kubepods-burstable-pod<uid>.slice`."""


class LocalHostStats:
    """`root_directory`: the agent's, with the pods' directories.

    `runtime_socket`: the runtime's socket; empty if unknown.

    `cgroup_root`: the parent of the cgroup of all pods. `system_cgroups`: the cgroup of other processes of the node, if
    it has one.
    """

    def __init__(
        self,
        root_directory: str,
        runtime_socket: str = "",
        root: str = "/",
        cgroup_root: str = "/",
        system_cgroups: str = "",
    ) -> None:
        self._pods_groups = pods_paths(cgroup_root)
        self._misc_groups = (system_cgroups,) if system_cgroups else ()
        self._open_files = OpenFiles(root)
        self._machine: MachineFacts | None = None
        self._pods = os.path.join(root_directory, "pods")
        self._runtime_socket = runtime_socket
        self._root = root
        self._version = cgroup_version(root)

    def node(self) -> NodeReading:
        at_ns = time.time_ns()
        memory, stat = files.meminfo(self._text("proc/meminfo")), self._text("proc/stat")
        total, swap = memory.get("MemTotal", 0), memory.get("SwapTotal", 0)
        booted_ns = files.boot_time_s(stat) * SECOND_NS
        self._machine = self._machine or read_machine(self._root)
        limits = [files.whole(self._text(f"proc/sys/kernel/{name}")) for name in ("pid_max", "threads-max")]
        return NodeReading(
            at_ns,
            booted_ns=booted_ns,
            cpus=os.cpu_count() or 1,
            cgroup=self._root_group(stat, memory, at_ns),
            memory_bytes=total,
            swap_bytes=swap,
            swap_free_bytes=memory.get("SwapFree", 0),
            network=self._node_network(at_ns),
            pids_limit=min((each for each in limits if each), default=None),
            pids=files.tasks_of_load(self._text("proc/loadavg")),
            system=self._system(booted_ns, at_ns),
            disks=files.diskstats(self._text("proc/diskstats")),
            machine=self._machine,
        )

    def processes(self, pids: Sequence[int]) -> Mapping[int, ProcessReading]:
        found = {}
        for pid in pids:
            reading = self._process(pid)
            if reading is not None:
                found[pid] = reading
        self._open_files.keep(found.keys())
        return found

    def filesystem(self, path: str) -> FsReading:
        return disk.filesystem(path, time.time_ns())

    def pod_disk(self, uid: str, log_directory: str) -> PodDisk:
        return disk.pod_disk(os.path.join(self._pods, uid, "volumes"), log_directory, time.time_ns())

    # --- the machine ------------------------------------------------------------------------------------------------

    def _text(self, path: str) -> str:
        return text_or_empty(os.path.join(self._root, path))

    def _root_group(self, stat: str, memory: Mapping[str, int], at_ns: int) -> CgroupReading:
        """The root group. With version 2 it has no memory usage of its own; /proc has it."""
        group = read_cgroup(self._root, self._version, {}, at_ns) or CgroupReading("/")
        times = files.cpu_times_us(stat)
        cpu = group.cpu
        if cpu is None and times is not None:
            used_us, user_us, system_us = times
            cpu = CpuReading(at_ns, used_us * 1_000, user_us * 1_000, system_us * 1_000)
        if cpu is not None and self._version == 1:
            pressure = files.pressure(self._text("proc/pressure/cpu"))
            cpu = msgspec.structs.replace(cpu, pressure=pressure)
        total, free = memory.get("MemTotal", 0), memory.get("MemFree", 0)
        used = group.memory
        if used is None:
            inactive, usage = memory.get("Inactive(file)", 0), max(0, total - free)
            used = MemoryReading(
                at_ns,
                working_set=max(0, usage - inactive),
                usage=usage,
                rss=memory.get("AnonPages"),
                cache=memory.get("Cached"),
                mapped_file=memory.get("Mapped"),
                active_file=memory.get("Active(file)"),
                inactive_file=inactive,
            )
        vm = files.flat(self._text("proc/vmstat"))
        used = msgspec.structs.replace(
            used,
            limit=total or None,
            page_faults=vm.get("pgfault", used.page_faults),
            major_page_faults=vm.get("pgmajfault", used.major_page_faults),
            swap_usage=max(0, memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)),
            pressure=files.pressure(self._text("proc/pressure/memory")) or used.pressure,
        )
        io = files.pressure(self._text("proc/pressure/io")) or group.io_pressure
        return msgspec.structs.replace(group, cpu=cpu, memory=used, io_pressure=io)

    def _node_network(self, at_ns: int) -> NetworkReading:
        every = files.net_dev(self._text("proc/net/dev"))
        own = tuple(each for each in every if not each.name.startswith(_PASSING))
        return NetworkReading(at_ns, files.default_interface(self._text("proc/net/route"), own), own)

    # --- system containers -------------------------------------------------------------------------------------------

    def _system(self, booted_ns: int, at_ns: int) -> tuple[SystemContainer, ...]:
        runtime = listener_of(self._runtime_socket)
        found = (
            self._of_process("kubelet", "self", booted_ns, at_ns),
            self._of_process("runtime", str(runtime), booted_ns, at_ns) if runtime else None,
            self._of_group("pods", self._pods_groups, booted_ns, at_ns),
            self._of_group("misc", self._misc_groups, booted_ns, at_ns),
        )
        return tuple(each for each in found if each is not None)

    def _of_group(self, name: str, paths: Iterable[str], booted_ns: int, at_ns: int) -> SystemContainer | None:
        """The first of these groups that exists."""
        for path in paths:
            group = read_cgroup(self._root, self._version, dict.fromkeys(_CONTROLLERS, path), at_ns)
            if group is not None:
                return SystemContainer(name, booted_ns, group.cpu, group.memory, group)
        return None

    def _of_process(self, name: str, pid: str, booted_ns: int, at_ns: int) -> SystemContainer | None:
        """The group of a process.

        When that is the root of a hierarchy, or of a container, the process by itself.
        """
        stat = self._text(f"proc/{pid}/stat")
        times = files.process_times(stat)
        if times is None:
            return None
        used_ns, began_ticks = times
        began_ns = booted_ns + began_ticks * TICK_NS
        paths = files.cgroup_paths(self._text(f"proc/{pid}/cgroup"))
        if all(paths.get(each, "/") != "/" for each in (("",) if self._version == 2 else ("memory", "cpuacct"))):
            group = read_cgroup(self._root, self._version, paths, at_ns)
            if group is not None:
                return SystemContainer(name, began_ns, group.cpu, group.memory, group)
        fields = self._text(f"proc/{pid}/statm").split()
        resident = int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else 0
        faults, major = files.process_faults(stat)
        memory = MemoryReading(
            at_ns,
            working_set=resident,
            usage=resident,
            rss=resident,
            page_faults=faults,
            major_page_faults=major,
        )
        return SystemContainer(name, began_ns, CpuReading(at_ns, used_ns), memory)

    # --- one process ------------------------------------------------------------------------------------------------

    def _process(self, pid: int) -> ProcessReading | None:
        at_ns, paths = time.time_ns(), files.cgroup_paths(self._text(f"proc/{pid}/cgroup"))
        if not paths:
            return None
        around = {controller: os.path.dirname(path) or "/" for controller, path in paths.items()}
        is_pods = any(_OF_POD.search(os.path.basename(path)) for path in around.values())
        devices = files.net_dev(self._text(f"proc/{pid}/net/dev"))
        route = self._text(f"proc/{pid}/net/route")
        status = dict(line.partition(":")[::2] for line in self._text(f"proc/{pid}/status").splitlines())
        opened, sockets = self._open_files.of(pid, pids_in(self._root, self._version, paths) or (str(pid),), at_ns)
        return ProcessReading(
            cgroup=read_cgroup(self._root, self._version, paths, at_ns),
            pod=read_cgroup(self._root, self._version, around, at_ns) if is_pods else None,
            network=NetworkReading(at_ns, files.default_interface(route, devices), devices) if devices else None,
            file_descriptors=opened,
            sockets=sockets,
            threads=files.whole(status.get("Threads", "")),
            ulimits=files.ulimits(self._text(f"proc/{pid}/limits")),
        )


def listener_of(path: str) -> int:
    """The process that listens on a unix socket; 0 if unknown."""
    if not path:
        return 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(0.2)
        try:
            line.connect(path)
            pid: int = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except OSError:
            return 0
    return pid
