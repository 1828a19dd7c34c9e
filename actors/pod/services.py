"""The environment of a pod worker: capabilities, other actors, and facts of the node.

One immutable value that all workers share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.images.pull_rules import KnownPulls
from actors.kernel import ActorRef
from actors.resources.abilities import Abilities
from actors.start.cri_configs import ContainerNodeRules
from config.kubelet import CrashLoopPeriods, KubeletConfiguration
from runtime.cgroups.capability import CgroupTree
from runtime.cri import Cri
from runtime.hooks import HookCaller
from runtime.logs.pod_files import PodFiles
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.probes import Prober
from runtime.traces.spans import Tracer


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The facts of the node for workers. `host_ips`: as pods show them, primary family first.

    `rules`: the inputs of container configurations. `runtime_name`: the prefix of container ids (`containerd://...`).
    """

    name: str
    root_directory: str
    host_ips: tuple[str, ...]
    runtime_name: str
    cgroup_version: int
    memory_capacity_bytes: int
    rules: ContainerNodeRules
    container_logs_directory: str = "/var/log/containers"
    page_sizes: tuple[int, ...] = ()
    """Sizes of huge pages, in bytes."""
    memory_allocatable_bytes: int = 0
    """The part of the memory that pods may have; 0: unknown."""
    starts_at_once: int = 0
    """The most new pods that may be on their way to Running at a time; 0: all of them."""
    pids: int = 0
    """The most processes the machine can have; 0: unknown."""
    abilities: Abilities = field(default_factory=Abilities)
    """The inputs of the admission of pods."""


@dataclass(frozen=True, slots=True)
class PodServices:
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
    """None: the runtime chooses the cgroups of pods."""
    eviction: ActorRef | None = None
    """None: pods are never evicted."""
    image_gc: ActorRef | None = None
    """None: images are never removed, so nobody leases them."""
    began_ns: int = 0
    """When the agent began, monotonic."""
    pulls: KnownPulls | None = None
    """Says which images every pod may use without a question; None: all of them."""
    has_cluster: bool = False
    """Whether there is an API server, and so services."""
    cgroup_tree: CgroupTree | None = None
    """Where the CPUs of containers are looked up; None: nobody looks."""
    gives_shares: bool = False
    """Whether the node tells each pod which CPUs and memory it has for itself."""
    device_plugins: ActorRef | None = None
    """None: the node has no devices of plugins."""
    resource_claims: ActorRef | None = None
    """None: the node serves no drivers for claims of devices."""
    mirrors: ActorRef | None = None
    """None on a standalone node."""
    meters: Meters = UNMEASURED
    tracer: Tracer | None = None
    """None: no pass is traced."""
