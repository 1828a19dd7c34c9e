"""What a node can do (`NodeCapabilities`) and what it is told (`NodePlan`): all that its actors are made from.

Whether a capability is real or simulated is nobody's business from here on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.containers.gc_rules import GcPolicy
from actors.node_object.settings import Registration, Remark
from actors.pod.services import NodeFacts
from config.kubelet import CrashLoopPeriods, KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from config.pods.identity import SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH
from runtime.api import ApiLines, BootstrapApi
from runtime.cgroups.capability import CgroupTree
from runtime.cri import Cri
from runtime.csi.capability import CsiDrivers
from runtime.hooks import HookCaller
from runtime.host.facts import HostFacts
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
from runtime.state.docker_config_files import DockerConfigFiles
from runtime.state.id_files import IdFiles
from runtime.stats.capability import HostStats
from runtime.volumes.capability import NodeVolumes
from runtime.volumes.sub_path import SubPaths


@dataclass(frozen=True, slots=True)
class NodeCapabilities:
    """What the node can do, real or simulated."""

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
    """None: the node has no credentials for registries of its own."""
    manifest_store: ManifestStore | None = None
    """None: no manifest is taken, whatever the plan says."""
    serving_keys: CertificateKeys | None = None
    """None: the cluster signs no serving certificate, whatever the configuration says."""
    client_keys: CertificateKeys | None = None
    """None: the certificate towards the API server is not the node's to renew."""
    bootstrap: BootstrapApi | None = None
    """None: where that certificate has ended there is no way to another."""
    stats: HostStats | None = None
    """None: nobody can say what is used here."""
    meters: Meters = field(default_factory=Meters)
    cgroups: CgroupTree | None = None
    """None: the runtime puts pods where it likes."""
    drivers: CsiDrivers | None = None
    plugin_sockets: PluginSockets | None = None
    """None, either of them: no plugin is registered here."""
    oom_log: OomLog | None = None
    """None: nobody says who was killed for want of memory."""
    machine_shutdown: MachineShutdown | None = None
    """None: nobody says when the machine goes down."""
    memory_notices: MemoryNotices | None = None
    """None: nobody says when memory runs short."""


_NO_FLAGS = GcPolicy()
_UNREMARKABLE = Registration()
_DEFAULT_GATES = FeatureGates({})


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What the node is told: its facts, its configuration, what the feature gates decide."""

    facts: NodeFacts
    configuration: KubeletConfiguration
    crash_loop: CrashLoopPeriods
    gc_policy: GcPolicy = _NO_FLAGS
    prevent_api_references: bool = True
    registration: Registration = _UNREMARKABLE
    gates: FeatureGates = _DEFAULT_GATES
    pushed_manifests: str = ""
    """The directory of manifests that are handed to the node; empty: it takes none."""
    remarks: tuple[Remark, ...] = ()
    """What is said of the node when it starts."""

    def sources(self) -> tuple[str, ...]:
        """Names of the sources of pods that are configured."""
        configuration = self.configuration
        file = (SOURCE_FILE,) if configuration.static_pod_path else ()
        http = (SOURCE_HTTP,) if configuration.static_pod_url else ()
        return file + http + ((SOURCE_PUSH,) if self.pushed_manifests else ())
