"""Containers: regular, init and ephemeral ones."""

from __future__ import annotations

from msgspec import field

from config.objects.base import ApiStruct
from config.objects.environment import EnvFromSource, EnvVar
from config.objects.handlers import Lifecycle, Probe
from config.objects.resources import ContainerResizePolicy, ResourceRequirements
from config.objects.security import SecurityContext


class ContainerPort(ApiStruct, frozen=True):
    """core/v1 ContainerPort."""

    container_port: int = 0
    host_ip: str | None = field(default=None, name="hostIP")
    host_port: int | None = None
    name: str | None = None
    protocol: str | None = None


class VolumeMount(ApiStruct, frozen=True):
    """core/v1 VolumeMount."""

    mount_path: str = ""
    mount_propagation: str | None = None
    name: str = ""
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class VolumeDevice(ApiStruct, frozen=True):
    """core/v1 VolumeDevice."""

    device_path: str = ""
    name: str = ""


class ContainerRestartRuleOnExitCodes(ApiStruct, frozen=True):
    """core/v1 ContainerRestartRuleOnExitCodes."""

    operator: str = ""
    values: tuple[int, ...] = ()


class ContainerRestartRule(ApiStruct, frozen=True):
    """core/v1 ContainerRestartRule."""

    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class Container(ApiStruct, frozen=True):
    """core/v1 Container."""

    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ""
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = ""
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: tuple[VolumeDevice, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    working_dir: str | None = None


class EphemeralContainer(ApiStruct, frozen=True):
    """core/v1 EphemeralContainer."""

    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ""
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = ""
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: tuple[VolumeDevice, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    working_dir: str | None = None
