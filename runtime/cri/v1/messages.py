"""The messages of runtime.v1 as frozen structs.

Generated from `runtime/cri/v1/api.proto` by `python -m tools.protos`: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from runtime.cri.base import CriMessage, OpenEnum, SecretMessage


class NamespaceMode(OpenEnum):
    """With whom a namespace is shared."""

    # Among the containers of the sandbox.
    POD = 0
    # With nobody.
    CONTAINER = 1
    # With the host.
    NODE = 2
    # With one other container.
    TARGET = 3


class SupplementalGroupsPolicy(OpenEnum):
    """Whether the groups that the image gives its user are kept."""

    # Kept, and merged with those of the security context.
    Merge = 0
    # Dropped: only those of the security context.
    Strict = 1


class Protocol(OpenEnum):
    """Transport protocol of a port."""

    TCP = 0
    UDP = 1
    SCTP = 2


class MountPropagation(OpenEnum):
    """Which later mounts under a mount are seen on the other side."""

    # Neither way.
    PROPAGATION_PRIVATE = 0
    # Later mounts of the host are seen inside.
    PROPAGATION_HOST_TO_CONTAINER = 1
    # Both ways.
    PROPAGATION_BIDIRECTIONAL = 2


class Signal(OpenEnum):
    """The stop signal of a container; zero leaves it to the image and the runtime. The numbers are the interface's own,
    not the kernel's."""

    RUNTIME_DEFAULT = 0
    SIGABRT = 1
    SIGALRM = 2
    SIGBUS = 3
    SIGCHLD = 4
    SIGCLD = 5
    SIGCONT = 6
    SIGFPE = 7
    SIGHUP = 8
    SIGILL = 9
    SIGINT = 10
    SIGIO = 11
    SIGIOT = 12
    SIGKILL = 13
    SIGPIPE = 14
    SIGPOLL = 15
    SIGPROF = 16
    SIGPWR = 17
    SIGQUIT = 18
    SIGSEGV = 19
    SIGSTKFLT = 20
    SIGSTOP = 21
    SIGSYS = 22
    SIGTERM = 23
    SIGTRAP = 24
    SIGTSTP = 25
    SIGTTIN = 26
    SIGTTOU = 27
    SIGURG = 28
    SIGUSR1 = 29
    SIGUSR2 = 30
    SIGVTALRM = 31
    SIGWINCH = 32
    SIGXCPU = 33
    SIGXFSZ = 34
    SIGRTMIN = 35
    SIGRTMINPLUS1 = 36
    SIGRTMINPLUS2 = 37
    SIGRTMINPLUS3 = 38
    SIGRTMINPLUS4 = 39
    SIGRTMINPLUS5 = 40
    SIGRTMINPLUS6 = 41
    SIGRTMINPLUS7 = 42
    SIGRTMINPLUS8 = 43
    SIGRTMINPLUS9 = 44
    SIGRTMINPLUS10 = 45
    SIGRTMINPLUS11 = 46
    SIGRTMINPLUS12 = 47
    SIGRTMINPLUS13 = 48
    SIGRTMINPLUS14 = 49
    SIGRTMINPLUS15 = 50
    SIGRTMAXMINUS14 = 51
    SIGRTMAXMINUS13 = 52
    SIGRTMAXMINUS12 = 53
    SIGRTMAXMINUS11 = 54
    SIGRTMAXMINUS10 = 55
    SIGRTMAXMINUS9 = 56
    SIGRTMAXMINUS8 = 57
    SIGRTMAXMINUS7 = 58
    SIGRTMAXMINUS6 = 59
    SIGRTMAXMINUS5 = 60
    SIGRTMAXMINUS4 = 61
    SIGRTMAXMINUS3 = 62
    SIGRTMAXMINUS2 = 63
    SIGRTMAXMINUS1 = 64
    SIGRTMAX = 65


class ContainerState(OpenEnum):
    """Where a container is in its life."""

    CONTAINER_CREATED = 0
    CONTAINER_RUNNING = 1
    CONTAINER_EXITED = 2
    CONTAINER_UNKNOWN = 3


class PodSandboxState(OpenEnum):
    """Whether a sandbox can take containers."""

    SANDBOX_READY = 0
    SANDBOX_NOTREADY = 1


class MetricType(OpenEnum):
    """How a metric behaves over time."""

    # Only ever goes up.
    COUNTER = 0
    # Goes up and down.
    GAUGE = 1


class CgroupDriver(OpenEnum):
    """Who manages cgroups."""

    SYSTEMD = 0
    CGROUPFS = 1


class ContainerEventType(OpenEnum):
    """What happened to a container."""

    CONTAINER_CREATED_EVENT = 0
    CONTAINER_STARTED_EVENT = 1
    CONTAINER_STOPPED_EVENT = 2
    CONTAINER_DELETED_EVENT = 3


class ProfileType(OpenEnum):
    """Where a security profile comes from."""

    # The default of the runtime.
    RuntimeDefault = 0
    # No profile.
    Unconfined = 1
    # One from the node, see `localhost_ref`.
    Localhost = 2


class Int64Value(CriMessage, frozen=True, kw_only=True):
    """A signed number that may also be absent."""

    value: int = 0


class UInt64Value(CriMessage, frozen=True, kw_only=True):
    """An unsigned number that may also be absent."""

    value: int = 0


class IDMapping(CriMessage, frozen=True, kw_only=True):
    """A run of ids: `length` ids from `container_id` inside are those from `host_id` outside."""

    host_id: int = 0
    container_id: int = 0
    # How many ids; zero is not valid.
    length: int = 0


class UserNamespace(CriMessage, frozen=True, kw_only=True):
    """How ids inside the sandbox map to ids of the host."""

    # POD gives the sandbox its own user namespace, NODE that of the host. Others are not valid.
    mode: NamespaceMode = NamespaceMode.POD
    # At most one run today.
    uids: tuple[IDMapping, ...] = ()
    gids: tuple[IDMapping, ...] = ()


class NamespaceOption(CriMessage, frozen=True, kw_only=True):
    """Which namespaces are shared, and with whom."""

    # POD or NODE.
    network: NamespaceMode = NamespaceMode.POD
    # CONTAINER, POD (shared by the pod's processes), NODE, or TARGET (that of `target_id`).
    pid: NamespaceMode = NamespaceMode.POD
    # POD or NODE.
    ipc: NamespaceMode = NamespaceMode.POD
    # Container whose pid namespace is entered, with TARGET only.
    target_id: str = ""
    userns_options: UserNamespace | None = None


class SELinuxOption(CriMessage, frozen=True, kw_only=True):
    """The four parts of an SELinux label."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class SecurityProfile(CriMessage, frozen=True, kw_only=True):
    """A seccomp or AppArmor profile: the runtime's, none, or one that lies on the node."""

    profile_type: ProfileType = ProfileType.RuntimeDefault
    # With Localhost: path of the seccomp file on the node, or name of a loaded AppArmor profile.
    localhost_ref: str = ""


