"""The checks at the start of the agent (spec 10.1): faults, warnings and remarks. Pure.

Faults prevent the start; each names its field of the configuration. Warnings go to the log. Remarks become events of
the node, for people who watch the cluster and never see this log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actors.node_object.capacity import CPU, EPHEMERAL_STORAGE, MEMORY, PIDS, reserved
from actors.node_object.settings import Remark
from config.documents.codec import DocumentError
from config.kubelet import KubeletConfiguration
from config.values.cpu_sets import parse_cpu_set
from config.values.quantity import Quantity, Suffixes, of_value
from runtime.cgroups.local import V1_NEEDED, V2_CONTROLLERS
from runtime.host.machine import MachineFacts
from runtime.host.start_facts import StartFacts
from runtime.host.swap import NO_SWAP_SINCE, keeps_volumes_from_swap

ROOT_USER = 0
RESERVABLE_CAPACITY = (CPU, MEMORY, EPHEMERAL_STORAGE, PIDS)


def start_faults(
    configuration: KubeletConfiguration, facts: StartFacts, capacity: Mapping[str, Quantity]
) -> tuple[DocumentError, ...]:
    """The faults that keep the agent from starting. `capacity`: see `reservable_capacity`."""
    return (
        *_cgroup_faults(configuration, facts),
        *_swap_faults(configuration, facts),
        *_reserved_cpu_faults(configuration, facts),
        *_reservation_faults(configuration, capacity),
    )


def start_warnings(configuration: KubeletConfiguration, facts: StartFacts) -> tuple[str, ...]:
    """The problems that the agent starts with all the same."""
    return tuple(_warnings(configuration, facts))


def start_remarks(facts: StartFacts, kernel_version: str) -> tuple[Remark, ...]:
    """Facts that users of the node should know."""
    found: list[Remark] = []
    if facts.cgroup_version == 1:
        text = (
            "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please "
            "migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1"
        )
        found.append(Remark("CgroupV1", text))
    if facts.swaps and not keeps_volumes_from_swap(kernel_version):
        release = ".".join(map(str, NO_SWAP_SINCE))
        text = (
            f"This machine swaps to {', '.join(facts.swaps)}, and its kernel ({kernel_version or 'not known'}) cannot "
            f"keep memory-backed volumes out of that, as {release} does: secrets may reach the disk."
        )
        found.append(Remark("PossibleMemoryBackedVolumesOnDisk", text))
    return tuple(found)


def asked_cgroups(configuration: KubeletConfiguration) -> tuple[str, ...]:
    """The cgroups that must exist before the agent starts."""
    return (configuration.cgroup_root,) if configuration.cgroups_per_qos and configuration.cgroup_root else ()


def reservable_capacity(machine: MachineFacts, disk_bytes: int | None, pids: int | None) -> dict[str, Quantity]:
    """The capacity of everything that can be reserved; unknown amounts are left out."""
    bytes_or_counts = {MEMORY: machine.memory_bytes, EPHEMERAL_STORAGE: disk_bytes, PIDS: pids, CPU: machine.cpus}
    binary = (MEMORY, EPHEMERAL_STORAGE)
    return {
        name: of_value(amount, Suffixes.BINARY if name in binary else Suffixes.DECIMAL)
        for name, amount in bytes_or_counts.items()
        if amount
    }


def _cgroup_faults(configuration: KubeletConfiguration, facts: StartFacts) -> Iterator[DocumentError]:
    if facts.cgroup_version == 1:
        if configuration.fail_cgroup_v1:
            hint = "boot it with v2, or set it to false"
            yield DocumentError("$.failCgroupV1", "this machine has cgroup v1", hint)
        missing = [each for each in V1_NEEDED if each not in facts.controllers]
        if missing:
            reason = f"the cgroup controllers {', '.join(missing)} are not mounted on this machine"
            hint = f"mount them (mount -t cgroup -o {missing[0]} cgroup /sys/fs/cgroup/{missing[0]}), or boot with v2"
            yield DocumentError("$.cgroupsPerQOS", reason, hint)
    for name in sorted(facts.missing_cgroups):
        yield DocumentError("$.cgroupRoot", f"there is no cgroup {name!r}", "make it, or leave it empty for the root")


def _swap_faults(configuration: KubeletConfiguration, facts: StartFacts) -> Iterator[DocumentError]:
    if not configuration.fail_swap_on:
        return
    if facts.swaps is None:
        reason = f"whether this machine swaps cannot be told: /proc/swaps: {facts.swap_fault}"
        yield DocumentError("$.failSwapOn", reason, "make it readable, or set it to false")
    elif facts.swaps:
        reason = f"this machine has swap on ({', '.join(facts.swaps)})"
        yield DocumentError("$.failSwapOn", reason, "run swapoff -a, or set it to false")


def _reserved_cpu_faults(configuration: KubeletConfiguration, facts: StartFacts) -> Iterator[DocumentError]:
    if not configuration.reserved_system_cpus or facts.online_cpus is None:
        return
    absent = sorted(parse_cpu_set(configuration.reserved_system_cpus) - facts.online_cpus)
    if absent:
        reason = f"{configuration.reserved_system_cpus!r} names CPUs that are not online here: {_list(absent)}"
        yield DocumentError("$.reservedSystemCPUs", reason, f"choose among {_list(sorted(facts.online_cpus))}")


def _reservation_faults(
    configuration: KubeletConfiguration, capacity: Mapping[str, Quantity]
) -> Iterator[DocumentError]:
    kept = reserved(configuration)
    for name in RESERVABLE_CAPACITY:
        there = capacity.get(name)
        if there is not None and name in kept and kept[name].nanos > there.nanos:
            reason = f"{kept[name]} of {name} are reserved, and this machine has {there}"
            yield DocumentError("$.systemReserved, $.kubeReserved", reason, "reserve less, and leave some to pods")


def _warnings(configuration: KubeletConfiguration, facts: StartFacts) -> Iterator[str]:
    if facts.user_id != ROOT_USER:
        yield (
            f"the agent runs as user {facts.user_id}: without the rights of root, mounts, owners of files and limits "
            "of pods are not what pods ask for"
        )
    if facts.cgroup_version == 2:
        missing = [each for each in V2_CONTROLLERS if each not in facts.controllers]
        if missing:
            yield f"the kernel offers no cgroup controllers {', '.join(missing)}: nothing is limited by them"
        if not facts.root_cpu_stat:
            yield "the root cgroup has no cpu.stat: how busy the node's CPUs are is read from /proc/stat"
    if facts.swaps is None and not configuration.fail_swap_on:
        yield f"whether this machine swaps cannot be told: /proc/swaps: {facts.swap_fault}"


def _list(numbers: list[int]) -> str:
    """Ranges of sorted numbers, as in 0-3,8."""
    pieces: list[str] = []
    start = previous = None
    for number in (*numbers, None):
        if previous is not None and number == previous + 1:
            previous = number
            continue
        if start is not None:
            pieces.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = number
    return ",".join(pieces)
