"""The CRI messages that make a pod's sandbox and its containers (spec 3.8, 3.9). Pure.

Most of a message follows from the spec, the node and a few facts. That part is computed once for all pods that share
them.

A step that cannot do what the pod asks raises `ContainerRefusedError`. Its text is the message of the waiting reason
`CreateContainerConfigError`.

An ephemeral container sees the processes of its target through the id of the target's running container; one that has
ended has none (spec 3.7). The termination message of an attempt has a fixed file name. So a container that is created
again after the agent was killed finds the same file, and no attempt reads the message of another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from actors.model.expansion import ExpansionTooLongError, expand_all
from actors.model.id_ranges import IdRange
from actors.model.observed import ObservedContainer, ObservedPod
from actors.model.refusal import ContainerRefusedError
from actors.start.devices import NO_SETUP, setup_cdi, setup_devices, setup_mounts
from actors.start.environment import NO_SOURCES, Sources, environment, outline_of
from actors.start.mounts import MountAbilities, VolumesInside, agent_volumes, container_devices, container_mounts
from actors.start.names import pod_hostname
from actors.start.resources import ResourceRules, container_resources, pod_overhead, pod_sum
from actors.start.security import apparmor_note, container_security, sandbox_security
from actors.start.shares import NO_SHARE, ContainerShare, with_share, without_quota
from config.objects import Container, EphemeralContainer, Pod
from config.pods.identity import is_critical, is_sidecar
from config.pods.once_per_spec import OncePerSpecAnd
from runtime.cri.identity import container_annotations, container_labels, pod_labels
from runtime.cri.messages import (
    CDIDevice,
    ContainerConfig,
    ContainerMetadata,
    DNSConfig,
    Image,
    ImageSpec,
    KeyValue,
    LinuxContainerConfig,
    LinuxContainerResources,
    LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext,
    PodSandboxConfig,
    PodSandboxMetadata,
    PortMapping,
    Protocol,
    Signal,
)
from runtime.device_plugins.capability import DeviceSetup
from runtime.logs.pod_logs import log_path

MESSAGE_LIMIT_BYTES = 4096
"""The part of a termination message that is read: its end."""
POD_LIMIT_BYTES = 12 * 1024
"""The limit for all messages of a pod together: its status must fit into the API (spec 4.5)."""
LOG_TAIL_LINES = 80
LOG_TAIL_BYTES = 2048
_PROTOCOLS = {"TCP": Protocol.TCP, "UDP": Protocol.UDP, "SCTP": Protocol.SCTP}
_DEFAULT_RULES = ResourceRules()


def sandbox_config(
    pod: Pod,
    attempt: int,
    log_directory: str,
    *,
    cluster_domain: str = "",
    dns: DNSConfig | None = None,
    cgroup_parent: str = "",
    rules: ResourceRules = _DEFAULT_RULES,
    ids: IdRange | None = None,
    no_quota: bool = False,
) -> PodSandboxConfig:
    """`dns` None: the runtime chooses the resolver.

    `cgroup_parent` empty: the runtime chooses the cgroup. `ids`: of the pod's user namespace. `no_quota`: it has CPUs
    for itself.

    Raises ContainerRefusedError for what this agent cannot honour.
    """
    meta = pod.metadata
    of_spec = _of_specs.of(pod.spec, (rules,), ids, lambda: _of_spec(pod, rules, ids))
    return PodSandboxConfig(
        metadata=PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace, attempt=attempt),
        hostname=pod_hostname(pod, cluster_domain),
        log_directory=log_directory,
        dns_config=dns,
        port_mappings=of_spec.ports,
        labels={**meta.labels, **pod_labels(pod)},
        annotations=meta.annotations,
        linux=LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            security_context=of_spec.security,
            sysctls=of_spec.sysctls,
            overhead=of_spec.overhead,
            resources=without_quota(of_spec.resources) if no_quota else of_spec.resources,
        ),
    )


class _OfSpec(msgspec.Struct, frozen=True):
    """The values that all pods of one spec share, and so all sandboxes of one pod."""

    ports: tuple[PortMapping, ...]
    security: LinuxSandboxSecurityContext
    sysctls: Mapping[str, str]
    overhead: LinuxContainerResources
    resources: LinuxContainerResources


_of_specs: OncePerSpecAnd[_OfSpec] = OncePerSpecAnd()


def _of_spec(pod: Pod, rules: ResourceRules, ids: IdRange | None) -> _OfSpec:
    security = pod.spec.security_context
    return _OfSpec(
        ports=port_mappings(pod),
        security=sandbox_security(pod, ids),
        sysctls={dotted(each.name): each.value for each in security.sysctls} if security is not None else {},
        overhead=pod_overhead(pod, rules),
        resources=pod_sum(pod, rules),
    )


def port_mappings(pod: Pod) -> tuple[PortMapping, ...]:
    """The ports of regular containers and sidecars. If a name or port occurs twice, the first one counts."""
    if pod.spec.host_network:
        return ()
    mappings: list[PortMapping] = []
    seen: set[object] = set()
    for container in (*pod.spec.containers, *(each for each in pod.spec.init_containers if is_sidecar(each))):
        for port in container.ports:
            protocol = _PROTOCOLS.get(port.protocol or "TCP", Protocol.TCP)
            key: object = (
                (container.name, port.name)
                if port.name
                else (protocol, port.container_port, port.host_port, port.host_ip)
            )
            if key in seen:
                continue
            seen.add(key)
            mappings.append(
                PortMapping(
                    protocol=protocol,
                    container_port=port.container_port,
                    host_port=port.host_port or 0,
                    host_ip=port.host_ip or "",
                )
            )
    return tuple(mappings)


def dotted(name: str) -> str:
    """The name of a sysctl with dots between its words.

    The first separator decides: after a slash, dots are part of a word.
    """
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


class ContainerNodeRules(msgspec.Struct, frozen=True):
    """The facts of the node that a container's configuration depends on. One value for all containers."""

    root_directory: str
    resources: ResourceRules = ResourceRules()
    seccomp_default: bool = False
    thermal_paths: tuple[str, ...] = ()
    env_files: bool = True
    """Whether variables are taken from files (feature gate EnvFiles)."""
    stop_signals: bool = False
    """Whether pods choose their stop signals (feature gate ContainerStopSignals)."""
    restart_all: bool = True
    """Whether one container's end may restart all (feature gate RestartAllContainersOnContainerExits)."""
    device_messages: bool = True
    """Whether a status shows the words of drivers (feature gate ResourceHealthStatusMessage)."""
    image_volume_refs: bool = False
    """Whether a status shows the ids of images in volumes (feature gate ImageVolumeWithDigest)."""


