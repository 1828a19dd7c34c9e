"""The usage statistics of a container runtime as readings. Pure; missing values are None."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from runtime.cri.messages import (
    CpuUsage,
    FilesystemUsage,
    LinuxPodSandboxStats,
    MemoryUsage,
    NetworkInterfaceUsage,
    PsiData,
    PsiStats,
    SwapUsage,
    UInt64Value,
)
from runtime.stats.readings import (
    CpuReading,
    InterfaceReading,
    LayerUsage,
    MemoryReading,
    NetworkReading,
    Stall,
    StallPressure,
)


def value_of(wrapped: UInt64Value | None) -> int | None:
    return None if wrapped is None else wrapped.value


def cpu_of(told: CpuUsage | None) -> CpuReading | None:
    used = None if told is None else value_of(told.usage_core_nano_seconds)
    if told is None or used is None:
        return None
    rate = value_of(told.usage_nano_cores)
    return CpuReading(told.timestamp, used, nano_cores=rate or None, pressure=pressure_of(told.psi))


def memory_of(told: MemoryUsage | None, swap: SwapUsage | None) -> MemoryReading | None:
    working_set = None if told is None else value_of(told.working_set_bytes)
    if told is None or working_set is None:
        return None
    available = value_of(told.available_bytes)
    return MemoryReading(
        told.timestamp,
        working_set=working_set,
        usage=value_of(told.usage_bytes),
        rss=value_of(told.rss_bytes),
        page_faults=value_of(told.page_faults),
        major_page_faults=value_of(told.major_page_faults),
        limit=working_set + available if available else None,
        swap_usage=None if swap is None else value_of(swap.swap_usage_bytes),
        pressure=pressure_of(told.psi),
    )


def layer_of(told: FilesystemUsage | None) -> LayerUsage | None:
    if told is None:
        return None
    mount = told.fs_id.mountpoint if told.fs_id is not None else ""
    return LayerUsage(told.timestamp, mount, value_of(told.used_bytes), value_of(told.inodes_used))


def network_of(told: LinuxPodSandboxStats | None) -> NetworkReading | None:
    """The network's reading. containerd 1.6 gives no time for it: then use the time of the other values."""
    if told is None or told.network is None:
        return None
    network = told.network
    every = network.interfaces or ((network.default_interface,) if network.default_interface else ())
    default = network.default_interface
    found = tuple(_interface(each) for each in (*((default,) if default else ()), *every))
    named = {each.name: each for each in found}
    beside = (told.process, told.cpu, told.memory)
    at_ns = network.timestamp or max((each.timestamp for each in beside if each is not None), default=0)
    return NetworkReading(at_ns, "" if default is None else default.name, tuple(named.values()))


def _interface(told: NetworkInterfaceUsage) -> InterfaceReading:
    return InterfaceReading(
        told.name,
        rx_bytes=value_of(told.rx_bytes) or 0,
        rx_errors=value_of(told.rx_errors) or 0,
        tx_bytes=value_of(told.tx_bytes) or 0,
        tx_errors=value_of(told.tx_errors) or 0,
    )


def pressure_of(told: PsiStats | None) -> StallPressure | None:
    return None if told is None else StallPressure(some=_stall(told.Some), full=_stall(told.Full))


def _stall(told: PsiData | None) -> Stall | None:
    return None if told is None else Stall(told.Total, told.Avg10, told.Avg60, told.Avg300)


def pid_and_image(info: Any) -> tuple[int, str]:
    """The process id and the image in the verbose answer of a runtime; 0 and "" if missing.

    `info` holds JSON documents.
    """
    for text in _texts(info):
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        pid, image = (document.get("pid"), document.get("image")) if isinstance(document, dict) else (None, None)
        if isinstance(pid, int) and pid > 0:
            return pid, image if isinstance(image, str) else ""
    return 0, ""


def _texts(info: Any) -> Iterable[str]:
    return info.values() if hasattr(info, "values") else ()