class Capability(CriMessage, frozen=True, kw_only=True):
    """Linux capabilities added to and taken from the runtime's default set; names without `CAP_`."""

    # ALL stands for every capability.
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    # Kept over an exec by a user that is not root. Must also be in `add_capabilities`.
    add_ambient_capabilities: tuple[str, ...] = ()


class LinuxSandboxSecurityContext(CriMessage, frozen=True, kw_only=True):
    """Security settings of the sandbox's own process and namespaces."""

    namespace_options: NamespaceOption | None = None
    selinux_options: SELinuxOption | None = None
    run_as_user: Int64Value | None = None
    # Only together with `run_as_user`.
    run_as_group: Int64Value | None = None
    readonly_rootfs: bool = False
    # Groups of the first process besides those of the image.
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: SupplementalGroupsPolicy = SupplementalGroupsPolicy.Merge
    # Must be set when any container of the sandbox is privileged.
    privileged: bool = False
    seccomp: SecurityProfile | None = None
    apparmor: SecurityProfile | None = None
    # Old form of `seccomp`.
    seccomp_profile_path: str = ""


class LinuxContainerSecurityContext(CriMessage, frozen=True, kw_only=True):
    """Security settings of one container."""

    capabilities: Capability | None = None
    # All devices and capabilities, no profiles, no masked paths.
    privileged: bool = False
    namespace_options: NamespaceOption | None = None
    selinux_options: SELinuxOption | None = None
    run_as_user: Int64Value | None = None
    # Only together with a user.
    run_as_group: Int64Value | None = None
    # Looked up in the image. Not together with `run_as_user`.
    run_as_username: str = ""
    readonly_rootfs: bool = False
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: SupplementalGroupsPolicy = SupplementalGroupsPolicy.Merge
    # No gain of rights by exec.
    no_new_privs: bool = False
    # Paths that appear empty inside.
    masked_paths: tuple[str, ...] = ()
    # Paths that cannot be written inside.
    readonly_paths: tuple[str, ...] = ()
    seccomp: SecurityProfile | None = None
    apparmor: SecurityProfile | None = None
    # Old form of `apparmor`: `runtime/default`, `unconfined` or `localhost/<name>`.
    apparmor_profile: str = ""
    # Old form of `seccomp`.
    seccomp_profile_path: str = ""


class WindowsNamespaceOption(CriMessage, frozen=True, kw_only=True):
    """Namespaces of a Windows pod."""

    network: NamespaceMode = NamespaceMode.POD


class WindowsSandboxSecurityContext(CriMessage, frozen=True, kw_only=True):
    """Security settings of a Windows sandbox."""

    run_as_username: str = ""
    # Contents of the credential specification of a group managed service account.
    credential_spec: str = ""
    # Every container of the pod is a process of the host.
    host_process: bool = False
    namespace_options: WindowsNamespaceOption | None = None


class WindowsContainerSecurityContext(CriMessage, frozen=True, kw_only=True):
    """Security settings of a Windows container."""

    run_as_username: str = ""
    # Contents of the credential specification of a group managed service account.
    credential_spec: str = ""
    host_process: bool = False


class HugepageLimit(CriMessage, frozen=True, kw_only=True):
    """Limit for huge pages of one size."""

    # `<size><unit>B`, such as 2MB or 1GB.
    page_size: str = ""
    # Bytes.
    limit: int = 0


class LinuxContainerResources(CriMessage, frozen=True, kw_only=True):
    """Limits and weights of a container, or of a whole sandbox, on Linux."""

    # Microseconds.
    cpu_period: int = 0
    # Microseconds per period.
    cpu_quota: int = 0
    # Weight; 1024 stand for one processor.
    cpu_shares: int = 0
    # Bytes.
    memory_limit_in_bytes: int = 0
    # -1000 to 1000.
    oom_score_adj: int = 0
    # List of processors, such as 0-3,7.
    cpuset_cpus: str = ""
    # List of memory nodes.
    cpuset_mems: str = ""
    hugepage_limits: tuple[HugepageLimit, ...] = ()
    # Files of cgroup v2 and what is written into them.
    unified: Mapping[str, str] = {}
    # Memory and swap together, bytes.
    memory_swap_limit_in_bytes: int = 0


class WindowsCpuGroupAffinity(CriMessage, frozen=True, kw_only=True):
    """Processors of one Windows processor group."""

    # One bit per processor of the group.
    cpu_mask: int = 0
    cpu_group: int = 0


class WindowsContainerResources(CriMessage, frozen=True, kw_only=True):
    """Limits and weights of a container on Windows."""

    # Weight, 1 to 10000.
    cpu_shares: int = 0
    # Number of processors.
    cpu_count: int = 0
    # Ten-thousandths of all processor time.
    cpu_maximum: int = 0
    memory_limit_in_bytes: int = 0
    rootfs_size_in_bytes: int = 0
    # Processors to run on.
    affinity_cpus: tuple[WindowsCpuGroupAffinity, ...] = ()


class ContainerResources(CriMessage, frozen=True, kw_only=True):
    """The resources in force, for the platform at hand."""

    linux: LinuxContainerResources | None = None
    windows: WindowsContainerResources | None = None


