"""`NodeSupervisor`: the root of a node's actors. It makes them, knows them by name, and keeps them alive.

The long-lived actors must know each other, so all who are known to others are reserved first and then furnished with
the references they need (`actors.node.handouts` says with which); those whom nobody has to know are started beside
them. A failing one is restarted by itself, with its mailbox kept; the others do not notice, because each asks again
for what it may have missed. Pod workers are children of the sync loop. Once a minute those are asked whether they live
who have had nothing to do since the minute before, so that health can name who stands still.
"""

from __future__ import annotations

from typing import ClassVar

from actors.cluster.cache import ClusterCacheActor
from actors.cluster.object_cache import ObjectCacheActor
from actors.cluster.token import TokenActor
from actors.containers.gc import ContainerGCActor
from actors.containers.log_rotation import LogRotationActor
from actors.events.historian import HistorianActor
from actors.events.recorder import EventRecorderActor
from actors.eviction.manager import EvictionActor
from actors.eviction.memory_notifier import MemoryNotifierActor
from actors.images.gc import ImageGCActor
from actors.images.pull import ImagePullActor
from actors.kernel import Actor, ActorRef, ChildFailed, Message, RestartStrategy, handles
from actors.node.certificate import CLIENT, SERVING, NodeCertificateActor
from actors.node.handouts import Given, NodeHandouts
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.pod_cidr import PodCidrActor
from actors.node.resolver_check import ResolverCheckActor
from actors.node.shutdown import ShutdownActor
from actors.node.stats import NodeStatsActor
from actors.node.status.actor import NodeStatusActor
from actors.node.status.lease import NodeLeaseActor
from actors.pleg.oom_watcher import OomWatcherActor
from actors.pleg.pleg import PlegActor
from actors.pleg.runtime_monitor import RuntimeMonitorActor
from actors.resources.cgroups.actor import CgroupActor
from actors.resources.manager import ResourceManagerActor
from actors.resources.user_namespaces import UserNamespaceActor
from actors.sources.api import ApiSourceActor
from actors.sources.file import FileSourceActor
from actors.sources.http import HttpSourceActor
from actors.sources.mirror_pods import MirrorPodActor
from actors.sources.push import PushSourceActor
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
"""The node is nothing without any of these: each comes back within a minute, for ever."""

KNOWN: dict[str, type[Actor]] = {
    "events": EventRecorderActor,
    "status-manager": StatusManagerActor,
    "storage": StorageActor,
    "sync-loop": SyncLoopActor,
    "pleg": PlegActor,
    "runtime-monitor": RuntimeMonitorActor,
    "image-pull": ImagePullActor,
    "image-gc": ImageGCActor,
    "container-gc": ContainerGCActor,
    "volume-reconciler": VolumeReconcilerActor,
    "node-status": NodeStatusActor,
    "object-cache": ObjectCacheActor,
    "cluster-cache": ClusterCacheActor,
    "tokens": TokenActor,
    "user-namespaces": UserNamespaceActor,
    "pod-cidr": PodCidrActor,
    "resources": ResourceManagerActor,
}
"""Who is known to others, and there on every node."""

KNOWN_WITH_API: dict[str, type[Actor]] = {
    "mirror-pods": MirrorPodActor,
    "node-lease": NodeLeaseActor,
    "claims": ClaimsActor,
}


KNOWN_WITH_DRIVERS: dict[str, type[Actor]] = {"csi-node": CsiNodeActor, "plugins": PluginWatcherActor}


