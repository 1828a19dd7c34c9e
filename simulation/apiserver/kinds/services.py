"""Services: the address in the cluster that each gets, and the defaults of its ports."""

from __future__ import annotations

import ipaddress

from config.objects import ApiStruct, Service
from config.values.name_rules import Refusal, dns_label
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import SERVICES
from simulation.apiserver.status import Json, internal_error, invalid, invalid_value, required
from simulation.apiserver.store import Version

NODE_PORTS = (30000, 32767)
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")


class ServiceRules(KindRules):
    """See the module. The first address of the range is that of the API server itself."""

    struct: type[ApiStruct] | None = Service
    has_status = True
    answers_with_object = True

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._network = ipaddress.ip_network(core.options.service_cidr)
        self._taken: dict[str, str] = {}
        self._next = 10
        self._next_port = NODE_PORTS[0]

    def name_fault(self, name: str) -> Refusal:
        return dns_label(name)

    def prepare(self, call: Call, value: Json) -> None:
        name = value["metadata"]["name"]
        spec: Json = {"type": "ClusterIP", "sessionAffinity": "None", **(value.get("spec") or {})}
        if not spec.get("ports") and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
            raise invalid(SERVICES, name, [required("spec.ports")])
        spec["ports"] = [self._port(spec, port) for port in spec.get("ports") or ()]
        if spec["type"] in _WITH_ADDRESS:
            address = spec.get("clusterIP") or self._free_address()
            if address != "None":
                self._take(name, address)
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            spec.setdefault("ipFamilies", ["IPv6" if ":" in address else "IPv4"])
            spec.setdefault("ipFamilyPolicy", "SingleStack")
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        value["spec"] = {field: part for field, part in spec.items() if part not in (None, [])}
        value["status"] = {"loadBalancer": {}}

    def created(self, version: Version) -> None:
        address = version.object["spec"].get("clusterIP")
        if address and address != "None":
            self._taken[address] = version.uid

    def change(self, call: Call, old: Json, new: Json) -> None:
        before, after = old["spec"], {"type": "ClusterIP", "sessionAffinity": "None", **(new.get("spec") or {})}
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if field in before and not after.get(field) and after["type"] != "ExternalName":
                after[field] = before[field]
        if before.get("clusterIP") and after.get("clusterIP") not in (before["clusterIP"], None):
            cause = invalid_value("spec.clusterIP", after["clusterIP"], "field is immutable")
            raise invalid(SERVICES, call.name, [cause])
        after["ports"] = [self._port(after, port) for port in after.get("ports") or ()]
        new["spec"] = {field: part for field, part in after.items() if part not in (None, [])}

    def removed(self, last: Version) -> None:
        self._taken.pop(last.object["spec"].get("clusterIP", ""), None)

    def _port(self, spec: Json, port: Json) -> Json:
        port = {"protocol": "TCP", **{field: part for field, part in port.items() if part is not None}}
        port.setdefault("targetPort", port.get("port"))
        if spec["type"] in ("NodePort", "LoadBalancer"):
            if not port.get("nodePort"):
                port["nodePort"] = self._next_port
                self._next_port += 1
        elif not port.get("nodePort"):
            port.pop("nodePort", None)
        return port

    def _free_address(self) -> str:
        size = self._network.num_addresses
        for _ in range(size):
            address = str(self._network[self._next % size])
            self._next = max((self._next + 1) % (size - 1), 2)
            if address not in self._taken:
                return address
        raise internal_error("failed to allocate a serviceIP: range is full")

    def _take(self, name: str, address: str) -> None:
        try:
            inside = ipaddress.ip_address(address) in self._network
        except ValueError:
            inside = False
        why = "" if inside else f"the provided IP ({address}) is not in the valid range {self._network}"
        if address in self._taken:
            why = "failed to allocate IP: provided IP is already allocated"
        if why:
            raise invalid(SERVICES, name, [invalid_value("spec.clusterIPs", [address], why)])
