"""What is wanted: the complete description of a sandbox and of a container, as sent when they are made."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.enums import MountPropagation, Protocol, Signal
from runtime.cri.messages.base import Message
from runtime.cri.messages.resources import LinuxContainerResources, WindowsContainerResources
from runtime.cri.messages.security import (
    IDMapping,
    LinuxContainerSecurityContext,
    LinuxSandboxSecurityContext,
    WindowsContainerSecurityContext,
    WindowsSandboxSecurityContext,
)


class DNSConfig(Message, frozen=True, kw_only=True):
    """What goes into the resolver configuration of a sandbox."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class PortMapping(Message, frozen=True, kw_only=True):
    """One port of the sandbox published on the host."""

    protocol: Protocol = Protocol.TCP
    container_port: int = 0
    host_port: int = 0
    host_ip: str = ""


class PodSandboxMetadata(Message, frozen=True, kw_only=True):
    """Identity of a sandbox: the pod, and which of its incarnations."""

    name: str = ""
    uid: str = ""
    namespace: str = ""
    attempt: int = 0


class LinuxPodSandboxConfig(Message, frozen=True, kw_only=True):
    """The Linux part of a sandbox configuration."""

    cgroup_parent: str = ""
    security_context: LinuxSandboxSecurityContext | None = None
    sysctls: Mapping[str, str] = {}
    overhead: LinuxContainerResources | None = None
    resources: LinuxContainerResources | None = None


class WindowsPodSandboxConfig(Message, frozen=True, kw_only=True):
    """The Windows part of a sandbox configuration."""

    security_context: WindowsSandboxSecurityContext | None = None


class PodSandboxConfig(Message, frozen=True, kw_only=True):
    """Everything that is needed to make a sandbox."""

    metadata: PodSandboxMetadata | None = None
    hostname: str = ""
    log_directory: str = ""
    dns_config: DNSConfig | None = None
    port_mappings: tuple[PortMapping, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    linux: LinuxPodSandboxConfig | None = None
    windows: WindowsPodSandboxConfig | None = None


class ImageSpec(Message, frozen=True, kw_only=True):
    """An image by name, digest or id, and how the user wrote it."""

    image: str = ""
    annotations: Mapping[str, str] = {}
    user_specified_image: str = ""
    runtime_handler: str = ""
    image_ref: str = ""


class KeyValue(Message, frozen=True, kw_only=True):
    """An environment variable."""

    key: str = ""
    value: bytes = b""


class Mount(Message, frozen=True, kw_only=True):
    """A place in the container where a directory, file or image of the host appears."""

    container_path: str = ""
    host_path: str = ""
    readonly: bool = False
    selinux_relabel: bool = False
    propagation: MountPropagation = MountPropagation.PROPAGATION_PRIVATE
    uidMappings: tuple[IDMapping, ...] = ()  # noqa: N815 - the name on the wire
    gidMappings: tuple[IDMapping, ...] = ()  # noqa: N815 - the name on the wire
    recursive_read_only: bool = False
    image: ImageSpec | None = None
    image_sub_path: str = ""


class Device(Message, frozen=True, kw_only=True):
    """A device node of the host given to a container."""

    container_path: str = ""
    host_path: str = ""
    permissions: str = ""


class CDIDevice(Message, frozen=True, kw_only=True):
    """A device by its full Container Device Interface name, `vendor/class=name`."""

    name: str = ""


class ContainerMetadata(Message, frozen=True, kw_only=True):
    """Identity of a container within its sandbox: name and number of the attempt."""

    name: str = ""
    attempt: int = 0


class LinuxContainerConfig(Message, frozen=True, kw_only=True):
    """The Linux part of a container configuration."""

    resources: LinuxContainerResources | None = None
    security_context: LinuxContainerSecurityContext | None = None


class WindowsContainerConfig(Message, frozen=True, kw_only=True):
    """The Windows part of a container configuration."""

    resources: WindowsContainerResources | None = None
    security_context: WindowsContainerSecurityContext | None = None


class ContainerConfig(Message, frozen=True, kw_only=True):
    """Everything that is needed to make a container."""

    metadata: ContainerMetadata | None = None
    image: ImageSpec | None = None
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    envs: tuple[KeyValue, ...] = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Device, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    log_path: str = ""
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    linux: LinuxContainerConfig | None = None
    windows: WindowsContainerConfig | None = None
    CDI_devices: tuple[CDIDevice, ...] = ()
    stop_signal: Signal = Signal.RUNTIME_DEFAULT
