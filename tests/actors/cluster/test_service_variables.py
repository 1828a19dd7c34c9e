"""Variables of services: which services, and which variables each has (spec 13.1)."""

from __future__ import annotations

import pytest

from actors.cluster.service_variables import LinkPort, ServiceLink, link_of, service_variables
from config.objects import ObjectMeta, Service, ServicePort, ServiceSpec

WEB = ServiceLink("shop", "web-db", "10.0.0.1", (LinkPort("http", 80, "TCP"), LinkPort("d-ns", 53, "UDP")))
MASTER = ServiceLink("default", "kubernetes", "10.0.0.9", (LinkPort("https", 443, "TCP"),))
OTHER = ServiceLink("else", "other", "10.0.0.3")


# (spec 13.1.2)
def test_every_variable_of_a_service() -> None:
    assert service_variables((WEB,), "shop", True) == {
        "WEB_DB_SERVICE_HOST": "10.0.0.1",
        "WEB_DB_SERVICE_PORT": "80",
        "WEB_DB_SERVICE_PORT_HTTP": "80",
        "WEB_DB_SERVICE_PORT_D_NS": "53",
        "WEB_DB_PORT": "tcp://10.0.0.1:80",
        "WEB_DB_PORT_80_TCP": "tcp://10.0.0.1:80",
        "WEB_DB_PORT_80_TCP_PROTO": "tcp",
        "WEB_DB_PORT_80_TCP_PORT": "80",
        "WEB_DB_PORT_80_TCP_ADDR": "10.0.0.1",
        "WEB_DB_PORT_53_UDP": "udp://10.0.0.1:53",
        "WEB_DB_PORT_53_UDP_PROTO": "udp",
        "WEB_DB_PORT_53_UDP_PORT": "53",
        "WEB_DB_PORT_53_UDP_ADDR": "10.0.0.1",
    }


# (spec 13.1.3)
def test_an_ipv6_address_stands_in_brackets_in_urls_only() -> None:
    found = service_variables((ServiceLink("shop", "six", "fd00::1", (LinkPort("", 80, "TCP"),)),), "shop", True)
    assert found["SIX_PORT"] == "tcp://[fd00::1]:80"
    assert (found["SIX_SERVICE_HOST"], found["SIX_PORT_80_TCP_ADDR"]) == ("fd00::1", "fd00::1")
    assert "SIX_SERVICE_PORT_" not in found


@pytest.mark.parametrize(
    ("namespace", "own", "hosts"),
    [
        ("shop", True, {"WEB_DB": "10.0.0.1", "KUBERNETES": "10.0.0.9"}),
        ("shop", False, {"KUBERNETES": "10.0.0.9"}),
        ("else", True, {"OTHER": "10.0.0.3", "KUBERNETES": "10.0.0.9"}),
        ("default", True, {"KUBERNETES": "10.0.0.9"}),
        ("default", False, {"KUBERNETES": "10.0.0.9"}),
    ],
)
# (spec 13.1.1)
def test_which_services_a_pod_is_told_of(namespace: str, own: bool, hosts: dict[str, str]) -> None:
    found = service_variables((WEB, MASTER, OTHER), namespace, own)
    suffix = "_SERVICE_HOST"
    assert {name.removesuffix(suffix): host for name, host in found.items() if name.endswith(suffix)} == hosts


@pytest.mark.parametrize("turn", [1, -1])
# (spec 13.1.1)
def test_a_service_of_the_own_namespace_wins_over_the_master(turn: int) -> None:
    own = ServiceLink("shop", "kubernetes", "10.0.0.5")
    links = (MASTER, own)[::turn]
    assert service_variables(links, "shop", True)["KUBERNETES_SERVICE_HOST"] == "10.0.0.5"
    assert service_variables(links, "shop", False)["KUBERNETES_SERVICE_HOST"] == "10.0.0.9"


@pytest.mark.parametrize("address", [None, "", "None"])
# (spec 13.1.1)
def test_a_service_without_an_address_is_not_told(address: str | None) -> None:
    meta = ObjectMeta(name="web", namespace="shop")
    assert link_of(Service(metadata=meta, spec=ServiceSpec(cluster_ip=address))) is None


def test_a_service_is_kept_as_what_matters_of_it() -> None:
    ports = (ServicePort(port=53, protocol="UDP", name="dns"), ServicePort(port=80))
    spec = ServiceSpec(cluster_ip="10.0.0.1", ports=ports)
    service = Service(metadata=ObjectMeta(name="web", namespace="shop"), spec=spec)
    expected = (LinkPort("dns", 53, "UDP"), LinkPort("", 80, "TCP"))
    assert link_of(service) == ServiceLink("shop", "web", "10.0.0.1", expected)
