"""Devices in the status of a pod: `allocatedResourcesStatus` (KEP-4680, spec 10.11). Pure."""

from __future__ import annotations

import msgspec

from actors.messages.devices import DevicesGiven
from config.frozen_map import FrozenMap
from config.objects import ContainerStatus, PodStatus, ResourceHealth, ResourceStatus

HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"
NONE_SICK: FrozenMap[str, str] = FrozenMap()


def with_device_health(status: PodStatus, given: DevicesGiven) -> PodStatus:
    """The same with the devices of each regular container, and why one is not healthy."""
    if given.sick is None or not given.devices:
        return status
    shown = tuple(_shown(each, given) for each in status.container_statuses)
    return msgspec.structs.replace(status, container_statuses=shown)


def _shown(status: ContainerStatus, given: DevicesGiven) -> ContainerStatus:
    held = given.devices.get(status.name)
    if held is None or given.sick is None:
        return status
    found = []
    for resource, has in sorted(held.items()):
        sick = given.sick.get(resource, NONE_SICK)
        health = (
            ResourceHealth(
                health=UNHEALTHY if each in sick else HEALTHY, message=sick.get(each) or None, resource_id=each
            )
            for each in sorted(has.ids)
        )
        found.append(ResourceStatus(name=resource, resources=tuple(health)))
    return msgspec.structs.replace(status, allocated_resources_status=tuple(found))
