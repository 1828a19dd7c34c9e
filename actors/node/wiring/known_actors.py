"""`Wiring`: starts the actors of a node, from its plan and its capabilities.

`KnownActors`: those that others know.

The long-lived actors must know each other. So `KnownActors` reserves all that others must know. Then `Wiring` starts
each with its arguments, which mypy checks against the constructor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, cast

from actors.cluster.cache import ClusterCacheActor
from actors.cluster.object_cache import ObjectCacheActor
from actors.cluster.pod_certificates import PodCertificatesActor
from actors.cluster.token import TokenActor
from actors.cluster.trust_bundles import TrustBundlesActor
from actors.containers.gc import ContainerGCActor
from actors.devices.registrar import DevicePluginsActor
from actors.events.historian import HistorianActor
from actors.events.recorder import EventRecorderActor
from actors.eviction.manager import EvictionActor
from actors.images.credentials import ImageCredentialsActor
from actors.images.gc import ImageGCActor
from actors.images.pull import ImagePullActor
from actors.images.pull_book import PullBook
from actors.images.pull_rules import access_policy
from actors.island.actor import IslandActor
from actors.kernel import Actor, ActorRef, RestartStrategy
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.pod_cidr import PodCidrActor
from actors.node.shutdown import ShutdownActor
from actors.node.shutdown_rules import groups_of
from actors.node.stats import NodeStatsActor
from actors.node.status.actor import NodeStatusActor
from actors.node.status.lease import NodeLeaseActor
from actors.pleg.pleg import PlegActor
from actors.pleg.runtime_monitor import RuntimeMonitorActor
from actors.resources.cgroups.actor import CgroupActor
from actors.resources.claims.owner import ResourceClaimsActor
from actors.resources.claims.slices import ResourceSlicesActor
from actors.resources.manager import ResourceManagerActor
from actors.resources.user_namespaces import UserNamespaceActor
from actors.sources.api import ApiSourceActor
from actors.sources.mirror_pods import MirrorPodActor
from actors.sources.storage import StorageActor
from actors.status.manager import StatusManagerActor
from actors.sync.loop import SyncLoopActor
from actors.volumes.claims.claims import ClaimsActor
from actors.volumes.plugins.csi_node import CsiNodeActor
from actors.volumes.plugins.watcher import PluginWatcherActor
from actors.volumes.reconciler import VolumeReconcilerActor

P = ParamSpec("P")

SECOND_NS = 1_000_000_000

LONG_LIVED = RestartStrategy(
    name="long-lived",
    budget=10,
    window_ns=300 * SECOND_NS,
    initial_ns=SECOND_NS // 10,
    max_ns=30 * SECOND_NS,
    parked_retry_ns=60 * SECOND_NS,
)
"""The node needs every one of these: each comes back within a minute, for ever."""


class KnownActors:
    """The references that others need. None: this node does without the actor."""

    def __init__(self, parent: Actor, plan: NodePlan, can: NodeCapabilities) -> None:
        def known(actor_class: type[Actor], name: str) -> ActorRef:
            return parent.reserve(actor_class, name=name, strategy=LONG_LIVED)

        def perhaps(wanted: bool, actor_class: type[Actor], name: str) -> ActorRef | None:
            return known(actor_class, name) if wanted else None

        has_api = can.api is not None
        has_drivers = has_api and can.drivers is not None and can.plugin_sockets is not None
        has_stats = can.stats is not None  # without usage there is no eviction
        gives_pods_time = can.machine_shutdown is not None and bool(groups_of(plan.configuration))
        self.events = known(EventRecorderActor, "events")
        self.status_manager = known(StatusManagerActor, "status-manager")
        self.storage = known(StorageActor, "storage")
        self.sync_loop = known(SyncLoopActor, "sync-loop")
        self.historian = known(HistorianActor, "historian")
        self.pleg = known(PlegActor, "pleg")
        self.runtime_monitor = known(RuntimeMonitorActor, "runtime-monitor")
        self.image_pull = known(ImagePullActor, "image-pull")
        self.image_credentials = perhaps(can.image_providers is not None, ImageCredentialsActor, "image-credentials")
        self.image_gc = known(ImageGCActor, "image-gc")
        self.container_gc = known(ContainerGCActor, "container-gc")
        self.volume_reconciler = known(VolumeReconcilerActor, "volume-reconciler")
        self.node_status = known(NodeStatusActor, "node-status")
        self.object_cache = known(ObjectCacheActor, "object-cache")
        self.cluster_cache = known(ClusterCacheActor, "cluster-cache")
        self.tokens = known(TokenActor, "tokens")
        trusts = has_api and plan.gates.enabled("ClusterTrustBundleProjection")
        self.trust_bundles = perhaps(trusts, TrustBundlesActor, "trust-bundles")
        certifies = has_api and plan.gates.enabled("PodCertificateRequest")
        self.pod_certificates = perhaps(certifies, PodCertificatesActor, "pod-certificates")
        self.user_namespaces = known(UserNamespaceActor, "user-namespaces")
        self.pod_cidr = known(PodCidrActor, "pod-cidr")
        self.resources = known(ResourceManagerActor, "resources")
        has_devices = can.device_plugins is not None and can.device_file is not None
        self.device_plugins = perhaps(has_devices, DevicePluginsActor, "device-plugins")
        has_dra = has_api and can.dra_drivers is not None and can.claim_file is not None
        self.resource_claims = perhaps(has_dra, ResourceClaimsActor, "resource-claims")
        self.resource_slices = perhaps(has_dra, ResourceSlicesActor, "resource-slices")
        remembers = has_api and plan.settings_of_island() is not None and can.island_file is not None
        self.island = perhaps(remembers, IslandActor, "island")
        self.source_api = perhaps(remembers, ApiSourceActor, "source-api")
        """Only the memory must know it."""
        self.mirror_pods = perhaps(has_api, MirrorPodActor, "mirror-pods")
        self.node_lease = perhaps(has_api, NodeLeaseActor, "node-lease")
        self.claims = perhaps(has_api, ClaimsActor, "claims")
        self.csi_node = perhaps(has_drivers, CsiNodeActor, "csi-node")
        self.plugins = perhaps(has_drivers, PluginWatcherActor, "plugins")
        self.cgroups = perhaps(can.cgroups is not None, CgroupActor, "cgroups")
        self.stats = perhaps(has_stats, NodeStatsActor, "stats")
        self.eviction = perhaps(has_stats, EvictionActor, "eviction")
        self.shutdown = perhaps(gives_pods_time, ShutdownActor, "shutdown")


class Wiring:
    """See the module. `parent` is the actor that all of them are children of."""

    def __init__(self, parent: Actor, plan: NodePlan, capabilities: NodeCapabilities) -> None:
        self._parent = parent
        self.plan = plan
        self.can = capabilities
        self.configuration = plan.configuration
        self.name = plan.facts.name
        lines = capabilities.api
        self.api = None if lines is None else lines.main
        self.references = None if lines is None else lines.references or lines.main
        """For what pods refer to."""
        self.actors = KnownActors(parent, plan, capabilities)
        policy = access_policy(plan.configuration)
        has_book = capabilities.pull_records is not None and policy.keeps_records
        self.pull_book = PullBook(policy) if has_book else None
        """None: nobody knows who pulled which image, so every pod may use it."""

    def make(self, ref: ActorRef, actor_class: Callable[P, Actor], /, *none: P.args, **arguments: P.kwargs) -> None:
        """Start a reserved actor."""
        assert not none, "arguments have names here"
        assert ref.actor_class is actor_class, f"{ref} is reserved as another class"
        self._parent.construct(ref, **arguments)

    def start(self, name: str, actor_class: Callable[P, Actor], /, *none: P.args, **arguments: P.kwargs) -> None:
        """Start an actor that no other must know."""
        assert not none, "arguments have names here"
        spawned: dict[str, Any] = arguments
        self._parent.spawn(cast(type[Actor], actor_class), name=name, strategy=LONG_LIVED, **spawned)

    def path_of(self, file: str) -> str:
        """The path of an actor's file that outlives the agent."""
        return f"{self.plan.facts.root_directory.rstrip('/')}/{file}"


def present(*refs: ActorRef | None) -> tuple[ActorRef, ...]:
    """The references that are not None."""
    return tuple(ref for ref in refs if ref is not None)