class DNSConfig(CriMessage, frozen=True, kw_only=True):
    """What goes into the resolver configuration of a sandbox."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class PortMapping(CriMessage, frozen=True, kw_only=True):
    """One port of the sandbox published on the host."""

    protocol: Protocol = Protocol.TCP
    container_port: int = 0
    # Zero publishes nothing.
    host_port: int = 0
    # Empty means every address.
    host_ip: str = ""


class PodSandboxMetadata(CriMessage, frozen=True, kw_only=True):
    """Identity of a sandbox: the pod, and which of its incarnations."""

    name: str = ""
    uid: str = ""
    namespace: str = ""
    # Goes up with every sandbox made for the same pod.
    attempt: int = 0


class LinuxPodSandboxConfig(CriMessage, frozen=True, kw_only=True):
    """The Linux part of a sandbox configuration."""

    # Cgroup the pod lives under, in the form of the cgroup driver in use.
    cgroup_parent: str = ""
    security_context: LinuxSandboxSecurityContext | None = None
    sysctls: Mapping[str, str] = {}
    # What the sandbox itself costs, as its RuntimeClass says.
    overhead: LinuxContainerResources | None = None
    # The sum over the containers, without the overhead. May come later by an update.
    resources: LinuxContainerResources | None = None


class WindowsPodSandboxConfig(CriMessage, frozen=True, kw_only=True):
    """The Windows part of a sandbox configuration."""

    security_context: WindowsSandboxSecurityContext | None = None


class PodSandboxConfig(CriMessage, frozen=True, kw_only=True):
    """Everything that is needed to make a sandbox."""

    metadata: PodSandboxMetadata | None = None
    # Empty in the network of the host.
    hostname: str = ""
    # Host directory that `ContainerConfig.log_path` is relative to.
    log_directory: str = ""
    dns_config: DNSConfig | None = None
    port_mappings: tuple[PortMapping, ...] = ()
    # Sent back unchanged, and usable in filters.
    labels: Mapping[str, str] = {}
    # Sent back unchanged. The runtime may act on some of them.
    annotations: Mapping[str, str] = {}
    linux: LinuxPodSandboxConfig | None = None
    windows: WindowsPodSandboxConfig | None = None


class ImageSpec(CriMessage, frozen=True, kw_only=True):
    """An image by name, digest or id, and how the user wrote it."""

    # Name, digest or id. What a container is made from is an id.
    image: str = ""
    annotations: Mapping[str, str] = {}
    # The image as the pod names it.
    user_specified_image: str = ""
    # Handler the image is meant for. Empty means the default one.
    runtime_handler: str = ""
    # Digest reference found when the image was pulled.
    image_ref: str = ""


class KeyValue(CriMessage, frozen=True, kw_only=True):
    """An environment variable."""

    key: str = ""
    # Any bytes except zero; mostly text.
    value: bytes = b""


class Mount(CriMessage, frozen=True, kw_only=True):
    """A place in the container where a directory, file or image of the host appears."""

    # Absolute path inside.
    container_path: str = ""
    # A missing path is made as a directory. A link is followed first. Empty when `image` is set.
    host_path: str = ""
    # Not writable; mounts below it stay as they are unless `recursive_read_only`.
    readonly: bool = False
    # The runtime puts the pod's SELinux label on the files.
    selinux_relabel: bool = False
    propagation: MountPropagation = MountPropagation.PROPAGATION_PRIVATE
    # For an idmapped mount.
    uidMappings: tuple[IDMapping, ...] = ()
    # For an idmapped mount.
    gidMappings: tuple[IDMapping, ...] = ()
    # Mounts below it become read-only too, or the container does not start. Needs `readonly` and PROPAGATION_PRIVATE.
    recursive_read_only: bool = False
    # Mount the contents of this image, which is on the node already.
    image: ImageSpec | None = None
    # Directory within `image`; empty means all of it.
    image_sub_path: str = ""


class Device(CriMessage, frozen=True, kw_only=True):
    """A device node of the host given to a container."""

    container_path: str = ""
    host_path: str = ""
    # Letters of r (read), w (write), m (make node).
    permissions: str = ""


class CDIDevice(CriMessage, frozen=True, kw_only=True):
    """A device by its full Container Device Interface name, `vendor/class=name`."""

    name: str = ""


class ContainerMetadata(CriMessage, frozen=True, kw_only=True):
    """Identity of a container within its sandbox: name and number of the attempt."""

    name: str = ""
    # Goes up with every container of the same name in the pod.
    attempt: int = 0


class LinuxContainerConfig(CriMessage, frozen=True, kw_only=True):
    """The Linux part of a container configuration."""

    resources: LinuxContainerResources | None = None
    security_context: LinuxContainerSecurityContext | None = None


class WindowsContainerConfig(CriMessage, frozen=True, kw_only=True):
    """The Windows part of a container configuration."""

    resources: WindowsContainerResources | None = None
    security_context: WindowsContainerSecurityContext | None = None


class ContainerConfig(CriMessage, frozen=True, kw_only=True):
    """Everything that is needed to make a container."""

    metadata: ContainerMetadata | None = None
    image: ImageSpec | None = None
    # Replaces the entry point of the image.
    command: tuple[str, ...] = ()
    # Replaces the arguments of the image.
    args: tuple[str, ...] = ()
    # Empty takes that of the image.
    working_dir: str = ""
    envs: tuple[KeyValue, ...] = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Device, ...] = ()
    # Sent back unchanged, and usable in filters.
    labels: Mapping[str, str] = {}
    # Sent back unchanged. The runtime may act on some of them.
    annotations: Mapping[str, str] = {}
    # Relative to the log directory of the sandbox.
    log_path: str = ""
    # Keep a standard input open for later attach.
    stdin: bool = False
    # Close that input when the first attached session ends.
    stdin_once: bool = False
    tty: bool = False
    linux: LinuxContainerConfig | None = None
    windows: WindowsContainerConfig | None = None
    # Devices by Container Device Interface name.
    CDI_devices: tuple[CDIDevice, ...] = ()
    # First signal of StopContainer.
    stop_signal: Signal = Signal.RUNTIME_DEFAULT


class CreateContainerRequest(CriMessage, frozen=True, kw_only=True):
    """Make a container in a sandbox, without starting it."""

    pod_sandbox_id: str = ""
    config: ContainerConfig | None = None
    # The configuration the sandbox was made with.
    sandbox_config: PodSandboxConfig | None = None


class CreateContainerResponse(CriMessage, frozen=True, kw_only=True):
    """The id of the container that was made."""

    container_id: str = ""


class StartContainerRequest(CriMessage, frozen=True, kw_only=True):
    """Start a container that was made and never started."""

    container_id: str = ""


class StartContainerResponse(CriMessage, frozen=True, kw_only=True):
    """The container's process has been started."""



class StopContainerRequest(CriMessage, frozen=True, kw_only=True):
    """End a container: its stop signal first, the kill after `timeout` seconds. Stopping twice is no error."""

    container_id: str = ""
    # Seconds from the stop signal to the kill; zero kills at once.
    timeout: int = 0


class StopContainerResponse(CriMessage, frozen=True, kw_only=True):
    """The container is not running any more."""



class RemoveContainerRequest(CriMessage, frozen=True, kw_only=True):
    """Remove a container, by force when it still runs. Removing twice is no error."""

    container_id: str = ""


class RemoveContainerResponse(CriMessage, frozen=True, kw_only=True):
    """The container is gone."""



class ContainerStateValue(CriMessage, frozen=True, kw_only=True):
    """A container state that may also be absent, for filters."""

    state: ContainerState = ContainerState.CONTAINER_CREATED


class ContainerFilter(CriMessage, frozen=True, kw_only=True):
    """Conditions on containers, all of which must hold; an empty one holds always."""

    # Full id, or a prefix of it where the runtime allows that.
    id: str = ""
    state: ContainerStateValue | None = None
    pod_sandbox_id: str = ""
    # Each label must be there with exactly this value.
    label_selector: Mapping[str, str] = {}


class ListContainersRequest(CriMessage, frozen=True, kw_only=True):
    """List containers."""

    filter: ContainerFilter | None = None


