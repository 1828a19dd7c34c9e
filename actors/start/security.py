"""The users, rights and namespaces of a container (spec 3.8, 3.9, 17.4). Pure.

The container's own settings override the pod's. This agent refuses settings that it cannot honour: a container must not
start with less isolation than requested.
"""

from __future__ import annotations

import msgspec

from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError, NonRootRefusedError
from config.objects import (
    AppArmorProfile,
    Container,
    EphemeralContainer,
    Pod,
    PodSecurityContext,
    PodSpec,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
)
from config.pods.identity import title
from config.pods.once_per_spec import OncePerSpecAnd
from runtime.cri.messages import (
    Capability,
    IDMapping,
    Image,
    Int64Value,
    LinuxContainerSecurityContext,
    LinuxSandboxSecurityContext,
    NamespaceMode,
    NamespaceOption,
    ProfileType,
    SecurityProfile,
    SELinuxOption,
    SupplementalGroupsPolicy,
    UserNamespace,
)

MASKED_PATHS = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_NO_POD = PodSecurityContext()
_NO_CONTAINER = SecurityContext()
_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST = "localhost/"


def container_security(
    pod: Pod,
    container: Container,
    path: str,
    *,
    image: Image | None,
    root_directory: str,
    seccomp_default: bool,
    target_id: str = "",
    thermal_paths: tuple[str, ...] = (),
    ids: IdRange | None = None,
) -> LinuxContainerSecurityContext:
    """`image` gives the user if the pod names none; `path` is that of the container.

    Raises ContainerRefusedError.

    `thermal_paths`: more files of this machine to mask, because they leak what others compute. `ids`: of the host, for
    a pod with a user namespace.
    """
    whole, own = pod.spec.security_context or _NO_POD, container.security_context or _NO_CONTAINER
    user, username = _user(whole, own, image)
    if own.run_as_non_root if own.run_as_non_root is not None else whole.run_as_non_root:
        asked = own.run_as_user is not None or whole.run_as_user is not None
        _check_non_root(user, username, f"{path}.securityContext.runAsNonRoot", _whose(pod, container), asked=asked)
    group = own.run_as_group if own.run_as_group is not None else whole.run_as_group
    if group is not None and user is None and not username:
        # The runtime needs a user along with a group; without one the container would run as root in that group.
        raise ContainerRefusedError(f"{path}.securityContext.runAsGroup", "a group needs a user: set runAsUser as well")
    open_proc = own.proc_mount == "Unmasked"
    apparmor = apparmor_profile(pod, container)
    privileged = bool(own.privileged)
    return LinuxContainerSecurityContext(
        capabilities=Capability(add_capabilities=own.capabilities.add, drop_capabilities=own.capabilities.drop)
        if own.capabilities is not None
        else None,
        privileged=privileged,
        namespace_options=namespaces(
            pod, container if isinstance(container, EphemeralContainer) else None, target_id, ids
        ),
        selinux_options=_selinux(own.se_linux_options or whole.se_linux_options),
        run_as_user=Int64Value(value=user) if user is not None else None,
        run_as_group=Int64Value(value=group) if group is not None else None,
        run_as_username=username,
        readonly_rootfs=bool(own.read_only_root_filesystem),
        supplemental_groups=supplemental_groups(whole),
        supplemental_groups_policy=_groups_policy(whole),
        no_new_privs=own.allow_privilege_escalation is False,
        masked_paths=() if open_proc else MASKED_PATHS + thermal_paths,
        readonly_paths=() if open_proc else READ_ONLY_PATHS,
        seccomp=_seccomp(
            own.seccomp_profile or whole.seccomp_profile,
            f"{path}.securityContext.seccompProfile",
            root_directory,
            seccomp_default,
        ),
        apparmor=apparmor,
        apparmor_profile=_legacy_apparmor(apparmor),
    )


