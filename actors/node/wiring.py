"""`NodeWiring`: the constructor arguments of each actor of a node, from its plan, its capabilities and the others.

One method per actor gives a `Recipe`: the class and its keyword arguments, which mypy checks against the constructor.
The recipe is None for an actor that this node does without: it is configured away, or a capability is missing. Nothing
is started here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, cast

from actors.cluster.cache import ClusterCacheActor
from actors.cluster.object_cache import ObjectCacheActor, strategy_of
from actors.cluster.token import TokenActor
from actors.containers.gc import ContainerGCActor
from actors.containers.gc_rules import Places
from actors.containers.log_rotation import LogRotationActor
from actors.containers.log_rotation_children import LogTools
from actors.containers.log_rotation_rules import log_limits
from actors.containers.removal import GcTools
from actors.events.historian import HistorianActor
from actors.events.recorder import EventRecorderActor
from actors.eviction.manager import EvictionActor
from actors.eviction.memory_notifier import MemoryNotifierActor, memory_marks
from actors.eviction.steps import EvictionTools
from actors.images.gc import ImageGCActor, ImageTools
from actors.images.gc_rules import GcLimits
from actors.images.leases import ImageLeases
from actors.images.pull import ImagePullActor, PullLimits
from actors.kernel import Actor, ActorRef
from actors.node.certificate import CLIENT, SERVING, NodeCertificateActor
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.pod_cidr import PodCidrActor
from actors.node.resolver_check import ResolverCheckActor
from actors.node.shutdown import ShutdownActor, ShutdownTools
from actors.node.shutdown_rules import groups_of
from actors.node.stats import NodeStatsActor
from actors.node.status.actor import NodeStatusActor
from actors.node.status.lease import NodeLeaseActor
from actors.node_object.settings import NodeSettings
from actors.pleg.oom_watcher import OomWatcherActor
from actors.pleg.pleg import PlegActor
from actors.pleg.runtime_monitor import RuntimeMonitorActor
from actors.pod.services import PodServices
from actors.resources.cgroups.actor import CgroupActor, CgroupTools
from actors.resources.cgroups.book import CgroupBook
from actors.resources.cgroups.plan import cgroup_plan
from actors.resources.manager import ResourceManagerActor
from actors.resources.user_namespaces import UserNamespaceActor
from actors.sources.api import ApiSourceActor
from actors.sources.file import FileSourceActor
from actors.sources.http import HttpSourceActor
from actors.sources.mirror_pods import MirrorPodActor
from actors.sources.push import PushSourceActor, PushTools
from actors.sources.source import Decode, decoder_of
from actors.sources.storage import StorageActor
from actors.status.manager import StatusManagerActor
from actors.sync.loop import SyncLoopActor
from actors.volumes.claims.claims import ClaimsActor
from actors.volumes.contents import ContentSources, resync_ns
from actors.volumes.plugins.csi_node import CsiNodeActor
from actors.volumes.plugins.watcher import PluginWatcherActor
from actors.volumes.reconciler import VolumeReconcilerActor
from config.pods.identity import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH
from config.pods.in_tree_volumes import MIGRATED_PLUGINS

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Recipe:
    """An actor's class and arguments, for its start and every restart."""

    actor_class: type[Actor]
    arguments: Mapping[str, Any]

    @staticmethod
    def of(actor_class: Callable[P, Actor], *none: P.args, **arguments: P.kwargs) -> Recipe:
        """The parameters are those of the constructor, so that mypy finds a wrong or missing argument."""
        assert not none, "arguments have names here"
        return Recipe(cast(type[Actor], actor_class), arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeActors:
    """The actors that others must know. None: this node does without it."""

    events: ActorRef
    status_manager: ActorRef
    storage: ActorRef
    sync_loop: ActorRef
    historian: ActorRef
    pleg: ActorRef
    runtime_monitor: ActorRef
    image_pull: ActorRef
    image_gc: ActorRef
    container_gc: ActorRef
    volume_reconciler: ActorRef
    node_status: ActorRef
    object_cache: ActorRef
    cluster_cache: ActorRef
    tokens: ActorRef
    user_namespaces: ActorRef
    pod_cidr: ActorRef
    resources: ActorRef
    mirror_pods: ActorRef | None
    node_lease: ActorRef | None
    claims: ActorRef | None
    csi_node: ActorRef | None
    plugins: ActorRef | None
    cgroups: ActorRef | None
    stats: ActorRef | None
    eviction: ActorRef | None
    shutdown: ActorRef | None


class NodeWiring:
    """See the module."""

    def __init__(self, plan: NodePlan, capabilities: NodeCapabilities, actors: NodeActors) -> None:
        self._plan = plan
        self._can = capabilities
        self._actors = actors
        self._configuration = plan.configuration
        self._name = plan.facts.name
        self._api = None if capabilities.api is None else capabilities.api.main

    def _on_disk(self, name: str) -> str:
        """The path of an actor's file that outlives the agent."""
        return f"{self._plan.facts.root_directory.rstrip('/')}/{name}"

    # --- pods, from their sources to their workers --------------------------------------------------------------------

    def _source_names(self) -> tuple[str, ...]:
        named = self._plan.sources()
        return named if self._api is None else (*named, SOURCE_API)

    def source_api(self) -> Recipe | None:
        if self._api is None:
            return None
        return Recipe.of(ApiSourceActor, storage=self._actors.storage, api=self._api, node_name=self._name)

    def source_file(self) -> Recipe | None:
        if not self._configuration.static_pod_path:
            return None
        return Recipe.of(
            FileSourceActor,
            storage=self._actors.storage,
            directory=self._can.manifests,
            path=self._configuration.static_pod_path,
            period_ns=self._configuration.file_check_frequency,
            decode=self._decoder(SOURCE_FILE),
        )

    def source_http(self) -> Recipe | None:
        if not self._configuration.static_pod_url:
            return None
        return Recipe.of(
            HttpSourceActor,
            storage=self._actors.storage,
            server=self._can.manifest_server,
            url=self._configuration.static_pod_url,
            headers=self._configuration.static_pod_url_header,
            period_ns=self._configuration.http_check_frequency,
            decode=self._decoder(SOURCE_HTTP),
        )

    def source_push(self) -> Recipe | None:
        path, store = self._plan.pushed_manifests, self._can.manifest_store
        if not path or store is None:
            return None
        return Recipe.of(
            PushSourceActor,
            storage=self._actors.storage,
            tools=PushTools(directory=self._can.manifests, store=store, path=path),
            period_ns=self._configuration.file_check_frequency,
            decode=self._decoder(SOURCE_PUSH),
        )

    def _decoder(self, source: str) -> Decode:
        return decoder_of(source, self._name, self._plan.prevent_api_references)

    def storage(self) -> Recipe:
        actors = self._actors
        return Recipe.of(StorageActor, sync_loop=actors.sync_loop, events=actors.events, sources=self._source_names())

    def sync_loop(self, began_ns: int) -> Recipe:
        """`began_ns`: when the agent began, monotonic."""
        return Recipe.of(
            SyncLoopActor,
            services=self._services(began_ns),
            storage=self._actors.storage,
            runtime_monitor=self._actors.runtime_monitor,
            sources=self._source_names(),
        )

    def _services(self, began_ns: int) -> PodServices:
        """What every pod worker gets."""
        can, plan, actors = self._can, self._plan, self._actors
        return PodServices(
            cri=can.cri,
            prober=can.prober,
            hooks=can.hooks,
            files=can.files,
            node=plan.facts,
            configuration=plan.configuration,
            crash_loop=plan.crash_loop,
            sync_loop=actors.sync_loop,
            pleg=actors.pleg,
            images=actors.image_pull,
            image_gc=actors.image_gc,
            cgroups=actors.cgroups,
            eviction=actors.eviction,
            volumes=actors.volume_reconciler,
            container_gc=actors.container_gc,
            status_manager=actors.status_manager,
            events=actors.events,
            objects=actors.object_cache,
            tokens=actors.tokens,
            ids=actors.user_namespaces,
            cluster=actors.cluster_cache,
            resources=actors.resources,
            historian=actors.historian,
            began_ns=began_ns,
            has_cluster=can.api is not None,
            mirrors=actors.mirror_pods,
            meters=can.meters,
        )

    def historian(self) -> Recipe:
        return Recipe.of(HistorianActor, sync_loop=self._actors.sync_loop)

    # --- the runtime, its images, containers and logs -----------------------------------------------------------------

    def pleg(self) -> Recipe:
        actors = self._actors
        return Recipe.of(
            PlegActor,
            cri=self._can.cri,
            sync_loop=actors.sync_loop,
            gc=actors.container_gc,
            node_status=actors.node_status,
            meters=self._can.meters,
        )

    def runtime_monitor(self) -> Recipe:
        actors = self._actors
        return Recipe.of(
            RuntimeMonitorActor, cri=self._can.cri, sync_loop=actors.sync_loop, node_status=actors.node_status
        )

    def image_pull(self) -> Recipe:
        can, configuration = self._can, self._configuration
        return Recipe.of(
            ImagePullActor,
            cri=can.cri,
            events=self._actors.events,
            limits=PullLimits.of(
                serialize=configuration.serialize_image_pulls,
                max_parallel=configuration.max_parallel_image_pulls,
                per_second=configuration.registry_pull_qps,
                burst=configuration.registry_burst,
            ),
            node_status=self._actors.node_status,
            docker_config=can.docker_config,
            meters=can.meters,
            status_manager=self._actors.status_manager,
        )

    def image_gc(self) -> Recipe:
        can = self._can
        tools = ImageTools(
            cri=can.cri,
            host=can.stats,
            limits=GcLimits.of(self._configuration),
            leases=ImageLeases(),
            node=self._name,
            events=self._actors.events,
            node_status=self._actors.node_status,
            meters=can.meters,
        )
        return Recipe.of(ImageGCActor, tools=tools)

    def container_gc(self) -> Recipe:
        can, policy = self._can, self._plan.gc_policy
        places = Places(self._configuration.pod_logs_dir, self._plan.facts.container_logs_directory)
        tools = GcTools(cri=can.cri, logs=can.logs, policy=policy, places=places)
        return Recipe.of(ContainerGCActor, sync_loop=self._actors.sync_loop, tools=tools)

    def log_rotation(self) -> Recipe | None:
        can, limits = self._can, log_limits(self._configuration)
        if limits is None:
            return None
        pod_logs = self._configuration.pod_logs_dir
        return Recipe.of(LogRotationActor, tools=LogTools(can.cri, can.log_files, limits, pod_logs))

    # --- what pods take from volumes and from other objects -----------------------------------------------------------

    def volume_reconciler(self) -> Recipe:
        can, configuration, actors = self._can, self._configuration, self._actors
        strategy = configuration.config_map_and_secret_change_detection_strategy
        sources = ContentSources(
            objects=actors.object_cache,
            tokens=actors.tokens,
            node=actors.node_status,
            claims=actors.claims,
            resync_ns=resync_ns(configuration.sync_frequency, strategy),
        )
        return Recipe.of(
            VolumeReconcilerActor,
            volumes=can.volumes,
            events=actors.events,
            sources=sources,
            sync_loop=actors.sync_loop,
            sub_paths=can.sub_paths,
        )

    def object_cache(self) -> Recipe:
        configuration, actors = self._configuration, self._actors
        return Recipe.of(
            ObjectCacheActor,
            api=self._api,
            strategy=strategy_of(configuration.config_map_and_secret_change_detection_strategy),
            sync_frequency_ns=configuration.sync_frequency,
            sync_loop=actors.sync_loop,
            volumes=actors.volume_reconciler,
            node=actors.node_status,
        )

    def cluster_cache(self) -> Recipe:
        actors = self._actors
        return Recipe.of(ClusterCacheActor, api=self._api, node=actors.node_status, sync_loop=actors.sync_loop)

    def tokens(self) -> Recipe:
        return Recipe.of(TokenActor, api=self._api)

    def csi_node(self) -> Recipe | None:
        actors = self._actors
        if actors.plugins is None:
            return None
        return Recipe.of(
            CsiNodeActor,
            api=self._api,
            node_name=self._name,
            node_status=actors.node_status,
            migrated=MIGRATED_PLUGINS,
            plugins=actors.plugins,
        )

    def plugins(self) -> Recipe | None:
        can, actors = self._can, self._actors
        if actors.csi_node is None or can.plugin_sockets is None or can.drivers is None:
            return None
        return Recipe.of(
            PluginWatcherActor,
            sockets=can.plugin_sockets,
            drivers=can.drivers,
            csi_node=actors.csi_node,
            listeners=present(actors.claims),
        )

    def claims(self) -> Recipe | None:
        if self._api is None:
            return None
        return Recipe.of(
            ClaimsActor,
            api=self._api,
            tokens=self._actors.tokens,
            node_status=self._actors.node_status,
            node_name=self._name,
            sync_frequency_ns=self._configuration.sync_frequency,
            plugins=self._actors.plugins,
        )

    # --- what the node has, and what it runs short of -----------------------------------------------------------------

    def user_namespaces(self) -> Recipe:
        told = self._configuration
        return Recipe.of(UserNamespaceActor, files=self._can.ids, ids_per_pod=told.ids_per_pod, max_pods=told.max_pods)

    def resources(self) -> Recipe:
        can, facts, actors = self._can, self._plan.facts, self._actors
        return Recipe.of(
            ResourceManagerActor,
            file=can.allocations,
            node_name=facts.name,
            abilities=facts.abilities,
            events=actors.events,
            sync_loop=actors.sync_loop,
            api=self._api,
            meters=can.meters,
            cgroups=actors.cgroups,
            node=actors.node_status,
        )

    def cgroups(self) -> Recipe | None:
        can, facts = self._can, self._plan.facts
        if can.cgroups is None:
            return None
        plan = cgroup_plan(
            facts.name,
            self._configuration,
            self._plan.gates,
            version=facts.cgroup_version,
            page_sizes=facts.page_sizes,
            pids=facts.pids,
        )
        tools = CgroupTools(can.cgroups, can.cri, can.volumes, self._actors.events, can.meters)
        return Recipe.of(CgroupActor, tools=tools, plan=plan, book=CgroupBook())

    def stats(self) -> Recipe | None:
        can, configuration = self._can, self._configuration
        if can.stats is None:
            return None
        return Recipe.of(
            NodeStatsActor,
            cri=can.cri,
            host=can.stats,
            root_directory=self._plan.facts.root_directory,
            pod_logs=configuration.pod_logs_dir,
            count_every_ns=configuration.volume_stats_agg_period,
            meters=can.meters,
        )

    def eviction(self) -> Recipe | None:
        actors = self._actors
        if actors.stats is None:
            return None
        tools = EvictionTools(
            stats=actors.stats,
            sync_loop=actors.sync_loop,
            events=actors.events,
            listeners=(actors.node_status, actors.resources),
            containers=actors.container_gc,
            images=actors.image_gc,
            files=self._can.files,
            meters=self._can.meters,
        )
        path = self._on_disk("evictions")
        return Recipe.of(EvictionActor, tools=tools, configuration=self._configuration, node_name=self._name, path=path)

    def memory_notifier(self) -> Recipe | None:
        marks, notices, eviction = memory_marks(self._configuration), self._can.memory_notices, self._actors.eviction
        if not marks or notices is None or eviction is None:
            return None
        return Recipe.of(MemoryNotifierActor, notices=notices, marks=marks, eviction=eviction)

    def oom_watcher(self) -> Recipe | None:
        log = self._can.oom_log
        if log is None:
            return None
        return Recipe.of(OomWatcherActor, log=log, events=self._actors.events, node=self._name, meters=self._can.meters)

    def shutdown(self) -> Recipe | None:
        machine, actors = self._can.machine_shutdown, self._actors
        if machine is None:
            return None
        tools = ShutdownTools(
            machine=machine,
            sync_loop=actors.sync_loop,
            node_status=actors.node_status,
            resources=actors.resources,
            status_manager=actors.status_manager,
            events=actors.events,
            files=self._can.files,
            meters=self._can.meters,
        )
        path = self._on_disk("graceful_node_shutdown_state")
        groups = groups_of(self._configuration)
        return Recipe.of(ShutdownActor, tools=tools, groups=groups, node_name=self._name, path=path)

    def resolver_check(self) -> Recipe | None:
        configuration = self._configuration
        if not configuration.resolv_conf:
            return None
        return Recipe.of(
            ResolverCheckActor,
            files=self._can.files,
            events=self._actors.events,
            path=configuration.resolv_conf,
            domain=configuration.cluster_domain,
            node=self._name,
        )

    # --- what the cluster is told of the node and its pods ------------------------------------------------------------

    def node_status(self) -> Recipe:
        can, plan, actors = self._can, self._plan, self._actors
        about = (plan.registration, plan.gates, plan.remarks)
        return Recipe.of(
            NodeStatusActor,
            api=None if can.api is None else can.api.leases,
            cri=can.cri,
            host=can.host,
            settings=NodeSettings(self._name, plan.facts.root_directory, plan.configuration, *about),
            events=actors.events,
            # All followers of the Node object, so that a restart of its actor loses none of them.
            listeners=present(
                actors.claims,
                actors.csi_node,
                actors.mirror_pods,
                actors.node_lease,
                actors.cluster_cache,
                actors.object_cache,
                actors.volume_reconciler,
                actors.resources,
                actors.cgroups,
                actors.pod_cidr,
            ),
            expected=actors.resources,
            meters=can.meters,
            # Actors that report only changes: they are asked to report again after a restart.
            informants=present(actors.csi_node, actors.eviction, actors.shutdown, actors.volume_reconciler),
        )

    def node_lease(self) -> Recipe | None:
        api, seconds = self._can.api, self._configuration.node_lease_duration_seconds
        if api is None:
            return None
        return Recipe.of(NodeLeaseActor, api=api.leases, node_name=self._name, duration_seconds=seconds)

    def mirror_pods(self) -> Recipe | None:
        actors = self._actors
        if self._api is None:
            return None
        return Recipe.of(
            MirrorPodActor,
            api=self._api,
            node_name=self._name,
            sync_loop=actors.sync_loop,
            status_manager=actors.status_manager,
            node_status=actors.node_status,
        )

    def events(self) -> Recipe:
        api = None if self._can.api is None else self._can.api.events
        return Recipe.of(EventRecorderActor, api=api, node_name=self._name)

    def status_manager(self) -> Recipe:
        sync_loop, meters = self._actors.sync_loop, self._can.meters
        return Recipe.of(StatusManagerActor, sync_loop=sync_loop, api=self._api, meters=meters)

    def pod_cidr(self) -> Recipe:
        return Recipe.of(PodCidrActor, cri=self._can.cri)

    def serving_certificate(self) -> Recipe | None:
        """A node with a serving certificate of its own requests none."""
        told, keys = self._configuration, self._can.serving_keys
        if self._api is None or keys is None or not told.server_tls_bootstrap or told.tls_cert_file:
            return None
        return Recipe.of(
            NodeCertificateActor,
            purpose=SERVING,
            api=self._api,
            keys=keys,
            node_name=self._name,
            node_status=self._actors.node_status,
        )

    def client_certificate(self) -> Recipe | None:
        keys = self._can.client_keys
        if self._api is None or keys is None or not self._configuration.rotate_certificates:
            return None
        return Recipe.of(
            NodeCertificateActor,
            purpose=CLIENT,
            api=self._api,
            keys=keys,
            node_name=self._name,
            node_status=self._actors.node_status,
            bootstrap=self._can.bootstrap,
        )


def present(*refs: ActorRef | None) -> tuple[ActorRef, ...]:
    """The references that are not None."""
    return tuple(ref for ref in refs if ref is not None)
