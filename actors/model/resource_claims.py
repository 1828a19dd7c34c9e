"""What pods of this node have of claims (spec 10.12). Values, pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from config.frozen_map import FrozenMap
from runtime.dra.capability import ClaimDevice, ClaimRef, DeviceHealth

DriverDevices: TypeAlias = FrozenMap[str, tuple[ClaimDevice, ...]]
"""Driver -> the devices that it has made ready for a claim; (): none are needed in a container."""


class ReadyClaim(msgspec.Struct, frozen=True):
    """A claim whose drivers have made it ready."""

    ref: ClaimRef
    devices: DriverDevices

    def of_request(self, request: str) -> Iterator[tuple[str, ClaimDevice]]:
        """The devices that serve a request, with their drivers; "" stands for all requests."""
        for driver, devices in sorted(self.devices.items()):
            for device in devices:
                if device.serves(request):
                    yield driver, device


PodClaims: TypeAlias = FrozenMap[str, ReadyClaim]
"""Name of the claim in the API -> the claim. A pod may name one twice."""
NO_CLAIMS: PodClaims = FrozenMap()


class DeviceKey(NamedTuple):
    """A device of a driver."""

    driver: str
    pool: str
    device: str


HealthOfDevices: TypeAlias = FrozenMap[DeviceKey, DeviceHealth]
"""What drivers say of devices. One that is missing: nothing that may be believed."""


class ClaimedDevices(msgspec.Struct, frozen=True):
    """The claims of a pod, and what drivers say of their devices."""

    claims: PodClaims
    health: HealthOfDevices