def sandbox_security(pod: Pod, ids: IdRange | None = None) -> LinuxSandboxSecurityContext:
    """The settings of the sandbox's own process.

    `ids`: of the pod's user namespace. Raises ContainerRefusedError.
    """
    whole = pod.spec.security_context or _NO_POD
    everyone = (*pod.spec.init_containers, *pod.spec.containers)
    return LinuxSandboxSecurityContext(
        namespace_options=namespaces(pod, ids=ids),
        selinux_options=_selinux(whole.se_linux_options),
        run_as_user=Int64Value(value=whole.run_as_user) if whole.run_as_user is not None else None,
        run_as_group=Int64Value(value=whole.run_as_group)
        if whole.run_as_group is not None and whole.run_as_user is not None
        else None,
        supplemental_groups=supplemental_groups(whole),
        supplemental_groups_policy=_groups_policy(whole),
        privileged=any(each.security_context is not None and each.security_context.privileged for each in everyone),
        seccomp=SecurityProfile(profile_type=ProfileType.RuntimeDefault),
    )


def namespaces(
    pod: Pod, ephemeral: EphemeralContainer | None = None, target_id: str = "", ids: IdRange | None = None
) -> NamespaceOption:
    """How network, processes, IPC and users are shared.

    Raises ContainerRefusedError for a user namespace without ids.
    """
    spec = pod.spec
    if spec.host_pid:
        pid = NamespaceMode.NODE
    elif spec.share_process_namespace:
        pid = NamespaceMode.POD
    else:
        pid = NamespaceMode.CONTAINER
    if ephemeral is not None and ephemeral.target_container_name and pid == NamespaceMode.CONTAINER:
        pid = NamespaceMode.TARGET
    return NamespaceOption(
        network=NamespaceMode.NODE if spec.host_network else NamespaceMode.POD,
        pid=pid,
        ipc=NamespaceMode.NODE if spec.host_ipc else NamespaceMode.POD,
        target_id=target_id if pid == NamespaceMode.TARGET else "",
        userns_options=_users(pod, ids),
    )


def _users(pod: Pod, ids: IdRange | None) -> UserNamespace | None:
    """The user namespace; None keeps the host's users, also for a runtime that knows nothing else."""
    if pod.spec.host_users is not False:
        return None
    if ids is None:
        raise ContainerRefusedError("$.spec.hostUsers", "the pod has no ids of the host for its user namespace")
    mapping = id_mappings(ids)
    return UserNamespace(mode=NamespaceMode.POD, uids=mapping, gids=mapping)


def id_mappings(ids: IdRange) -> tuple[IDMapping, ...]:
    """Map root inside to the first id outside."""
    return (IDMapping(host_id=ids.first, container_id=0, length=ids.length),)


def with_groups(pod: Pod, groups: tuple[int, ...]) -> Pod:
    """The pod with these groups added: its persistent volumes ask for them (spec 8.3)."""
    if not groups:
        return pod
    whole = pod.spec.security_context or _NO_POD
    more = tuple([group for group in groups if group not in whole.supplemental_groups])
    if not more:
        return pod
    return msgspec.structs.replace(pod, spec=_grouped.of(pod.spec, (), more, lambda: _with_more(pod.spec, more)))


_grouped: OncePerSpecAnd[PodSpec] = OncePerSpecAnd()


def _with_more(spec: PodSpec, groups: tuple[int, ...]) -> PodSpec:
    """One spec for all starts of a pod, so that cached results are found again."""
    whole = spec.security_context or _NO_POD
    context = msgspec.structs.replace(whole, supplemental_groups=(*whole.supplemental_groups, *groups))
    return msgspec.structs.replace(spec, security_context=context)


def supplemental_groups(whole: PodSecurityContext) -> tuple[int, ...]:
    """The pod's groups and the one its volumes belong to."""
    groups = () if whole.fs_group is None else (whole.fs_group,)
    return (*groups, *(group for group in whole.supplemental_groups if group not in groups))


def _groups_policy(whole: PodSecurityContext) -> SupplementalGroupsPolicy:
    strict = whole.supplemental_groups_policy == "Strict"
    return SupplementalGroupsPolicy.Strict if strict else SupplementalGroupsPolicy.Merge


