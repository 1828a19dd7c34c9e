"""The record of each pod and container of a world, for the rules of `simulation.world.invariants`."""

from __future__ import annotations

import msgspec

from simulation.scenarios.pods import PodMix


class ContainerSeen(msgspec.Struct):
    """One container of one pod, over all its attempts."""

    starts: int = 0
    live: set[str] = msgspec.field(default_factory=set)
    """Ids of the running ones; only size and membership are used."""
    exits: int = 0
    exit_code: int | None = None
    """The exit of the last one that ended."""


class PodSeen(msgspec.Struct):
    """One pod of the API, by its uid. Times in ns, None for not yet."""

    name: str
    restart_policy: str
    created_ns: int
    mix: PodMix | None = None
    asks_of_statuses: bool = False
    """Whether its mix has rules for statuses beyond those of every pod."""
    node: str = ""
    phase: str = ""
    ready: bool = False
    was_ready: bool = False
    restarts: int = 0
    restarts_before: int = 0
    """Restarts in the status before the current one."""
    running_ns: int | None = None
    deleted_ns: int | None = None
    critical: bool = False
    doomed: bool = False
    """Whether an agent has published that the pod is being deleted."""
    containers: dict[str, ContainerSeen] = msgspec.field(default_factory=dict)
    writes: int = 0
    """How often its status was written after it was bound to its node; counted if its mix has a limit."""
    unshown_since_ns: int | None = None
    """The time since which the API does not show its running containers; kept if its mix has a limit."""
    now_ns: int = 0
    """When its status was last shown."""

    def live(self) -> list[str]:
        """Names of its containers that run."""
        return [name for name, seen in self.containers.items() if seen.live]

    def live_ids(self) -> set[str]:
        """Ids of its containers that run."""
        return {each for seen in self.containers.values() for each in seen.live}


class StaticPod(msgspec.Struct):
    """One manifest, and its running containers. `version` None: it was removed."""

    name: str
    node: str
    mix: PodMix
    version: int | None = 0
    since_ns: int = 0
    """When it was last written or removed, or when the agent that must see it started."""
    runs: bool = False
    """Whether this version has been seen running."""
    uids: set[str] = msgspec.field(default_factory=set)
    live: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Container name -> id -> version, of running containers."""
