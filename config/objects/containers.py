"""Containers: regular, init and ephemeral ones."""

from __future__ import annotations

from msgspec import field

from config.objects.base import ApiStruct, Int32, written
from config.objects.environment import EnvFromSource, EnvVar
from config.objects.handlers import Lifecycle, Probe
from config.objects.resources import ContainerResizePolicy, ResourceRequirements
from config.objects.security import SecurityContext


class ContainerPort(ApiStruct, frozen=True):
    """A port that a container listens on; only `host_port` changes anything on the node."""

    container_port: Int32 = written(0)
    host_ip: str | None = field(default=None, name="hostIP")
    host_port: Int32 | None = None
    name: str | None = None
    protocol: str | None = None


class VolumeMount(ApiStruct, frozen=True):
    """Where a volume of the pod appears inside the container."""

    mount_path: str = written("")
    mount_propagation: str | None = None
    name: str = written("")
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class VolumeDevice(ApiStruct, frozen=True):
    """Where a raw block volume of the pod appears inside the container."""

    device_path: str = written("")
    name: str = written("")


class ContainerRestartRuleOnExitCodes(ApiStruct, frozen=True):
    """Which exit codes a restart rule is about: `operator` is In or NotIn."""

    operator: str = written("")
    values: tuple[Int32, ...] = ()


class ContainerRestartRule(ApiStruct, frozen=True):
    """What to do when the container exits so: `action` is Restart or RestartAllContainers."""

    action: str = written("")
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class Container(ApiStruct, frozen=True):
    """One container, regular or init. An init container with `restart_policy` Always is a sidecar."""

    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ""
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = written("")
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


class EphemeralContainer(Container, frozen=True):
    """A container put into a running pod by hand, for debugging; never restarted, and without guarantees.

    All fields of a Container are read, but the API refuses ports, probes, lifecycle and resources here.
    """

    target_container_name: str | None = None
