"""Pods: what is asked for. What is observed stands in `config.objects.pod_status`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Int32, Int64, Quantity, written
from config.objects.containers import Container, EphemeralContainer
from config.objects.meta import ListMeta, ObjectMeta
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
    """An option of resolv.conf, such as ndots:2."""

    name: str | None = None
    value: str | None = None


class PodDNSConfig(ApiStruct, frozen=True):
    """Additions to the resolver configuration that `dns_policy` yields (spec 14.1)."""

    nameservers: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
    searches: tuple[str, ...] = ()


class HostAlias(ApiStruct, frozen=True):
    """A line for the hosts file of the pod (spec 14.3)."""

    hostnames: tuple[str, ...] = ()
    ip: str = written("")


class PodSpec(ApiStruct, frozen=True, weakref=True):
    """What is asked for: containers, volumes and the terms on which they run."""

    active_deadline_seconds: Int64 | None = None
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
    overhead: Mapping[str, Quantity] = {}
    preemption_policy: str | None = None
    priority: Int32 | None = None
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
    termination_grace_period_seconds: Int64 | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()


class Pod(ApiObject, frozen=True):
    """One pod: what it is called, what is asked for, and, once a node has looked at it, what was observed."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Pod"] = written("Pod")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class PodList(ApiObject, frozen=True):
    """Several pods in one document. The general `kind: List` is read by `config.manifests`, not here."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["PodList"] = written("PodList")
    metadata: ListMeta = ListMeta()
    items: tuple[Pod, ...] = ()
