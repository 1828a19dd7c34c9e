"""`NodeSupervisor`: the root of a node's actors. It makes them, knows them by name, and keeps them alive.

The long-lived actors must know each other. So it reserves all that others must know, then starts each with the
references that it needs. `actors.node.wiring` gives the arguments of each. A failed actor restarts alone and keeps its
mailbox. Others do not notice, because each asks again for what it may have missed. Pod workers are children of the sync
loop. Once a minute every idle actor is asked whether it lives, so that health can name one that hangs.
"""

from __future__ import annotations

from typing import ClassVar

from actors.cluster.cache import ClusterCacheActor
from actors.cluster.object_cache import ObjectCacheActor
from actors.cluster.token import TokenActor
from actors.containers.gc import ContainerGCActor
from actors.events.historian import HistorianActor
from actors.events.recorder import EventRecorderActor
from actors.eviction.manager import EvictionActor
from actors.images.gc import ImageGCActor
from actors.images.pull import ImagePullActor
from actors.kernel import Actor, ActorRef, ChildFailed, Message, RestartStrategy, handles
from actors.node.certificate import CLIENT, SERVING
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.pod_cidr import PodCidrActor
from actors.node.shutdown import ShutdownActor
from actors.node.shutdown_rules import groups_of
from actors.node.stats import NodeStatsActor
from actors.node.status.actor import NodeStatusActor
from actors.node.status.lease import NodeLeaseActor
from actors.node.wiring import NodeActors, NodeWiring, Recipe
from actors.pleg.pleg import PlegActor
from actors.pleg.runtime_monitor import RuntimeMonitorActor
from actors.resources.cgroups.actor import CgroupActor
from actors.resources.manager import ResourceManagerActor
from actors.resources.user_namespaces import UserNamespaceActor
from actors.sources.mirror_pods import MirrorPodActor
from actors.sources.storage import StorageActor
from actors.status.manager import StatusManagerActor
from actors.sync.loop import SyncLoopActor
from actors.volumes.claims.claims import ClaimsActor
from actors.volumes.plugins.csi_node import CsiNodeActor
from actors.volumes.plugins.watcher import PluginWatcherActor
from actors.volumes.reconciler import VolumeReconcilerActor

SECOND_NS = 1_000_000_000
HEARTBEAT_NS = 60 * SECOND_NS

LONG_LIVED = RestartStrategy(
    name="long-lived",
    budget=10,
    window_ns=300 * SECOND_NS,
    initial_ns=SECOND_NS // 10,
    max_ns=30 * SECOND_NS,
    parked_retry_ns=60 * SECOND_NS,
)
"""The node needs every one of these: each comes back within a minute, for ever."""


class AskAround(Message, frozen=True):
    """To itself: time to ask idle actors whether they live."""


