"""The ports that services have on nodes."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from simulation.apiserver.strategies.node_ports import faults, kept, with_new
from tests.simulation.apiserver.worlds import MERGE, Server

SERVICES = "/api/v1/namespaces/default/services"
LOCAL = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
WEB, DNS, OVER_UDP = {"name": "web", "port": 80}, {"name": "dns", "port": 53}, {"name": "udp", "port": 53}


def at(number: int, port: dict[str, Any] = WEB) -> dict[str, Any]:
    return {**port, "nodePort": number}


@pytest.mark.parametrize(
    ("was", "spec", "expected"),
    [
        (None, {"type": "ClusterIP", "ports": [WEB]}, {"type": "ClusterIP", "ports": [WEB]}),
        (None, {"type": "NodePort", "ports": [WEB]}, {"type": "NodePort", "ports": [at(1)]}),
        (None, {"type": "NodePort", "ports": [at(7)]}, {"type": "NodePort", "ports": [at(7)]}),
        (
            None,
            {"type": "NodePort", "ports": [DNS, at(7, OVER_UDP), WEB]},
            {"type": "NodePort", "ports": [at(7, DNS), at(7, OVER_UDP), at(1)]},
        ),
        (
            {"type": "NodePort", "ports": [at(5, DNS)]},
            {"type": "NodePort", "ports": [at(5, DNS), OVER_UDP]},
            {"type": "NodePort", "ports": [at(5, DNS), at(1, OVER_UDP)]},
        ),
        (
            None,
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [WEB]},
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [WEB]},
        ),
        (None, {**LOCAL, "ports": [WEB]}, {**LOCAL, "ports": [at(1)], "healthCheckNodePort": 2}),
        (
            None,
            {**LOCAL, "ports": [at(7)], "healthCheckNodePort": 8},
            {**LOCAL, "ports": [at(7)], "healthCheckNodePort": 8},
        ),
        (
            {"type": "LoadBalancer", "ports": [at(7)]},
            {**LOCAL, "ports": [at(7)]},
            {**LOCAL, "ports": [at(7)], "healthCheckNodePort": 1},
        ),
    ],
)
def test_a_service_gets_the_ports_that_it_needs(was: Any, spec: Any, expected: Any) -> None:
    numbers = count(1)
    assert with_new(was, spec, lambda: next(numbers)) == expected


@pytest.mark.parametrize(
    ("was", "spec", "expected"),
    [
        ({"type": "NodePort", "ports": [at(5)]}, {"type": "NodePort", "ports": [WEB]}, [at(5)]),
        ({"type": "NodePort", "ports": [at(5)]}, {"type": "NodePort", "ports": [at(6)]}, [at(6)]),
        ({"type": "NodePort", "ports": [at(5)]}, {"type": "NodePort", "ports": [at(5, DNS), WEB]}, [at(5, DNS), WEB]),
        ({"type": "NodePort", "ports": [at(5)]}, {"type": "ClusterIP", "ports": [at(5)]}, [WEB]),
        ({"type": "NodePort", "ports": [at(5)]}, {"type": "ClusterIP", "ports": [at(6)]}, [at(6)]),
        (
            {"type": "LoadBalancer", "ports": [at(5)]},
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [at(5)]},
            [WEB],
        ),
    ],
)
def test_a_service_keeps_its_ports_by_their_names_until_it_needs_none(was: Any, spec: Any, expected: Any) -> None:
    assert kept(was, spec) == {**spec, "ports": expected}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (LOCAL, {**LOCAL, "healthCheckNodePort": 9}),
        ({**LOCAL, "healthCheckNodePort": 8}, {**LOCAL, "healthCheckNodePort": 8}),
        ({"type": "LoadBalancer", "healthCheckNodePort": 9}, {"type": "LoadBalancer"}),
        ({"type": "LoadBalancer", "healthCheckNodePort": 8}, {"type": "LoadBalancer", "healthCheckNodePort": 8}),
    ],
)
def test_a_port_for_health_checks_stays_while_traffic_is_local(spec: Any, expected: Any) -> None:
    assert kept({**LOCAL, "healthCheckNodePort": 9}, spec) == expected


@pytest.mark.parametrize(
    ("was", "ports", "found"),
    [
        (None, [at(30001)], "ports[0].nodePort: 30001: provided port is already allocated"),
        (None, [at(30002), at(30002, DNS)], "ports[1].nodePort: 30002: provided port is already allocated"),
        (None, [at(30002, DNS), at(30002, OVER_UDP)], ""),
        (None, [at(80)], "ports[0].nodePort: 80: provided port is not in the valid range"),
        ({"type": "NodePort", "ports": [at(30001)]}, [at(30001)], ""),
        ({"type": "NodePort", "ports": [at(30003)]}, [at(30001)], "ports[0].nodePort: 30001: provided port is already"),
    ],
)
def test_a_port_must_be_free_and_one_for_services(was: Any, ports: Any, found: str) -> None:
    causes = [f"{field}: {message}" for _, message, field in faults(was, {"type": "NodePort", "ports": ports}, {30001})]
    assert len(causes) == bool(found)
    assert found in "".join(causes).replace("Invalid value: ", "").replace("spec.", "")


def test_a_service_that_is_put_again_keeps_its_ports() -> None:
    server = Server()
    body = {"metadata": {"name": "s"}, "spec": {**LOCAL, "ports": [WEB]}}
    made = server.ask("POST", SERVICES, body).value
    again = server.ask("PUT", f"{SERVICES}/s", body).value
    assert again == made
    other = server.ask(
        "POST", SERVICES, {"metadata": {"name": "t"}, "spec": made["spec"] | {"clusterIP": "", "clusterIPs": []}}
    )
    assert (other.code, other.value["details"]["causes"][0]["field"]) == (422, "spec.ports[0].nodePort")
    wide = server.ask("PATCH", f"{SERVICES}/s", {"spec": {"externalTrafficPolicy": "Cluster"}}, content_type=MERGE)
    assert "healthCheckNodePort" not in wide.value["spec"]
