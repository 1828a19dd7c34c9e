"""Services: type, addresses, ports, and whom they select."""

from __future__ import annotations

from simulation.apiserver.tables.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    Json,
    View,
    age_of,
    items,
    joined,
    name_of,
    part,
    wide,
)

_COLUMNS = (
    NAME,
    Column("Type", "ClusterIP, NodePort, LoadBalancer or ExternalName."),
    Column("Cluster-IP", "The address within the cluster; None when the service has none of its own."),
    Column("External-IP", "Addresses for the world."),
    Column("Port(s)", "Ports, with node ports where there are any, and protocols."),
    AGE,
    wide("Selector", "Labels of the pods that the service stands for."),
)


def _cells(json: Json, wall_ns: int) -> list[Cell]:
    spec = part(json, "spec")
    addresses = items(spec, "clusterIPs")
    return [
        name_of(json),
        spec.get("type", ""),
        (addresses[0] if addresses else spec.get("clusterIP")) or NONE,
        _external(json),
        joined(map(_port, items(spec, "ports"))),
        age_of(json, wall_ns),
        joined(f"{key}={value}" for key, value in sorted(part(spec, "selector").items())),
    ]


def _external(json: Json) -> str:
    spec = part(json, "spec")
    given = items(spec, "externalIPs")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return joined(given)
    ways_in = items(part(json, "status", "loadBalancer"), "ingress")
    return joined([*(way.get("ip") or way.get("hostname") for way in ways_in), *given], "<pending>")


def _port(port: Json) -> str:
    at_node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{at_node}/{port.get('protocol', 'TCP')}"


SERVICES = View(_COLUMNS, _cells)
