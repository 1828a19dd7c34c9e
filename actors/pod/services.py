"""What a pod worker works with: the capabilities, the other actors it talks to, and the facts of the node.

One value shared by all workers, immutable; a worker keeps nothing of it for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.kernel import ActorRef
from actors.resources.abilities import Abilities
from actors.start.container_config import NodeRules
from config.kubelet import CrashLoopPeriods, KubeletConfiguration
from runtime.cri import Cri
from runtime.hooks import HookCaller
from runtime.logs.pod_files import PodFiles
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.probes import Prober


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a worker needs to know of its node. `host_ips`: as pods show them, primary family first.

    `rules`: what the configuration of containers depends on. `runtime_name` stands in front of container ids
    (`containerd://...`).
    """

    name: str
    root_directory: str
    host_ips: tuple[str, ...]
    runtime_name: str
    cgroup_version: int
    memory_capacity_bytes: int
    rules: NodeRules
    container_logs_directory: str = "/var/log/containers"
    page_sizes: tuple[int, ...] = ()
    """Of huge pages, in bytes."""
    pids: int = 0
    """How many processes the machine can have; 0: not known."""
    abilities: Abilities = field(default_factory=Abilities)
    """What decides whether the node takes a pod at all."""


@dataclass(frozen=True, slots=True)
class PodServices:
    """See the module."""

    cri: Cri
    prober: Prober
    hooks: HookCaller
    files: PodFiles
    node: NodeFacts
    configuration: KubeletConfiguration
    crash_loop: CrashLoopPeriods
    sync_loop: ActorRef
    pleg: ActorRef
    images: ActorRef
    volumes: ActorRef
    container_gc: ActorRef
    status_manager: ActorRef
    events: ActorRef
    objects: ActorRef
    tokens: ActorRef
    ids: ActorRef
    cluster: ActorRef
    historian: ActorRef
    resources: ActorRef
    cgroups: ActorRef | None = None
    """None: the runtime puts pods where it likes."""
    eviction: ActorRef | None = None
    """None: nobody ends pods for the sake of the node."""
    image_gc: ActorRef | None = None
    """None: nobody removes images, and nobody has to keep them."""
    began_ns: int = 0
    """When the agent began, monotonic."""
    has_cluster: bool = False
    """Whether there is an API server, and services with it."""
    mirrors: ActorRef | None = None
    """None where the node stands alone."""
    meters: Meters = UNMEASURED
