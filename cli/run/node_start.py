"""Puts a node together for the command line.

Its plan comes from the configuration, its capabilities from this machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from actors.containers.gc_rules import GcPolicy
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node_object.addresses import NodeIps, node_ips
from actors.node_object.capacity import MEMORY, allocatable, capacity
from actors.node_object.settings import KUBERNETES_VERSION, Registration, agent_version
from actors.pod.services import NodeFacts
from actors.resources.abilities import Abilities
from actors.resources.cgroups.plan import TIERED
from actors.start.cri_configs import ContainerNodeRules
from actors.start.resources import MemoryRules, ResourceRules, SwapRules
from actors.sync.start_window import most_starts
from cli.version import VERSION
from config.credentials.kubeconfig import ApiAccess
from config.island import IslandSettings
from config.kubelet import KubeletConfiguration, crash_loop_periods
from config.kubelet.feature_gates import FeatureGates
from config.start_configuration import StartConfiguration
from config.values.quantity import parse_quantity
from runtime.api import ApiLines
from runtime.api.lines import HttpApiLines, api_lines
from runtime.cgroups.systemd_units import BusSystemdUnits
from runtime.cgroups.tree import LocalCgroupTree
from runtime.cri import Cri
from runtime.cri.client import GrpcCri
from runtime.csi.client import GrpcCsiDrivers
from runtime.device_plugins.local import LocalDevicePlugins
from runtime.dra.drivers import grpc_drivers
from runtime.hooks.http_call import NetworkHookCaller
from runtime.host.facts import HostFacts, LocalHostFacts
from runtime.host.machine import MachineFacts
from runtime.host.selinux import read_file_label
from runtime.io.event_loop import LoopThread
from runtime.io.system_bus import system_bus_address
from runtime.logs.files import LocalLogFiles
from runtime.logs.pod_files import LocalPodFiles
from runtime.logs.pod_logs import LocalPodLogs
from runtime.manifests.http import HttpManifests
from runtime.manifests.local import LocalManifests
from runtime.manifests.store import LocalManifestStore
from runtime.memory_notices.local import LocalMemoryNotices
from runtime.metrics.claims import dra_asked
from runtime.metrics.measured_api import observe_lines
from runtime.metrics.measured_volumes import drivers_asked
from runtime.metrics.meters import Meters
from runtime.node_shutdown.logind import Logind
from runtime.oom.kernel_log import KernelOomLog
from runtime.plugin_registration.local import LocalPluginSockets
from runtime.probes.prober import NetworkProber
from runtime.state.allocation_file import LocalAllocationFile
from runtime.state.device_file import LocalDeviceFile
from runtime.state.docker_config_files import LocalDockerConfig
from runtime.state.id_files import LocalIdFiles
from runtime.state.opaque_file import CLAIMS, ISLAND, LocalOpaqueFile
from runtime.state.pull_record_files import LocalPullRecordFiles
from runtime.state.share_files import LocalShareFiles
from runtime.stats.host import LocalHostStats
from runtime.traces.spans import Tracer
from runtime.volumes.kinds import volume_plugins
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories
from runtime.volumes.sub_path import LocalSubPaths

CGROUPS = "/sys/fs/cgroup"
CONTAINER_LOGS = "/var/log/containers"
PUSHED_MANIFESTS = "pushed-manifests"
"""Under the node's directory: what came over HTTP."""
PLUGINS_REGISTRY = "plugins_registry"
LIMITED_SWAP = "LimitedSwap"
MICROSECOND_NS = 1_000


@dataclass(frozen=True, slots=True)
class NodeMachine:
    """The machine of the node: its name, addresses, and facts.

    A memory of 0 bytes means unknown.
    """

    name: str
    ips: NodeIps
    facts: MachineFacts

    @property
    def addresses(self) -> tuple[str, ...]:
        return self.ips.addresses

    @property
    def memory_bytes(self) -> int:
        return self.facts.memory_bytes

    @property
    def cgroup_version(self) -> int:
        return self.facts.cgroup_version


def this_machine(name: str = "", addresses: Sequence[str] = (), host: HostFacts | None = None) -> NodeMachine:
    """Name and addresses (of `--node-ip`), when given, win over what the machine says of itself."""
    host = host or LocalHostFacts()
    facts = host.machine()
    own_name = (name.strip() or facts.host_name).lower()
    return NodeMachine(own_name, node_ips(own_name, tuple(addresses), host.network(own_name)), facts)


