"""What an actor can do with cgroups (`Cgroups`), on whichever kernel and driver.

Every call touches the kernel's files and may take its time where many processes are: actors run them on a lane. All may
be repeated. A cgroup is named by its words, see `names`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from runtime.cgroups.names import Words


class CgroupLimits(msgspec.Struct, frozen=True):
    """What to write; None leaves a thing as it is. `cpu_quota_us` -1, `memory_bytes` -1 and `pids` -1: no limit.

    `huge_pages`: size of a page in bytes -> bytes of such pages.
    """

    cpu_shares: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int | None = None
    memory_bytes: int | None = None
    pids: int | None = None
    huge_pages: Mapping[int, int] = msgspec.field(default_factory=dict)


class Cgroups(Protocol):
    """See the module. Nothing raises for want of rights: what could not be done is told, for a warning."""

    def problems(self) -> tuple[str, ...]:
        """What the kernel does not offer here, such as a controller that is not mounted."""
        ...

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        """Make the cgroup, where it is not there, and write that. What could not be done, and why."""
        ...

    def exists(self, words: Words) -> bool:
        """Whether it is there in every hierarchy that counts."""
        ...

    def below(self, words: Words) -> tuple[str, ...]:
        """Names of the directories right below, of all hierarchies, sorted."""
        ...

    def remove(self, words: Words) -> tuple[str, ...]:
        """End every process in it and below, and take it away. What stays, and why; () when nothing is left."""
        ...

    def name(self, words: Words) -> str:
        """What the runtime is to be told as the parent of a sandbox."""
        ...