class AskAround(Message, frozen=True):
    """To itself: time to ask those who rest whether they live."""


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
            return  # this actor has failed and come back; its children never noticed
        refs = {
            name: self.reserve(actor_class, name=name, strategy=LONG_LIVED)
            for name, actor_class in self._known().items()
        }
        give = NodeHandouts(self._plan, self._capabilities, refs)
        if give.shutdown() is not None:
            refs["shutdown"] = self.reserve(ShutdownActor, name="shutdown", strategy=LONG_LIVED)
        self._start_pods(refs, give)
        self._start_runtime(refs, give)
        self._start_shortages(refs, give)
        self._start_references(refs, give)
        self._start_resources(refs, give)
        self._start_unknown(give)
        self._start_sources(give)

    @handles(AskAround)
    def ask_who_rests(self, _: AskAround) -> None:
        self.ask_around()

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        if message.parked:
            self.log.error("%s keeps failing and is tried once a minute: %s", message.name, message.cause)

    def _known(self) -> dict[str, type[Actor]]:
        """Where nobody can say what is used, nobody is evicted."""
        can, known = self._capabilities, dict(KNOWN)
        if can.api is not None:
            known.update(KNOWN_WITH_API)
            if can.drivers is not None and can.plugin_sockets is not None:
                known.update(KNOWN_WITH_DRIVERS)
        if can.cgroups is not None:
            known["cgroups"] = CgroupActor
        if can.stats is not None:
            known["eviction"] = EvictionActor
        return known

    def _start(self, actor_class: type[Actor], name: str, given: Given | None) -> ActorRef | None:
        """One whom no reserved one has to know; none where it is given nothing."""
        return None if given is None else self.spawn(actor_class, *given, name=name, strategy=LONG_LIVED)

    def _start_pods(self, refs: dict[str, ActorRef], give: NodeHandouts) -> None:
        """Who leads pods from the storage to their workers, and who stands for them and the node in the API."""
        historian = self.spawn(HistorianActor, *give.historian(), name="historian", strategy=LONG_LIVED)
        services = give.services(historian, self.now_ns())
        self.furnish(refs["node-status"], *give.node_status())
        if (of_lease := give.node_lease()) is not None:
            self.furnish(refs["node-lease"], *of_lease)
        if (of_mirrors := give.mirror_pods()) is not None:
            self.furnish(refs["mirror-pods"], *of_mirrors)
        self.furnish(refs["events"], *give.events())
        self.furnish(refs["status-manager"], *give.status_manager())
        self.furnish(refs["storage"], *give.storage())
        self.furnish(refs["sync-loop"], *give.sync_loop(services))

    def _start_runtime(self, refs: dict[str, ActorRef], give: NodeHandouts) -> None:
        """Who looks at the runtime, and who pulls and tidies up."""
        self.furnish(refs["pleg"], *give.pleg())
        self.furnish(refs["runtime-monitor"], *give.runtime_monitor())
        self.furnish(refs["image-pull"], *give.image_pull())
        self.furnish(refs["image-gc"], *give.image_gc())
        self.furnish(refs["container-gc"], *give.container_gc())
        self._start(LogRotationActor, "log-rotation", give.log_rotation())

    def _start_shortages(self, refs: dict[str, ActorRef], give: NodeHandouts) -> None:
        """Who ends pods for the sake of the node. Who asks for stats knows their actor by its name."""
        stats = self._start(NodeStatsActor, "stats", give.stats())
        if stats is not None:
            self.furnish(refs["eviction"], *give.eviction(stats))
        if (of_shutdown := give.shutdown()) is not None:
            self.furnish(refs["shutdown"], *of_shutdown)

    def _start_references(self, refs: dict[str, ActorRef], give: NodeHandouts) -> None:
        """Volumes, and those who know what pods take from other objects of the API."""
        self.furnish(refs["volume-reconciler"], *give.volume_reconciler())
        self.furnish(refs["object-cache"], *give.object_cache())
        self.furnish(refs["cluster-cache"], *give.cluster_cache())
        if "claims" in refs:
            if (of_csi_node := give.csi_node()) is not None:
                self.furnish(refs["csi-node"], *of_csi_node)
                self.furnish(refs["plugins"], *give.plugins())
            self.furnish(refs["claims"], *give.claims())
        self.furnish(refs["tokens"], *give.tokens())

    def _start_resources(self, refs: dict[str, ActorRef], give: NodeHandouts) -> None:
        """Who shares out what the node has."""
        self.furnish(refs["pod-cidr"], *give.pod_cidr())
        self.furnish(refs["user-namespaces"], *give.user_namespaces())
        self.furnish(refs["resources"], *give.resources())
        if (of_cgroups := give.cgroups()) is not None:
            self.furnish(refs["cgroups"], *of_cgroups)

    def _start_unknown(self, give: NodeHandouts) -> None:
        """Those whom nobody has to know: they tell others, or leave what they make on the disk."""
        self._start(ResolverCheckActor, "resolver-check", give.resolver_check())
        self._start(OomWatcherActor, "oom-watcher", give.oom_watcher())
        self._start(MemoryNotifierActor, "memory-notifier", give.memory_notifier())
        self._start(NodeCertificateActor, f"{SERVING.name}-certificate", give.serving_certificate())
        self._start(NodeCertificateActor, f"{CLIENT.name}-certificate", give.client_certificate())

    def _start_sources(self, give: NodeHandouts) -> None:
        """Last: pods come from here on."""
        self._start(ApiSourceActor, "source-api", give.source_api())
        self._start(FileSourceActor, "source-file", give.source_file())
        self._start(HttpSourceActor, "source-http", give.source_http())
        self._start(PushSourceActor, "source-http-push", give.source_push())
