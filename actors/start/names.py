"""A pod's `resolv.conf`, `/etc/hosts` and host name (spec 14). Pure.

`form` makes one `DNSConfig` from the pod's policy, its `dnsConfig`, the cluster's resolver and the node's. The caller
passes the text of the node's file. What exceeds the limits of a `resolv.conf` is left out and reported.

The first line of a hosts file names its writer. Tools look for that exact line, so it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.model.refusal import ContainerRefusedError
from config.caches import KIB, kept
from config.objects import Pod, PodDNSConfig, PodSpec
from config.pods.once_per_spec import once_per_spec
from runtime.cri.messages import DNSConfig

HOSTNAME_LIMIT = 63
FQDN_LIMIT = 64
"""The kernel's limit."""


def pod_hostname(pod: Pod, cluster_domain: str) -> str:
    """The host name given to the sandbox; empty for a pod in the host's network.

    Raises ContainerRefusedError.
    """
    spec = pod.spec
    if spec.host_network:
        return ""
    hostname = short_hostname(pod)
    if not spec.set_hostname_as_fqdn or spec.hostname_override:
        return hostname
    domain = pod_domain(pod, cluster_domain)
    name = f"{hostname}.{domain}" if domain else hostname
    if len(name) > FQDN_LIMIT:
        raise ContainerRefusedError(
            "$.spec.setHostnameAsFQDN",
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {name} is too long "
            f"({FQDN_LIMIT} characters is the max, {len(name)} characters requested)",
        )
    return name


def short_hostname(pod: Pod) -> str:
    """The host name without the domain, whatever the sandbox gets. An override may contain dots."""
    return _cut(pod.spec.hostname_override or pod.spec.hostname or pod.metadata.name)


def pod_domain(pod: Pod, cluster_domain: str) -> str:
    """The domain of the host name; empty without a subdomain.

    Without a domain of the cluster it ends with a dot, as a kubelet writes it.
    """
    if not pod.spec.subdomain or pod.spec.hostname_override:
        return ""
    return f"{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}"


def _cut(name: str) -> str:
    return name[:HOSTNAME_LIMIT].rstrip("-.")


LIMIT_BYTES = 10 * 1024 * 1024
"""The limit for the node's own file."""
NAMESERVERS = 3
SEARCHES = 32
SEARCH_CHARACTERS = 2048
PATH_CHARACTERS = 253
CLUSTER_SEARCHES = 3
"""How many search domains the cluster's domain adds."""

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
    """The content of a `resolv.conf`. `options` such as `ndots:5`, each name once."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class ClusterResolver(msgspec.Struct, frozen=True):
    """The cluster settings of the node (`clusterDNS`, `clusterDomain`); empty without a cluster."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""


class Formed(msgspec.Struct, frozen=True):
    """The resolver, and what to report about it.

    `missing`: the cluster's resolver was requested and is unknown.
    """

    config: DNSConfig
    forming: tuple[str, ...] = ()
    missing: str = ""


@kept(64 * KIB, 32 * KIB)
def parse_resolv_conf(text: str) -> Resolver:
    """Servers add up, the last search line counts, later options replace earlier ones.

    Raises ResolverError.
    """
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
    """The resolver of a node without a configured file.

    The node resolves for itself; the family of its first address decides.
    """
    own = "::1" if host_ips and ":" in host_ips[0] else "127.0.0.1"
    return Resolver((own,), (".",))


def needs_host(pod: Pod) -> bool:
    """Whether the node's own file matters for the pod."""
    return _policy(pod) != NONE


def form(pod: Pod, host: Resolver, cluster: ClusterResolver) -> Formed:
    """The resolver of a pod. `host` is ignored if `needs_host` is False."""
    spec = pod.spec
    return _form(_policy(pod), bool(spec.host_network), spec.dns_config, pod.metadata.namespace, host, cluster)


@kept(512 * KIB, 16 * KIB)
def _form(
    policy: str, host_network: bool, own: PodDNSConfig | None, namespace: str, host: Resolver, cluster: ClusterResolver
) -> Formed:
    """A thousand pods share one result: it depends only on a few namespaces and templates."""
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
    """The parts of the node's own file that exceed a pod's limits.

    `domain`: of the cluster, whose searches count too.
    """
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
    """Each name once, at its first place, with its last value."""
    by_name = {option.partition(":")[0]: option for option in options}
    by_name.update((option.partition(":")[0], option) for option in more)
    return tuple(by_name.values())


def _policy(pod: Pod) -> str:
    """The DNS policy; an unknown one counts as the default."""
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


HEADER = "# Kubernetes-managed hosts file."
HOST_HEADER = "# Kubernetes-managed hosts file (host network)."
ALIASES = "# Entries added by HostAliases."
HOSTS_LIMIT_BYTES = 4 * 1024 * 1024
"""The limit for the node's own file."""
HOSTS_PLACE = "/etc/hosts"
_LOCAL = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hosts_path(root_directory: str, uid: str) -> str:
    """The path of a pod's file on the host."""
    return f"{root_directory.rstrip('/')}/pods/{uid}/etc-hosts"


def has_hosts_file(pod: Pod, ips: tuple[str, ...]) -> bool:
    """Whether the pod has the file. One without an address has none, unless it uses the node's."""
    return bool(pod.spec.host_network or ips)


def pod_hosts(pod: Pod, ips: tuple[str, ...], cluster_domain: str) -> str:
    """The file for a pod with a network of its own. `ips`: its addresses, primary family first."""
    name = short_hostname(pod)
    domain = pod_domain(pod, cluster_domain)
    names = f"{name}.{domain}\t{name}" if domain else name
    lines = (HEADER, *_LOCAL, *(f"{ip}\t{names}" for ip in ips))
    return "\n".join(lines) + "\n" + _aliases(pod)


def host_hosts(pod: Pod, own: str) -> str:
    """The file for a pod in the node's network. `own`: the text of the node's file."""
    return f"{HOST_HEADER}\n{own}" + _aliases(pod)


def _aliases(pod: Pod) -> str:
    return _aliases_in(pod.spec) if pod.spec.host_aliases else ""


@once_per_spec
def _aliases_in(spec: PodSpec) -> str:
    lines = ("", ALIASES, *("\t".join((each.ip or "", *each.hostnames)) for each in spec.host_aliases))
    return "\n".join(lines) + "\n"
