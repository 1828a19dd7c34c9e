"""What a world remembers of each pod and container that it saw. The rules of `simulation.world.invariants` read it."""

from __future__ import annotations

import msgspec

from simulation.scenarios.pods import PodMix


class ContainerSeen(msgspec.Struct):
    """One container of one pod, over all its attempts."""

    starts: int = 0
    live: set[str] = msgspec.field(default_factory=set)
    """Ids of those that run; only its size and membership are used."""
    exits: int = 0
    exit_code: int | None = None
    """Of the last one that ended."""


class PodSeen(msgspec.Struct):
    """One pod of the API, by its uid. Times in ns, None for not yet."""

    name: str
    restart_policy: str
    created_ns: int
    mix: PodMix | None = None
    asks_of_statuses: bool = False
    """Whether its mix asks more of them than what holds of every pod."""
    node: str = ""
    phase: str = ""
    ready: bool = False
    was_ready: bool = False
    restarts: int = 0
    restarts_before: int = 0
    """In the status before the one that is shown now."""
    running_ns: int | None = None
    deleted_ns: int | None = None
    critical: bool = False
    doomed: bool = False
    """Whether an agent has published that it goes."""
    containers: dict[str, ContainerSeen] = msgspec.field(default_factory=dict)
    writes: int = 0
    """How often its status was written after it was bound to its node; counted where its mix asks."""
    unshown_since_ns: int | None = None
    """Since when the API does not show which of its containers run; kept where its mix asks."""
    now_ns: int = 0
    """When its status was shown the last time."""

    def live(self) -> list[str]:
        """Names of its containers that run."""
        return [name for name, seen in self.containers.items() if seen.live]

    def live_ids(self) -> set[str]:
        """Ids of its containers that run."""
        return {each for seen in self.containers.values() for each in seen.live}


class StaticPod(msgspec.Struct):
    """One manifest, and what runs of it. `version` None: it was removed."""

    name: str
    node: str
    mix: PodMix
    version: int | None = 0
    since_ns: int = 0
    """When it was written or removed the last time, or the agent began that is to see it."""
    runs: bool = False
    """Whether this version has been seen to run."""
    uids: set[str] = msgspec.field(default_factory=set)
    live: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Container name -> id -> version, of those that run."""
