"""What the volumes of a pod show of others (spec 8.7). Pure.

That is objects, tokens, trust anchors and certificates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from actors.messages.references import CertificatePlace, ObjectRef, TrustWant
from actors.start.mounts import agent_volumes
from config.api.selectors import SelectorError, label_query
from config.objects import (
    ClusterTrustBundleProjection,
    DownwardAPIVolumeFile,
    Pod,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from config.pods.defaults import DEFAULT_TOKEN_SECONDS
from runtime.volumes.pod_volumes import used_volumes


class TokenWant(msgspec.Struct, frozen=True, gc=False):
    """A token of the pod's service account. An empty `audience` is the API server's own."""

    audience: str
    expiration_seconds: int


class Wants(msgspec.Struct, frozen=True):
    """The objects, tokens, trust anchors and certificates that the volumes of a pod need, each once.

    `amounts`: whether they show limits, for which the node's allocatable amounts may stand.
    """

    refs: tuple[ObjectRef, ...] = ()
    tokens: tuple[TokenWant, ...] = ()
    anchors: tuple[TrustWant, ...] = ()
    certificates: tuple[CertificatePlace, ...] = ()
    amounts: bool = False


_NO_WANTS = Wants()


def has_config_volumes(pod: Pod) -> bool:
    """Whether some container mounts a volume that the agent fills with files."""
    of_agent = agent_volumes(pod)
    return bool(of_agent) and not of_agent.isdisjoint(used_volumes(pod))


def wants_of(pod: Pod) -> Wants:
    """Everything that the mounted volumes of the pod refer to, in the pod's order."""
    if not (volumes := config_volumes(pod)):
        return _NO_WANTS
    refs: dict[ObjectRef, None] = {}
    tokens: dict[TokenWant, None] = {}
    anchors: dict[TrustWant, None] = {}
    certificates: list[CertificatePlace] = []
    amounts = False
    for _, volume in volumes:
        amounts = amounts or any(item.resource_field_ref is not None for item in _items(volume))
        for kind, name in _references(volume):
            if name:
                refs[ObjectRef(kind, pod.metadata.namespace, name)] = None
        for index, source in enumerate(_projections(volume)):
            if source.pod_certificate is not None:
                certificates.append(CertificatePlace(volume.name, index))
            if source.service_account_token is not None:
                tokens[token_want(source.service_account_token)] = None
            if source.cluster_trust_bundle is not None:
                with suppress(SelectorError):  # the volume is refused for it
                    anchors[trust_want(source.cluster_trust_bundle)] = None
    return Wants(tuple(refs), tuple(tokens), tuple(anchors), tuple(certificates), amounts)


def config_volumes(pod: Pod) -> list[tuple[int, Volume]]:
    """The mounted volumes that the agent fills, each with its index in the pod."""
    if not pod.spec.volumes:
        return []
    wanted = agent_volumes(pod) & used_volumes(pod)
    return [(index, volume) for index, volume in enumerate(pod.spec.volumes) if volume.name in wanted]


def _references(volume: Volume) -> Iterable[tuple[str, str | None]]:
    if volume.config_map is not None:
        yield "ConfigMap", volume.config_map.name
    if volume.secret is not None:
        yield "Secret", volume.secret.secret_name
    for source in _projections(volume):
        if source.config_map is not None:
            yield "ConfigMap", source.config_map.name
        if source.secret is not None:
            yield "Secret", source.secret.name


def _items(volume: Volume) -> Iterator[DownwardAPIVolumeFile]:
    if volume.downward_api is not None:
        yield from volume.downward_api.items
    for source in _projections(volume):
        if source.downward_api is not None:
            yield from source.downward_api.items


def _projections(volume: Volume) -> tuple[VolumeProjection, ...]:
    return volume.projected.sources if volume.projected is not None else ()


def token_want(projection: ServiceAccountTokenProjection) -> TokenWant:
    seconds = projection.expiration_seconds
    return TokenWant(projection.audience or "", DEFAULT_TOKEN_SECONDS if seconds is None else seconds)


def trust_want(projection: ClusterTrustBundleProjection) -> TrustWant:
    """Raises SelectorError."""
    optional = bool(projection.optional)
    if projection.name is not None:
        return TrustWant(name=projection.name, optional=optional)
    selector = projection.label_selector
    labels = None if selector is None else label_query(selector)
    return TrustWant(signer_name=projection.signer_name or "", labels=labels, optional=optional)
