"""How a pod finds names: `resolv.conf` of its sandbox (spec 14.1).

Owns the rules that make one `DNSConfig` of the pod's policy, its `dnsConfig`, the resolver of the cluster and that of
the node. Pure: the text of the node's own file is given. What does not fit into a `resolv.conf` is left out, and said.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from config.objects import Pod, PodDNSConfig
from runtime.cri.messages import DNSConfig

LIMIT_BYTES = 10 * 1024 * 1024
"""Of the node's own file."""
NAMESERVERS = 3
SEARCHES = 32
SEARCH_CHARACTERS = 2048
PATH_CHARACTERS = 253
CLUSTER_SEARCHES = 3
"""How many the cluster's domain adds."""

NONE = "None"
DEFAULT = "Default"
CLUSTER_FIRST = "ClusterFirst"
WITH_HOST_NET = "ClusterFirstWithHostNet"
FORMING = "DNSConfigForming"
MISSING = "MissingClusterDNS"
CHECK = "CheckLimitsForResolvConf"


class ResolverError(ValueError):
    """The node's own file cannot be used."""


class Resolver(msgspec.Struct, frozen=True):
    """What a `resolv.conf` says. `options` such as `ndots:5`, each name once."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class ClusterResolver(msgspec.Struct, frozen=True):
    """What the node is told of the cluster (`clusterDNS`, `clusterDomain`); empty where there is none."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""


class Formed(msgspec.Struct, frozen=True):
    """The answer, and what is to be said of it. `missing`: the cluster's resolver was wanted and is not known."""

    config: DNSConfig
    forming: tuple[str, ...] = ()
    missing: str = ""


@lru_cache(maxsize=8)
def parse_resolv_conf(text: str) -> Resolver:
    """Servers add up, the last search line counts, later options replace earlier ones. Raises ResolverError."""
    nameservers: list[str] = []
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        keyword, *values = line.split() or [""]
        if keyword.startswith("#"):
            continue
        if keyword == "nameserver":
            if not values:
                raise ResolverError(f"line {number}: a nameserver without an address")
            nameservers.append(values[0])
        elif keyword == "search":
            searches = tuple(_trimmed(each) for each in values if each != ".")
        elif keyword == "options":
            options = merged_options(options, values)
    return Resolver(tuple(nameservers), searches, options)


def resolver_of_nobody(host_ips: tuple[str, ...]) -> Resolver:
    """Where the node is told of no file: it resolves for itself, by the family of its first address."""
    own = "::1" if host_ips and ":" in host_ips[0] else "127.0.0.1"
    return Resolver((own,), (".",))


def needs_host(pod: Pod) -> bool:
    """Whether the node's own file counts."""
    return _policy(pod) != NONE


def form(pod: Pod, host: Resolver, cluster: ClusterResolver) -> Formed:
    """The resolver of a pod. `host` is not looked at where `needs_host` is False."""
    spec = pod.spec
    return _form(_policy(pod), bool(spec.host_network), spec.dns_config, pod.metadata.namespace, host, cluster)


@lru_cache(maxsize=256)
def _form(
    policy: str, host_network: bool, own: PodDNSConfig | None, namespace: str, host: Resolver, cluster: ClusterResolver
) -> Formed:
    """Of what a few namespaces and templates differ in, a thousand pods have the same."""
    chosen, missing = host, ""
    if policy == NONE:
        chosen = Resolver()
    elif policy == WITH_HOST_NET or (policy == CLUSTER_FIRST and not host_network):
        if cluster.nameservers:
            chosen = _of_cluster(namespace, host, cluster)
        else:
            missing = (
                f"the node knows no DNS of the cluster (clusterDNS), which dnsPolicy {policy} asks for: "
                "the pod resolves names as the node does"
            )
    return _fitted(_with_own(own, chosen), missing)


def host_faults(path: str, host: Resolver, domain: str) -> tuple[str, ...]:
    """What of the node's own file does not fit into that of a pod. `domain`: of the cluster, whose searches count."""
    limit = SEARCHES - (CLUSTER_SEARCHES if domain else 0)
    said: list[str] = []
    if len(host.searches) > limit:
        said.append(f"Resolv.conf file {path!r} contains search line consisting of more than {limit} domains!")
    if any(len(each) > PATH_CHARACTERS for each in host.searches):
        said.append(f"Resolv.conf file {path!r} contains a search path longer than {PATH_CHARACTERS} characters!")
    if len(" ".join(host.searches)) > SEARCH_CHARACTERS:
        said.append(f"Resolv.conf file {path!r} contains search line longer than {SEARCH_CHARACTERS} characters!")
    return tuple(said)


def merged_options(options: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Each name once, with the value that was given last, where it was given first."""
    by_name = {option.partition(":")[0]: option for option in options}
    by_name.update((option.partition(":")[0], option) for option in more)
    return tuple(by_name.values())


def _policy(pod: Pod) -> str:
    """What is not known counts as the usual one."""
    policy = pod.spec.dns_policy or CLUSTER_FIRST
    return policy if policy in (NONE, DEFAULT, WITH_HOST_NET) else CLUSTER_FIRST


def _of_cluster(namespace: str, host: Resolver, cluster: ClusterResolver) -> Resolver:
    domain = cluster.domain
    own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain) if domain else ()
    return Resolver(cluster.nameservers, _once((*own, *host.searches)), ("ndots:5",))


def _with_own(own: PodDNSConfig | None, resolver: Resolver) -> Resolver:
    if own is None:
        return resolver
    options = (f"{each.name}:{each.value}" if each.value else each.name or "" for each in own.options)
    return Resolver(
        _once((*resolver.nameservers, *own.nameservers)),
        _once((*resolver.searches, *own.searches)),
        merged_options(resolver.options, options),
    )


def _fitted(resolver: Resolver, missing: str) -> Formed:
    said: list[str] = []
    nameservers = resolver.nameservers[:NAMESERVERS]
    if len(resolver.nameservers) > NAMESERVERS:
        said.append(
            "Nameserver limits were exceeded, some nameservers have been omitted, "
            f"the applied nameserver line is: {' '.join(nameservers)}"
        )
    searches = _fitting_searches(resolver.searches)
    if searches != resolver.searches:
        said.append(
            "Search Line limits were exceeded, some search paths have been omitted, "
            f"the applied search line is: {' '.join(searches)}"
        )
    return Formed(DNSConfig(servers=nameservers, searches=searches, options=resolver.options), tuple(said), missing)


def _fitting_searches(searches: tuple[str, ...]) -> tuple[str, ...]:
    kept = [each for each in searches if len(each) <= PATH_CHARACTERS][:SEARCHES]
    while len(" ".join(kept)) > SEARCH_CHARACTERS:
        kept.pop()
    return tuple(kept)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _trimmed(name: str) -> str:
    return name.removesuffix(".")