def plan_of(
    start: StartConfiguration,
    machine: NodeMachine,
    root: str,
    runtime_name: str,
    container_logs: str = CONTAINER_LOGS,
    island: IslandSettings | None = None,
) -> NodePlan:
    """The plan of the node. `root` is its directory, absolute; `container_logs` holds the links to logs."""
    return NodePlan(
        facts=NodeFacts(
            name=machine.name,
            root_directory=root,
            host_ips=machine.addresses,
            runtime_name=runtime_name,
            cgroup_version=machine.cgroup_version,
            memory_capacity_bytes=machine.memory_bytes,
            memory_allocatable_bytes=_allocatable_bytes(start.configuration, machine.facts),
            rules=_rules(start.configuration, start.gates, machine, root),
            container_logs_directory=container_logs,
            page_sizes=tuple(size_bytes for size_bytes, _ in machine.facts.huge_pages),
            pids=machine.facts.pids,
            starts_at_once=most_starts(machine.facts.cpus),
            abilities=Abilities(
                kernel=machine.facts.kernel_version,
                unsafe_sysctls=start.configuration.allowed_unsafe_sysctls,
                apparmor=machine.facts.apparmor,
            ),
        ),
        configuration=start.configuration,
        file_label=read_file_label(),
        crash_loop=crash_loop_periods(start.configuration, start.gates),
        gc_policy=GcPolicy(
            min_age_ns=start.node.minimum_container_ttl_ns,
            per_container=start.node.maximum_dead_containers_per_container,
            total=start.node.maximum_dead_containers,
        ),
        prevent_api_references=start.gates.enabled("PreventStaticPodAPIReferences"),
        registration=registration_of(start, machine),
        gates=start.gates,
        pod_volume_content_bytes=start.node.pod_volume_content_bytes,
        island=island,
        device_patience_ns=start.node.device_plugin_wait_duration_ns,
        pushed_manifests=os.path.join(root, PUSHED_MANIFESTS) if start.node.accept_manifests else "",
    )


def registration_of(start: StartConfiguration, machine: NodeMachine) -> Registration:
    """What the flags say of the Node object. The host name is the node's: `--hostname-override` sets both."""
    return Registration(
        labels=start.node.node_labels,
        node_ips=addresses_of(start.node.node_ip),
        # The actor of the Node object finds a fault itself, and logs it.
        found=None if machine.ips.fault else machine.ips,
        external_cloud=start.node.cloud_provider == "external",
        host_name=machine.name,
        version=agent_version(VERSION),
    )


def addresses_of(node_ip: str) -> tuple[str, ...]:
    """The addresses of `--node-ip`."""
    return tuple(part.strip() for part in node_ip.split(",") if part.strip())


def open_lines(
    access: ApiAccess, loop: LoopThread, configuration: KubeletConfiguration, tracer: Tracer | None = None
) -> HttpApiLines:
    """The node's ways to its API server, at the limits of its configuration. Nothing is sent yet."""
    return api_lines(
        access,
        loop,
        user_agent=f"actorlet/{VERSION} ({sys.platform}) kubernetes/{KUBERNETES_VERSION}",
        qps=configuration.kube_api_qps,
        burst=configuration.kube_api_burst,
        event_qps=configuration.event_record_qps,
        event_burst=configuration.event_burst,
        tracer=tracer,
    )


def open_runtime(configuration: KubeletConfiguration, gates: FeatureGates, tracer: Tracer | None = None) -> GrpcCri:
    """The runtime of the configuration, with its `runtimeRequestTimeout`.

    Nothing is sent yet. Raises EndpointError.
    """
    return GrpcCri(
        configuration.container_runtime_endpoint,
        configuration.image_service_endpoint or None,
        configuration.runtime_request_timeout,
        tracer=tracer,
        lists_in_parts=gates.enabled("CRIListStreaming"),
    )


def _rules(
    configuration: KubeletConfiguration, gates: FeatureGates, machine: NodeMachine, root: str
) -> ContainerNodeRules:
    one_process = configuration.single_process_oom_kill
    return ContainerNodeRules(
        root_directory=root,
        resources=ResourceRules(
            cpu_quota=configuration.cpu_cfs_quota,
            cpu_period_us=configuration.cpu_cfs_quota_period // MICROSECOND_NS,
            memory_capacity_bytes=machine.memory_bytes,
            cgroup_version=machine.cgroup_version,
            # With cgroup v1 the kernel knows no other way (spec 12.2).
            single_process_oom_kill=machine.cgroup_version == 1 if one_process is None else one_process,
            page_sizes=tuple(size_bytes for size_bytes, _ in machine.facts.huge_pages),
            swap=_swap(configuration, machine),
            memory=_memory(configuration, gates, machine),
        ),
        thermal_paths=machine.facts.thermal_paths,
        seccomp_default=configuration.seccomp_default,
        env_files=gates.enabled("EnvFiles"),
        stop_signals=gates.enabled("ContainerStopSignals"),
        restart_all=gates.enabled("RestartAllContainersOnContainerExits"),
        device_messages=gates.enabled("ResourceHealthStatusMessage"),
        image_volume_refs=gates.enabled("ImageVolumeWithDigest"),
    )


