"""Services: the address in the cluster that each gets, and the defaults of its ports."""

from __future__ import annotations

import ipaddress
from itertools import chain

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import SERVICES, ServedResource
from simulation.apiserver.status import Json, internal_error, invalid, invalid_value, required
from simulation.apiserver.store import Version

FIRST_NODE_PORT = 30000
FIRST_ADDRESS = 10
"""Addresses below are for services that ask for one, such as that of the API server."""
_DEFAULTS = {"type": "ClusterIP", "sessionAffinity": "None"}
_KEPT = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


class ServiceRules(KindRules):
    """See the module."""

    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self._network = ipaddress.ip_network(core.options.service_cidr)
        self._taken: set[str] = set()
        self._next = FIRST_ADDRESS
        self._next_port = FIRST_NODE_PORT

    def prepare(self, call: ResourceCall, value: Json) -> None:
        name = value["metadata"]["name"]
        spec: Json = {**_DEFAULTS, **(value.get("spec") or {})}
        external = spec["type"] == "ExternalName"
        if not spec.get("ports") and not external and spec.get("clusterIP") != "None":
            raise invalid(SERVICES, name, [required("spec.ports")])
        if not external:
            address = spec.get("clusterIP") or self._free_address()
            self._check(name, address)
            common = {"ipFamilies": ["IPv6" if ":" in address else "IPv4"], "ipFamilyPolicy": "SingleStack"}
            addresses = {"clusterIP": address, "clusterIPs": [address]}
            spec = {**common, "internalTrafficPolicy": "Cluster", **spec, **addresses}
        if spec["type"] in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        value["spec"] = self._with_ports(spec)
        value["status"] = {"loadBalancer": {}}

    def created(self, version: Version) -> None:
        self._taken.add(version.object["spec"].get("clusterIP", ""))

    def removed(self, last: Version) -> None:
        self._taken.discard(last.object["spec"].get("clusterIP", ""))

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        before, after = old["spec"], {**_DEFAULTS, **(new.get("spec") or {})}
        if after["type"] != "ExternalName":
            after |= {field: before[field] for field in _KEPT if field in before and not after.get(field)}
        if before.get("clusterIP") and after.get("clusterIP") not in (before["clusterIP"], None):
            cause = invalid_value("spec.clusterIP", after["clusterIP"], "field is immutable")
            raise invalid(SERVICES, call.name, [cause])
        new["spec"] = self._with_ports(after)

    def _with_ports(self, spec: Json) -> Json:
        ports = [self._port(spec, port) for port in spec.get("ports") or ()]
        return {field: part for field, part in {**spec, "ports": ports}.items() if part not in (None, [])}

    def _port(self, spec: Json, port: Json) -> Json:
        port = {"protocol": "TCP", "targetPort": port.get("port"), **{key: part for key, part in port.items() if part}}
        if spec["type"] in ("NodePort", "LoadBalancer") and "nodePort" not in port:
            port["nodePort"] = self._next_port
            self._next_port += 1
        return port

    def _free_address(self) -> str:
        size = self._network.num_addresses
        for number in chain(range(self._next, size - 1), range(2, self._next)):
            address = str(self._network[number])
            if address not in self._taken:
                self._next = number + 1
                return address
        raise internal_error("failed to allocate a serviceIP: range is full")

    def _check(self, name: str, address: str) -> None:
        """Raises StatusError (422)."""
        if address == "None":
            return
        try:
            inside = ipaddress.ip_address(address) in self._network
        except ValueError:
            inside = False
        why = "" if inside else f"the provided IP ({address}) is not in the valid range {self._network}"
        if address in self._taken:
            why = "failed to allocate IP: provided IP is already allocated"
        if why:
            raise invalid(SERVICES, name, [invalid_value("spec.clusterIPs", [address], why)])
