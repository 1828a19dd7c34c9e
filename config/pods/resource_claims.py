"""Which claims of devices a pod needs. Pure (spec 10.12).

A claim is named by the pod, or was made for it from a template: then the pod's status tells its name. A scheduler that
gives devices for extended resources makes one more, and names it in the status too.
"""

from __future__ import annotations

import msgspec

from config.objects import ObjectMeta, Pod, PodResourceClaim


class NeededClaim(msgspec.Struct, frozen=True):
    """A claim that has to be ready before the pod has a sandbox.

    `name`: of the object; `own`: it was made for this pod, and must belong to it.
    """

    name: str
    own: bool


class PodWithClaims(msgspec.Struct, frozen=True):
    """What the owner of claims has to know of a pod."""

    uid: str
    namespace: str
    name: str
    needed: tuple[NeededClaim, ...]


def claim_name(pod: Pod, claim: PodResourceClaim) -> str | None:
    """The name of the object; None: it is not made yet; "": the pod needs none for this entry."""
    if claim.resource_claim_name is not None:
        return claim.resource_claim_name
    statuses = pod.status.resource_claim_statuses if pod.status is not None else ()
    for each in statuses:
        if each.name == claim.name:
            return each.resource_claim_name or ""
    return None


def needed_claims(pod: Pod) -> tuple[tuple[NeededClaim, ...], str]:
    """The claims of the pod, each once, and what it waits for; "" for nothing."""
    found: dict[str, NeededClaim] = {}
    for claim in pod.spec.resource_claims:
        name = claim_name(pod, claim)
        if name is None:
            return (), f'no claim has been made for "{claim.name}" from its template yet'
        if name:
            found[name] = NeededClaim(name, own=claim.resource_claim_name is None)
    extended = pod.status.extended_resource_claim_status if pod.status is not None else None
    if extended is not None:
        found.setdefault(extended.resource_claim_name, NeededClaim(extended.resource_claim_name, own=True))
    return tuple(found.values()), ""


def controller_uid(metadata: ObjectMeta) -> str:
    """The UID of the object that an object was made for; "" for none."""
    return next((each.uid for each in metadata.owner_references if each.controller), "")


def has_claims(pod: Pod) -> bool:
    """Whether the pod needs claims, made or not."""
    return bool(pod.spec.resource_claims) or (
        pod.status is not None and pod.status.extended_resource_claim_status is not None
    )


def with_claims(pod: Pod, needed: tuple[NeededClaim, ...]) -> PodWithClaims:
    """The pod, for the owner of claims."""
    metadata = pod.metadata
    return PodWithClaims(metadata.uid, metadata.namespace, metadata.name, needed)
