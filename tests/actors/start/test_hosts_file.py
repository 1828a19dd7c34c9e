"""`/etc/hosts` of a pod (spec 14.3), and the names in it (14.2)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.start.names import has_hosts_file, host_hosts, hosts_path, pod_hosts
from config.objects import HostAlias
from tests.actors.pod_pictures import pod

MANAGED = (
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
)
ALIASES = (HostAlias(ip="10.1.2.3", hostnames=("foo.local", "bar.local")), HostAlias(ip="10.4.5.6", hostnames=("x",)))
ALIAS_LINES = "\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n10.4.5.6\tx\n"


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        pytest.param({}, "10.0.0.7\tweb\n", id="the pod's name"),
        pytest.param({"hostname": "box"}, "10.0.0.7\tbox\n", id="its hostname"),
        pytest.param({"subdomain": "sub"}, "10.0.0.7\tweb.sub.shop.svc.local\tweb\n", id="with its domain"),
        pytest.param(
            {"subdomain": "sub", "set_hostname_as_fqdn": True},
            "10.0.0.7\tweb.sub.shop.svc.local\tweb\n",
            id="a full name is not doubled",
        ),
        pytest.param(
            {"hostname_override": "a.b", "subdomain": "sub"}, "10.0.0.7\ta.b\n", id="an override has no domain"
        ),
        pytest.param({"host_aliases": ALIASES}, f"10.0.0.7\tweb\n{ALIAS_LINES}", id="hostAliases"),
    ],
)
# (spec 14.3.1)
def test_14_3_managed_content(fields: dict[str, Any], lines: str) -> None:
    assert pod_hosts(pod("a", **fields), ("10.0.0.7",), "local") == MANAGED + lines


def test_14_3_without_a_domain_of_the_cluster_the_name_keeps_its_last_dot() -> None:
    assert pod_hosts(pod("a", subdomain="sub"), ("10.0.0.7",), "") == f"{MANAGED}10.0.0.7\tweb.sub.shop.svc.\tweb\n"


# (spec 14.3.1)
def test_14_3_one_line_for_each_address_of_the_pod() -> None:
    assert pod_hosts(pod("a"), ("10.0.0.7", "fd00::7"), "") == f"{MANAGED}10.0.0.7\tweb\nfd00::7\tweb\n"


# (spec 14.3.2)
def test_14_3_in_the_hosts_network_it_is_the_nodes_own_with_another_header() -> None:
    text = host_hosts(pod("a", host_network=True, host_aliases=ALIASES), "127.0.0.1 localhost\n")
    assert text == f"# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n{ALIAS_LINES}"
    assert "# Kubernetes-managed hosts file." not in text


@pytest.mark.parametrize(
    ("host_network", "ips", "expected"), [(False, ("10.0.0.7",), True), (False, (), False), (True, (), True)]
)
# (spec 14.3.3)
def test_14_3_a_pod_without_an_address_has_no_file(host_network: bool, ips: tuple[str, ...], expected: bool) -> None:
    assert has_hosts_file(pod("a", host_network=host_network), ips) is expected


# (spec 16.2)
def test_14_3_where_the_file_is() -> None:
    assert hosts_path("/var/lib/kubelet/", "uid-1") == "/var/lib/kubelet/pods/uid-1/etc-hosts"
