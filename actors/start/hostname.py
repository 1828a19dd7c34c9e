"""The host name of a pod (spec 14.2). Pure."""

from __future__ import annotations

from actors.model.refusal import StartRefusedError
from config.objects import Pod

HOSTNAME_LIMIT = 63
FQDN_LIMIT = 64
"""What the kernel takes."""


def pod_hostname(pod: Pod, cluster_domain: str) -> str:
    """As the sandbox is told; empty for a pod in the host's network. Raises StartRefusedError."""
    spec = pod.spec
    if spec.host_network:
        return ""
    hostname = short_hostname(pod)
    if not spec.set_hostname_as_fqdn or spec.hostname_override:
        return hostname
    domain = pod_domain(pod, cluster_domain)
    name = f"{hostname}.{domain}" if domain else hostname
    if len(name) > FQDN_LIMIT:
        raise StartRefusedError(
            "$.spec.setHostnameAsFQDN", f"{name!r} is longer than {FQDN_LIMIT} characters; shorten name or subdomain"
        )
    return name


def short_hostname(pod: Pod) -> str:
    """The name itself, without the domain, whatever the sandbox is told. An override may have dots."""
    return _cut(pod.spec.hostname_override or pod.spec.hostname or pod.metadata.name)


def pod_domain(pod: Pod, cluster_domain: str) -> str:
    """The domain of the host name; empty without a subdomain."""
    if not pod.spec.subdomain or pod.spec.hostname_override:
        return ""
    return f"{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}".rstrip(".")


def _cut(name: str) -> str:
    return name[:HOSTNAME_LIMIT].rstrip("-.")
