"""Services: the address in the cluster that each gets, and its ports.

`node_ports` has the rules of those on nodes.
"""

from __future__ import annotations

import ipaddress
from itertools import chain

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import SERVICES, ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, internal_error, invalid, invalid_value, required
from simulation.apiserver.strategies import node_ports
from simulation.apiserver.strategies.strategy import Strategy

FIRST_ADDRESS = 10
"""Addresses below this are for services that request one, such as that of the API server."""
_AT_NODES = ("NodePort", "LoadBalancer")
_OF_BALANCERS = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
_OF_CLUSTER = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_KEPT = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


class ServiceStrategy(Strategy):
    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self._network = ipaddress.ip_network(core.options.service_cidr)
        self._next = FIRST_ADDRESS
        self._next_port = node_ports.FIRST

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().default(call, before, value)
        value["spec"] = _with_ports(value["spec"])

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        spec = value["spec"]
        if before is not None:
            was = before["spec"]
            spec = _without_leftovers(was, node_ports.kept(was, spec))
            if spec["type"] != "ExternalName":
                spec = {**spec, **{field: was[field] for field in _KEPT if field in was and not spec.get(field)}}
        elif spec["type"] != "ExternalName":
            address = self._address(value["metadata"]["name"], spec.get("clusterIP"))
            common = {"ipFamilies": ["IPv6" if ":" in address else "IPv4"], "ipFamilyPolicy": "SingleStack"}
            addresses = {"clusterIP": address, "clusterIPs": [address]}
            spec = {**common, **spec, **addresses}
        value["spec"] = node_ports.with_new(None if before is None else before["spec"], spec, self._draw_port)

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        spec, name = value["spec"], value["metadata"]["name"]
        if not spec.get("ports") and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
            raise invalid(SERVICES, name, [required("spec.ports")])
        was = (before or {}).get("spec") or {}
        if was.get("clusterIP") and spec.get("clusterIP") not in (was["clusterIP"], None):
            raise invalid(SERVICES, name, [invalid_value("spec.clusterIP", spec["clusterIP"], "field is immutable")])
        if spec["type"] in _AT_NODES:
            causes = [*node_ports.faults(was or None, spec, self._ports_taken(value["metadata"]["uid"]))]
            if causes:
                raise invalid(SERVICES, name, causes[:1])

    def _draw_port(self) -> int:
        """The next port that no service has on the nodes. Raises StatusError (500)."""
        taken, count = self._ports_taken(), node_ports.LAST - node_ports.FIRST + 1
        for step in range(count):
            number = node_ports.FIRST + (self._next_port - node_ports.FIRST + step) % count
            if number not in taken:
                self._next_port = number + 1
                return number
        raise internal_error("failed to allocate a nodePort: range is full")

    def _ports_taken(self, but: str = "") -> set[int]:
        """The ports of nodes of all services. `but`: the UID of one that does not count."""
        found: set[int] = set()
        for service in self.core.store.of[SERVICES.store_key].all():
            if service.object["metadata"]["uid"] != but:
                found |= node_ports.numbers_of(service.object["spec"])
        return found

    def _address(self, name: str, asked: str | None) -> str:
        """The address that is asked for, or the next free one. Raises StatusError (422, 500)."""
        taken = {service.object["spec"].get("clusterIP") for service in self.core.store.of[SERVICES.store_key].all()}
        if not asked:
            for number in chain(range(self._next, self._network.num_addresses - 1), range(2, self._next)):
                if (free := str(self._network[number])) not in taken:
                    self._next = number + 1
                    return free
            raise internal_error("failed to allocate a serviceIP: range is full")
        try:
            good = asked == "None" or ipaddress.ip_address(asked) in self._network
        except ValueError:
            good = False
        why = "" if good else f"the provided IP ({asked}) is not in the valid range {self._network}"
        if asked in taken - {"None"}:
            why = "failed to allocate IP: provided IP is already allocated"
        if why:
            raise invalid(SERVICES, name, [invalid_value("spec.clusterIPs", [asked], why)])
        return asked


def _with_ports(spec: Json) -> Json:
    ports = [
        {"targetPort": port.get("port"), **{key: part for key, part in port.items() if part}}
        for port in spec.get("ports") or ()
    ]
    return {field: part for field, part in {**spec, "ports": ports}.items() if part not in (None, [])}


def _without_leftovers(was: Json, spec: Json) -> Json:
    """The spec of another type, without unchanged fields that only the type before had.

    The rule is upstream's `dropTypeDependentFields`.
    """
    before, now = was.get("type"), spec.get("type")
    if before == now:
        return spec
    gone: list[str] = []
    if before == "LoadBalancer":
        gone += _OF_BALANCERS
    if now == "ExternalName":
        gone += _OF_CLUSTER
    if before in _AT_NODES and now not in _AT_NODES:
        gone += [] if spec.get("externalIPs") else ["externalTrafficPolicy"]
    return {name: part for name, part in spec.items() if name not in gone or part != was.get(name)}