class Container(CriMessage, frozen=True, kw_only=True):
    """A container in brief, as lists give it."""

    id: str = ""
    pod_sandbox_id: str = ""
    metadata: ContainerMetadata | None = None
    image: ImageSpec | None = None
    # Digest reference of the image in use, or its id.
    image_ref: str = ""
    state: ContainerState = ContainerState.CONTAINER_CREATED
    # Nanoseconds since 1970.
    created_at: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    # Id of the image in use.
    image_id: str = ""


class ListContainersResponse(CriMessage, frozen=True, kw_only=True):
    """All containers that meet the filter."""

    containers: tuple[Container, ...] = ()


class StreamContainersRequest(CriMessage, frozen=True, kw_only=True):
    """List containers, in parts."""

    filter: ContainerFilter | None = None


class StreamContainersResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the list of containers."""

    containers: tuple[Container, ...] = ()


class LinuxContainerUser(CriMessage, frozen=True, kw_only=True):
    """User and groups the first process of a container started with."""

    uid: int = 0
    gid: int = 0
    # All groups of the process, those from the image included.
    supplemental_groups: tuple[int, ...] = ()


class ContainerUser(CriMessage, frozen=True, kw_only=True):
    """User of a container, for the platform at hand."""

    linux: LinuxContainerUser | None = None


class ContainerStatusRequest(CriMessage, frozen=True, kw_only=True):
    """Look at one container."""

    container_id: str = ""
    # Fill `info` of the answer.
    verbose: bool = False


class ContainerStatus(CriMessage, frozen=True, kw_only=True):
    """A container in full."""

    id: str = ""
    metadata: ContainerMetadata | None = None
    state: ContainerState = ContainerState.CONTAINER_CREATED
    # Nanoseconds since 1970.
    created_at: int = 0
    # Nanoseconds since 1970; zero before the start.
    started_at: int = 0
    # Nanoseconds since 1970; zero before the end.
    finished_at: int = 0
    # Valid once `finished_at` is set.
    exit_code: int = 0
    image: ImageSpec | None = None
    image_ref: str = ""
    # One CamelCase word, such as Completed, Error or OOMKilled.
    reason: str = ""
    # A sentence for people.
    message: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    # Absolute path on the host.
    log_path: str = ""
    # The limits in force. Absent where the runtime does not tell.
    resources: ContainerResources | None = None
    image_id: str = ""
    user: ContainerUser | None = None
    stop_signal: Signal = Signal.RUNTIME_DEFAULT


class ContainerStatusResponse(CriMessage, frozen=True, kw_only=True):
    """The container, and on request what else the runtime knows."""

    status: ContainerStatus | None = None
    # Free text by key, often JSON, for debugging.
    info: Mapping[str, str] = {}


class UpdateContainerResourcesRequest(CriMessage, frozen=True, kw_only=True):
    """Change the resources of a container while it lives."""

    container_id: str = ""
    linux: LinuxContainerResources | None = None
    windows: WindowsContainerResources | None = None
    # Free settings of the runtime.
    annotations: Mapping[str, str] = {}


class UpdateContainerResourcesResponse(CriMessage, frozen=True, kw_only=True):
    """The new resources are in force."""



class ReopenContainerLogRequest(CriMessage, frozen=True, kw_only=True):
    """Have a running container's log written to a fresh file, after the old one was moved away."""

    container_id: str = ""


class ReopenContainerLogResponse(CriMessage, frozen=True, kw_only=True):
    """Output goes to the fresh file."""



class CheckpointContainerRequest(CriMessage, frozen=True, kw_only=True):
    """Write the state of a running container into an archive."""

    container_id: str = ""
    # Path of the archive to write.
    location: str = ""
    # Seconds; zero takes the runtime's default.
    timeout: int = 0


class CheckpointContainerResponse(CriMessage, frozen=True, kw_only=True):
    """The archive is written."""



class RunPodSandboxRequest(CriMessage, frozen=True, kw_only=True):
    """Make and start a sandbox; on success its network is up."""

    config: PodSandboxConfig | None = None
    # Empty takes the default one. An unknown one is an error.
    runtime_handler: str = ""


class RunPodSandboxResponse(CriMessage, frozen=True, kw_only=True):
    """The id of the sandbox that runs."""

    pod_sandbox_id: str = ""


class StopPodSandboxRequest(CriMessage, frozen=True, kw_only=True):
    """End every process of a sandbox and take its network down. Stopping twice is no error."""

    pod_sandbox_id: str = ""


class StopPodSandboxResponse(CriMessage, frozen=True, kw_only=True):
    """The sandbox is stopped."""



class RemovePodSandboxRequest(CriMessage, frozen=True, kw_only=True):
    """Remove a sandbox with all its containers, by force. Removing twice is no error."""

    pod_sandbox_id: str = ""


class RemovePodSandboxResponse(CriMessage, frozen=True, kw_only=True):
    """The sandbox is gone."""



class PodSandboxStateValue(CriMessage, frozen=True, kw_only=True):
    """A sandbox state that may also be absent, for filters."""

    state: PodSandboxState = PodSandboxState.SANDBOX_READY


class PodSandboxFilter(CriMessage, frozen=True, kw_only=True):
    """Conditions on sandboxes, all of which must hold; an empty one holds always."""

    # Full id, or a prefix of it where the runtime allows that.
    id: str = ""
    state: PodSandboxStateValue | None = None
    # Each label must be there with exactly this value.
    label_selector: Mapping[str, str] = {}


class ListPodSandboxRequest(CriMessage, frozen=True, kw_only=True):
    """List sandboxes."""

    filter: PodSandboxFilter | None = None


class PodSandbox(CriMessage, frozen=True, kw_only=True):
    """A sandbox in brief, as lists give it."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    state: PodSandboxState = PodSandboxState.SANDBOX_READY
    # Nanoseconds since 1970.
    created_at: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    runtime_handler: str = ""


class ListPodSandboxResponse(CriMessage, frozen=True, kw_only=True):
    """All sandboxes that meet the filter."""

    items: tuple[PodSandbox, ...] = ()


class StreamPodSandboxesRequest(CriMessage, frozen=True, kw_only=True):
    """List sandboxes, in parts."""

    filter: PodSandboxFilter | None = None


class StreamPodSandboxesResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the list of sandboxes."""

    pod_sandboxes: tuple[PodSandbox, ...] = ()


class PodIP(CriMessage, frozen=True, kw_only=True):
    """One address of a pod."""

    ip: str = ""


class PodSandboxNetworkStatus(CriMessage, frozen=True, kw_only=True):
    """The addresses of a sandbox; none for a sandbox in the network of the host."""

    # First address.
    ip: str = ""
    # The other addresses, such as that of the second IP family.
    additional_ips: tuple[PodIP, ...] = ()


class Namespace(CriMessage, frozen=True, kw_only=True):
    """The namespaces of a sandbox."""

    options: NamespaceOption | None = None


