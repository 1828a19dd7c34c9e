"""What one container or sandbox has used of a single resource: the leaves of the stats answers.

Every reading carries its own wall-clock time in nanoseconds; a reading the runtime did not take is `None`.
"""

from __future__ import annotations

from runtime.cri.messages.base import Message, UInt64Value


class PsiData(Message, frozen=True, kw_only=True):
    """Share of time something waited for a resource: total in microseconds, averages in percent."""

    Total: int = 0
    Avg10: float = 0.0
    Avg60: float = 0.0
    Avg300: float = 0.0


class PsiStats(Message, frozen=True, kw_only=True):
    """Pressure: time in which all tasks stood still, and time in which at least one did."""

    Full: PsiData | None = None
    Some: PsiData | None = None


class CpuUsage(Message, frozen=True, kw_only=True):
    """Processor time used."""

    timestamp: int = 0
    usage_core_nano_seconds: UInt64Value | None = None
    usage_nano_cores: UInt64Value | None = None
    psi: PsiStats | None = None


class WindowsCpuUsage(Message, frozen=True, kw_only=True):
    """Processor time used, on Windows."""

    timestamp: int = 0
    usage_core_nano_seconds: UInt64Value | None = None
    usage_nano_cores: UInt64Value | None = None


class MemoryUsage(Message, frozen=True, kw_only=True):
    """Memory used."""

    timestamp: int = 0
    working_set_bytes: UInt64Value | None = None
    available_bytes: UInt64Value | None = None
    usage_bytes: UInt64Value | None = None
    rss_bytes: UInt64Value | None = None
    page_faults: UInt64Value | None = None
    major_page_faults: UInt64Value | None = None
    psi: PsiStats | None = None


class WindowsMemoryUsage(Message, frozen=True, kw_only=True):
    """Memory used, on Windows."""

    timestamp: int = 0
    working_set_bytes: UInt64Value | None = None
    available_bytes: UInt64Value | None = None
    page_faults: UInt64Value | None = None
    commit_memory_bytes: UInt64Value | None = None


class SwapUsage(Message, frozen=True, kw_only=True):
    """Swap used."""

    timestamp: int = 0
    swap_available_bytes: UInt64Value | None = None
    swap_usage_bytes: UInt64Value | None = None


class IoUsage(Message, frozen=True, kw_only=True):
    """Pressure on block devices."""

    timestamp: int = 0
    psi: PsiStats | None = None


class NetworkInterfaceUsage(Message, frozen=True, kw_only=True):
    """Traffic of one interface."""

    name: str = ""
    rx_bytes: UInt64Value | None = None
    rx_errors: UInt64Value | None = None
    tx_bytes: UInt64Value | None = None
    tx_errors: UInt64Value | None = None


class WindowsNetworkInterfaceUsage(Message, frozen=True, kw_only=True):
    """Traffic of one interface, on Windows."""

    name: str = ""
    rx_bytes: UInt64Value | None = None
    rx_packets_dropped: UInt64Value | None = None
    tx_bytes: UInt64Value | None = None
    tx_packets_dropped: UInt64Value | None = None


class NetworkUsage(Message, frozen=True, kw_only=True):
    """Traffic of a sandbox."""

    timestamp: int = 0
    default_interface: NetworkInterfaceUsage | None = None
    interfaces: tuple[NetworkInterfaceUsage, ...] = ()


class WindowsNetworkUsage(Message, frozen=True, kw_only=True):
    """Traffic of a sandbox, on Windows."""

    timestamp: int = 0
    default_interface: WindowsNetworkInterfaceUsage | None = None
    interfaces: tuple[WindowsNetworkInterfaceUsage, ...] = ()


class ProcessUsage(Message, frozen=True, kw_only=True):
    """Processes of a sandbox."""

    timestamp: int = 0
    process_count: UInt64Value | None = None


class WindowsProcessUsage(Message, frozen=True, kw_only=True):
    """Processes of a sandbox, on Windows."""

    timestamp: int = 0
    process_count: UInt64Value | None = None
