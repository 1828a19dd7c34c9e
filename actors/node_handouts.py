"""`NodeHandouts`: what is handed to which actor of a node, from its plan, its capabilities and the actors it has.

Arguments only, one method per actor, as the constructor of the actor takes them; nothing is made here. An actor that
this node does without is handed `None`: it is configured away, or the capability is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from actors.cgroup_book import CgroupBook
from actors.cgroup_plan import cgroup_plan
from actors.cgroups import CgroupTools
from actors.container_gc_rules import Places
from actors.container_removal import GcTools
from actors.eviction_steps import EvictionTools
from actors.image_gc import ImageTools
from actors.image_gc_rules import GcLimits
from actors.image_leases import ImageLeases
from actors.image_pull import PullLimits
from actors.kernel import ActorRef
from actors.log_rotation_hands import LogTools
from actors.log_rotation_rules import log_limits
from actors.memory_notifier import memory_marks
from actors.node_certificate import CLIENT, SERVING
from actors.node_object.settings import NodeSettings
from actors.node_plan import NodeCapabilities, NodePlan
from actors.node_shutdown import ShutdownTools
from actors.object_cache import strategy_of
from actors.pod_services import PodServices
from actors.shutdown_rules import groups_of
from actors.source import decoder_of
from actors.source_push import PushTools
from actors.volume_contents import ContentSources, resync_ns
from config.in_tree_volumes import MIGRATED_PLUGINS
from config.pod_identity import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH

Given: TypeAlias = tuple[Any, ...]

FOLLOWERS = (
    "claims",
    "csi-node",
    "mirror-pods",
    "node-lease",
    "cluster-cache",
    "object-cache",
    "volume-reconciler",
    "resources",
    "cgroups",
    "pod-cidr",
)
"""All who follow the Node object, so that a restart of its actor loses none of them."""
INFORMANTS = ("csi-node", "eviction", "shutdown", "volume-reconciler")
"""All who tell the actor of the Node object something when it changes and not again."""


class NodeHandouts:
    """See the module. `refs`: the actors that others must know, by name; who is not there is absent."""

    def __init__(self, plan: NodePlan, capabilities: NodeCapabilities, refs: Mapping[str, ActorRef]) -> None:
        self._plan = plan
        self._can = capabilities
        self._refs = refs
        self._configuration = plan.configuration
        self._name = plan.facts.name
        self._api = None if capabilities.api is None else capabilities.api.main

    def _all(self, *names: str) -> tuple[ActorRef, ...]:
        return tuple(self._refs[name] for name in names)

    def _on_disk(self, name: str) -> str:
        """Where an actor keeps what its next life is to know."""
        return f"{self._plan.facts.root_directory.rstrip('/')}/{name}"

    # --- pods, from their sources to their workers --------------------------------------------------------------------

    def source_names(self) -> tuple[str, ...]:
        named = self._plan.sources()
        return named if self._api is None else (*named, SOURCE_API)

    def source_api(self) -> Given | None:
        return None if self._api is None else (self._refs["storage"], self._api, self._name)

    def source_file(self) -> Given | None:
        told = self._configuration
        if not told.static_pod_path:
            return None
        where = (self._can.manifests, told.static_pod_path, told.file_check_frequency)
        return self._refs["storage"], *where, self._decoder(SOURCE_FILE)

    def source_http(self) -> Given | None:
        told = self._configuration
        if not told.static_pod_url:
            return None
        where = (self._can.manifest_server, told.static_pod_url, told.static_pod_url_header, told.http_check_frequency)
        return self._refs["storage"], *where, self._decoder(SOURCE_HTTP)

    def source_push(self) -> Given | None:
        can, directory = self._can, self._plan.pushed_manifests
        if not directory or can.manifest_store is None:
            return None
        tools = PushTools(can.manifests, can.manifest_store, directory)
        return self._refs["storage"], tools, self._configuration.file_check_frequency, self._decoder(SOURCE_PUSH)

    def _decoder(self, source: str) -> Any:
        return decoder_of(source, self._name, self._plan.prevent_api_references)

    def storage(self) -> Given:
        return *self._all("sync-loop", "events"), self.source_names()

    def sync_loop(self, services: PodServices) -> Given:
        return services, *self._all("storage", "runtime-monitor"), self.source_names()

    def services(self, historian: ActorRef, began_ns: int) -> PodServices:
        """What every worker is handed."""
        can, plan, refs = self._can, self._plan, self._refs
        return PodServices(
            cri=can.cri,
            prober=can.prober,
            hooks=can.hooks,
            files=can.files,
            node=plan.facts,
            configuration=plan.configuration,
            crash_loop=plan.crash_loop,
            sync_loop=refs["sync-loop"],
            pleg=refs["pleg"],
            images=refs["image-pull"],
            image_gc=refs["image-gc"],
            cgroups=refs.get("cgroups"),
            eviction=refs.get("eviction"),
            volumes=refs["volume-reconciler"],
            container_gc=refs["container-gc"],
            status_manager=refs["status-manager"],
            events=refs["events"],
            objects=refs["object-cache"],
            tokens=refs["tokens"],
            ids=refs["user-namespaces"],
            cluster=refs["cluster-cache"],
            resources=refs["resources"],
            historian=historian,
            began_ns=began_ns,
            has_cluster=can.api is not None,
            mirrors=refs.get("mirror-pods"),
            meters=can.meters,
        )

    def historian(self) -> Given:
        return self._all("sync-loop")

    # --- the runtime, its images, containers and logs -----------------------------------------------------------------

    def pleg(self) -> Given:
        return self._can.cri, *self._all("sync-loop", "container-gc", "node-status"), self._can.meters

    def runtime_monitor(self) -> Given:
        return self._can.cri, *self._all("sync-loop", "node-status")

    def image_pull(self) -> Given:
        can, told = self._can, self._configuration
        limits = PullLimits.of(
            told.serialize_image_pulls,
            told.max_parallel_image_pulls,
            told.registry_pull_qps,
            told.registry_burst,
        )
        return (
            can.cri,
            self._refs["events"],
            limits,
            self._refs["node-status"],
            can.docker_config,
            can.meters,
            self._refs["status-manager"],
        )

    def image_gc(self) -> Given:
        can, limits = self._can, GcLimits.of(self._configuration)
        about = (ImageLeases(), self._name, self._refs["events"], self._refs["node-status"], can.meters)
        return (ImageTools(can.cri, can.stats, limits, *about),)

    def container_gc(self) -> Given:
        can = self._can
        places = Places(self._configuration.pod_logs_dir, self._plan.facts.container_logs_directory)
        return self._refs["sync-loop"], GcTools(can.cri, can.logs, self._plan.gc_policy, places)

    def log_rotation(self) -> Given | None:
        can, limits = self._can, log_limits(self._configuration)
        if limits is None:
            return None
        return (LogTools(can.cri, can.log_files, limits, self._configuration.pod_logs_dir),)

    # --- what pods take from volumes and from other objects -----------------------------------------------------------

    def volume_reconciler(self) -> Given:
        can, told = self._can, self._configuration
        again_ns = resync_ns(told.sync_frequency, told.config_map_and_secret_change_detection_strategy)
        refs = self._refs
        asked = (refs["object-cache"], refs["tokens"], refs["node-status"], refs.get("claims"))
        contents = ContentSources(*asked, resync_ns=again_ns)
        return can.volumes, refs["events"], contents, refs["sync-loop"], can.sub_paths

    def object_cache(self) -> Given:
        told = self._configuration
        strategy = strategy_of(told.config_map_and_secret_change_detection_strategy)
        whom = self._all("sync-loop", "volume-reconciler", "node-status")
        return self._api, strategy, told.sync_frequency, *whom

    def cluster_cache(self) -> Given:
        return self._api, *self._all("node-status", "sync-loop")

    def tokens(self) -> Given:
        return (self._api,)

    def csi_node(self) -> Given | None:
        """Where no plugin is registered, none is told of."""
        if "csi-node" not in self._refs:
            return None
        return self._api, self._name, self._refs["node-status"], MIGRATED_PLUGINS, self._refs["plugins"]

    def plugins(self) -> Given:
        return self._can.plugin_sockets, self._can.drivers, self._refs["csi-node"], self._all("claims")

    def claims(self) -> Given:
        every_ns = self._configuration.sync_frequency
        return self._api, *self._all("tokens", "node-status"), self._name, every_ns, self._refs.get("plugins")

    # --- what the node has, and what it runs short of -----------------------------------------------------------------

    def user_namespaces(self) -> Given:
        return self._can.ids, self._configuration.ids_per_pod, self._configuration.max_pods

    def resources(self) -> Given:
        can, facts = self._can, self._plan.facts
        whom = (self._api, can.meters, self._refs.get("cgroups"), self._refs["node-status"])
        return can.allocations, facts.name, facts.abilities, *self._all("events", "sync-loop"), *whom

    def cgroups(self) -> Given | None:
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
        return CgroupTools(can.cgroups, can.cri, can.volumes, self._refs["events"], can.meters), plan, CgroupBook()

    def stats(self) -> Given | None:
        can, told = self._can, self._configuration
        if can.stats is None:
            return None
        where = (self._plan.facts.root_directory, told.pod_logs_dir)
        return can.cri, can.stats, *where, told.volume_stats_agg_period, can.meters

    def eviction(self, stats: ActorRef) -> Given:
        can, refs = self._can, self._refs
        told = (refs["node-status"], refs["resources"])
        whom = (stats, refs["sync-loop"], refs["events"], told, refs["container-gc"], refs["image-gc"])
        tools = EvictionTools(*whom, can.files, can.meters)
        return tools, self._configuration, self._name, self._on_disk("evictions")

    def memory_notifier(self) -> Given | None:
        marks = memory_marks(self._configuration)
        if not marks or self._can.memory_notices is None or "eviction" not in self._refs:
            return None
        return self._can.memory_notices, marks, self._refs["eviction"]

    def oom_watcher(self) -> Given | None:
        can = self._can
        return None if can.oom_log is None else (can.oom_log, self._refs["events"], self._name, can.meters)

    def shutdown(self) -> Given | None:
        """Where pods get no time, nobody holds the machine up."""
        can, groups = self._can, groups_of(self._configuration)
        if can.machine_shutdown is None or not groups:
            return None
        refs = self._refs
        whom = (refs["sync-loop"], refs["node-status"], refs["resources"], refs["status-manager"], refs["events"])
        tools = ShutdownTools(can.machine_shutdown, *whom, can.files, can.meters)
        return tools, groups, self._name, self._on_disk("graceful_node_shutdown_state")

    def resolver_check(self) -> Given | None:
        """A node without a file has nothing to be checked."""
        told = self._configuration
        if not told.resolv_conf:
            return None
        return self._can.files, self._refs["events"], told.resolv_conf, told.cluster_domain, self._name

    # --- what the cluster is told of the node and its pods ------------------------------------------------------------

    def node_status(self) -> Given:
        can, plan = self._can, self._plan
        about = (plan.registration, plan.gates, plan.remarks)
        settings = NodeSettings(self._name, plan.facts.root_directory, plan.configuration, *about)
        heartbeats = None if can.api is None else can.api.leases
        followers, informants = self._all(*_in(self._refs, FOLLOWERS)), self._all(*_in(self._refs, INFORMANTS))
        whom = (self._refs["events"], followers, self._refs["resources"])
        return heartbeats, can.cri, can.host, settings, *whom, can.meters, informants

    def node_lease(self) -> Given | None:
        api = self._can.api
        return None if api is None else (api.leases, self._name, self._configuration.node_lease_duration_seconds)

    def mirror_pods(self) -> Given | None:
        if self._api is None:
            return None
        return self._api, self._name, *self._all("sync-loop", "status-manager", "node-status")

    def events(self) -> Given:
        return None if self._can.api is None else self._can.api.events, self._name

    def status_manager(self) -> Given:
        return self._refs["sync-loop"], self._api, self._can.meters

    def pod_cidr(self) -> Given:
        return (self._can.cri,)

    def serving_certificate(self) -> Given | None:
        """Where the node has a certificate of its own, the cluster signs it none."""
        told, keys = self._configuration, self._can.serving_keys
        if self._api is None or keys is None or not told.server_tls_bootstrap or told.tls_cert_file:
            return None
        return SERVING, self._api, keys, self._name, self._refs["node-status"]

    def client_certificate(self) -> Given | None:
        keys = self._can.client_keys
        if self._api is None or keys is None or not self._configuration.rotate_certificates:
            return None
        return CLIENT, self._api, keys, self._name, self._refs["node-status"], self._can.bootstrap


def _in(refs: Mapping[str, ActorRef], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that this node has."""
    return tuple(name for name in names if name in refs)
