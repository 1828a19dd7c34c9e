"""Starts the actors that report the node and its pods: to the cluster, and to people who ask."""

from __future__ import annotations

from actors.events.historian import HistorianActor
from actors.events.recorder import EventRecorderActor
from actors.node.certificate import CLIENT, SERVING, NodeCertificateActor
from actors.node.status.actor import NodeStatusActor
from actors.node.status.lease import NodeLeaseActor
from actors.node.wiring.known_actors import Wiring, present
from actors.node_object.settings import NodeSettings
from actors.sources.mirror_pods import MirrorPodActor
from actors.status.manager import StatusManagerActor


def start_reports(node: Wiring) -> None:
    can, actors = node.can, node.actors
    node.make(actors.historian, HistorianActor, sync_loop=actors.sync_loop)
    _start_node_status(node)
    if actors.node_lease is not None and can.api is not None:
        node.make(
            actors.node_lease,
            NodeLeaseActor,
            api=can.api.leases,
            node_name=node.name,
            duration_seconds=node.configuration.node_lease_duration_seconds,
        )
    if actors.mirror_pods is not None and node.api is not None:
        node.make(
            actors.mirror_pods,
            MirrorPodActor,
            api=node.api,
            node_name=node.name,
            sync_loop=actors.sync_loop,
            status_manager=actors.status_manager,
            node_status=actors.node_status,
        )
    events_api = None if can.api is None else can.api.events
    node.make(actors.events, EventRecorderActor, api=events_api, node_name=node.name)
    node.make(
        actors.status_manager,
        StatusManagerActor,
        sync_loop=actors.sync_loop,
        api=node.api,
        meters=can.meters,
        events=actors.events,
        historian=actors.historian,
        island=actors.island,
    )


def _start_node_status(node: Wiring) -> None:
    can, plan, actors = node.can, node.plan, node.actors
    about = (plan.registration, plan.gates, plan.remarks)
    node.make(
        actors.node_status,
        NodeStatusActor,
        api=None if can.api is None else can.api.leases,
        cri=can.cri,
        host=can.host,
        settings=NodeSettings(node.name, plan.facts.root_directory, plan.configuration, *about),
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
            actors.island,
        ),
        expected=actors.resources,
        meters=can.meters,
        # Actors that report only changes: they are asked to report again after a restart.
        informants=present(
            actors.csi_node,
            actors.device_plugins,
            actors.eviction,
            actors.island,
            actors.resources,
            actors.shutdown,
            actors.volume_reconciler,
        ),
        recalls=actors.island is not None,
    )


def start_certificates(node: Wiring) -> None:
    """A node with a serving certificate of its own requests none."""
    told, can, node_status = node.configuration, node.can, node.actors.node_status
    if node.api is None:
        return
    if can.serving_keys is not None and told.server_tls_bootstrap and not told.tls_cert_file:
        node.start(
            f"{SERVING.name}-certificate",
            NodeCertificateActor,
            purpose=SERVING,
            api=node.api,
            keys=can.serving_keys,
            node_name=node.name,
            node_status=node_status,
            meters=can.meters,
        )
    if can.client_keys is not None and told.rotate_certificates:
        node.start(
            f"{CLIENT.name}-certificate",
            NodeCertificateActor,
            purpose=CLIENT,
            api=node.api,
            keys=can.client_keys,
            node_name=node.name,
            node_status=node_status,
            bootstrap=can.bootstrap,
            meters=can.meters,
        )