class NodeSupervisor(Actor):
    """See the module. Its children are named as in `docs/architecture.md`."""

    health_limit_ns: ClassVar[int | None] = 2 * HEARTBEAT_NS

    def __init__(self, plan: NodePlan, capabilities: NodeCapabilities) -> None:
        super().__init__()
        self._plan = plan
        self._capabilities = capabilities

    def on_start(self) -> None:
        self.every(HEARTBEAT_NS, AskAround())
        if self.children:
            return  # this actor was restarted; its children never noticed
        actors = self._reserve_all()
        wiring = NodeWiring(self._plan, self._capabilities, actors)
        self._start_pods(actors, wiring)
        self._start_runtime(actors, wiring)
        self._start_shortages(actors, wiring)
        self._start_references(actors, wiring)
        self._start_resources(actors, wiring)
        self._start_unknown(wiring)
        self._start_sources(wiring)

    @handles(AskAround)
    def ask_who_rests(self, _: AskAround) -> None:
        self.ask_around()

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        if message.parked:
            self.log.error("%s keeps failing and is tried once a minute: %s", message.name, message.cause)

    # --- reserving ----------------------------------------------------------------------------------------------------

    def _reserve_all(self) -> NodeActors:
        can = self._capabilities
        has_api = can.api is not None
        has_drivers = has_api and can.drivers is not None and can.plugin_sockets is not None
        has_stats = can.stats is not None  # without usage there is no eviction
        gives_pods_time = can.machine_shutdown is not None and bool(groups_of(self._plan.configuration))
        known, perhaps = self._reserve_known, self._reserve_if
        return NodeActors(
            events=known(EventRecorderActor, "events"),
            status_manager=known(StatusManagerActor, "status-manager"),
            storage=known(StorageActor, "storage"),
            sync_loop=known(SyncLoopActor, "sync-loop"),
            historian=known(HistorianActor, "historian"),
            pleg=known(PlegActor, "pleg"),
            runtime_monitor=known(RuntimeMonitorActor, "runtime-monitor"),
            image_pull=known(ImagePullActor, "image-pull"),
            image_gc=known(ImageGCActor, "image-gc"),
            container_gc=known(ContainerGCActor, "container-gc"),
            volume_reconciler=known(VolumeReconcilerActor, "volume-reconciler"),
            node_status=known(NodeStatusActor, "node-status"),
            object_cache=known(ObjectCacheActor, "object-cache"),
            cluster_cache=known(ClusterCacheActor, "cluster-cache"),
            tokens=known(TokenActor, "tokens"),
            user_namespaces=known(UserNamespaceActor, "user-namespaces"),
            pod_cidr=known(PodCidrActor, "pod-cidr"),
            resources=known(ResourceManagerActor, "resources"),
            mirror_pods=perhaps(has_api, MirrorPodActor, "mirror-pods"),
            node_lease=perhaps(has_api, NodeLeaseActor, "node-lease"),
            claims=perhaps(has_api, ClaimsActor, "claims"),
            csi_node=perhaps(has_drivers, CsiNodeActor, "csi-node"),
            plugins=perhaps(has_drivers, PluginWatcherActor, "plugins"),
            cgroups=perhaps(can.cgroups is not None, CgroupActor, "cgroups"),
            stats=perhaps(has_stats, NodeStatsActor, "stats"),
            eviction=perhaps(has_stats, EvictionActor, "eviction"),
            shutdown=perhaps(gives_pods_time, ShutdownActor, "shutdown"),
        )

    def _reserve_known(self, actor_class: type[Actor], name: str) -> ActorRef:
        return self.reserve(actor_class, name=name, strategy=LONG_LIVED)

    def _reserve_if(self, wanted: bool, actor_class: type[Actor], name: str) -> ActorRef | None:
        return self._reserve_known(actor_class, name) if wanted else None

    # --- starting -----------------------------------------------------------------------------------------------------

    def _make(self, ref: ActorRef | None, recipe: Recipe | None) -> None:
        """Start a reserved actor. Does nothing for one that this node does without."""
        if ref is not None:
            assert recipe is not None, f"{ref} is reserved and never made"
            assert ref.actor_class is recipe.actor_class, f"{ref} is reserved as another class"
            self.construct(ref, **recipe.arguments)

    def _start(self, name: str, recipe: Recipe | None) -> None:
        """Start an actor that no other must know. Does nothing for one that this node does without."""
        if recipe is not None:
            self.spawn(recipe.actor_class, name=name, strategy=LONG_LIVED, **recipe.arguments)

    def _start_pods(self, actors: NodeActors, wiring: NodeWiring) -> None:
        """Actors that lead pods from the storage to their workers, and that report pods and the node to the API."""
        self._make(actors.historian, wiring.historian())
        self._make(actors.node_status, wiring.node_status())
        self._make(actors.node_lease, wiring.node_lease())
        self._make(actors.mirror_pods, wiring.mirror_pods())
        self._make(actors.events, wiring.events())
        self._make(actors.status_manager, wiring.status_manager())
        self._make(actors.storage, wiring.storage())
        self._make(actors.sync_loop, wiring.sync_loop(began_ns=self.now_ns()))

    def _start_runtime(self, actors: NodeActors, wiring: NodeWiring) -> None:
        """Actors that watch the runtime, pull images and clean up."""
        self._make(actors.pleg, wiring.pleg())
        self._make(actors.runtime_monitor, wiring.runtime_monitor())
        self._make(actors.image_pull, wiring.image_pull())
        self._make(actors.image_gc, wiring.image_gc())
        self._make(actors.container_gc, wiring.container_gc())
        self._start("log-rotation", wiring.log_rotation())

    def _start_shortages(self, actors: NodeActors, wiring: NodeWiring) -> None:
        """Actors that end pods for the sake of the node."""
        self._make(actors.stats, wiring.stats())
        self._make(actors.eviction, wiring.eviction())
        self._make(actors.shutdown, wiring.shutdown())

    def _start_references(self, actors: NodeActors, wiring: NodeWiring) -> None:
        """Volumes, and actors that know the API objects that pods refer to."""
        self._make(actors.volume_reconciler, wiring.volume_reconciler())
        self._make(actors.object_cache, wiring.object_cache())
        self._make(actors.cluster_cache, wiring.cluster_cache())
        self._make(actors.csi_node, wiring.csi_node())
        self._make(actors.plugins, wiring.plugins())
        self._make(actors.claims, wiring.claims())
        self._make(actors.tokens, wiring.tokens())

    def _start_resources(self, actors: NodeActors, wiring: NodeWiring) -> None:
        """Actors that distribute the node's resources."""
        self._make(actors.pod_cidr, wiring.pod_cidr())
        self._make(actors.user_namespaces, wiring.user_namespaces())
        self._make(actors.resources, wiring.resources())
        self._make(actors.cgroups, wiring.cgroups())

    def _start_unknown(self, wiring: NodeWiring) -> None:
        """Actors that no other must know: they tell others, or write to the disk."""
        self._start("resolver-check", wiring.resolver_check())
        self._start("oom-watcher", wiring.oom_watcher())
        self._start("memory-notifier", wiring.memory_notifier())
        self._start(f"{SERVING.name}-certificate", wiring.serving_certificate())
        self._start(f"{CLIENT.name}-certificate", wiring.client_certificate())

    def _start_sources(self, wiring: NodeWiring) -> None:
        """Start the sources last: pods come from here on."""
        self._start("source-api", wiring.source_api())
        self._start("source-file", wiring.source_file())
        self._start("source-http", wiring.source_http())
        self._start("source-http-push", wiring.source_push())