class Making(msgspec.Struct, frozen=True):
    """The facts of one container that is being created.

    `image`: as found on the node. `host_paths`: volume name -> host path.

    `foreign`: names of volumes whose files keep their SELinux labels. `sub_paths`: index of the mount -> host path, for
    parts of volumes; `volume_images`: volume name -> image. `back_off_ns`: from its `Start`. `target_id`: of the target
    of an ephemeral container. `recursive_read_only`: whether the runtime can make mounts so.
    """

    attempt: int
    sandbox_attempt: int
    image: Image
    host_paths: Mapping[str, str] = {}
    foreign: frozenset[str] = frozenset()
    sub_paths: Mapping[int, str] = {}
    volume_images: Mapping[str, ImageSpec] = {}
    mount_abilities: MountAbilities = MountAbilities()
    back_off_ns: int = 0
    sources: Sources = NO_SOURCES
    hosts_file: str = ""
    target_id: str = ""
    ids: IdRange | None = None
    """The ids of the pod's user namespace."""
    share: ContainerShare = NO_SHARE
    setup: DeviceSetup = NO_SETUP
    """For its devices of plugins."""
    claimed: tuple[CDIDevice, ...] = ()
    """The devices of its claims."""


def container_config(pod: Pod, container: Container, making: Making, node: ContainerNodeRules) -> ContainerConfig:
    """The whole message. Raises ContainerRefusedError."""
    outline = outline_of(pod, container)
    path = outline.path
    own = environment(pod, container, path, making.sources)
    variables = {**making.setup.env, **own} if making.setup.env else own
    file = message_file(pod, container, making.attempt, node)
    notes = container_annotations(
        pod, outline.notes, making.attempt, termination_file=file, back_off_ns=making.back_off_ns
    )
    return ContainerConfig(
        metadata=ContainerMetadata(name=container.name, attempt=making.attempt),
        image=ImageSpec(image=making.image.id or container.image, user_specified_image=container.image),
        command=_words(container.command, variables, f"{path}.command"),
        args=_words(container.args, variables, f"{path}.args"),
        working_dir=container.working_dir or "",
        envs=_envs(variables) if making.setup.env else _envs_of(pod, container, variables, making.sources),
        mounts=(setup_mounts(making.setup) if making.setup.mounts else ())
        + container_mounts(
            container,
            path,
            VolumesInside(
                paths=making.host_paths,
                of_agent=agent_volumes(pod),
                foreign=making.foreign,
                sub_paths=making.sub_paths,
                images=making.volume_images,
                able=making.mount_abilities,
            ),
            termination_file=file,
            hosts_file=making.hosts_file,
            variables=variables,
            ids=making.ids,
        ),
        devices=(setup_devices(making.setup) if making.setup.devices else ())
        + container_devices(pod, container, path, making.host_paths),
        CDI_devices=(setup_cdi(making.setup) if making.setup.cdi else ()) + making.claimed,
        labels=container_labels(pod, container, making.sandbox_attempt),
        annotations=making.setup.annotations | notes if making.setup.annotations else notes,
        log_path=log_path(container.name, making.attempt),
        stdin=bool(container.stdin),
        stdin_once=bool(container.stdin_once),
        tty=bool(container.tty),
        stop_signal=_stop_signal(container, path) if node.stop_signals else Signal.RUNTIME_DEFAULT,
        linux=_linux_of(pod, container, path, making, node),
    )


