"""Rules for security contexts, alone and together (spec 17.4, 17.5).

Pure; faults go to the `DocumentPlace`. Nothing here checks what the node allows.
"""

from __future__ import annotations

import re

from config.documents.places import DocumentPlace
from config.objects import AppArmorProfile, Container, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext

_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", re.ASCII)
_ID_AT_MOST = 2**31 - 1


def check_pod_security(at: DocumentPlace, spec: PodSpec) -> None:
    """The security context of the pod as a whole."""
    context = spec.security_context
    if context is None:
        return
    for field, number in (
        ("runAsUser", context.run_as_user),
        ("runAsGroup", context.run_as_group),
        ("fsGroup", context.fs_group),
    ):
        _check_id(at / field, number)
    for place, group in at.items("supplementalGroups", context.supplemental_groups):
        _check_id(place, group)
    (at / "fsGroupChangePolicy").one_of(context.fs_group_change_policy, ("Always", "OnRootMismatch"))
    (at / "supplementalGroupsPolicy").one_of(context.supplemental_groups_policy, ("Merge", "Strict"))
    (at / "seLinuxChangePolicy").one_of(context.se_linux_change_policy, ("MountOption", "Recursive"))
    _check_profile(at / "seccompProfile", context.seccomp_profile)
    _check_profile(at / "appArmorProfile", context.app_armor_profile)
    seen: set[str] = set()
    for place, sysctl in at.items("sysctls", context.sysctls):
        name = sysctl.name
        if not (place / "name").required(name):
            continue
        if len(name) > 253 or not _SYSCTL.fullmatch(name):
            (place / "name").fault(f"{name!r} is not a sysctl", "write it like net.core.somaxconn")
        dotted = name.replace("/", ".")
        if dotted in seen:
            (place / "name").fault(f"{name!r} is given twice", "keep one of them")
        seen.add(dotted)
        if spec.host_network and dotted.startswith("net."):
            (place / "name").fault(f"{name!r} is the node's when hostNetwork is true", "remove it")
        if spec.host_ipc and dotted.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")):
            (place / "name").fault(f"{name!r} is the node's when hostIPC is true", "remove it")


def check_container_security(at: DocumentPlace, container: Container, spec: PodSpec) -> None:
    """The security context of one container, alone and within its pod."""
    context = container.security_context
    if context is None:
        return
    _check_id(at / "runAsUser", context.run_as_user)
    _check_id(at / "runAsGroup", context.run_as_group)
    (at / "procMount").one_of(context.proc_mount, ("Default", "Unmasked"))
    if context.proc_mount == "Unmasked" and spec.host_users is not False:
        (at / "procMount").fault("Unmasked needs hostUsers: false", "set $.spec.hostUsers to false")
    if context.allow_privilege_escalation is False:
        if context.privileged:
            (at / "allowPrivilegeEscalation").fault("cannot be false in a privileged container", "remove one of them")
        added = context.capabilities.add if context.capabilities is not None else ()
        # SYS_ADMIN, the name that runtimes know, is not compared (kubernetes/kubernetes#119568).
        if "CAP_SYS_ADMIN" in added:
            (at / "allowPrivilegeEscalation").fault("cannot be false beside CAP_SYS_ADMIN", "remove one of them")
    _check_profile(at / "seccompProfile", context.seccomp_profile)
    _check_profile(at / "appArmorProfile", context.app_armor_profile)


def check_os_settings(at: DocumentPlace, spec: PodSpec) -> None:
    """A pod that is for Linux has no settings of Windows."""
    if spec.os is None or spec.os.name != "linux":
        return
    contexts: list[tuple[DocumentPlace, PodSecurityContext | SecurityContext | None]] = [(at, spec.security_context)]
    for field, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        contexts += [(place, each.security_context) for place, each in at.items(field, containers)]
    for place, context in contexts:
        if context is not None and context.windows_options is not None:
            (place / "securityContext" / "windowsOptions").fault("cannot be set for a linux pod", "remove it")


def check_host_namespaces(place: DocumentPlace, spec: PodSpec) -> None:
    """The namespaces that the pod shares with the node must fit its other settings."""
    if spec.share_process_namespace and spec.host_pid:
        (place / "shareProcessNamespace").fault("cannot stand beside hostPID", "keep one of them")
    if spec.host_users is False:
        for field, shared in (
            ("hostNetwork", spec.host_network),
            ("hostPID", spec.host_pid),
            ("hostIPC", spec.host_ipc),
        ):
            if shared:
                (place / field).fault("cannot stand beside hostUsers: false", "keep one of them")


def _check_id(at: DocumentPlace, number: int | None) -> None:
    if number is not None and not 0 <= number <= _ID_AT_MOST:
        at.fault(f"must be between 0 and {_ID_AT_MOST}, not {number}")


def _check_profile(at: DocumentPlace, profile: SeccompProfile | AppArmorProfile | None) -> None:
    if profile is None:
        return
    if not (at / "type").required(profile.type):
        return
    (at / "type").one_of(profile.type, ("RuntimeDefault", "Localhost", "Unconfined"))
    place = at / "localhostProfile"
    if profile.type == "Localhost":
        if place.required(profile.localhost_profile) and isinstance(profile, SeccompProfile):
            path = profile.localhost_profile or ""
            if path.startswith("/") or ".." in path.split("/"):
                place.fault(f"{path!r} must be a path below the profiles of the node", "write it without / and ..")
    elif profile.localhost_profile:
        place.fault(f"cannot be set when the type is {profile.type}", "set type: Localhost, or remove it")
