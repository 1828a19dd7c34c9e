"""Who a process is and what it may see: users, namespaces, capabilities, profiles (spec 3.8, 3.9).

Refuses to know how a pod's security context becomes one of these; that is decided on the actors' floor.
"""

from __future__ import annotations

from runtime.cri.enums import NamespaceMode, ProfileType, SupplementalGroupsPolicy
from runtime.cri.messages.base import Int64Value, Message


class IDMapping(Message, frozen=True, kw_only=True):
    """A run of ids: `length` ids from `container_id` inside are those from `host_id` outside."""

    host_id: int = 0
    container_id: int = 0
    length: int = 0


class UserNamespace(Message, frozen=True, kw_only=True):
    """How ids inside the sandbox map to ids of the host."""

    mode: NamespaceMode = NamespaceMode.POD
    uids: tuple[IDMapping, ...] = ()
    gids: tuple[IDMapping, ...] = ()


class NamespaceOption(Message, frozen=True, kw_only=True):
    """Which namespaces are shared, and with whom."""

    network: NamespaceMode = NamespaceMode.POD
    pid: NamespaceMode = NamespaceMode.POD
    ipc: NamespaceMode = NamespaceMode.POD
    target_id: str = ""
    userns_options: UserNamespace | None = None


class SELinuxOption(Message, frozen=True, kw_only=True):
    """The four parts of an SELinux label."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class SecurityProfile(Message, frozen=True, kw_only=True):
    """A seccomp or AppArmor profile: the runtime's, none, or one that lies on the node."""

    profile_type: ProfileType = ProfileType.RuntimeDefault
    localhost_ref: str = ""


class Capability(Message, frozen=True, kw_only=True):
    """Linux capabilities added to and taken from the runtime's default set; names without `CAP_`."""

    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    add_ambient_capabilities: tuple[str, ...] = ()


class LinuxSandboxSecurityContext(Message, frozen=True, kw_only=True):
    """Security settings of the sandbox's own process and namespaces."""

    namespace_options: NamespaceOption | None = None
    selinux_options: SELinuxOption | None = None
    run_as_user: Int64Value | None = None
    run_as_group: Int64Value | None = None
    readonly_rootfs: bool = False
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: SupplementalGroupsPolicy = SupplementalGroupsPolicy.Merge
    privileged: bool = False
    seccomp: SecurityProfile | None = None
    apparmor: SecurityProfile | None = None
    seccomp_profile_path: str = ""


class LinuxContainerSecurityContext(Message, frozen=True, kw_only=True):
    """Security settings of one container."""

    capabilities: Capability | None = None
    privileged: bool = False
    namespace_options: NamespaceOption | None = None
    selinux_options: SELinuxOption | None = None
    run_as_user: Int64Value | None = None
    run_as_group: Int64Value | None = None
    run_as_username: str = ""
    readonly_rootfs: bool = False
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: SupplementalGroupsPolicy = SupplementalGroupsPolicy.Merge
    no_new_privs: bool = False
    masked_paths: tuple[str, ...] = ()
    readonly_paths: tuple[str, ...] = ()
    seccomp: SecurityProfile | None = None
    apparmor: SecurityProfile | None = None
    apparmor_profile: str = ""
    seccomp_profile_path: str = ""


class WindowsNamespaceOption(Message, frozen=True, kw_only=True):
    """Namespaces of a Windows pod."""

    network: NamespaceMode = NamespaceMode.POD


class WindowsSandboxSecurityContext(Message, frozen=True, kw_only=True):
    """Security settings of a Windows sandbox."""

    run_as_username: str = ""
    credential_spec: str = ""
    host_process: bool = False
    namespace_options: WindowsNamespaceOption | None = None


class WindowsContainerSecurityContext(Message, frozen=True, kw_only=True):
    """Security settings of a Windows container."""

    run_as_username: str = ""
    credential_spec: str = ""
    host_process: bool = False
