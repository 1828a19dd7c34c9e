"""What a container gets of the claims of its pod. Pure (spec 10.12)."""

from __future__ import annotations

from collections.abc import Iterator

from actors.model.resource_claims import PodClaims, ReadyClaim
from config.objects import Container, Pod
from config.pods.resource_claims import claim_name


def cdi_names(pod: Pod, container: Container, claims: PodClaims) -> tuple[str, ...]:
    """The CDI devices for the container, each once, in the order of its claims."""
    found: dict[str, None] = {}
    for claim, request in (*_asked(pod, container, claims), *_extended(pod, container, claims)):
        for _, device in claim.of_request(request):
            found |= dict.fromkeys(device.cdi)
    return tuple(found)


def claims_of(pod: Pod, container: Container, claims: PodClaims) -> tuple[ReadyClaim, ...]:
    """The claims that the container uses, each once."""
    used = (*_asked(pod, container, claims), *_extended(pod, container, claims))
    return tuple({claim.ref: claim for claim, _ in used}.values())


def _asked(pod: Pod, container: Container, claims: PodClaims) -> Iterator[tuple[ReadyClaim, str]]:
    named = {each.name: claim_name(pod, each) for each in pod.spec.resource_claims}
    for each in container.resources.claims if container.resources is not None else ():
        claim = claims.get(named.get(each.name) or "")
        if claim is not None:
            yield claim, each.request or ""


def _extended(pod: Pod, container: Container, claims: PodClaims) -> Iterator[tuple[ReadyClaim, str]]:
    """What a scheduler gave for extended resources."""
    status = pod.status.extended_resource_claim_status if pod.status is not None else None
    claim = claims.get(status.resource_claim_name) if status is not None else None
    if status is None or claim is None:
        return
    for each in status.request_mappings:
        if each.container_name == container.name:
            yield claim, each.request_name
