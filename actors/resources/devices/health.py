"""Which devices of a pod are not healthy, and why (KEP-4680). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from actors.model.devices import Offer, PodDevices
from config.frozen_map import FrozenMap

UNLISTED = "its plugin does not list it"


def sick_devices(
    devices: PodDevices,
    offers: Mapping[str, Offer],
    troubles: Mapping[str, str],
    expected: Collection[str],
    *,
    says_why: bool = True,
) -> FrozenMap[str, FrozenMap[str, str]]:
    """Resource -> ID -> why the device is not healthy; empty: its plugin only says that it is not.

    `troubles`: resource -> why its plugin is away. `expected`: resources whose plugin has not come since the agent
    began. Nothing is known of their devices yet, so they count as healthy, as with a kubelet. Without `says_why` all
    reasons are empty (gate ResourceHealthStatusMessage).
    """
    found: dict[str, dict[str, str]] = {}
    for resources in devices.values():
        for resource, held in resources.items():
            if resource in expected or resource not in offers:
                continue
            offer, trouble = offers[resource], troubles.get(resource, "")
            healthy = {each.id for each in offer.devices if each.healthy}
            listed = {each.id for each in offer.devices}
            for each in held.ids:
                if each not in healthy:
                    why = "" if each in listed else UNLISTED
                    if trouble:
                        why = f"its plugin has stopped: {trouble}"
                    found.setdefault(resource, {})[each] = why if says_why else ""
    return FrozenMap({resource: FrozenMap(sorted(sick.items())) for resource, sick in sorted(found.items())})
