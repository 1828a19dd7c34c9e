"""Starts the actors that lead pods from their sources to their workers."""

from __future__ import annotations

from actors.node.wiring.known_actors import Wiring
from actors.pod.services import PodServices
from actors.resources.shares.settings import are_in_use
from actors.sources.api import ApiSourceActor
from actors.sources.push import PushSourceActor, PushTools
from actors.sources.static import Decode, FileSourceActor, decoder_of
from actors.sources.storage import StorageActor
from actors.sources.url import HttpSourceActor
from actors.sync.loop import SyncLoopActor
from config.pods.identity import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, SOURCE_PUSH


def start_pods(node: Wiring, began_ns: int) -> None:
    """`began_ns`: when the agent began, monotonic."""
    actors, sources = node.actors, node.plan.sources()
    if node.api is not None:
        sources = (*sources, SOURCE_API)
    node.make(actors.storage, StorageActor, sync_loop=actors.sync_loop, events=actors.events, sources=sources)
    node.make(
        actors.sync_loop,
        SyncLoopActor,
        services=_services(node, began_ns),
        storage=actors.storage,
        runtime_monitor=actors.runtime_monitor,
        sources=sources,
    )


def _services(node: Wiring, began_ns: int) -> PodServices:
    """The services of every pod worker."""
    can, plan, actors = node.can, node.plan, node.actors
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
        cgroup_tree=can.cgroups,
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
        pulls=None if node.pull_book is None else node.pull_book.known,
        has_cluster=can.api is not None,
        gives_shares=can.share_files is not None and are_in_use(plan.configuration),
        device_plugins=actors.device_plugins,
        resource_claims=actors.resource_claims,
        mirrors=actors.mirror_pods,
        meters=can.meters,
        tracer=can.tracer,
    )


def start_sources(node: Wiring) -> None:
    """The sources come last: pods come from here on."""
    can, configuration, storage = node.can, node.configuration, node.actors.storage
    if node.api is not None:
        known, island = node.actors.source_api, node.actors.island
        if known is None:
            node.start("source-api", ApiSourceActor, storage=storage, api=node.api, node_name=node.name)
        else:
            node.make(known, ApiSourceActor, storage=storage, api=node.api, node_name=node.name, island=island)
    if configuration.static_pod_path:
        node.start(
            "source-file",
            FileSourceActor,
            storage=storage,
            directory=can.manifests,
            path=configuration.static_pod_path,
            period_ns=configuration.file_check_frequency,
            decode=_decoder(node, SOURCE_FILE),
            cri=can.cri,
        )
    if configuration.static_pod_url:
        node.start(
            "source-http",
            HttpSourceActor,
            storage=storage,
            server=can.manifest_server,
            url=configuration.static_pod_url,
            headers=configuration.static_pod_url_header,
            period_ns=configuration.http_check_frequency,
            decode=_decoder(node, SOURCE_HTTP),
        )
    if node.plan.pushed_manifests and can.manifest_store is not None:
        tools = PushTools(directory=can.manifests, store=can.manifest_store, path=node.plan.pushed_manifests)
        node.start(
            "source-http-push",
            PushSourceActor,
            storage=storage,
            tools=tools,
            period_ns=configuration.file_check_frequency,
            decode=_decoder(node, SOURCE_PUSH),
        )


def _decoder(node: Wiring, source: str) -> Decode:
    return decoder_of(source, node.name, node.plan.prevent_api_references)
