"""Variables that tell a container where the services are, as Docker's links once did (spec 13.1).

Pure.

A service counts when it has an address of its own. Every pod gets variables for `kubernetes` in `default`. It gets
those of the services in its namespace unless `enableServiceLinks` is false. A service of its namespace wins over
another of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from config.objects import ObjectMeta, Service, ServicePort, ServiceSpec

MASTER_NAMESPACE = "default"
MASTER = "kubernetes"


class LinkPort(msgspec.Struct, frozen=True, gc=False):
    """One port of a service; `protocol` in upper case."""

    name: str
    number: int
    protocol: str


class ServiceLink(msgspec.Struct, frozen=True):
    """The part of a service that the node keeps."""

    namespace: str
    name: str
    address: str
    ports: tuple[LinkPort, ...] = ()


def link_of(service: Service) -> ServiceLink | None:
    """The link of a service; None for one without an address of its own."""
    spec = service.spec
    address = spec.cluster_ip if spec is not None else None
    if spec is None or not address or address == "None":
        return None
    ports = tuple(LinkPort(each.name or "", each.port, (each.protocol or "TCP").upper()) for each in spec.ports)
    return ServiceLink(service.metadata.namespace, service.metadata.name, address, ports)


def service_of(link: ServiceLink) -> Service:
    """A service of which `link_of` makes this link."""
    ports = tuple(map(_port, link.ports))
    meta = ObjectMeta(name=link.name, namespace=link.namespace)
    return Service(metadata=meta, spec=ServiceSpec(cluster_ip=link.address, ports=ports))


def _port(port: LinkPort) -> ServicePort:
    return ServicePort(name=port.name or None, port=port.number, protocol=port.protocol)


def service_variables(links: Iterable[ServiceLink], namespace: str, own_namespace: bool) -> dict[str, str]:
    """The variables for a pod of `namespace`; `own_namespace`: its `enableServiceLinks`.

    `links` may be of any namespaces.
    """
    chosen: dict[str, ServiceLink] = {}
    for link in links:
        own = link.namespace == namespace
        if (own and own_namespace) or (
            link.namespace == MASTER_NAMESPACE and link.name == MASTER and link.name not in chosen
        ):
            chosen[link.name] = link
    found: dict[str, str] = {}
    for name in sorted(chosen):
        found.update(_variables(chosen[name]))
    return found


def variable_name(name: str) -> str:
    """`web-db` -> `WEB_DB`."""
    return name.upper().replace("-", "_")


def _variables(link: ServiceLink) -> dict[str, str]:
    prefix = variable_name(link.name)
    found = {f"{prefix}_SERVICE_HOST": link.address}
    host = f"[{link.address}]" if ":" in link.address else link.address
    for index, port in enumerate(link.ports):
        protocol = port.protocol.lower()
        url = f"{protocol}://{host}:{port.number}"
        if index == 0:
            found[f"{prefix}_SERVICE_PORT"] = str(port.number)
            found[f"{prefix}_PORT"] = url
        if port.name:
            found[f"{prefix}_SERVICE_PORT_{variable_name(port.name)}"] = str(port.number)
        of_port = f"{prefix}_PORT_{port.number}_{port.protocol}"
        found[of_port] = url
        found[f"{of_port}_PROTO"] = protocol
        found[f"{of_port}_PORT"] = str(port.number)
        found[f"{of_port}_ADDR"] = link.address
    return found
