"""Whether a pod may use a claim. Pure (spec 10.12)."""

from __future__ import annotations

import msgspec

from actors.resources.claims.life import DRIVERS_AT_MOST
from config.objects import ResourceClaim
from config.pods.resource_claims import NeededClaim, PodWithClaims, controller_uid
from runtime.dra.capability import ClaimRef


class AllocatedClaim(msgspec.Struct, frozen=True):
    """A claim that the pod may use, and the drivers of its devices, sorted."""

    ref: ClaimRef
    drivers: tuple[str, ...]


def may_use(pod: PodWithClaims, needed: NeededClaim, claim: ResourceClaim) -> AllocatedClaim | str:
    """The claim as the node has to make it ready, or why this pod does not get it."""
    metadata, uid = claim.metadata, pod.uid
    if needed.own and controller_uid(metadata) != uid:
        return f"ResourceClaim {needed.name} was not created for this pod: it has another owner"
    if not any(user.uid == uid and user.resource == "pods" for user in claim.status.reserved_for):
        return (
            f"pod {pod.name} ({uid}) is not allowed to use ResourceClaim {needed.name} ({metadata.uid}): "
            "it is not reserved for the pod"
        )
    if claim.status.allocation is None:
        return f"ResourceClaim {needed.name}: not allocated"
    drivers = sorted({result.driver for result in claim.status.allocation.devices.results})
    if len(drivers) > DRIVERS_AT_MOST:
        return f"ResourceClaim {needed.name}: it has {len(drivers)} drivers, {DRIVERS_AT_MOST} is the most"
    return AllocatedClaim(ClaimRef(metadata.namespace, metadata.name, metadata.uid), tuple(drivers))
