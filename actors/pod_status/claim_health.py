"""Devices of claims in the status of a pod: `allocatedResourcesStatus` (KEP-4680, spec 10.12). Pure."""

from __future__ import annotations

import msgspec

from actors.model.resource_claims import ClaimedDevices, DeviceKey
from config.objects import Container, ContainerStatus, Pod, PodStatus, ResourceHealth, ResourceStatus
from config.pods.resource_claims import claim_name
from runtime.dra.capability import ClaimDevice, Health


def with_claim_health(pod: Pod, status: PodStatus, claimed: ClaimedDevices, *, messages: bool) -> PodStatus:
    """The same with the devices of each regular container's claims.

    `messages`: whether to tell the words of drivers (feature gate ResourceHealthStatusMessage).
    """
    containers = {each.name: each for each in pod.spec.containers}
    shown = tuple(
        _shown(each, health_statuses(pod, containers[each.name], claimed, messages=messages))
        if each.name in containers
        else each
        for each in status.container_statuses
    )
    return msgspec.structs.replace(status, container_statuses=shown)


def _shown(status: ContainerStatus, of_claims: tuple[ResourceStatus, ...]) -> ContainerStatus:
    others = tuple(each for each in status.allocated_resources_status if not each.name.startswith("claim:"))
    return msgspec.structs.replace(status, allocated_resources_status=others + of_claims)


def health_statuses(
    pod: Pod, container: Container, claimed: ClaimedDevices, *, messages: bool
) -> tuple[ResourceStatus, ...]:
    """`allocatedResourcesStatus` for the claims of the container."""
    named = {each.name: claim_name(pod, each) for each in pod.spec.resource_claims}
    found: dict[str, ResourceStatus] = {}
    for each in container.resources.claims if container.resources is not None else ():
        claim = claimed.claims.get(named.get(each.name) or "")
        if claim is None:
            continue
        name = f"claim:{each.name}/{each.request}" if each.request else f"claim:{each.name}"
        resources: dict[str, ResourceHealth] = {}
        for driver, device in claim.of_request(base_request(each.request or "")):
            told = _health(driver, device, claimed, messages=messages)
            resources.setdefault(told.resource_id, told)
        if resources:
            found[name] = ResourceStatus(name=name, resources=tuple(resources.values()))
    return tuple(found.values())


def base_request(request: str) -> str:
    """`request/subrequest` -> `request`: drivers name the request as a whole."""
    return request.partition("/")[0]


def _health(driver: str, device: ClaimDevice, claimed: ClaimedDevices, *, messages: bool) -> ResourceHealth:
    told = claimed.health.get(DeviceKey(driver, device.pool, device.device))
    id_ = device.cdi[0] if device.cdi else f"{driver}/{device.pool}/{device.device}"
    health = (told.health if told is not None else Health.UNKNOWN).value
    message = told.message if told is not None and messages else ""
    return ResourceHealth(resource_id=id_, health=health, message=message or None)
