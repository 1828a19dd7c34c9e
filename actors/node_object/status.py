"""The next Node object, from the last one and the known facts: all rules in their order (spec 9.3)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.messages.devices import DeviceAmountsObserved
from actors.messages.node import NodePressureObserved, RefusedOwnersObserved, VolumesInUseObserved
from actors.messages.plugins import DriversOnNodeObserved
from actors.node_object import capacity as amounts
from actors.node_object.addresses import NodeIps, node_addresses
from actors.node_object.conditions import ConditionVerdict, next_conditions, verdicts
from actors.node_object.csi_node import with_node_ids
from actors.node_object.features import declared_features, features_known, node_features, runtime_handlers
from actors.node_object.images import status_images
from actors.node_object.node_info import system_info
from actors.node_object.readiness import RuntimeHealth, unready_reasons
from actors.node_object.registration import machine_labels, provided_ip
from actors.node_object.settings import NodeSettings
from config.objects import ContainerImage, DaemonEndpoint, Node, NodeDaemonEndpoints, NodeStatus
from config.values.quantity import of_value
from runtime.cri.messages import Image, RuntimeFeatures, RuntimeHandler
from runtime.host.machine import MachineFacts


class Seen(msgspec.Struct, frozen=True):
    """The known facts of the node, without the machine. None: not known (yet), the last value stays."""

    disk_bytes: int | None = None
    ips: NodeIps | None = None
    runtime_name: str = ""
    runtime_version: str = ""
    handlers: tuple[RuntimeHandler, ...] | None = None
    features: RuntimeFeatures | None = None
    images: tuple[Image, ...] | None = None
    health: RuntimeHealth = RuntimeHealth()
    pressures: NodePressureObserved = NodePressureObserved()
    troubles: Mapping[str, str] = {}
    volumes_in_use: VolumesInUseObserved | None = None
    drivers: DriversOnNodeObserved | None = None
    devices: DeviceAmountsObserved = DeviceAmountsObserved()
    refused: RefusedOwnersObserved = RefusedOwnersObserved()


def next_node(
    existing: Node, machine: MachineFacts, seen: Seen, settings: NodeSettings, *, now_ns: int, wall_ns: int
) -> Node:
    """`existing` with the content to publish now."""
    old = existing.status or NodeStatus()
    metadata = existing.metadata
    labels = {**metadata.labels, **machine_labels(machine)}
    if labels != metadata.labels:
        metadata = msgspec.structs.replace(metadata, labels=labels)
    handed_on = provided_ip(settings)
    if handed_on:
        metadata = msgspec.structs.replace(metadata, annotations={**metadata.annotations, **handed_on})
    if seen.drivers is not None:
        annotations = with_node_ids(metadata.annotations, seen.drivers.node_ids, seen.drivers.withdrawn)
        labels = {**metadata.labels, **seen.drivers.labels}
        metadata = msgspec.structs.replace(metadata, annotations=annotations, labels=labels)
    return msgspec.structs.replace(
        existing, metadata=metadata, status=next_status(old, machine, seen, settings, now_ns=now_ns, wall_ns=wall_ns)
    )


def next_status(
    old: NodeStatus, machine: MachineFacts, seen: Seen, settings: NodeSettings, *, now_ns: int, wall_ns: int
) -> NodeStatus:
    configuration, registration = settings.configuration, settings.registration
    of_devices = seen.devices
    capacity = amounts.capacity(old.capacity, machine, seen.disk_bytes, configuration) | _texts(of_devices.capacity)
    addresses = old.addresses
    if seen.ips is not None:
        addresses = node_addresses(old.addresses, seen.ips, settings.host_name, registration.external_cloud)
    info = system_info(machine, seen.runtime_name, seen.runtime_version, registration.version)
    if not seen.runtime_name and old.node_info is not None:
        known = old.node_info.container_runtime_version
        info = msgspec.structs.replace(info, container_runtime_version=known or info.container_runtime_version)
    wanted = wanted_conditions(seen, settings, capacity, now_ns)
    return msgspec.structs.replace(
        old,
        addresses=addresses,
        capacity=capacity,
        allocatable=amounts.allocatable(capacity, configuration) | _texts(of_devices.allocatable),
        node_info=info,
        daemon_endpoints=NodeDaemonEndpoints(
            kubelet_endpoint=DaemonEndpoint(port=configuration.port if configuration.enable_server else 0)
        ),
        images=_images(old, seen, configuration.node_status_max_images),
        runtime_handlers=old.runtime_handlers if seen.handlers is None else runtime_handlers(seen.handlers),
        features=old.features if seen.handlers is None else node_features(seen.features),
        declared_features=declared_features(settings.gates, features_known(seen.features, old.declared_features)),
        volumes_in_use=volumes_in_use(old, seen.volumes_in_use),
        conditions=next_conditions(old.conditions, wanted, wall_ns),
    )


def _texts(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: str(of_value(count)) for name, count in counts.items()}


def wanted_conditions(
    seen: Seen, settings: NodeSettings, capacity: Mapping[str, str], now_ns: int
) -> tuple[ConditionVerdict, ...]:
    """The wanted content of the agent's conditions."""
    missing = amounts.missing(capacity, settings.configuration)
    unready = unready_reasons(seen.health, seen.troubles, missing, now_ns)
    return verdicts(seen.pressures, unready, seen.refused.owners)


def volumes_in_use(old: NodeStatus, seen: VolumesInUseObserved | None) -> tuple[str, ...]:
    """Sorted. A name is removed only when surely unused: the controller may then detach the volume."""
    if seen is None:
        return old.volumes_in_use
    return tuple(sorted({*seen.names, *(() if seen.complete else old.volumes_in_use)}))


def _images(old: NodeStatus, seen: Seen, at_most: int) -> tuple[ContainerImage, ...]:
    return old.images if seen.images is None else status_images(seen.images, at_most)