def _words(words: tuple[str, ...], variables: Mapping[str, str], path: str) -> tuple[str, ...]:
    if not any("$" in word for word in words):
        return words
    try:
        return expand_all(words, variables)
    except ExpansionTooLongError as failure:
        raise ContainerRefusedError(path, f"is {failure}; shorten it") from failure


# Bounded: any change of a service in the cluster changes the variables of all namespaces. A container that restarts for
# days would otherwise keep as many forms of them, and each may be large.
_envs_of_services: OncePerSpecAnd[tuple[KeyValue, ...]] = OncePerSpecAnd(at_most=8)


def _envs_of(pod: Pod, container: Container, variables: Mapping[str, str], sources: Sources) -> tuple[KeyValue, ...]:
    """The variables of a container.

    One without variables of its own shares them with pods of the same spec and services.
    """
    if container.env or container.env_from:
        return _envs(variables)
    return _envs_of_services.of(pod.spec, (sources.services,), None, lambda: _envs(variables))


def _envs(variables: Mapping[str, str]) -> tuple[KeyValue, ...]:
    return tuple(
        [KeyValue(key=name, value=value.encode("utf-8", "surrogateescape")) for name, value in variables.items()]
    )


_linux: OncePerSpecAnd[LinuxContainerConfig] = OncePerSpecAnd()


def _linux_of(
    pod: Pod, container: Container, path: str, making: Making, node: ContainerNodeRules
) -> LinuxContainerConfig:
    """Resources and security. They depend only on the spec, the node and these facts."""
    image = making.image
    facts = (
        pod.status.qos_class if pod.status is not None else None,
        is_critical(pod),
        apparmor_note(pod, container),
        image.uid,
        image.username,
        making.target_id,
        making.ids,
        making.share,
    )
    return _linux.of(pod.spec, (container, node), facts, lambda: _linux_anew(pod, container, path, making, node))


def _linux_anew(
    pod: Pod, container: Container, path: str, making: Making, node: ContainerNodeRules
) -> LinuxContainerConfig:
    resources = container_resources(pod, container, node.resources)
    return LinuxContainerConfig(
        resources=resources if making.share == NO_SHARE else with_share(resources, making.share),
        security_context=container_security(
            pod,
            container,
            path,
            image=making.image,
            root_directory=node.root_directory,
            seccomp_default=node.seccomp_default,
            target_id=making.target_id,
            thermal_paths=node.thermal_paths,
            ids=making.ids,
        ),
    )


def _stop_signal(container: Container, path: str) -> Signal:
    asked = container.lifecycle.stop_signal if container.lifecycle is not None else None
    if asked is None:
        return Signal.RUNTIME_DEFAULT
    # As in a shell, real-time signals count from both ends: SIGRTMIN+3.
    name = asked.replace("+", "PLUS").replace("-", "MINUS")
    if name not in Signal.__members__:
        raise ContainerRefusedError(f"{path}.lifecycle.stopSignal", f"{asked!r} is not a signal; write it like SIGUSR1")
    return Signal[name]


def message_file(pod: Pod, container: Container, attempt: int, node: ContainerNodeRules) -> str:
    """The host path of the container's termination message; empty when it has none."""
    if not container.termination_message_path:
        return ""
    return termination_file(node.root_directory, pod.metadata.uid, container.name, attempt)


def target_id(container: Container, path: str, observed: ObservedPod) -> str:
    """The id of the target container; empty if none is named.

    Raises ContainerRefusedError while the target does not run.

    `path`: document path of the container.
    """
    name = container.target_container_name if isinstance(container, EphemeralContainer) else None
    if not name:
        return ""
    target = observed.newest(name)
    if target is None or not target.running:
        raise ContainerRefusedError(f"{path}.targetContainerName", f"container {name} of the pod does not run")
    return target.id


def termination_file(root_directory: str, uid: str, container: str, attempt: int) -> str:
    """The file on the host; `root_directory` is the agent's."""
    return f"{root_directory.rstrip('/')}/pods/{uid}/containers/{container}/{attempt & 0xFFFFFFFF:08x}"


def message_share_bytes(pod: Pod) -> int:
    """How much of the message of one container its status shows: all of the pod have to fit into the API."""
    spec = pod.spec
    containers = len(spec.init_containers) + len(spec.containers) + len(spec.ephemeral_containers)
    return POD_LIMIT_BYTES // max(1, containers)


def falls_back_to_log(container: ObservedContainer) -> bool:
    """Whether the end of the log replaces a missing message: only for a container that ran and failed."""
    return (
        container.termination_policy == "FallbackToLogsOnError"
        and container.exited
        and container.exit_code != 0
        and container.reason != "ContainerCannotRun"
    )


def joined_message(of_runtime: str, of_container: str, limit_bytes: int) -> str:
    """Both messages, the runtime's first; no more than their first `limit_bytes`."""
    joined = f"{of_runtime}: {of_container}" if of_runtime and of_container else of_runtime or of_container
    return joined.encode()[:limit_bytes].decode("utf-8", "ignore")
