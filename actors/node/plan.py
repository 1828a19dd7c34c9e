"""What a node's actors are made from: capabilities (`NodeCapabilities`), settings (`NodePlan`).

The actors do not know whether a capability is real or simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.containers.gc_rules import GcPolicy
from actors.node_object.settings import Registration, Remark
from actors.pod.services import NodeFacts
from config.flags.command_line import DEVICE_PLUGIN_WAIT_NS, POD_VOLUME_CONTENT_BYTES
from config.island import IslandSettings
from config.kubelet import CrashLoopPeriods, KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from config.pods.identity import SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH
from runtime.api import ApiLines, BootstrapApi
from runtime.cgroups.capability import CgroupTree
from runtime.cri import Cri
from runtime.csi.capability import CsiDrivers
from runtime.device_plugins.capability import DevicePlugins
from runtime.dra.capability import DraDrivers
from runtime.hooks import HookCaller
from runtime.host.facts import HostFacts
from runtime.host.packet_rules import PacketRules
from runtime.host.selinux import FileLabel
from runtime.image_providers.capability import ImageProviders
from runtime.logs.files import LogFiles
from runtime.logs.pod_files import PodFiles
from runtime.logs.pod_logs import PodLogs
from runtime.manifests.files import ManifestDirectory
from runtime.manifests.store import ManifestStore
from runtime.manifests.url import ManifestServer
from runtime.memory_notices import MemoryNotices
from runtime.metrics.meters import Meters
from runtime.node_shutdown.capability import MachineShutdown
from runtime.oom import OomLog
from runtime.plugin_registration.capability import PluginSockets
from runtime.probes import Prober
from runtime.state.allocation_file import AllocationFile
from runtime.state.certificate_keys import CertificateKeys
from runtime.state.device_file import DeviceFile
from runtime.state.docker_config_files import DockerConfigFiles
from runtime.state.id_files import IdFiles
from runtime.state.opaque_file import OpaqueFile
from runtime.state.pull_record_files import PullRecordFiles
from runtime.state.share_files import ShareFiles
from runtime.stats.capability import HostStats
from runtime.traces.spans import Tracer
from runtime.volumes.capability import NodeVolumes
from runtime.volumes.sub_path import SubPaths


@dataclass(frozen=True, slots=True)
class NodeCapabilities:
    """The capabilities of the node, real or simulated."""

    cri: Cri
    prober: Prober
    hooks: HookCaller
    manifests: ManifestDirectory
    manifest_server: ManifestServer
    files: PodFiles
    logs: PodLogs
    log_files: LogFiles
    volumes: NodeVolumes
    sub_paths: SubPaths
    host: HostFacts
    ids: IdFiles
    allocations: AllocationFile
    api: ApiLines | None = None
    """None: the node stands alone and runs static pods only."""
    docker_config: DockerConfigFiles | None = None
    """None: the node has no registry credentials of its own."""
    image_providers: ImageProviders | None = None
    """None: no program has credentials for images."""
    pull_records: PullRecordFiles | None = None
    """None: nobody knows who pulled which image, so every pod may use it."""
    share_files: ShareFiles | None = None
    """None: no pod has CPUs or memory for itself, whatever the configuration says."""
    device_plugins: DevicePlugins | None = None
    device_file: DeviceFile | None = None
    """None for either: no pod has devices of plugins."""
    dra_drivers: DraDrivers | None = None
    claim_file: OpaqueFile | None = None
    """None for either: pods with claims of devices do not run here."""
    island_file: OpaqueFile | None = None
    """None: nothing is remembered for an outage of the API server, whatever the plan says."""
    manifest_store: ManifestStore | None = None
    """None: no manifest is taken, whatever the plan says."""
    serving_keys: CertificateKeys | None = None
    """None: the cluster signs no serving certificate, whatever the configuration says."""
    client_keys: CertificateKeys | None = None
    """None: the node does not renew its client certificate for the API server."""
    bootstrap: BootstrapApi | None = None
    """None: an expired client certificate cannot be replaced."""
    stats: HostStats | None = None
    """None: usage is unknown."""
    meters: Meters = field(default_factory=Meters)
    cgroups: CgroupTree | None = None
    """None: the runtime chooses the cgroups of pods."""
    drivers: CsiDrivers | None = None
    plugin_sockets: PluginSockets | None = None
    """None for either: no plugin is registered here."""
    oom_log: OomLog | None = None
    """None: OOM kills are not reported."""
    machine_shutdown: MachineShutdown | None = None
    """None: the machine's shutdown is not announced."""
    memory_notices: MemoryNotices | None = None
    """None: the kernel does not announce low memory."""
    packet_rules: PacketRules | None = None
    """None: the packet filter is left as it is."""
    tracer: Tracer | None = None
    """None: nothing is traced."""


_NO_FLAGS = GcPolicy()
_UNREMARKABLE = Registration()
_DEFAULT_GATES = FeatureGates({})


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The settings of the node: its facts, its configuration, its feature gates."""

    facts: NodeFacts
    configuration: KubeletConfiguration
    crash_loop: CrashLoopPeriods
    gc_policy: GcPolicy = _NO_FLAGS
    prevent_api_references: bool = True
    registration: Registration = _UNREMARKABLE
    gates: FeatureGates = _DEFAULT_GATES
    file_label: FileLabel | None = None
    """The SELinux label of container files; None without SELinux."""
    pod_volume_content_bytes: int = POD_VOLUME_CONTENT_BYTES
    """What the files that the agent writes for the volumes of one pod may take together."""
    device_patience_ns: int = DEVICE_PLUGIN_WAIT_NS
    """How long a pod waits for a device plugin that this node had; 0: it fails at once, as with a kubelet."""
    pushed_manifests: str = ""
    """The directory of manifests handed to the node; empty: it takes none."""
    remarks: tuple[Remark, ...] = ()
    """Remarks that become events of the node at its start."""
    island: IslandSettings | None = None
    """How pods are started from memory while the API server is away; None: not at all, as with a kubelet.

    It stands last, and is read by `settings_of_island`: a plan in an older record has no such field.
    """

    def sources(self) -> tuple[str, ...]:
        """Names of the configured pod sources, without the API."""
        configuration = self.configuration
        file = (SOURCE_FILE,) if configuration.static_pod_path else ()
        http = (SOURCE_HTTP,) if configuration.static_pod_url else ()
        return file + http + ((SOURCE_PUSH,) if self.pushed_manifests else ())

    def settings_of_island(self) -> IslandSettings | None:
        """`island`; None also in the record of an agent that had no such setting."""
        return getattr(self, "island", None)
