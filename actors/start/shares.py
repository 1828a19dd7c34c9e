"""The CPUs and memory nodes of a container as the runtime is told them (spec 10.8, 10.9). Pure."""

from __future__ import annotations

import msgspec

from runtime.cri.messages import LinuxContainerResources

NO_LIMIT = -1


class ContainerShare(msgspec.Struct, frozen=True):
    """Lists such as 0-3,8; empty: all. `no_quota`: the container has its CPUs for itself alone."""

    cpus: str = ""
    memory_nodes: str = ""
    no_quota: bool = False


NO_SHARE = ContainerShare()


def without_quota(resources: LinuxContainerResources) -> LinuxContainerResources:
    """The same without a CPU quota (gate DisableCPUQuotaWithExclusiveCPUs)."""
    return msgspec.structs.replace(resources, cpu_quota=NO_LIMIT) if resources.cpu_quota > 0 else resources


def with_share(resources: LinuxContainerResources, share: ContainerShare) -> LinuxContainerResources:
    """The resources of a container at its creation."""
    own = without_quota(resources) if share.no_quota else resources
    return msgspec.structs.replace(own, cpuset_cpus=share.cpus, cpuset_mems=share.memory_nodes)
