"""`/etc/hosts` of a pod (spec 14.3). Pure: the text of the file, and whether there is one.

The first line tells who has written the file; tools look for it, so it is the one they know.
"""

from __future__ import annotations

from actors.start.hostname import pod_domain, short_hostname
from config.objects import Pod

HEADER = "# Kubernetes-managed hosts file."
HOST_HEADER = "# Kubernetes-managed hosts file (host network)."
ALIASES = "# Entries added by HostAliases."
LIMIT_BYTES = 4 * 1024 * 1024
"""Of the node's own file."""
PLACE = "/etc/hosts"
_LOCAL = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hosts_path(root_directory: str, uid: str) -> str:
    """Where the file of a pod is on the host."""
    return f"{root_directory.rstrip('/')}/pods/{uid}/etc-hosts"


def has_hosts_file(pod: Pod, ips: tuple[str, ...]) -> bool:
    """A pod without an address has nothing to say, unless the node says it."""
    return bool(pod.spec.host_network or ips)


def pod_hosts(pod: Pod, ips: tuple[str, ...], cluster_domain: str) -> str:
    """The file of a pod with a network of its own. `ips`: its addresses, primary family first."""
    name = short_hostname(pod)
    domain = pod_domain(pod, cluster_domain)
    names = f"{name}.{domain}\t{name}" if domain else name
    lines = (HEADER, *_LOCAL, *(f"{ip}\t{names}" for ip in ips))
    return "\n".join(lines) + "\n" + _aliases(pod)


def host_hosts(pod: Pod, own: str) -> str:
    """The file of a pod in the node's network. `own`: the text of the node's file."""
    return f"{HOST_HEADER}\n{own}" + _aliases(pod)


def _aliases(pod: Pod) -> str:
    if not pod.spec.host_aliases:
        return ""
    lines = ("", ALIASES, *("\t".join((each.ip or "", *each.hostnames)) for each in pod.spec.host_aliases))
    return "\n".join(lines) + "\n"