def _swap(configuration: KubeletConfiguration, machine: NodeMachine) -> SwapRules | None:
    """The rules for swap; None where nothing counts the swap of groups (spec 9.8)."""
    if machine.cgroup_version != 2 or not machine.facts.swap_counted:
        return None
    return SwapRules(configuration.memory_swap.swap_behavior == LIMITED_SWAP, machine.facts.swap_bytes)


def _memory(configuration: KubeletConfiguration, gates: FeatureGates, machine: NodeMachine) -> MemoryRules | None:
    if machine.cgroup_version != 2 or not gates.enabled("MemoryQoS"):
        return None
    return MemoryRules(
        tiered=configuration.memory_reservation_policy == TIERED,
        throttling=configuration.memory_throttling_factor,
        allocatable_bytes=_allocatable_bytes(configuration, machine.facts),
    )


def _allocatable_bytes(configuration: KubeletConfiguration, facts: MachineFacts) -> int:
    """The memory that pods may have; 0: unknown."""
    if not facts.memory_bytes:
        return 0
    left = allocatable(capacity({}, facts, None, configuration), configuration)[MEMORY]
    return parse_quantity(left).value()


def real_capabilities(
    cri: Cri, plan: NodePlan, loop: LoopThread, containers: LoopThread, api: ApiLines | None = None
) -> NodeCapabilities:
    """The capabilities of a node on this machine.

    `containers`: a loop only for data from containers.
    """
    facts, mounts, meters = plan.facts, KernelMounts(), Meters()
    drivers = GrpcCsiDrivers(asked=drivers_asked(meters))
    if isinstance(api, HttpApiLines):
        observe_lines(api, meters)
    directories = PodDirectories(facts.root_directory, mounts)
    return NodeCapabilities(
        cri=cri,
        prober=NetworkProber(cri, containers),
        hooks=NetworkHookCaller(containers),
        manifests=LocalManifests(),
        manifest_server=HttpManifests(loop),
        files=LocalPodFiles(),
        logs=LocalPodLogs(plan.configuration.pod_logs_dir, facts.container_logs_directory),
        log_files=LocalLogFiles(),
        volumes=LocalNodeVolumes(
            directories,
            volume_plugins(
                facts.root_directory,
                mounts,
                facts.memory_allocatable_bytes,
                drivers,
                plan.configuration.volume_plugin_dir,
            ),
        ),
        sub_paths=LocalSubPaths(directories, mounts),
        host=LocalHostFacts(),
        ids=LocalIdFiles(facts.root_directory),
        allocations=LocalAllocationFile(facts.root_directory),
        api=api,
        docker_config=LocalDockerConfig(facts.root_directory, os.getcwd(), os.environ.get("HOME", "")),
        pull_records=LocalPullRecordFiles(facts.root_directory),
        share_files=LocalShareFiles(facts.root_directory),
        device_plugins=LocalDevicePlugins(facts.root_directory),
        device_file=LocalDeviceFile(facts.root_directory),
        dra_drivers=grpc_drivers(dra_asked(meters)),
        claim_file=LocalOpaqueFile(facts.root_directory, CLAIMS),
        island_file=LocalOpaqueFile(facts.root_directory, ISLAND),
        stats=LocalHostStats(
            facts.root_directory,
            runtime_socket(plan.configuration.container_runtime_endpoint),
            cgroup_root=plan.configuration.cgroup_root,
            system_cgroups=plan.configuration.system_cgroups,
        ),
        manifest_store=LocalManifestStore(),
        meters=meters,
        cgroups=LocalCgroupTree(CGROUPS, facts.cgroup_version, units=BusSystemdUnits(loop, system_bus_address())),
        drivers=drivers,
        plugin_sockets=LocalPluginSockets(os.path.join(facts.root_directory, PLUGINS_REGISTRY)),
        oom_log=KernelOomLog(containers),
        machine_shutdown=Logind(loop, system_bus_address()),
        memory_notices=LocalMemoryNotices(loop, cgroup_root=plan.configuration.cgroup_root),
    )


def runtime_socket(endpoint: str) -> str:
    """The path of a runtime's unix socket; empty when it has none."""
    return endpoint.removeprefix("unix://") if endpoint.startswith("unix://") else ""


def runtime_name_of(endpoint: str) -> str:
    """The prefix of container ids before `://`, by the directory of the runtime's socket.

    It is the name of the directory (`cri-o` for `crio`), or containerd without one.
    """
    name = os.path.basename(os.path.dirname(endpoint))
    return "cri-o" if name == "crio" else name if name and ":" not in name else "containerd"
