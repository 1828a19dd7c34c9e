"""`NodeSupervisor`: the root of a node's actors. It makes them, knows them by name, and keeps them alive.

The long-lived actors must know each other, so all are reserved first and then furnished with the references they
need. A failing one is restarted by itself, with its mailbox kept; the others do not notice, because each asks again
for what it may have missed. Pod workers are children of the sync loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.cgroup_book import CgroupBook
from actors.cgroup_plan import cgroup_plan
from actors.cgroups import CgroupActor, CgroupTools
from actors.claims import ClaimsActor
from actors.cluster_cache import ClusterCacheActor
from actors.container_gc import ContainerGCActor
from actors.container_gc_rules import GcPolicy, Places
from actors.container_removal import GcTools
from actors.csi_node import CsiNodeActor
from actors.event_recorder import EventRecorderActor
from actors.eviction_manager import EvictionActor
from actors.eviction_steps import EvictionTools
from actors.image_gc import ImageGCActor, ImageTools
from actors.image_gc_rules import GcLimits
from actors.image_leases import ImageLeases
from actors.image_pull import ImagePullActor, PullLimits
from actors.kernel import Actor, ActorRef, ChildFailed, RestartStrategy, handles
from actors.log_rotation import LogRotationActor
from actors.log_rotation_hands import LogTools
from actors.log_rotation_rules import log_limits
from actors.memory_notifier import MemoryNotifierActor, memory_marks
from actors.mirror_pods import MirrorPodActor
from actors.node_certificate import CLIENT, SERVING, NodeCertificateActor, Purpose
from actors.node_lease import NodeLeaseActor
from actors.node_object.settings import NodeSettings, Registration, Remark
from actors.node_shutdown import ShutdownActor, ShutdownTools
from actors.node_stats import NodeStatsActor
from actors.node_status import NodeStatusActor
from actors.object_cache import ObjectCacheActor, strategy_of
from actors.oom_watcher import OomWatcherActor
from actors.pleg import PlegActor
from actors.plugin_watcher import PluginWatcherActor
from actors.pod_cidr import PodCidrActor
from actors.pod_historian import HistorianActor
from actors.pod_services import NodeFacts, PodServices
from actors.resolver_check import ResolverCheckActor
from actors.resource_manager import ResourceManagerActor
from actors.runtime_monitor import RuntimeMonitorActor
from actors.shutdown_rules import groups_of
from actors.source import decoder_of
from actors.source_api import ApiSourceActor
from actors.source_file import FileSourceActor
from actors.source_http import HttpSourceActor
from actors.source_push import PushSourceActor, PushTools
from actors.status_manager import StatusManagerActor
from actors.storage import StorageActor
from actors.sync_loop import SyncLoopActor
from actors.token import TokenActor
from actors.user_namespaces import UserNamespaceActor
from actors.volume_contents import ContentSources, resync_ns
from actors.volume_reconciler import VolumeReconcilerActor
from config.feature_gates import FeatureGates
from config.in_tree_volumes import MIGRATED_PLUGINS
from config.kubelet import CrashLoopPeriods, KubeletConfiguration
from config.pod_identity import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH
from runtime.allocation_file import AllocationFile
from runtime.api import Api, ApiLines
from runtime.certificate_keys import CertificateKeys
from runtime.cgroups.capability import CgroupTree
from runtime.cri import Cri
from runtime.csi.capability import CsiDrivers
from runtime.docker_config_files import DockerConfigFiles
from runtime.hooks import HookCaller
from runtime.host_facts import HostFacts
from runtime.id_files import IdFiles
from runtime.log_files import LogFiles
from runtime.manifest_files import ManifestDirectory
from runtime.manifest_store import ManifestStore
from runtime.manifest_url import ManifestServer
from runtime.memory_notices import MemoryNotices
from runtime.metrics.meters import Meters
from runtime.node_shutdown.capability import MachineShutdown
from runtime.oom import OomLog
from runtime.plugin_registration.capability import PluginSockets
from runtime.pod_files import PodFiles
from runtime.pod_logs import PodLogs
from runtime.probes import Prober
from runtime.stats.capability import HostStats
from runtime.volumes.capability import NodeVolumes
from runtime.volumes.sub_path import SubPaths

SECOND_NS = 1_000_000_000

LONG_LIVED = RestartStrategy(
    name="long-lived",
    budget=10,
    window_ns=300 * SECOND_NS,
    initial_ns=SECOND_NS // 10,
    max_ns=30 * SECOND_NS,
    parked_retry_ns=60 * SECOND_NS,
)
"""The node is nothing without any of these: each comes back within a minute, for ever."""


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


class NodeSupervisor(Actor):
    """See the module. Its children are named as in `docs/architecture.md`."""

    def __init__(self, plan: NodePlan, capabilities: NodeCapabilities) -> None:
        super().__init__()
        self._plan = plan
        self._capabilities = capabilities

    def on_start(self) -> None:
        if self.children:
            return  # this actor has failed and come back; its children never noticed
        refs = {
            "events": self._reserve(EventRecorderActor, "events"),
            "status-manager": self._reserve(StatusManagerActor, "status-manager"),
            "storage": self._reserve(StorageActor, "storage"),
            "sync-loop": self._reserve(SyncLoopActor, "sync-loop"),
            "pleg": self._reserve(PlegActor, "pleg"),
            "runtime-monitor": self._reserve(RuntimeMonitorActor, "runtime-monitor"),
            "image-pull": self._reserve(ImagePullActor, "image-pull"),
            "image-gc": self._reserve(ImageGCActor, "image-gc"),
            "container-gc": self._reserve(ContainerGCActor, "container-gc"),
            "volume-reconciler": self._reserve(VolumeReconcilerActor, "volume-reconciler"),
            "node-status": self._reserve(NodeStatusActor, "node-status"),
            "object-cache": self._reserve(ObjectCacheActor, "object-cache"),
            "cluster-cache": self._reserve(ClusterCacheActor, "cluster-cache"),
            "tokens": self._reserve(TokenActor, "tokens"),
            "user-namespaces": self._reserve(UserNamespaceActor, "user-namespaces"),
            "pod-cidr": self._reserve(PodCidrActor, "pod-cidr"),
            "resources": self._reserve(ResourceManagerActor, "resources"),
        }
        if self._capabilities.api is not None:
            refs["mirror-pods"] = self._reserve(MirrorPodActor, "mirror-pods")
            refs["node-lease"] = self._reserve(NodeLeaseActor, "node-lease")
            refs["claims"] = self._reserve(ClaimsActor, "claims")
        if self._capabilities.cgroups is not None:
            refs["cgroups"] = self._reserve(CgroupActor, "cgroups")
        if self._capabilities.stats is not None:
            refs["eviction"] = self._reserve(EvictionActor, "eviction")
        self._furnish(refs)
        self._start_sources(refs["storage"])

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        if message.parked:
            self.log.error("%s keeps failing and is tried once a minute: %s", message.name, message.cause)

    def _reserve(self, actor_class: type[Actor], name: str) -> ActorRef:
        return self.reserve(actor_class, name=name, strategy=LONG_LIVED)

    def _furnish(self, refs: dict[str, ActorRef]) -> None:
        plan, can = self._plan, self._capabilities
        configuration = plan.configuration
        events, sync_loop, gc = refs["events"], refs["sync-loop"], refs["container-gc"]
        services = PodServices(
            cri=can.cri,
            prober=can.prober,
            hooks=can.hooks,
            files=can.files,
            node=plan.facts,
            configuration=configuration,
            crash_loop=plan.crash_loop,
            sync_loop=sync_loop,
            pleg=refs["pleg"],
            images=refs["image-pull"],
            image_gc=refs["image-gc"],
            cgroups=refs.get("cgroups"),
            eviction=refs.get("eviction"),
            volumes=refs["volume-reconciler"],
            container_gc=gc,
            status_manager=refs["status-manager"],
            events=events,
            objects=refs["object-cache"],
            tokens=refs["tokens"],
            ids=refs["user-namespaces"],
            cluster=refs["cluster-cache"],
            resources=refs["resources"],
            historian=self.spawn(HistorianActor, sync_loop, name="historian", strategy=LONG_LIVED),
            began_ns=self.now_ns(),
            has_cluster=can.api is not None,
            mirrors=refs.get("mirror-pods"),
            meters=can.meters,
        )
        self._furnish_node(refs)
        self.furnish(refs["events"], None if can.api is None else can.api.events, plan.facts.name)
        sources = plan.sources() if can.api is None else (*plan.sources(), SOURCE_API)
        self.furnish(refs["status-manager"], sync_loop, None if can.api is None else can.api.main, can.meters)
        self.furnish(refs["storage"], sync_loop, events, sources)
        self.furnish(sync_loop, services, refs["storage"], sources)
        self.furnish(refs["pleg"], can.cri, sync_loop, gc, refs["node-status"], can.meters)
        self.furnish(refs["runtime-monitor"], can.cri, sync_loop, refs["node-status"])
        limits = PullLimits.of(
            configuration.serialize_image_pulls,
            configuration.max_parallel_image_pulls,
            configuration.registry_pull_qps,
            configuration.registry_burst,
        )
        of_images = (limits, refs["node-status"], can.docker_config, can.meters)
        self.furnish(refs["image-pull"], can.cri, events, *of_images)
        gc_limits, leases = GcLimits.of(configuration), ImageLeases()
        for_images = (leases, plan.facts.name, events, refs["node-status"], can.meters)
        self.furnish(refs["image-gc"], ImageTools(can.cri, can.stats, gc_limits, *for_images))
        places = Places(configuration.pod_logs_dir, plan.facts.container_logs_directory)
        self.furnish(gc, GcTools(can.cri, can.logs, plan.gc_policy, places))
        self._start_log_rotation()
        self._start_stats()
        self._furnish_eviction(refs)
        self._start_shutdown(refs)
        strategy = configuration.config_map_and_secret_change_detection_strategy
        again_ns = resync_ns(configuration.sync_frequency, strategy)
        asked = (refs["object-cache"], refs["tokens"], refs["node-status"], refs.get("claims"))
        contents = ContentSources(*asked, resync_ns=again_ns)
        self.furnish(refs["volume-reconciler"], can.volumes, events, contents, sync_loop, can.sub_paths)
        self._furnish_caches(refs)
        self.furnish(refs["pod-cidr"], can.cri)
        self.furnish(refs["user-namespaces"], can.ids, configuration.ids_per_pod, configuration.max_pods)
        main = None if can.api is None else can.api.main
        what = (can.allocations, plan.facts.name, plan.facts.abilities, events, sync_loop, main, can.meters)
        self.furnish(refs["resources"], *what, refs.get("cgroups"))
        self._furnish_cgroups(refs)
        self._start_resolver_check(events)
        self._start_watching_the_kernel(refs)
        if configuration.server_tls_bootstrap and not configuration.tls_cert_file:
            self._start_certificate(SERVING, can.serving_keys, refs["node-status"])
        if configuration.rotate_certificates:
            self._start_certificate(CLIENT, can.client_keys, refs["node-status"])

    def _start_certificate(self, purpose: Purpose, keys: CertificateKeys | None, node_status: ActorRef) -> None:
        """Who uses it finds it on the disk."""
        api = self._capabilities.api
        if api is not None and keys is not None:
            what = (purpose, api.main, keys, self._plan.facts.name, node_status)
            self.spawn(NodeCertificateActor, *what, name=f"{purpose.name}-certificate", strategy=LONG_LIVED)

    def _start_resolver_check(self, events: ActorRef) -> None:
        """Nobody needs to know it either. A node without a file has nothing to be checked."""
        configuration = self._plan.configuration
        if configuration.resolv_conf:
            what = (configuration.resolv_conf, configuration.cluster_domain, self._plan.facts.name)
            files = self._capabilities.files
            self.spawn(ResolverCheckActor, files, events, *what, name="resolver-check", strategy=LONG_LIVED)

    def _start_watching_the_kernel(self, refs: dict[str, ActorRef]) -> None:
        """Nobody needs to know who does it."""
        can, name = self._capabilities, self._plan.facts.name
        if can.oom_log is not None:
            what = (can.oom_log, refs["events"], name, can.meters)
            self.spawn(OomWatcherActor, *what, name="oom-watcher", strategy=LONG_LIVED)
        marks = memory_marks(self._plan.configuration)
        if marks and can.memory_notices is not None and "eviction" in refs:
            whom = (can.memory_notices, marks, refs["eviction"])
            self.spawn(MemoryNotifierActor, *whom, name="memory-notifier", strategy=LONG_LIVED)

    def _start_stats(self) -> None:
        """Who asks it knows it by its name."""
        can, configuration = self._capabilities, self._plan.configuration
        if can.stats is not None:
            self.spawn(
                NodeStatsActor,
                can.cri,
                can.stats,
                self._plan.facts.root_directory,
                configuration.pod_logs_dir,
                configuration.volume_stats_agg_period,
                can.meters,
                name="stats",
                strategy=LONG_LIVED,
            )

    def _furnish_eviction(self, refs: dict[str, ActorRef]) -> None:
        """Where nobody can say what is used, nobody is evicted."""
        can, plan = self._capabilities, self._plan
        if "eviction" not in refs:
            return
        tools = EvictionTools(
            self.children["stats"],
            refs["sync-loop"],
            refs["events"],
            (refs["node-status"], refs["resources"]),
            refs["container-gc"],
            refs["image-gc"],
            can.files,
            can.meters,
        )
        path = f"{plan.facts.root_directory.rstrip('/')}/evictions"
        self.furnish(refs["eviction"], tools, plan.configuration, plan.facts.name, path)

    def _start_shutdown(self, refs: dict[str, ActorRef]) -> None:
        """Where pods get no time, nobody holds the machine up."""
        can, plan = self._capabilities, self._plan
        groups = groups_of(plan.configuration)
        if can.machine_shutdown is None or not groups:
            return
        whom = (refs["sync-loop"], refs["node-status"], refs["resources"], refs["status-manager"], refs["events"])
        tools = ShutdownTools(can.machine_shutdown, *whom, can.files, can.meters)
        path = f"{plan.facts.root_directory.rstrip('/')}/graceful_node_shutdown_state"
        self.spawn(ShutdownActor, tools, groups, plan.facts.name, path, name="shutdown", strategy=LONG_LIVED)

    def _furnish_cgroups(self, refs: dict[str, ActorRef]) -> None:
        can, facts = self._capabilities, self._plan.facts
        if can.cgroups is None:
            return
        plan = cgroup_plan(
            facts.name,
            self._plan.configuration,
            self._plan.gates,
            version=facts.cgroup_version,
            page_sizes=facts.page_sizes,
            pids=facts.pids,
        )
        tools = CgroupTools(can.cgroups, can.cri, can.volumes, refs["events"], can.meters)
        self.furnish(refs["cgroups"], tools, plan, CgroupBook())

    def _start_log_rotation(self) -> None:
        """Nobody needs to know it: what it works on it finds in the runtime and on the disk."""
        can, configuration = self._capabilities, self._plan.configuration
        limits = log_limits(configuration)
        if limits is not None:
            tools = LogTools(can.cri, can.log_files, limits, configuration.pod_logs_dir)
            self.spawn(LogRotationActor, tools, name="log-rotation", strategy=LONG_LIVED)

    def _furnish_caches(self, refs: dict[str, ActorRef]) -> None:
        """Those who know what pods take from other objects of the API."""
        configuration = self._plan.configuration
        api = None if self._capabilities.api is None else self._capabilities.api.main
        self.furnish(
            refs["object-cache"],
            api,
            strategy_of(configuration.config_map_and_secret_change_detection_strategy),
            configuration.sync_frequency,
            refs["sync-loop"],
            refs["volume-reconciler"],
            refs["node-status"],
        )
        self.furnish(refs["cluster-cache"], api, refs["node-status"])
        if api is not None:
            self._furnish_claims(refs, api)
        self.furnish(refs["tokens"], api)

    def _furnish_claims(self, refs: dict[str, ActorRef], api: Api) -> None:
        """Who resolves claims, and who knows the drivers that serve them."""
        can, name, node = self._capabilities, self._plan.facts.name, refs["node-status"]
        plugins: ActorRef | None = None
        if can.drivers is not None and can.plugin_sockets is not None:
            about = (api, name, node, MIGRATED_PLUGINS)
            csi_node = self.spawn(CsiNodeActor, *about, name="csi-node", strategy=LONG_LIVED)
            whom = (csi_node, (refs["claims"],))
            tools = (can.plugin_sockets, can.drivers)
            plugins = self.spawn(PluginWatcherActor, *tools, *whom, name="plugins", strategy=LONG_LIVED)
        every_ns = self._plan.configuration.sync_frequency
        self.furnish(refs["claims"], api, refs["tokens"], node, name, every_ns, plugins)

    def _furnish_node(self, refs: dict[str, ActorRef]) -> None:
        """Those who stand for the node as a whole in the API."""
        plan, can = self._plan, self._capabilities
        name, configuration, api = plan.facts.name, plan.configuration, can.api
        about = (plan.registration, plan.gates, plan.remarks)
        settings = NodeSettings(name, plan.facts.root_directory, configuration, *about)
        # All who follow the node, so that a restart of its actor loses none of them.
        followers = (
            "mirror-pods",
            "node-lease",
            "cluster-cache",
            "object-cache",
            "volume-reconciler",
            "resources",
            "cgroups",
            "pod-cidr",
        )
        listeners = tuple(refs[each] for each in followers if each in refs)
        heartbeats = None if api is None else api.leases
        what = (heartbeats, can.cri, can.host, settings, refs["events"], listeners, refs["resources"], can.meters)
        self.furnish(refs["node-status"], *what)
        if api is None:
            return
        self.furnish(refs["node-lease"], api.leases, name, configuration.node_lease_duration_seconds)
        mirrors, partners = refs["mirror-pods"], (refs["sync-loop"], refs["status-manager"], refs["node-status"])
        self.furnish(mirrors, api.main, name, *partners)

    def _start_sources(self, storage: ActorRef) -> None:
        plan, can = self._plan, self._capabilities
        configuration = plan.configuration
        if can.api is not None:
            self.spawn(ApiSourceActor, storage, can.api.main, plan.facts.name, name="source-api", strategy=LONG_LIVED)
        if configuration.static_pod_path:
            self.spawn(
                FileSourceActor,
                storage,
                can.manifests,
                configuration.static_pod_path,
                configuration.file_check_frequency,
                decoder_of(SOURCE_FILE, plan.facts.name, plan.prevent_api_references),
                name="source-file",
                strategy=LONG_LIVED,
            )
        if configuration.static_pod_url:
            self.spawn(
                HttpSourceActor,
                storage,
                can.manifest_server,
                configuration.static_pod_url,
                configuration.static_pod_url_header,
                configuration.http_check_frequency,
                decoder_of(SOURCE_HTTP, plan.facts.name, plan.prevent_api_references),
                name="source-http",
                strategy=LONG_LIVED,
            )
        if plan.pushed_manifests and can.manifest_store is not None:
            self.spawn(
                PushSourceActor,
                storage,
                PushTools(can.manifests, can.manifest_store, plan.pushed_manifests),
                configuration.file_check_frequency,
                decoder_of(SOURCE_PUSH, plan.facts.name, plan.prevent_api_references),
                name="source-http-push",
                strategy=LONG_LIVED,
            )