def _user(whole: PodSecurityContext, own: SecurityContext, image: Image | None) -> tuple[int | None, str]:
    """The user id, or the user name from the image. Without a user in the image, root."""
    user = own.run_as_user if own.run_as_user is not None else whole.run_as_user
    if user is not None or image is None:
        return user, ""
    if image.uid is not None:
        return image.uid.value, ""
    return (None, image.username) if image.username else (0, "")


def _whose(pod: Pod, container: Container | EphemeralContainer) -> str:
    return f'(pod: "{title(pod)}", container: {container.name})'


def _check_non_root(user: int | None, username: str, path: str, whose: str, *, asked: bool) -> None:
    """The words are upstream's, because tools look for them.

    `asked`: the pod names the user, not the image.
    """
    if user == 0 and asked:
        raise NonRootRefusedError(path, f"container's runAsUser breaks non-root policy {whose}")
    if user is None and username:
        text = f"container has runAsNonRoot and image has non-numeric user ({username}), cannot verify user is non-root"
        raise NonRootRefusedError(path, f"{text} {whose}")
    if not user:
        raise NonRootRefusedError(path, f"container has runAsNonRoot and image will run as root {whose}")
    if user < 0:
        raise ContainerRefusedError(path, f"the image's user {user} is negative; set runAsUser")


def _seccomp(profile: SeccompProfile | None, path: str, root_directory: str, seccomp_default: bool) -> SecurityProfile:
    if profile is None:
        default = ProfileType.RuntimeDefault if seccomp_default else ProfileType.Unconfined
        return SecurityProfile(profile_type=default)
    if profile.type != "Localhost":
        unconfined = profile.type == "Unconfined"
        return SecurityProfile(profile_type=ProfileType.Unconfined if unconfined else ProfileType.RuntimeDefault)
    name = profile.localhost_profile
    if not name:
        raise ContainerRefusedError(f"{path}.localhostProfile", "is required when the type is Localhost")
    if name.startswith("/") or ".." in name.split("/"):
        raise ContainerRefusedError(
            f"{path}.localhostProfile", f"{name!r} must stay below the node's seccomp directory"
        )
    return SecurityProfile(profile_type=ProfileType.Localhost, localhost_ref=f"{root_directory}/seccomp/{name}")


def apparmor_profile(pod: Pod, container: Container) -> SecurityProfile | None:
    """The AppArmor profile from the container, the pod, or the old annotation; None if none says."""
    whole, own = pod.spec.security_context or _NO_POD, container.security_context or _NO_CONTAINER
    profile: AppArmorProfile | None = own.app_armor_profile or whole.app_armor_profile
    if profile is not None:
        kind, reference = profile.type, profile.localhost_profile or ""
    else:
        note = apparmor_note(pod, container)
        if note is None:
            return None
        reference = note.removeprefix(_LOCALHOST) if note.startswith(_LOCALHOST) else ""
        kind = "Localhost" if reference else {"unconfined": "Unconfined"}.get(note, "RuntimeDefault")
    if kind == "Localhost":
        return SecurityProfile(profile_type=ProfileType.Localhost, localhost_ref=reference)
    return SecurityProfile(profile_type=ProfileType.Unconfined if kind == "Unconfined" else ProfileType.RuntimeDefault)


def apparmor_note(pod: Pod, container: Container) -> str | None:
    """The old annotation for this container."""
    return pod.metadata.annotations.get(_ANNOTATION + container.name)


def _legacy_apparmor(profile: SecurityProfile | None) -> str:
    """The AppArmor profile in the older field, for runtimes that read it."""
    if profile is None:
        return ""
    if profile.profile_type == ProfileType.Localhost:
        return _LOCALHOST + profile.localhost_ref
    return "unconfined" if profile.profile_type == ProfileType.Unconfined else "runtime/default"


def _selinux(options: SELinuxOptions | None) -> SELinuxOption | None:
    if options is None:
        return None
    return SELinuxOption(
        user=options.user or "", role=options.role or "", type=options.type or "", level=options.level or ""
    )
