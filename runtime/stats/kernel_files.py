"""The formats of the kernel's files: /proc and both versions of cgroups. Pure: text in, numbers out.

A line that is not understood is left out, a file that is empty gives nothing: what a kernel has, changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.stats.readings import BlockDevice, DeviceIo, InterfaceReading, IoCost, Stall, StallPressure

DIGITS_AT_MOST = 40
_OPEN_FILES = "Max open files"
UNLIMITED = 2**62
"""cgroup v1 says "no limit" as the largest multiple of a page; nobody has as much."""


def whole(text: str) -> int | None:
    """The number in a file; None for `max` and for any other text."""
    text = text.strip()
    return int(text) if len(text) <= DIGITS_AT_MOST and text.isascii() and text.isdecimal() else None


def limit(text: str) -> int | None:
    """A limit; None where there is none."""
    value = whole(text)
    return None if value is None or value >= UNLIMITED else value


def flat(text: str) -> Mapping[str, int]:
    """`memory.stat` and its like: a name and a number on each line."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        number = whole(value)
        if number is not None:
            found[name] = number
    return found


def meminfo(text: str) -> Mapping[str, int]:
    """Bytes by the names of `/proc/meminfo`, `Inactive(file)` and its like included."""
    lines = (line.partition(":") for line in text.splitlines())
    sizes = ((name, whole(rest[:-3])) for name, _, rest in lines if rest.endswith(" kB"))
    return {name: size * 1024 for name, size in sizes if size is not None}


def pressure(text: str) -> StallPressure | None:
    """Parse a file of pressure stalls, such as `cpu.pressure`; None for an empty text."""
    stalls = {}
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        try:
            stalls[kind] = Stall(
                total_us=int(values["total"]),
                avg10=float(values["avg10"]),
                avg60=float(values["avg60"]),
                avg300=float(values["avg300"]),
            )
        except (KeyError, ValueError):
            continue
    return StallPressure(some=stalls.get("some"), full=stalls.get("full")) if stalls else None


def io_stat(text: str) -> tuple[DeviceIo, ...]:
    """`io.stat` of v2: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...`."""
    found = []
    for line in text.splitlines():
        device, *fields = line.split() or [""]
        given = ((name, whole(value)) for name, _, value in (each.partition("=") for each in fields))
        values = {name: number for name, number in given if number is not None}
        if values:
            read, written = values.get("rbytes", 0), values.get("wbytes", 0)
            cost = _io_cost(values) if "cost.usage" in values else None
            found.append(DeviceIo(device, read, written, values.get("rios", 0), values.get("wios", 0), cost))
    return tuple(found)


def _io_cost(values: Mapping[str, int]) -> IoCost:
    return IoCost(*(values.get(f"cost.{name}", 0) for name in ("usage", "wait", "indebt", "indelay")))


def diskstats(text: str) -> tuple[BlockDevice, ...]:
    """`/proc/diskstats`: the devices that have done something, without RAM disks."""
    found = []
    for line in text.splitlines():
        words = line.split()
        counts = [number for word in words[3:14] if (number := whole(word)) is not None]
        if len(counts) == 11 and any(counts) and not words[2].startswith("ram"):
            found.append(BlockDevice(f"{words[0]}:{words[1]}", f"/dev/{words[2]}", *counts))
    return tuple(found)


def ulimits(text: str) -> tuple[tuple[str, int], ...]:
    """The soft limit of open files in `/proc/<pid>/limits`, under cAdvisor's name; -1: unlimited."""
    for line in text.splitlines():
        if line.startswith(_OPEN_FILES):
            soft = line[len(_OPEN_FILES) :].split()[0]
            number = -1 if soft == "unlimited" else whole(soft)
            return () if number is None else (("max_open_files", number),)
    return ()


def blkio(service_bytes: str, serviced: str) -> tuple[DeviceIo, ...]:
    """`blkio.throttle.io_service_bytes` and `io_serviced` of v1: `8:0 Read 4096` on each line."""
    bytes_by, count_by = _by_operation(service_bytes), _by_operation(serviced)
    devices = dict.fromkeys(device for device, _ in (*bytes_by, *count_by))
    return tuple(
        DeviceIo(
            device,
            bytes_by.get((device, "Read"), 0),
            bytes_by.get((device, "Write"), 0),
            count_by.get((device, "Read"), 0),
            count_by.get((device, "Write"), 0),
        )
        for device in devices
    )


def _by_operation(text: str) -> dict[tuple[str, str], int]:
    lines = (line.split() for line in text.splitlines())
    counts = ((line[0], line[1], whole(line[2])) for line in lines if len(line) == 3)
    return {(device, operation): count for device, operation, count in counts if count is not None}


def net_dev(text: str) -> tuple[InterfaceReading, ...]:
    """`/proc/net/dev` without the loopback, in its order."""
    found = []
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = [number for value in rest.split() if (number := whole(value)) is not None]
        name = name.strip()
        if colon and len(fields) >= 12 and name != "lo":
            found.append(InterfaceReading(name, *fields[0:4], *fields[8:12]))
    return tuple(found)


def default_interface(route: str, interfaces: tuple[InterfaceReading, ...]) -> str:
    """The interface of the default route with the least metric (`/proc/net/route`).

    Without such a route, the first interface there is.
    """
    best: tuple[int, str] | None = None
    for line in route.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == fields[7] == "00000000" and (metric := whole(fields[6])) is not None:
            best = min(best or (2**32, ""), (metric, fields[0]))
    if best is not None:
        return best[1]
    return interfaces[0].name if interfaces else ""


def cgroup_paths(text: str) -> Mapping[str, str]:
    """`/proc/<pid>/cgroup`: controller -> path; the unified hierarchy has the empty name."""
    found = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                found[controller] = parts[2]
    return found


def cpu_times_us(stat: str) -> tuple[int, int, int] | None:
    """(used, user, system) in us by the first line of `/proc/stat`, at 100 ticks a second.

    Idle time does not count as used.
    """
    fields = stat.partition("\n")[0].split()
    if len(fields) < 8 or fields[0] != "cpu":
        return None
    ticks = [number for each in fields[1:8] if (number := whole(each)) is not None]
    if len(ticks) < 7:
        return None
    user, nice, system, _, _, irq, softirq = ticks
    tick_us = 10_000
    return (
        (user + nice + system + irq + softirq) * tick_us,
        (user + nice) * tick_us,
        (system + irq + softirq) * tick_us,
    )


def boot_time_s(stat: str) -> int:
    """`btime` of `/proc/stat`; 0 where it is missing."""
    return flat(stat).get("btime", 0)


def tasks_of_load(text: str) -> int | None:
    """How many tasks there are, by `/proc/loadavg`: `0.1 0.2 0.3 1/234 5678`."""
    fields = text.split()
    return whole(fields[3].partition("/")[2]) if len(fields) > 3 else None


def process_faults(stat: str) -> tuple[int, int]:
    """(all page faults, major ones) of `/proc/<pid>/stat`."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 10:
        return 0, 0
    minor, major = whole(fields[7]) or 0, whole(fields[9]) or 0
    return minor + major, major


def process_times(stat: str) -> tuple[int, int] | None:
    """(CPU time in ns, ticks from boot to start) of `/proc/<pid>/stat`, at 100 ticks a second."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    user, system, began = whole(fields[11]), whole(fields[12]), whole(fields[19])
    return None if user is None or system is None or began is None else ((user + system) * 10_000_000, began)