class LinuxPodSandboxStatus(CriMessage, frozen=True, kw_only=True):
    """The Linux part of a sandbox status."""

    namespaces: Namespace | None = None


class PodSandboxStatusRequest(CriMessage, frozen=True, kw_only=True):
    """Look at one sandbox."""

    pod_sandbox_id: str = ""
    # Fill `info` of the answer.
    verbose: bool = False


class PodSandboxStatus(CriMessage, frozen=True, kw_only=True):
    """A sandbox in full."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    state: PodSandboxState = PodSandboxState.SANDBOX_READY
    # Nanoseconds since 1970; never zero.
    created_at: int = 0
    network: PodSandboxNetworkStatus | None = None
    linux: LinuxPodSandboxStatus | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    runtime_handler: str = ""


class PodSandboxStatusResponse(CriMessage, frozen=True, kw_only=True):
    """The sandbox, its containers where the runtime serves events, and on request what else it knows."""

    status: PodSandboxStatus | None = None
    # Free text by key, often JSON, for debugging.
    info: Mapping[str, str] = {}
    # Only where container events are served.
    containers_statuses: tuple[ContainerStatus, ...] = ()
    # When the above was true, nanoseconds since 1970. Only where container events are served.
    timestamp: int = 0


class UpdatePodSandboxResourcesRequest(CriMessage, frozen=True, kw_only=True):
    """Tell the runtime the new resources of a whole sandbox."""

    pod_sandbox_id: str = ""
    overhead: LinuxContainerResources | None = None
    resources: LinuxContainerResources | None = None


class UpdatePodSandboxResourcesResponse(CriMessage, frozen=True, kw_only=True):
    """The runtime has taken note."""



class ExecSyncRequest(CriMessage, frozen=True, kw_only=True):
    """Run a command in a container, wait for its end and collect its output."""

    container_id: str = ""
    cmd: tuple[str, ...] = ()
    # Seconds until the command is killed; zero waits for ever.
    timeout: int = 0


class ExecSyncResponse(CriMessage, frozen=True, kw_only=True):
    """What the command wrote, and how it ended."""

    # Runtimes cut it at 16 MiB.
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


class ExecRequest(CriMessage, frozen=True, kw_only=True):
    """Prepare a streaming session with a new command in a container."""

    container_id: str = ""
    cmd: tuple[str, ...] = ()
    # With a terminal there is no separate `stderr`.
    tty: bool = False
    # At least one of the three streams must be asked for.
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False


class ExecResponse(CriMessage, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""


class AttachRequest(CriMessage, frozen=True, kw_only=True):
    """Prepare a streaming session with the first process of a container."""

    container_id: str = ""
    stdin: bool = False
    # Must be what the container was made with.
    tty: bool = False
    stdout: bool = False
    stderr: bool = False


class AttachResponse(CriMessage, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""


class PortForwardRequest(CriMessage, frozen=True, kw_only=True):
    """Prepare a session that forwards ports of a sandbox."""

    pod_sandbox_id: str = ""
    # Ports inside the sandbox.
    port: tuple[int, ...] = ()


class PortForwardResponse(CriMessage, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""


class ImageFilter(CriMessage, frozen=True, kw_only=True):
    """Condition on images; an empty one holds always."""

    # Only this image.
    image: ImageSpec | None = None


class ListImagesRequest(CriMessage, frozen=True, kw_only=True):
    """List images."""

    filter: ImageFilter | None = None


class Image(CriMessage, frozen=True, kw_only=True):
    """An image on the node."""

    id: str = ""
    # Names with tag by which it is known.
    repo_tags: tuple[str, ...] = ()
    # Names with digest by which it is known.
    repo_digests: tuple[str, ...] = ()
    # Bytes on disk.
    size: int = 0
    # User of the image, when it is a number.
    uid: Int64Value | None = None
    # User of the image, when it is a name.
    username: str = ""
    spec: ImageSpec | None = None
    # Must not be removed by garbage collection.
    pinned: bool = False


class ListImagesResponse(CriMessage, frozen=True, kw_only=True):
    """All images that meet the filter."""

    images: tuple[Image, ...] = ()


class StreamImagesRequest(CriMessage, frozen=True, kw_only=True):
    """List images, in parts."""

    filter: ImageFilter | None = None


class StreamImagesResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the list of images."""

    images: tuple[Image, ...] = ()


class ImageStatusRequest(CriMessage, frozen=True, kw_only=True):
    """Look at one image."""

    image: ImageSpec | None = None
    # Fill `info` of the answer.
    verbose: bool = False


class ImageStatusResponse(CriMessage, frozen=True, kw_only=True):
    """The image, or none when it is not on the node."""

    image: Image | None = None
    # Free text by key, often JSON, for debugging.
    info: Mapping[str, str] = {}


class AuthConfig(SecretMessage, frozen=True, kw_only=True):
    """Credentials for a registry. Secret: never logged."""

    username: str = ""
    password: str = ""
    # Base64 of username:password.
    auth: str = ""
    server_address: str = ""
    # Exchanged for a registry token.
    identity_token: str = ""
    # Sent to the registry as bearer token.
    registry_token: str = ""
    secret_fields: ClassVar[tuple[str, ...]] = ('username', 'password', 'auth', 'identity_token', 'registry_token')


class PullImageRequest(CriMessage, frozen=True, kw_only=True):
    """Bring an image onto the node."""

    image: ImageSpec | None = None
    auth: AuthConfig | None = None
    # Sandbox it is pulled for.
    sandbox_config: PodSandboxConfig | None = None


class PullImageResponse(CriMessage, frozen=True, kw_only=True):
    """The image is on the node."""

    # Digest reference or id, as later in ContainerStatus.
    image_ref: str = ""


class RemoveImageRequest(CriMessage, frozen=True, kw_only=True):
    """Remove an image with all its names. Removing twice is no error."""

    image: ImageSpec | None = None


class RemoveImageResponse(CriMessage, frozen=True, kw_only=True):
    """The image is gone."""



class FilesystemIdentifier(CriMessage, frozen=True, kw_only=True):
    """A file system, by where it is mounted."""

    mountpoint: str = ""


class FilesystemUsage(CriMessage, frozen=True, kw_only=True):
    """What is used of a file system."""

    # Nanoseconds since 1970.
    timestamp: int = 0
    fs_id: FilesystemIdentifier | None = None
    used_bytes: UInt64Value | None = None
    # Absent where the file system does not count them.
    inodes_used: UInt64Value | None = None


class WindowsFilesystemUsage(CriMessage, frozen=True, kw_only=True):
    """What is used of a file system on Windows."""

    timestamp: int = 0
    fs_id: FilesystemIdentifier | None = None
    used_bytes: UInt64Value | None = None


class ImageFsInfoRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the file systems of images and of writable layers."""



class ImageFsInfoResponse(CriMessage, frozen=True, kw_only=True):
    """The file systems of images and of writable layers."""

    # Where image layers lie.
    image_filesystems: tuple[FilesystemUsage, ...] = ()
    # Where writable layers lie; the same one in most set-ups.
    container_filesystems: tuple[FilesystemUsage, ...] = ()


class PsiData(CriMessage, frozen=True, kw_only=True):
    """Share of time something waited for a resource: total in microseconds, averages in percent."""

    # Microseconds.
    Total: int = 0
    # Percent over the last 10 seconds.
    Avg10: float = 0.0
    # Percent over the last minute.
    Avg60: float = 0.0
    # Percent over the last 5 minutes.
    Avg300: float = 0.0


class PsiStats(CriMessage, frozen=True, kw_only=True):
    """Pressure: time in which all tasks stood still, and time in which at least one did."""

    # All tasks waited.
    Full: PsiData | None = None
    # At least one task waited.
    Some: PsiData | None = None


class CpuUsage(CriMessage, frozen=True, kw_only=True):
    """Processor time used."""

    timestamp: int = 0
    # Sum over all processors since the start.
    usage_core_nano_seconds: UInt64Value | None = None
    # Rate: 1000000000 is one processor busy.
    usage_nano_cores: UInt64Value | None = None
    psi: PsiStats | None = None


class WindowsCpuUsage(CriMessage, frozen=True, kw_only=True):
    """Processor time used, on Windows."""

    timestamp: int = 0
    usage_core_nano_seconds: UInt64Value | None = None
    usage_nano_cores: UInt64Value | None = None


class MemoryUsage(CriMessage, frozen=True, kw_only=True):
    """Memory used."""

    timestamp: int = 0
    # What cannot be taken back; eviction looks at this.
    working_set_bytes: UInt64Value | None = None
    # Limit minus working set; absent without a limit.
    available_bytes: UInt64Value | None = None
    # All, caches included.
    usage_bytes: UInt64Value | None = None
    rss_bytes: UInt64Value | None = None
    page_faults: UInt64Value | None = None
    major_page_faults: UInt64Value | None = None
    psi: PsiStats | None = None


class WindowsMemoryUsage(CriMessage, frozen=True, kw_only=True):
    """Memory used, on Windows."""

    timestamp: int = 0
    working_set_bytes: UInt64Value | None = None
    available_bytes: UInt64Value | None = None
    page_faults: UInt64Value | None = None
    commit_memory_bytes: UInt64Value | None = None


class SwapUsage(CriMessage, frozen=True, kw_only=True):
    """Swap used."""

    timestamp: int = 0
    swap_available_bytes: UInt64Value | None = None
    swap_usage_bytes: UInt64Value | None = None


class IoUsage(CriMessage, frozen=True, kw_only=True):
    """Pressure on block devices."""

    timestamp: int = 0
    psi: PsiStats | None = None


class NetworkInterfaceUsage(CriMessage, frozen=True, kw_only=True):
    """Traffic of one interface."""

    name: str = ""
    rx_bytes: UInt64Value | None = None
    rx_errors: UInt64Value | None = None
    tx_bytes: UInt64Value | None = None
    tx_errors: UInt64Value | None = None


class WindowsNetworkInterfaceUsage(CriMessage, frozen=True, kw_only=True):
    """Traffic of one interface, on Windows."""

    name: str = ""
    rx_bytes: UInt64Value | None = None
    rx_packets_dropped: UInt64Value | None = None
    tx_bytes: UInt64Value | None = None
    tx_packets_dropped: UInt64Value | None = None


class NetworkUsage(CriMessage, frozen=True, kw_only=True):
    """Traffic of a sandbox."""

    timestamp: int = 0
    default_interface: NetworkInterfaceUsage | None = None
    interfaces: tuple[NetworkInterfaceUsage, ...] = ()


class WindowsNetworkUsage(CriMessage, frozen=True, kw_only=True):
    """Traffic of a sandbox, on Windows."""

    timestamp: int = 0
    default_interface: WindowsNetworkInterfaceUsage | None = None
    interfaces: tuple[WindowsNetworkInterfaceUsage, ...] = ()


class ProcessUsage(CriMessage, frozen=True, kw_only=True):
    """Processes of a sandbox."""

    timestamp: int = 0
    process_count: UInt64Value | None = None


class WindowsProcessUsage(CriMessage, frozen=True, kw_only=True):
    """Processes of a sandbox, on Windows."""

    timestamp: int = 0
    process_count: UInt64Value | None = None


class ContainerAttributes(CriMessage, frozen=True, kw_only=True):
    """Whose stats these are."""

    id: str = ""
    metadata: ContainerMetadata | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class ContainerStats(CriMessage, frozen=True, kw_only=True):
    """What a container has used."""

    attributes: ContainerAttributes | None = None
    cpu: CpuUsage | None = None
    memory: MemoryUsage | None = None
    # Absent for containers that are not running in some runtimes.
    writable_layer: FilesystemUsage | None = None
    swap: SwapUsage | None = None
    io: IoUsage | None = None


class WindowsContainerStats(CriMessage, frozen=True, kw_only=True):
    """What a container has used, on Windows."""

    attributes: ContainerAttributes | None = None
    cpu: WindowsCpuUsage | None = None
    memory: WindowsMemoryUsage | None = None
    writable_layer: WindowsFilesystemUsage | None = None


class ContainerStatsFilter(CriMessage, frozen=True, kw_only=True):
    """Conditions on containers whose stats are asked for."""

    id: str = ""
    pod_sandbox_id: str = ""
    label_selector: Mapping[str, str] = {}


class ContainerStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of one container."""

    container_id: str = ""


class ContainerStatsResponse(CriMessage, frozen=True, kw_only=True):
    """The stats of one container."""

    stats: ContainerStats | None = None


class ListContainerStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of containers."""

    filter: ContainerStatsFilter | None = None


class ListContainerStatsResponse(CriMessage, frozen=True, kw_only=True):
    """The stats of containers."""

    stats: tuple[ContainerStats, ...] = ()


class StreamContainerStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of containers, in parts."""

    filter: ContainerStatsFilter | None = None


class StreamContainerStatsResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the stats of containers."""

    container_stats: tuple[ContainerStats, ...] = ()


class PodSandboxAttributes(CriMessage, frozen=True, kw_only=True):
    """Whose stats these are."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class LinuxPodSandboxStats(CriMessage, frozen=True, kw_only=True):
    """What a sandbox and its containers have used, on Linux."""

    cpu: CpuUsage | None = None
    memory: MemoryUsage | None = None
    network: NetworkUsage | None = None
    process: ProcessUsage | None = None
    containers: tuple[ContainerStats, ...] = ()
    io: IoUsage | None = None


