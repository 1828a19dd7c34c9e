"""The capability of cgroups: `CgroupTree` before the driver is known, `Cgroups` from then on.

The driver (systemd or cgroupfs) says who manages them here.

Every call touches the kernel's files (or asks systemd) and may take its time where many processes are: actors run them
on a lane. All may be repeated. A cgroup is named by its words, see `names`. Nothing raises for want of rights: what
could not be done is told, in words that name the file (or the call) and the reason, for a warning.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from config.frozen_map import FrozenMap
from runtime.cgroups.names import Words


class CgroupLimits(msgspec.Struct, frozen=True):
    """The limits to write; None leaves a value unchanged.

    `cpu_quota_us` -1, `memory_bytes` -1 and `pids` -1: no limit.

    `memory_min_bytes` is always protected, and `memory_low_bytes` while other groups can give memory. Above
    `memory_high_bytes` the group is slowed down (-1: no limit). These three are of v2 only. `huge_pages`: size of a
    page in bytes -> bytes of such pages, -1 for no limit.
    """

    cpu_shares: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int | None = None
    memory_bytes: int | None = None
    memory_min_bytes: int | None = None
    memory_low_bytes: int | None = None
    memory_high_bytes: int | None = None
    pids: int | None = None
    huge_pages: FrozenMap[int, int] = FrozenMap()


class Cgroups(Protocol):
    """See the module: cgroups by one driver."""

    def problems(self) -> tuple[str, ...]:
        """The features that the kernel lacks here, such as a controller that is not mounted."""

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        """Make the cgroup if needed, and write the limits. Returns the errors.

        A limit without a file is an error, unless it means "no limit".
        """

    def exists(self, words: Words) -> bool:
        """Whether it is there in every hierarchy that counts."""

    def pod_uids(self, words: Words) -> tuple[str, ...]:
        """UIDs of the pods whose cgroups are right below, in any hierarchy; sorted.

        () if there is no such place.
        """

    def remove(self, words: Words) -> tuple[str, ...]:
        """Kill every process in the cgroup and below, and remove it. Returns leftovers and errors; () if none."""

    def name(self, words: Words) -> str:
        """The name that the runtime gets as the parent of a sandbox."""


class CgroupTree(Protocol):
    """See the module: operations that work with any cgroup driver."""

    def driven_by(self, driver: str) -> Cgroups:
        """The cgroups as that driver (`names.CGROUPFS`, `names.SYSTEMD`) makes and calls them."""

    def enter(self, path: str) -> tuple[str, ...]:
        """Move this process into the cgroup at that path, which is made if needed. Returns the errors."""

    def cpu_sets(self, path: str) -> tuple[tuple[str, str], ...]:
        """The CPUs of the cgroups right below that path, a `Cgroups.name`.

        Each has the last part of its path, and the kernel's text, such as `0,2-3`. One that cannot be read is left out.
        """

    def gather(self, path: str) -> tuple[str, ...]:
        """Move every process of the root into the cgroup at that path; return what could not be done.

        The cgroup is made if it is missing. The first process and those of the kernel stay.
        """
