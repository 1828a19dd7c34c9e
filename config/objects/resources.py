"""What a container asks for and may use. Quantities stay as the user wrote them."""

from __future__ import annotations

from collections.abc import Mapping

from config.objects.base import ApiStruct, Quantity, written


class ResourceClaim(ApiStruct, frozen=True):
    """core/v1 ResourceClaim."""

    name: str = written("")
    request: str | None = None


class ResourceRequirements(ApiStruct, frozen=True):
    """core/v1 ResourceRequirements."""

    claims: tuple[ResourceClaim, ...] = ()
    limits: Mapping[str, Quantity] = {}
    requests: Mapping[str, Quantity] = {}


class VolumeResourceRequirements(ApiStruct, frozen=True):
    """core/v1 VolumeResourceRequirements."""

    limits: Mapping[str, Quantity] = {}
    requests: Mapping[str, Quantity] = {}


class PodResourceClaim(ApiStruct, frozen=True):
    """core/v1 PodResourceClaim."""

    name: str = written("")
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ContainerResizePolicy(ApiStruct, frozen=True):
    """core/v1 ContainerResizePolicy."""

    resource_name: str = written("")
    restart_policy: str = written("")
