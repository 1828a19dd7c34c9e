"""Starts the actors of volumes, and those that know the API objects that pods refer to."""

from __future__ import annotations

from actors.cluster.cache import ClusterCacheActor
from actors.cluster.object_cache import ObjectCacheActor, strategy_of
from actors.cluster.pod_certificates import PodCertificatesActor
from actors.cluster.token import TokenActor
from actors.cluster.trust_bundles import TrustBundlesActor
from actors.island.actor import IslandActor, IslandTools
from actors.node.wiring.known_actors import Wiring, present
from actors.resources.claims.owner import ResourceClaimsActor
from actors.resources.claims.slices import ResourceSlicesActor
from actors.volumes.claims.claims import ClaimsActor
from actors.volumes.contexts import ContextRules
from actors.volumes.plugins.csi_node import CsiNodeActor
from actors.volumes.plugins.watcher import PluginWatcherActor
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.wishes.contents import ContentSources, resync_ns
from config.pods.in_tree_volumes import MIGRATED_PLUGINS
from runtime.state.pod_keys import new_pod_key


def start_references(node: Wiring) -> None:
    can, configuration, actors = node.can, node.configuration, node.actors
    strategy, sync_ns = configuration.config_map_and_secret_change_detection_strategy, configuration.sync_frequency
    label = node.plan.file_label
    sources = ContentSources(
        objects=actors.object_cache,
        tokens=actors.tokens,
        node=actors.node_status,
        claims=actors.claims,
        trust=actors.trust_bundles,
        certificates=actors.pod_certificates,
        resync_ns=resync_ns(sync_ns, strategy),
        contexts=None if label is None else ContextRules(label, node.plan.gates.enabled("SELinuxMount")),
        limit_bytes=node.plan.pod_volume_content_bytes,
        health_every_ns=configuration.volume_stats_agg_period if node.plan.gates.enabled("CSIVolumeHealth") else 0,
    )
    node.make(
        actors.volume_reconciler,
        VolumeReconcilerActor,
        volumes=can.volumes,
        events=actors.events,
        sources=sources,
        sync_loop=actors.sync_loop,
        sub_paths=can.sub_paths,
    )
    node.make(
        actors.object_cache,
        ObjectCacheActor,
        api=node.references,
        strategy=strategy_of(strategy),
        sync_frequency_ns=sync_ns,
        sync_loop=actors.sync_loop,
        volumes=actors.volume_reconciler,
        node=actors.node_status,
        island=actors.island,
    )
    node.make(
        actors.cluster_cache,
        ClusterCacheActor,
        api=node.api,
        node=actors.node_status,
        sync_loop=actors.sync_loop,
        island=actors.island,
    )
    _start_island(node)
    _start_claims(node)
    _start_drivers(node)
    if actors.claims is not None and node.references is not None:
        node.make(
            actors.claims,
            ClaimsActor,
            api=node.references,
            tokens=actors.tokens,
            node_status=actors.node_status,
            node_name=node.name,
            sync_frequency_ns=sync_ns,
            plugins=actors.plugins,
            controller_attaches=configuration.enable_controller_attach_detach,
            island=actors.island,
        )
    node.make(actors.tokens, TokenActor, api=node.references, island=actors.island)
    if actors.trust_bundles is not None and node.references is not None:
        node.make(actors.trust_bundles, TrustBundlesActor, api=node.references, volumes=actors.volume_reconciler)
    if actors.pod_certificates is not None and node.references is not None:
        node.make(
            actors.pod_certificates,
            PodCertificatesActor,
            api=node.references,
            node_name=node.name,
            node_status=actors.node_status,
            volumes=actors.volume_reconciler,
            events=actors.events,
            new_key=new_pod_key,
            meters=node.can.meters,
        )


def _start_island(node: Wiring) -> None:
    can, actors, settings = node.can, node.actors, node.plan.settings_of_island()
    if actors.island is None or can.island_file is None or settings is None:
        return
    tools = IslandTools(
        file=can.island_file,
        host=can.host,
        meters=can.meters,
        events=actors.events,
        historian=actors.historian,
        node_status=actors.node_status,
        tokens=actors.tokens,
        tellers=present(actors.source_api, actors.object_cache, actors.cluster_cache, actors.claims),
    )
    node.make(actors.island, IslandActor, settings=settings, tools=tools)


def _start_claims(node: Wiring) -> None:
    can, actors = node.can, node.actors
    if node.api is None or node.references is None or can.dra_drivers is None or can.claim_file is None:
        return
    if actors.resource_claims is not None:
        node.make(
            actors.resource_claims,
            ResourceClaimsActor,
            api=node.references,
            drivers=can.dra_drivers,
            file=can.claim_file,
            shows_health=node.plan.gates.enabled("ResourceHealthStatus"),
            meters=can.meters,
        )
    if actors.resource_slices is not None:
        node.make(actors.resource_slices, ResourceSlicesActor, api=node.api, node=node.name, drivers=can.dra_drivers)


def _start_drivers(node: Wiring) -> None:
    can, actors = node.can, node.actors
    if actors.csi_node is None or actors.plugins is None or can.plugin_sockets is None or can.drivers is None:
        return
    node.make(
        actors.csi_node,
        CsiNodeActor,
        api=node.api,
        node_name=node.name,
        node_status=actors.node_status,
        migrated=MIGRATED_PLUGINS,
        plugins=actors.plugins,
    )
    node.make(
        actors.plugins,
        PluginWatcherActor,
        sockets=can.plugin_sockets,
        drivers=can.drivers,
        csi_node=actors.csi_node,
        listeners=present(actors.claims),
        device_plugins=actors.device_plugins,
        dra=can.dra_drivers,
        dra_listeners=present(actors.resource_claims, actors.resource_slices),
    )
