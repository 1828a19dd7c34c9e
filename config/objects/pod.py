"""Pods: what is asked for, and what is observed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from config.objects.base import ApiStruct
from config.objects.containers import Container, EphemeralContainer
from config.objects.meta import ObjectMeta
from config.objects.pod_status import PodStatus
from config.objects.resources import PodResourceClaim, ResourceRequirements
from config.objects.scheduling import (
    Affinity,
    PodOS,
    PodReadinessGate,
    PodSchedulingGate,
    PodSchedulingGroup,
    Toleration,
    TopologySpreadConstraint,
)
from config.objects.security import PodSecurityContext
from config.objects.selectors import LocalObjectReference
from config.objects.volumes import Volume


class PodDNSConfigOption(ApiStruct, frozen=True):
    """core/v1 PodDNSConfigOption."""

    name: str | None = None
    value: str | None = None


class PodDNSConfig(ApiStruct, frozen=True):
    """core/v1 PodDNSConfig."""

    nameservers: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
    searches: tuple[str, ...] = ()


class HostAlias(ApiStruct, frozen=True):
    """core/v1 HostAlias."""

    hostnames: tuple[str, ...] = ()
    ip: str = ""


class PodSpec(ApiStruct, frozen=True):
    """core/v1 PodSpec."""

    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: tuple[Container, ...] = ()
    dns_config: PodDNSConfig | None = None
    dns_policy: str | None = None
    enable_service_links: bool | None = None
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    host_aliases: tuple[HostAlias, ...] = ()
    host_ipc: bool | None = field(default=None, name="hostIPC")
    host_network: bool | None = None
    host_pid: bool | None = field(default=None, name="hostPID")
    host_users: bool | None = None
    hostname: str | None = None
    hostname_override: str | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str | None = None
    node_selector: Mapping[str, str] = {}
    os: PodOS | None = None
    overhead: Mapping[str, str] = {}
    preemption_policy: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    runtime_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: str | None = None
    service_account_name: str | None = None
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    share_process_namespace: bool | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()


class Pod(ApiStruct, frozen=True):
    """core/v1 Pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class ListMeta(ApiStruct, frozen=True):
    """meta/v1 ListMeta."""

    resource_version: str = ""
    continue_: str | None = field(default=None, name="continue")
    remaining_item_count: int | None = None
    self_link: str | None = None


class PodList(ApiStruct, frozen=True):
    """core/v1 PodList."""

    metadata: ListMeta = ListMeta()
    items: tuple[Pod, ...] = ()
