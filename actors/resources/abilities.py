"""Requests of a pod that this machine or its runtime cannot or must not fulfil.

See spec 10.14, 17.4 and 17.5.

Such a pod is rejected for good. Pure: the abilities of the machine are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from actors.resources.verdict import Rejected
from actors.start.cri_configs import dotted
from actors.start.security import apparmor_profile
from config.kubelet.validation import IPC_SYSCTLS
from config.objects import Container, Pod, Sysctl
from config.pods.once_per_spec import OncePerSpecAnd
from runtime.cri.messages import ProfileType

SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced": (0, 0),
    "net.ipv4.ip_local_port_range": (0, 0),
    "net.ipv4.tcp_syncookies": (0, 0),
    "net.ipv4.ping_group_range": (0, 0),
    "net.ipv4.ip_unprivileged_port_start": (0, 0),
    "net.ipv4.ip_local_reserved_ports": (3, 16),
    "net.ipv4.tcp_keepalive_time": (4, 5),
    "net.ipv4.tcp_keepalive_intvl": (4, 5),
    "net.ipv4.tcp_keepalive_probes": (4, 5),
    "net.ipv4.tcp_fin_timeout": (4, 6),
    "net.ipv4.tcp_rmem": (4, 15),
    "net.ipv4.tcp_wmem": (4, 15),
}
"""Sysctls that concern the pod alone, each with the kernel (major, minor) since which that is so."""
FORBIDDEN = "SysctlForbidden"
APPARMOR = "AppArmor"
GROUPS_POLICY = "SupplementalGroupsPolicyNotSupported"
_KERNEL = re.compile(r"(\d+)\.(\d+)")


class Abilities(msgspec.Struct, frozen=True):
    """The abilities of a machine.

    `kernel`: the version as the kernel tells it; empty when unknown, and taken as new.

    `unsafe_sysctls`: what the configuration allows in addition, names or `prefix*`.
    """

    kernel: str = ""
    unsafe_sysctls: tuple[str, ...] = ()
    apparmor: bool = True


def sysctl_rejection(pod: Pod, abilities: Abilities) -> Rejected | None:
    """The rejection of a pod that asks for a forbidden sysctl."""
    whole = pod.spec.security_context
    if whole is None or not whole.sysctls:
        return None
    sysctls = whole.sysctls
    return _sysctls.of(pod.spec, (abilities,), None, lambda: _first_fault(sysctls, pod, abilities))


_sysctls: OncePerSpecAnd[Rejected | None] = OncePerSpecAnd(at_most=2)


def _first_fault(sysctls: Iterable[Sysctl], pod: Pod, abilities: Abilities) -> Rejected | None:
    faults = (sysctl_fault(each.name, pod, abilities) for each in sysctls)
    return next((Rejected(FORBIDDEN, fault) for fault in faults if fault), None)


def groups_rejection(pod: Pod, groups_policy: bool) -> Rejected | None:
    """The rejection of a pod with the policy Strict. `groups_policy`: the runtime supports it."""
    whole = pod.spec.security_context
    if whole is not None and whole.supplemental_groups_policy == "Strict" and not groups_policy:
        return Rejected(GROUPS_POLICY, "SupplementalGroupsPolicy=Strict is not supported in this node")
    return None


def apparmor_rejection(pod: Pod, abilities: Abilities) -> Rejected | None:
    """The rejection of a pod that wants AppArmor on a kernel without it."""
    if abilities.apparmor or not _wants_apparmor(pod):
        return None
    return Rejected(APPARMOR, "Cannot enforce AppArmor: AppArmor is not enabled on the host")


def sysctl_fault(name: str, pod: Pod, abilities: Abilities) -> str:
    """Why the pod may not have that sysctl, or ""."""
    name = dotted(name)
    if not _allowed(name, abilities):
        return f'forbidden sysctl: "{name}" not allowlisted'
    if _of_ipc(name) and pod.spec.host_ipc:
        return f'forbidden sysctl: "{name}" not allowed with host ipc enabled'
    if name.startswith("net.") and pod.spec.host_network:
        return f'forbidden sysctl: "{name}" not allowed with host net enabled'
    return ""


def _everyone(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers)


def _wants_apparmor(pod: Pod) -> bool:
    notes = pod.metadata.annotations
    return _confinements.of(pod.spec, (notes,), None, lambda: any(_confined(pod, each) for each in _everyone(pod)))


_confinements: OncePerSpecAnd[bool] = OncePerSpecAnd(at_most=64)


def _confined(pod: Pod, container: Container) -> bool:
    profile = apparmor_profile(pod, container)
    return profile is not None and profile.profile_type != ProfileType.Unconfined


def _allowed(name: str, abilities: Abilities) -> bool:
    since = SAFE_SYSCTLS.get(name)
    if since is not None and _is_since(abilities.kernel, since):
        return True
    return any(_matches(name, dotted(pattern)) for pattern in abilities.unsafe_sysctls)


def _is_since(kernel: str, since: tuple[int, int]) -> bool:
    found = _KERNEL.match(kernel)
    return found is None or (int(found[1]), int(found[2])) >= since


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _of_ipc(name: str) -> bool:
    return name in IPC_SYSCTLS or name.startswith("fs.mqueue.")
