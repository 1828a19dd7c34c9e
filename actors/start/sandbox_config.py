"""The configuration of a pod's sandbox as one CRI message (spec 3.9). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from actors.model.id_ranges import IdRange
from actors.model.identity import pod_labels
from actors.start.names import pod_hostname
from actors.start.resources import ResourceRules, pod_overhead, pod_sum
from actors.start.security import sandbox_security
from config.objects import Pod
from config.pods.identity import is_sidecar
from config.pods.once_per_spec import OncePerSpecAnd
from runtime.cri.messages import (
    DNSConfig,
    LinuxContainerResources,
    LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext,
    PodSandboxConfig,
    PodSandboxMetadata,
    PortMapping,
    Protocol,
)

_PROTOCOLS = {"TCP": Protocol.TCP, "UDP": Protocol.UDP, "SCTP": Protocol.SCTP}
_DEFAULT_RULES = ResourceRules()


def sandbox_config(
    pod: Pod,
    attempt: int,
    log_directory: str,
    *,
    cluster_domain: str = "",
    dns: DNSConfig | None = None,
    cgroup_parent: str = "",
    rules: ResourceRules = _DEFAULT_RULES,
    ids: IdRange | None = None,
) -> PodSandboxConfig:
    """`dns` None: the runtime chooses the resolver. `cgroup_parent` empty: the runtime chooses the cgroup. `ids`: of
    the pod's user namespace.

    Raises StartRefusedError for what this agent cannot honour.
    """
    meta = pod.metadata
    of_spec = _of_specs.of(pod.spec, (rules,), ids, lambda: _of_spec(pod, rules, ids))
    return PodSandboxConfig(
        metadata=PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace, attempt=attempt),
        hostname=pod_hostname(pod, cluster_domain),
        log_directory=log_directory,
        dns_config=dns,
        port_mappings=of_spec.ports,
        labels={**meta.labels, **pod_labels(pod)},
        annotations=meta.annotations,
        linux=LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            security_context=of_spec.security,
            sysctls=of_spec.sysctls,
            overhead=of_spec.overhead,
            resources=of_spec.resources,
        ),
    )


class _OfSpec(msgspec.Struct, frozen=True):
    """What all pods of one spec share, and so all sandboxes of one pod."""

    ports: tuple[PortMapping, ...]
    security: LinuxSandboxSecurityContext
    sysctls: Mapping[str, str]
    overhead: LinuxContainerResources
    resources: LinuxContainerResources


_of_specs: OncePerSpecAnd[_OfSpec] = OncePerSpecAnd()


def _of_spec(pod: Pod, rules: ResourceRules, ids: IdRange | None) -> _OfSpec:
    security = pod.spec.security_context
    return _OfSpec(
        ports=port_mappings(pod),
        security=sandbox_security(pod, ids),
        sysctls={dotted(each.name): each.value for each in security.sysctls} if security is not None else {},
        overhead=pod_overhead(pod, rules),
        resources=pod_sum(pod, rules),
    )


def port_mappings(pod: Pod) -> tuple[PortMapping, ...]:
    """The ports of regular containers and sidecars. If a name or port occurs twice, the first one counts."""
    if pod.spec.host_network:
        return ()
    mappings: list[PortMapping] = []
    seen: set[object] = set()
    for container in (*pod.spec.containers, *(each for each in pod.spec.init_containers if is_sidecar(each))):
        for port in container.ports:
            protocol = _PROTOCOLS.get(port.protocol or "TCP", Protocol.TCP)
            key: object = (
                (container.name, port.name)
                if port.name
                else (protocol, port.container_port, port.host_port, port.host_ip)
            )
            if key in seen:
                continue
            seen.add(key)
            mappings.append(
                PortMapping(
                    protocol=protocol,
                    container_port=port.container_port,
                    host_port=port.host_port or 0,
                    host_ip=port.host_ip or "",
                )
            )
    return tuple(mappings)


def dotted(name: str) -> str:
    """The name of a sysctl with dots between its words.

    The first separator decides: after a slash, dots are part of a word.
    """
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
