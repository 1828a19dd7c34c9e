"""Services: the address in the cluster that each gets, and the defaults of its ports."""

from __future__ import annotations

import ipaddress
from itertools import chain

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import SERVICES, ServedResource
from simulation.apiserver.status import Json, internal_error, invalid, invalid_value, required

FIRST_NODE_PORT = 30000
FIRST_ADDRESS = 10
"""Addresses below this are for services that request one, such as that of the API server."""
_DEFAULTS = {"type": "ClusterIP", "sessionAffinity": "None"}
_KEPT = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


class ServiceRules(KindRules):
    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self._network = ipaddress.ip_network(core.options.service_cidr)
        self._next = FIRST_ADDRESS
        self._next_port = FIRST_NODE_PORT

    def prepare(self, call: ResourceCall, value: Json) -> None:
        name = value["metadata"]["name"]
        spec: Json = {**_DEFAULTS, **(value.get("spec") or {})}
        external = spec["type"] == "ExternalName"
        if not spec.get("ports") and not external and spec.get("clusterIP") != "None":
            raise invalid(SERVICES, name, [required("spec.ports")])
        if not external:
            address = self._address(name, spec.get("clusterIP"))
            common = {"ipFamilies": ["IPv6" if ":" in address else "IPv4"], "ipFamilyPolicy": "SingleStack"}
            addresses = {"clusterIP": address, "clusterIPs": [address]}
            spec = {**common, "internalTrafficPolicy": "Cluster", **spec, **addresses}
        if spec["type"] in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        value["spec"] = self._with_ports(spec)
        value["status"] = {"loadBalancer": {}}

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
