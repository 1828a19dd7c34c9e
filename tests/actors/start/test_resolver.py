"""How a pod finds names (spec 14.1): the policies, what the pod adds, what does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from actors.start.names import (
    ClusterResolver,
    Resolver,
    ResolverError,
    form,
    host_faults,
    merged_options,
    needs_host,
    parse_resolv_conf,
    resolver_of_nobody,
)
from config.objects import PodDNSConfig, PodDNSConfigOption
from runtime.cri.messages import DNSConfig
from tests.actors.pod_pictures import pod

HOST = Resolver(("192.0.2.53",), ("example.test",), ("rotate",))
CLUSTER = ClusterResolver(("10.96.0.10",), "cluster.local")
SEARCHES = ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.test")
OF_HOST = DNSConfig(servers=HOST.nameservers, searches=HOST.searches, options=HOST.options)
OF_CLUSTER = DNSConfig(servers=("10.96.0.10",), searches=SEARCHES, options=("ndots:5",))
NOTHING = DNSConfig()


@pytest.mark.parametrize(
    ("policy", "host_network", "expected"),
    [
        pytest.param("None", False, NOTHING, id="None"),
        pytest.param("None", True, NOTHING, id="None in the host's network"),
        pytest.param("Default", False, OF_HOST, id="Default"),
        pytest.param("Default", True, OF_HOST, id="Default in the host's network"),
        pytest.param("ClusterFirst", False, OF_CLUSTER, id="ClusterFirst"),
        pytest.param("ClusterFirst", True, OF_HOST, id="ClusterFirst in the host's network"),
        pytest.param("ClusterFirstWithHostNet", False, OF_CLUSTER, id="ClusterFirstWithHostNet"),
        pytest.param("ClusterFirstWithHostNet", True, OF_CLUSTER, id="ClusterFirstWithHostNet in the host's network"),
        pytest.param("Other", False, OF_CLUSTER, id="unknown counts as ClusterFirst"),
        pytest.param(None, False, OF_CLUSTER, id="none given counts as ClusterFirst"),
    ],
)
# (spec 14.1.1)
def test_14_1_dns_policy(policy: str | None, host_network: bool, expected: DNSConfig) -> None:
    it = pod("a", dns_policy=policy, host_network=host_network)
    assert form(it, HOST, CLUSTER).config == expected
    assert needs_host(it) is (policy != "None")


# (spec 14.1.2)
def test_14_1_without_a_domain_the_cluster_adds_no_searches_and_doubles_go() -> None:
    assert form(pod("a"), HOST, ClusterResolver(("10.96.0.10",))).config.searches == ("example.test",)
    doubled = Resolver(searches=("svc.cluster.local", "x", "x"))
    assert form(pod("a"), doubled, CLUSTER).config.searches == (*SEARCHES[:3], "x")


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        pytest.param({}, True, id="ClusterFirst"),
        pytest.param({"dns_policy": "ClusterFirstWithHostNet", "host_network": True}, True, id="WithHostNet"),
        pytest.param({"host_network": True}, False, id="not wanted in the host's network"),
        pytest.param({"dns_policy": "Default"}, False, id="not wanted"),
    ],
)
# (spec 14.1.3)
def test_14_1_a_cluster_dns_that_is_wanted_and_missing_is_said_and_the_host_stands_in(
    fields: dict[str, Any], missing: bool
) -> None:
    formed = form(pod("a", **fields), HOST, ClusterResolver((), "cluster.local"))
    assert formed.config == OF_HOST
    assert bool(formed.missing) is missing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("nameserver 1.1.1.1\nnameserver 8.8.8.8 x\n", Resolver(("1.1.1.1", "8.8.8.8")), id="servers add"),
        pytest.param("search a b\nsearch c. .\n", Resolver(searches=("c",)), id="the last search counts, trimmed"),
        pytest.param("search a b\nsearch\n", Resolver(), id="an empty search line clears it"),
        pytest.param("options a:1 b\noptions a:2\n", Resolver(options=("a:2", "b")), id="options merge, later wins"),
        pytest.param("# nameserver 1.1.1.1\n#search x\n\n  \n", Resolver(), id="comments and empty lines"),
        pytest.param("domain x\nsortlist 1\n", Resolver(), id="the rest is not ours"),
        pytest.param("\tnameserver\t::1\n", Resolver(("::1",)), id="white space"),
    ],
)
# (spec 14.1.4)
def test_14_1_parser_of_resolv_conf(text: str, expected: Resolver) -> None:
    assert parse_resolv_conf(text) == expected


# (spec 14.1.4)
def test_14_1_a_nameserver_without_a_value_is_an_error() -> None:
    with pytest.raises(ResolverError, match="line 2"):
        parse_resolv_conf("search a\nnameserver\n")


@pytest.mark.parametrize(
    ("ips", "server"), [((), "127.0.0.1"), (("192.0.2.1", "::2"), "127.0.0.1"), (("fd00::1",), "::1")]
)
# (spec 14.1.4)
def test_14_1_without_a_file_the_node_resolves_for_itself(ips: tuple[str, ...], server: str) -> None:
    assert resolver_of_nobody(ips) == Resolver((server,), (".",))


# (spec 14.1.5)
def test_14_1_dns_config_is_appended_and_its_options_override() -> None:
    own = PodDNSConfig(
        nameservers=("1.2.3.4", "10.96.0.10"),
        searches=("my.domain", "example.test"),
        options=(PodDNSConfigOption(name="ndots", value="2"), PodDNSConfigOption(name="edns0")),
    )
    assert form(pod("a", dns_config=own), HOST, CLUSTER).config == DNSConfig(
        servers=("10.96.0.10", "1.2.3.4"), searches=(*SEARCHES, "my.domain"), options=("ndots:2", "edns0")
    )
    alone = form(pod("a", dns_policy="None", dns_config=own), HOST, CLUSTER).config
    assert alone == DNSConfig(servers=own.nameservers, searches=own.searches, options=("ndots:2", "edns0"))


def test_14_1_options_keep_their_place_and_take_the_later_value() -> None:
    assert merged_options(("a:1", "b"), ("c", "a:2", "b:3")) == ("a:2", "b:3", "c")


@pytest.mark.parametrize(
    ("own", "servers", "searches", "said"),
    [
        pytest.param(Resolver(tuple("abcd")), 3, 0, "Nameserver limits", id="3 nameservers"),
        pytest.param(Resolver(searches=tuple(map(str, range(33)))), 0, 32, "Search Line limits", id="32 searches"),
        pytest.param(Resolver(searches=("x" * 254, "y")), 0, 1, "Search Line limits", id="253 characters of a path"),
        pytest.param(
            Resolver(searches=tuple(f"{i}" * 250 for i in range(9))), 0, 8, "Search Line", id="2048 of a line"
        ),
        pytest.param(Resolver(tuple("abc"), tuple(map(str, range(32)))), 3, 32, "", id="all that fits"),
    ],
)
# (spec 14.1.6)
def test_14_1_name_servers_and_searches_past_the_limits_are_left_out_with_a_warning(
    own: Resolver, servers: int, searches: int, said: str
) -> None:
    formed = form(pod("a", dns_policy="Default"), own, CLUSTER)
    assert (len(formed.config.servers), len(formed.config.searches)) == (servers, searches)
    assert formed.config.servers == own.nameservers[:servers]
    assert "".join(formed.forming).startswith(said)
    assert bool(formed.forming) is bool(said)


@pytest.mark.parametrize(
    ("searches", "domain", "said"),
    [
        pytest.param(tuple(map(str, range(32))), "", 0, id="32 without a cluster"),
        pytest.param(tuple(map(str, range(30))), "cluster.local", 1, id="the cluster's three count"),
        pytest.param(tuple(map(str, range(29))), "cluster.local", 0, id="29 with it"),
        pytest.param(("x" * 254,), "", 1, id="a long path"),
        pytest.param(tuple(f"{i}" * 250 for i in range(9)), "", 1, id="a long line"),
    ],
)
# (spec 14.1.6)
def test_14_1_limits_of_the_nodes_own_file(searches: tuple[str, ...], domain: str, said: int) -> None:
    assert len(host_faults("/etc/resolv.conf", Resolver(searches=searches), domain)) == said
