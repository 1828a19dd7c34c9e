"""Starts the actors that watch the runtime, pull images and clean up."""

from __future__ import annotations

from actors.containers.gc import ContainerGCActor
from actors.containers.gc_rules import Places
from actors.containers.log_rotation import LogRotationActor
from actors.containers.log_rotation_children import LogTools
from actors.containers.log_rotation_rules import log_limits
from actors.containers.removal import GcTools
from actors.images.credentials import ImageCredentialsActor
from actors.images.gc import ImageGCActor, ImageTools
from actors.images.gc_rules import GcLimits
from actors.images.leases import ImageLeases
from actors.images.pull import ImagePullActor
from actors.images.pull_flights import CredentialPrograms, PullLimits
from actors.images.record_keeping import PullRecords
from actors.node.wiring.known_actors import Wiring
from actors.pleg.pleg import PlegActor
from actors.pleg.runtime_monitor import RuntimeMonitorActor


def start_runtime(node: Wiring) -> None:
    can, actors = node.can, node.actors
    node.make(
        actors.pleg,
        PlegActor,
        cri=can.cri,
        sync_loop=actors.sync_loop,
        gc=actors.container_gc,
        node_status=actors.node_status,
        meters=can.meters,
    )
    node.make(
        actors.runtime_monitor,
        RuntimeMonitorActor,
        cri=can.cri,
        sync_loop=actors.sync_loop,
        node_status=actors.node_status,
    )
    _start_images(node)
    _start_clean_up(node)


def _start_images(node: Wiring) -> None:
    can, configuration, actors = node.can, node.configuration, node.actors
    limits = PullLimits.of(
        serialize=configuration.serialize_image_pulls,
        max_parallel=configuration.max_parallel_image_pulls,
        per_second=configuration.registry_pull_qps,
        burst=configuration.registry_burst,
    )
    programs = None
    if can.image_providers is not None and actors.image_credentials is not None:
        programs = CredentialPrograms(can.image_providers.known, actors.image_credentials)
        node.make(
            actors.image_credentials,
            ImageCredentialsActor,
            providers=can.image_providers,
            tokens=actors.tokens,
            api=node.references,
        )
    node.make(
        actors.image_pull,
        ImagePullActor,
        cri=can.cri,
        events=actors.events,
        limits=limits,
        node_status=actors.node_status,
        docker_config=can.docker_config,
        meters=can.meters,
        status_manager=actors.status_manager,
        programs=programs,
        records=_pull_records(node),
    )
    tools = ImageTools(
        cri=can.cri,
        host=can.stats,
        limits=GcLimits.of(configuration),
        leases=ImageLeases(),
        node=node.name,
        events=actors.events,
        node_status=actors.node_status,
        meters=can.meters,
        pulls=actors.image_pull,
        tracer=can.tracer,
    )
    node.make(actors.image_gc, ImageGCActor, tools=tools)


def _pull_records(node: Wiring) -> PullRecords | None:
    configuration, files, book = node.configuration, node.can.pull_records, node.pull_book
    if files is None or book is None:
        return None
    pods, pulls = configuration.max_pods, configuration.max_parallel_image_pulls or 0
    at_most = min(max(2 * pods, 2 * pulls), 1024), min(5 * pods, 2000)
    return PullRecords(files, book, *at_most)


def _start_clean_up(node: Wiring) -> None:
    can, actors, pod_logs = node.can, node.actors, node.configuration.pod_logs_dir
    facts = node.plan.facts
    places = Places(pod_logs, facts.container_logs_directory, facts.root_directory)
    tools = GcTools(can.cri, can.logs, node.plan.gc_policy, places, node.name, actors.events, can.tracer)
    node.make(actors.container_gc, ContainerGCActor, sync_loop=actors.sync_loop, tools=tools)
    limits = log_limits(node.configuration)
    if limits is not None:
        node.start("log-rotation", LogRotationActor, tools=LogTools(can.cri, can.log_files, limits, pod_logs))
