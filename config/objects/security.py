"""Security contexts of pods and containers."""

from __future__ import annotations

from config.objects.base import ApiStruct, Int64, written


class SELinuxOptions(ApiStruct, frozen=True):
    """core/v1 SELinuxOptions."""

    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None


class SeccompProfile(ApiStruct, frozen=True):
    """core/v1 SeccompProfile."""

    localhost_profile: str | None = None
    type: str = written("")


class AppArmorProfile(ApiStruct, frozen=True):
    """core/v1 AppArmorProfile."""

    localhost_profile: str | None = None
    type: str = written("")


class Sysctl(ApiStruct, frozen=True):
    """core/v1 Sysctl."""

    name: str = written("")
    value: str = written("")


class WindowsSecurityContextOptions(ApiStruct, frozen=True):
    """core/v1 WindowsSecurityContextOptions."""

    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None


class Capabilities(ApiStruct, frozen=True):
    """core/v1 Capabilities."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityContext(ApiStruct, frozen=True):
    """core/v1 SecurityContext."""

    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class PodSecurityContext(ApiStruct, frozen=True):
    """core/v1 PodSecurityContext."""

    app_armor_profile: AppArmorProfile | None = None
    fs_group: Int64 | None = None
    fs_group_change_policy: str | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: tuple[Int64, ...] = ()
    supplemental_groups_policy: str | None = None
    sysctls: tuple[Sysctl, ...] = ()
    windows_options: WindowsSecurityContextOptions | None = None
