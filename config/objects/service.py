"""Services, whose addresses become variables of containers (spec 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Int32, written
from config.objects.meta import Condition, ObjectMeta


class ClientIPConfig(ApiStruct, frozen=True):
    """core/v1 ClientIPConfig."""

    timeout_seconds: Int32 | None = None


class SessionAffinityConfig(ApiStruct, frozen=True):
    """core/v1 SessionAffinityConfig."""

    client_ip: ClientIPConfig | None = field(default=None, name="clientIP")


class PortStatus(ApiStruct, frozen=True):
    """core/v1 PortStatus."""

    error: str | None = None
    port: Int32 = written(0)
    protocol: str = written("")


class LoadBalancerIngress(ApiStruct, frozen=True):
    """core/v1 LoadBalancerIngress."""

    hostname: str | None = None
    ip: str | None = None
    ip_mode: str | None = None
    ports: tuple[PortStatus, ...] = ()


class LoadBalancerStatus(ApiStruct, frozen=True):
    """core/v1 LoadBalancerStatus."""

    ingress: tuple[LoadBalancerIngress, ...] = ()


class ServicePort(ApiStruct, frozen=True):
    """core/v1 ServicePort."""

    app_protocol: str | None = None
    name: str | None = None
    node_port: Int32 | None = None
    port: Int32 = written(0)
    protocol: str | None = None
    target_port: Int32 | str | None = None


class ServiceSpec(ApiStruct, frozen=True):
    """core/v1 ServiceSpec."""

    allocate_load_balancer_node_ports: bool | None = None
    cluster_ip: str | None = field(default=None, name="clusterIP")
    cluster_ips: tuple[str, ...] = field(default=(), name="clusterIPs")
    external_ips: tuple[str, ...] = field(default=(), name="externalIPs")
    external_name: str | None = None
    external_traffic_policy: str | None = None
    health_check_node_port: Int32 | None = None
    internal_traffic_policy: str | None = None
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    load_balancer_class: str | None = None
    load_balancer_ip: str | None = field(default=None, name="loadBalancerIP")
    load_balancer_source_ranges: tuple[str, ...] = ()
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool | None = None
    selector: Mapping[str, str] = {}
    session_affinity: str | None = None
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: str | None = None
    type: str | None = None


class ServiceStatus(ApiStruct, frozen=True):
    """core/v1 ServiceStatus."""

    conditions: tuple[Condition, ...] = ()
    load_balancer: LoadBalancerStatus | None = None


class Service(ApiObject, frozen=True):
    """core/v1 Service."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Service"] = written("Service")
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus | None = None
