"""Usage statistics of the host: `HostStats`.

`LocalHostStats` is this machine, the simulated one is `simulation.host.stats`. All calls read files; `filesystem` and
`pod_disk` may hang for ever on a dead mount, so actors run each on a lane, keyed by what it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from runtime.stats.readings import FsReading, NodeReading, PodDisk, ProcessReading


class HostStats(Protocol):
    def node(self) -> NodeReading:
        """The machine, its root group, its network, and what of it is no pod. Never fails."""

    def processes(self, pids: Sequence[int]) -> Mapping[int, ProcessReading]:
        """The control groups and networks of these processes; one that is gone is left out. Never fails."""

    def filesystem(self, path: str) -> FsReading:
        """The file system that holds `path`, or would hold it. Raises OSError."""

    def pod_disk(self, uid: str, log_directory: str) -> PodDisk:
        """The disk use of a pod's volumes and logs. Unreadable parts are left out. Never fails."""
