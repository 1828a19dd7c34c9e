"""How much a container may use, in the units of the kernel (spec 3.8, 10.3).

Zero means "not said" in every number here; the runtime then leaves its own default.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.messages.base import Message


class HugepageLimit(Message, frozen=True, kw_only=True):
    """Limit for huge pages of one size."""

    page_size: str = ""
    limit: int = 0


class LinuxContainerResources(Message, frozen=True, kw_only=True):
    """Limits and weights of a container, or of a whole sandbox, on Linux."""

    cpu_period: int = 0
    cpu_quota: int = 0
    cpu_shares: int = 0
    memory_limit_in_bytes: int = 0
    oom_score_adj: int = 0
    cpuset_cpus: str = ""
    cpuset_mems: str = ""
    hugepage_limits: tuple[HugepageLimit, ...] = ()
    unified: Mapping[str, str] = {}
    memory_swap_limit_in_bytes: int = 0


class WindowsCpuGroupAffinity(Message, frozen=True, kw_only=True):
    """Processors of one Windows processor group."""

    cpu_mask: int = 0
    cpu_group: int = 0


class WindowsContainerResources(Message, frozen=True, kw_only=True):
    """Limits and weights of a container on Windows."""

    cpu_shares: int = 0
    cpu_count: int = 0
    cpu_maximum: int = 0
    memory_limit_in_bytes: int = 0
    rootfs_size_in_bytes: int = 0
    affinity_cpus: tuple[WindowsCpuGroupAffinity, ...] = ()


class ContainerResources(Message, frozen=True, kw_only=True):
    """The resources in force, for the platform at hand."""

    linux: LinuxContainerResources | None = None
    windows: WindowsContainerResources | None = None