class WindowsPodSandboxStats(CriMessage, frozen=True, kw_only=True):
    """What a sandbox and its containers have used, on Windows."""

    cpu: WindowsCpuUsage | None = None
    memory: WindowsMemoryUsage | None = None
    network: WindowsNetworkUsage | None = None
    process: WindowsProcessUsage | None = None
    containers: tuple[WindowsContainerStats, ...] = ()


class PodSandboxStats(CriMessage, frozen=True, kw_only=True):
    """What a sandbox has used, for the platform at hand."""

    attributes: PodSandboxAttributes | None = None
    linux: LinuxPodSandboxStats | None = None
    windows: WindowsPodSandboxStats | None = None


class PodSandboxStatsFilter(CriMessage, frozen=True, kw_only=True):
    """Conditions on sandboxes whose stats are asked for."""

    id: str = ""
    label_selector: Mapping[str, str] = {}


class PodSandboxStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of one sandbox."""

    pod_sandbox_id: str = ""


class PodSandboxStatsResponse(CriMessage, frozen=True, kw_only=True):
    """The stats of one sandbox."""

    stats: PodSandboxStats | None = None


class ListPodSandboxStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of sandboxes."""

    filter: PodSandboxStatsFilter | None = None


class ListPodSandboxStatsResponse(CriMessage, frozen=True, kw_only=True):
    """The stats of sandboxes."""

    stats: tuple[PodSandboxStats, ...] = ()


class StreamPodSandboxStatsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the stats of sandboxes, in parts."""

    filter: PodSandboxStatsFilter | None = None


class StreamPodSandboxStatsResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the stats of sandboxes."""

    pod_sandbox_stats: tuple[PodSandboxStats, ...] = ()


class MetricDescriptor(CriMessage, frozen=True, kw_only=True):
    """Name, help and label keys of a metric the runtime will report."""

    name: str = ""
    help: str = ""
    # In the order of `Metric.label_values`.
    label_keys: tuple[str, ...] = ()


class ListMetricDescriptorsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask which metrics the runtime reports."""



class ListMetricDescriptorsResponse(CriMessage, frozen=True, kw_only=True):
    """The metrics the runtime reports."""

    descriptors: tuple[MetricDescriptor, ...] = ()


class Metric(CriMessage, frozen=True, kw_only=True):
    """One reading of a metric."""

    name: str = ""
    # Nanoseconds since 1970; zero means just now.
    timestamp: int = 0
    metric_type: MetricType = MetricType.COUNTER
    # In the order of `MetricDescriptor.label_keys`.
    label_values: tuple[str, ...] = ()
    value: UInt64Value | None = None


class ContainerMetrics(CriMessage, frozen=True, kw_only=True):
    """The readings of one container."""

    container_id: str = ""
    metrics: tuple[Metric, ...] = ()


class PodSandboxMetrics(CriMessage, frozen=True, kw_only=True):
    """The readings of one sandbox and its containers."""

    pod_sandbox_id: str = ""
    metrics: tuple[Metric, ...] = ()
    container_metrics: tuple[ContainerMetrics, ...] = ()


class ListPodSandboxMetricsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the readings of all sandboxes."""



class ListPodSandboxMetricsResponse(CriMessage, frozen=True, kw_only=True):
    """The readings of all sandboxes."""

    pod_metrics: tuple[PodSandboxMetrics, ...] = ()


class StreamPodSandboxMetricsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the readings of all sandboxes, in parts."""



class StreamPodSandboxMetricsResponse(CriMessage, frozen=True, kw_only=True):
    """A part of the readings of all sandboxes."""

    pod_sandbox_metrics: tuple[PodSandboxMetrics, ...] = ()


class VersionRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the versions of runtime and interface."""

    # Version of the interface the caller speaks.
    version: str = ""


class VersionResponse(CriMessage, frozen=True, kw_only=True):
    """The versions of runtime and interface."""

    # Version of the interface that is spoken. The agent requires 0.1.0 (spec 3.14).
    version: str = ""
    # Such as containerd.
    runtime_name: str = ""
    runtime_version: str = ""
    # Free text; containerd says v1.
    runtime_api_version: str = ""


class RuntimeCondition(CriMessage, frozen=True, kw_only=True):
    """One thing that must be so for pods to run; `RuntimeReady` and `NetworkReady` are always given."""

    # Such as RuntimeReady or NetworkReady.
    type: str = ""
    status: bool = False
    # One CamelCase word.
    reason: str = ""
    # A sentence for people.
    message: str = ""


class RuntimeStatus(CriMessage, frozen=True, kw_only=True):
    """The conditions of the runtime."""

    conditions: tuple[RuntimeCondition, ...] = ()


class RuntimeHandlerFeatures(CriMessage, frozen=True, kw_only=True):
    """What one runtime handler is able to do."""

    # Honours `Mount.recursive_read_only`.
    recursive_read_only_mounts: bool = False
    # Honours `NamespaceOption.userns_options`.
    user_namespaces: bool = False


class RuntimeHandler(CriMessage, frozen=True, kw_only=True):
    """A way to run pods, as a RuntimeClass names it; the default one has the empty name."""

    name: str = ""
    features: RuntimeHandlerFeatures | None = None


class RuntimeFeatures(CriMessage, frozen=True, kw_only=True):
    """What the runtime is able to do whatever the handler."""

    # Honours the policy, and tells `ContainerStatus.user`.
    supplemental_groups_policy: bool = False
    # A user namespace together with the network of the host.
    user_namespaces_host_network: bool = False


class StatusRequest(CriMessage, frozen=True, kw_only=True):
    """Ask how the runtime is."""

    # Fill `info` of the answer.
    verbose: bool = False


class StatusResponse(CriMessage, frozen=True, kw_only=True):
    """How the runtime is and what it is able to do."""

    status: RuntimeStatus | None = None
    # Free text by key, often JSON, for debugging.
    info: Mapping[str, str] = {}
    runtime_handlers: tuple[RuntimeHandler, ...] = ()
    features: RuntimeFeatures | None = None


class NetworkConfig(CriMessage, frozen=True, kw_only=True):
    """Network settings of the node."""

    # Addresses for pods of this node; several separated by commas.
    pod_cidr: str = ""


class RuntimeConfig(CriMessage, frozen=True, kw_only=True):
    """Settings the node agent gives to the runtime."""

    network_config: NetworkConfig | None = None


class UpdateRuntimeConfigRequest(CriMessage, frozen=True, kw_only=True):
    """Give settings to the runtime."""

    runtime_config: RuntimeConfig | None = None


class UpdateRuntimeConfigResponse(CriMessage, frozen=True, kw_only=True):
    """The runtime has taken the settings."""



class LinuxRuntimeConfiguration(CriMessage, frozen=True, kw_only=True):
    """Settings of the runtime that the node agent must follow, on Linux."""

    cgroup_driver: CgroupDriver = CgroupDriver.SYSTEMD


class RuntimeConfigRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for the settings the node agent must follow."""



class RuntimeConfigResponse(CriMessage, frozen=True, kw_only=True):
    """The settings the node agent must follow."""

    linux: LinuxRuntimeConfiguration | None = None


class GetEventsRequest(CriMessage, frozen=True, kw_only=True):
    """Ask for container events, from now on."""



class ContainerEventResponse(CriMessage, frozen=True, kw_only=True):
    """Something happened to a container, and how its pod looks after it."""

    container_id: str = ""
    container_event_type: ContainerEventType = ContainerEventType.CONTAINER_CREATED_EVENT
    # Nanoseconds since 1970.
    created_at: int = 0
    # The sandbox after the event.
    pod_sandbox_status: PodSandboxStatus | None = None
    # All containers of the sandbox after the event.
    containers_statuses: tuple[ContainerStatus, ...] = ()


__all__ = [
    "AttachRequest",
    "AttachResponse",
    "AuthConfig",
    "CDIDevice",
    "Capability",
    "CgroupDriver",
    "CheckpointContainerRequest",
    "CheckpointContainerResponse",
    "Container",
    "ContainerAttributes",
    "ContainerConfig",
    "ContainerEventResponse",
    "ContainerEventType",
    "ContainerFilter",
    "ContainerMetadata",
    "ContainerMetrics",
    "ContainerResources",
    "ContainerState",
    "ContainerStateValue",
    "ContainerStats",
    "ContainerStatsFilter",
    "ContainerStatsRequest",
    "ContainerStatsResponse",
    "ContainerStatus",
    "ContainerStatusRequest",
    "ContainerStatusResponse",
    "ContainerUser",
    "CpuUsage",
    "CreateContainerRequest",
    "CreateContainerResponse",
    "CriMessage",
    "DNSConfig",
    "Device",
    "ExecRequest",
    "ExecResponse",
    "ExecSyncRequest",
    "ExecSyncResponse",
    "FilesystemIdentifier",
    "FilesystemUsage",
    "GetEventsRequest",
    "HugepageLimit",
    "IDMapping",
    "Image",
    "ImageFilter",
    "ImageFsInfoRequest",
    "ImageFsInfoResponse",
    "ImageSpec",
    "ImageStatusRequest",
    "ImageStatusResponse",
    "Int64Value",
    "IoUsage",
    "KeyValue",
    "LinuxContainerConfig",
    "LinuxContainerResources",
    "LinuxContainerSecurityContext",
    "LinuxContainerUser",
    "LinuxPodSandboxConfig",
    "LinuxPodSandboxStats",
    "LinuxPodSandboxStatus",
    "LinuxRuntimeConfiguration",
    "LinuxSandboxSecurityContext",
    "ListContainerStatsRequest",
    "ListContainerStatsResponse",
    "ListContainersRequest",
    "ListContainersResponse",
    "ListImagesRequest",
    "ListImagesResponse",
    "ListMetricDescriptorsRequest",
    "ListMetricDescriptorsResponse",
    "ListPodSandboxMetricsRequest",
    "ListPodSandboxMetricsResponse",
    "ListPodSandboxRequest",
    "ListPodSandboxResponse",
    "ListPodSandboxStatsRequest",
    "ListPodSandboxStatsResponse",
    "MemoryUsage",
    "Metric",
    "MetricDescriptor",
    "MetricType",
    "Mount",
    "MountPropagation",
    "Namespace",
    "NamespaceMode",
    "NamespaceOption",
    "NetworkConfig",
    "NetworkInterfaceUsage",
    "NetworkUsage",
    "OpenEnum",
    "PodIP",
    "PodSandbox",
    "PodSandboxAttributes",
    "PodSandboxConfig",
    "PodSandboxFilter",
    "PodSandboxMetadata",
    "PodSandboxMetrics",
    "PodSandboxNetworkStatus",
    "PodSandboxState",
    "PodSandboxStateValue",
    "PodSandboxStats",
    "PodSandboxStatsFilter",
    "PodSandboxStatsRequest",
    "PodSandboxStatsResponse",
    "PodSandboxStatus",
    "PodSandboxStatusRequest",
    "PodSandboxStatusResponse",
    "PortForwardRequest",
    "PortForwardResponse",
    "PortMapping",
    "ProcessUsage",
    "ProfileType",
    "Protocol",
    "PsiData",
    "PsiStats",
    "PullImageRequest",
    "PullImageResponse",
    "RemoveContainerRequest",
    "RemoveContainerResponse",
    "RemoveImageRequest",
    "RemoveImageResponse",
    "RemovePodSandboxRequest",
    "RemovePodSandboxResponse",
    "ReopenContainerLogRequest",
    "ReopenContainerLogResponse",
    "RunPodSandboxRequest",
    "RunPodSandboxResponse",
    "RuntimeCondition",
    "RuntimeConfig",
    "RuntimeConfigRequest",
    "RuntimeConfigResponse",
    "RuntimeFeatures",
    "RuntimeHandler",
    "RuntimeHandlerFeatures",
    "RuntimeStatus",
    "SELinuxOption",
    "SecurityProfile",
    "Signal",
    "StartContainerRequest",
    "StartContainerResponse",
    "StatusRequest",
    "StatusResponse",
    "StopContainerRequest",
    "StopContainerResponse",
    "StopPodSandboxRequest",
    "StopPodSandboxResponse",
    "StreamContainerStatsRequest",
    "StreamContainerStatsResponse",
    "StreamContainersRequest",
    "StreamContainersResponse",
    "StreamImagesRequest",
    "StreamImagesResponse",
    "StreamPodSandboxMetricsRequest",
    "StreamPodSandboxMetricsResponse",
    "StreamPodSandboxStatsRequest",
    "StreamPodSandboxStatsResponse",
    "StreamPodSandboxesRequest",
    "StreamPodSandboxesResponse",
    "SupplementalGroupsPolicy",
    "SwapUsage",
    "UInt64Value",
    "UpdateContainerResourcesRequest",
    "UpdateContainerResourcesResponse",
    "UpdatePodSandboxResourcesRequest",
    "UpdatePodSandboxResourcesResponse",
    "UpdateRuntimeConfigRequest",
    "UpdateRuntimeConfigResponse",
    "UserNamespace",
    "VersionRequest",
    "VersionResponse",
    "WindowsContainerConfig",
    "WindowsContainerResources",
    "WindowsContainerSecurityContext",
    "WindowsContainerStats",
    "WindowsCpuGroupAffinity",
    "WindowsCpuUsage",
    "WindowsFilesystemUsage",
    "WindowsMemoryUsage",
    "WindowsNamespaceOption",
    "WindowsNetworkInterfaceUsage",
    "WindowsNetworkUsage",
    "WindowsPodSandboxConfig",
    "WindowsPodSandboxStats",
    "WindowsProcessUsage",
    "WindowsSandboxSecurityContext",
]
