"""Rules for the containers of a pod: names, images, mounts, environment, ports, restart rules.

Pure; faults go to the `DocumentPlace`. Probes, hooks and security contexts have a file of their own. Nothing here
checks whether images and files exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.documents.places import DocumentPlace
from config.objects import (
    Container,
    ContainerPort,
    ContainerRestartRule,
    EnvFromSource,
    EnvVar,
    EphemeralContainer,
    PodSpec,
    ResourceRequirements,
    Volume,
    VolumeDevice,
    VolumeMount,
)
from config.pods.identity import is_sidecar
from config.validation.actions import check_lifecycle, check_probe
from config.validation.fields import check_field_reference, check_resource_reference
from config.validation.resources import check_resize_policies, check_resources
from config.validation.security import check_container_security
from config.values.name_rules import check, config_key, dns_label, dns_subdomain, environment_name, ip, port_name

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_EXIT_CODES_AT_MOST = 255


def check_containers(place: DocumentPlace, spec: PodSpec) -> None:
    """Every container of the spec at `place`: regular, init and ephemeral."""
    volumes = {volume.name: volume for volume in spec.volumes}
    claims = frozenset(claim.name for claim in spec.resource_claims)
    names: set[str] = set()
    (place / "containers").required(spec.containers, "a pod has one container at least")
    groups: tuple[tuple[str, tuple[Container, ...]], ...] = (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    )
    for field, containers in groups:
        for at, container in place.items(field, containers):
            if (at / "name").required(container.name, "name the container"):
                check(at / "name", dns_label(container.name))
                if container.name in names:
                    (at / "name").fault(f"{container.name!r} is the name of another container", "choose another name")
                names.add(container.name)
            _check_container(at, container, volumes, claims, spec)
            if field == "initContainers":
                _check_init(at, container)
            elif field == "containers":
                _check_restart(at, container)
                check_lifecycle(at / "lifecycle", container, spec)
                for probe_field, probe in _probes(container):
                    check_probe(at / probe_field, probe, liveness=probe_field != "readinessProbe")
    targets = frozenset(other.name for other in (*spec.containers, *spec.init_containers))
    for at, ephemeral in place.items("ephemeralContainers", spec.ephemeral_containers):
        _check_ephemeral(at, ephemeral, targets)
    _check_host_ports(place, spec)


def _probes(container: Container) -> tuple[tuple[str, object], ...]:
    return (
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    )


def _check_container(
    at: DocumentPlace, container: Container, volumes: Mapping[str, Volume], claims: frozenset[str], spec: PodSpec
) -> None:
    """Rules for containers of every kind."""
    if (at / "image").required(container.image, "name an image such as docker.io/library/busybox:1.36") and (
        container.image != container.image.strip()
    ):
        (at / "image").fault("must not begin or end with white space")
    (at / "imagePullPolicy").one_of(container.image_pull_policy, PULL_POLICIES)
    (at / "terminationMessagePolicy").one_of(container.termination_message_policy, ("File", "FallbackToLogsOnError"))
    _check_ports(at, container.ports)
    _check_environment(at, container.env, volumes)
    _check_environment_sources(at, container.env_from)
    _check_mounts(at, container, volumes)
    _check_devices(at, container, volumes)
    check_resources(at / "resources", container.resources, claims)
    check_resize_policies(at, container.resize_policy, spec)
    check_container_security(at / "securityContext", container, spec)


def _check_init(at: DocumentPlace, container: Container) -> None:
    """A sidecar may have every field of regular containers.

    A plain init container has neither probes nor hooks.
    """
    sidecar = is_sidecar(container)
    _check_restart(at, container)
    for field, probe in _probes(container):
        if sidecar:
            check_probe(at / field, probe, liveness=field != "readinessProbe")
        elif probe is not None:
            (at / field).fault("an init container that ends is not probed", "remove it, or set restartPolicy: Always")
    if sidecar:
        check_lifecycle(at / "lifecycle", container, None)
    elif container.lifecycle is not None:
        (at / "lifecycle").fault("an init container that ends has no hooks", "remove it, or set restartPolicy: Always")


def _check_restart(at: DocumentPlace, container: Container) -> None:
    """Restart policy and rules of the container itself (KEP-753, KEP-5307)."""
    (at / "restartPolicy").one_of(container.restart_policy, ("Always", "OnFailure", "Never"))
    if container.restart_policy_rules and container.restart_policy is None:
        (at / "restartPolicy").fault("is required where there are restartPolicyRules", "set Never, OnFailure or Always")
    for place, rule in at.items("restartPolicyRules", container.restart_policy_rules):
        _check_rule(place, rule)


def _check_rule(at: DocumentPlace, rule: ContainerRestartRule) -> None:
    if (at / "action").required(rule.action):
        (at / "action").one_of(rule.action, ("Restart", "RestartAllContainers"))
    if (at / "exitCodes").required(rule.exit_codes) and rule.exit_codes is not None:
        (at / "exitCodes" / "operator").one_of(rule.exit_codes.operator, ("In", "NotIn"))
        values = rule.exit_codes.values
        if len(values) > _EXIT_CODES_AT_MOST:
            (at / "exitCodes" / "values").fault(f"has more than {_EXIT_CODES_AT_MOST} values")
        if len(set(values)) < len(values):
            (at / "exitCodes" / "values").fault("has a value twice")


def _check_ephemeral(at: DocumentPlace, container: EphemeralContainer, targets: frozenset[str]) -> None:
    refused = {
        "ports": container.ports,
        "livenessProbe": container.liveness_probe,
        "readinessProbe": container.readiness_probe,
        "startupProbe": container.startup_probe,
        "lifecycle": container.lifecycle,
        # Clients written in Go always send an empty one.
        "resources": container.resources != ResourceRequirements() and container.resources,
        "restartPolicy": container.restart_policy,
    }
    for field, value in refused.items():
        if value:
            (at / field).fault("an ephemeral container cannot have it", "remove it")
    target = container.target_container_name
    if target and target not in targets:
        (at / "targetContainerName").fault(f"there is no container {target!r} in the pod")


def _check_ports(at: DocumentPlace, ports: Iterable[ContainerPort]) -> None:
    names: set[str] = set()
    for place, port in at.items("ports", ports):
        if port.name:
            check(place / "name", port_name(port.name))
            if port.name in names:
                (place / "name").fault(f"{port.name!r} is the name of another port", "choose another name")
            names.add(port.name)
        check_port_number(place / "containerPort", port.container_port)
        if port.host_port is not None and port.host_port != 0:
            check_port_number(place / "hostPort", port.host_port)
        if port.host_ip:
            check(place / "hostIP", ip(port.host_ip))
        (place / "protocol").one_of(port.protocol, ("TCP", "UDP", "SCTP"))


def check_port_number(at: DocumentPlace, number: int) -> None:
    if not 1 <= number <= 65535:
        at.fault(f"must be between 1 and 65535, not {number}")


def _check_host_ports(place: DocumentPlace, spec: PodSpec) -> None:
    """No two containers may use one port of the node.

    With host networking, container and host port must be equal.
    """
    taken: dict[tuple[str, str, int], str] = {}
    lasting = [(at, c) for at, c in place.items("initContainers", spec.init_containers) if is_sidecar(c)]
    for at, container in (*lasting, *place.items("containers", spec.containers)):
        for port_at, port in at.items("ports", container.ports):
            host_port = port.host_port
            if not host_port:
                continue
            if spec.host_network and host_port != port.container_port:
                (port_at / "hostPort").fault(
                    f"must be {port.container_port} like containerPort, since hostNetwork is true", "remove hostPort"
                )
            key = (port.protocol or "TCP", port.host_ip or "0.0.0.0", host_port)
            if key in taken:
                (port_at / "hostPort").fault(f"port {host_port} is taken by {taken[key]}", "choose another port")
            taken.setdefault(key, port_at.path)


def _check_environment(at: DocumentPlace, variables: Iterable[EnvVar], volumes: Mapping[str, Volume]) -> None:
    for place, variable in at.items("env", variables):
        if (place / "name").required(variable.name):
            check(place / "name", environment_name(variable.name))
        source = variable.value_from
        if source is None:
            continue
        from_ = place / "valueFrom"
        if variable.value:
            from_.fault("cannot stand beside value", "keep one of them")
        given = [ref for ref in _sources(source) if ref is not None]
        if len(given) != 1:
            from_.fault(f"must have one source, not {len(given)}", "keep one of fieldRef, configMapKeyRef, ...")
        if source.field_ref is not None:
            check_field_reference(from_ / "fieldRef", source.field_ref, environment=True)
        if source.resource_field_ref is not None:
            check_resource_reference(from_ / "resourceFieldRef", source.resource_field_ref, in_volume=False)
        for field, ref in (("configMapKeyRef", source.config_map_key_ref), ("secretKeyRef", source.secret_key_ref)):
            if ref is not None:
                (from_ / field / "name").required(ref.name)
                if (from_ / field / "key").required(ref.key):
                    check(from_ / field / "key", config_key(ref.key))
        if source.file_key_ref is not None:
            file = source.file_key_ref
            (from_ / "fileKeyRef" / "key").required(file.key)
            check_inner_path(from_ / "fileKeyRef" / "path", file.path)
            volume = volumes.get(file.volume_name)
            if volume is None or volume.empty_dir is None:
                (from_ / "fileKeyRef" / "volumeName").fault(f"there is no emptyDir volume {file.volume_name!r}")


def _sources(source: object) -> tuple[object, ...]:
    names = ("field_ref", "resource_field_ref", "config_map_key_ref", "secret_key_ref", "file_key_ref")
    return tuple(getattr(source, name) for name in names)


def _check_environment_sources(at: DocumentPlace, sources: Iterable[EnvFromSource]) -> None:
    for place, source in at.items("envFrom", sources):
        if source.prefix:
            check(place / "prefix", environment_name(source.prefix))
        given = [
            (field, ref)
            for field, ref in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref))
            if ref is not None
        ]
        if len(given) != 1:
            place.fault(f"must have one source, not {len(given)}", "keep one of configMapRef and secretRef")
        for field, ref in given:
            if (place / field / "name").required(ref.name):
                check(place / field / "name", dns_subdomain(ref.name or ""))


def check_inner_path(at: DocumentPlace, path: str | None) -> None:
    """Check that the path is relative and stays inside."""
    if not at.required(path) or path is None:
        return
    if path.startswith("/"):
        at.fault(f"{path!r} must be relative", "remove the first slash")
    if ".." in path.split("/"):
        at.fault(f"{path!r} must not contain ..", "name a place inside the volume")


def _check_mounts(at: DocumentPlace, container: Container, volumes: Mapping[str, Volume]) -> None:
    paths: set[str] = set()
    devices = {device.device_path for device in container.volume_devices}
    for place, mount in at.items("volumeMounts", container.volume_mounts):
        if (place / "name").required(mount.name) and mount.name not in volumes:
            (place / "name").fault(f"there is no volume {mount.name!r} in $.spec.volumes", _near(mount.name, volumes))
        if (place / "mountPath").required(mount.mount_path):
            if mount.mount_path in paths:
                (place / "mountPath").fault(f"{mount.mount_path!r} is mounted twice", "choose another path")
            if mount.mount_path in devices:
                (place / "mountPath").fault(f"{mount.mount_path!r} is a device of the container, too")
            paths.add(mount.mount_path)
        _check_sub_path(place, mount)
        _check_propagation(place, mount, container)


def _check_sub_path(place: DocumentPlace, mount: VolumeMount) -> None:
    if mount.sub_path:
        check_inner_path(place / "subPath", mount.sub_path)
    if mount.sub_path_expr:
        check_inner_path(place / "subPathExpr", mount.sub_path_expr)
        if mount.sub_path:
            (place / "subPathExpr").fault("cannot stand beside subPath", "keep one of them")


def _check_propagation(place: DocumentPlace, mount: VolumeMount, container: Container) -> None:
    propagation = mount.mount_propagation
    (place / "mountPropagation").one_of(propagation, ("None", "HostToContainer", "Bidirectional"))
    privileged = container.security_context is not None and container.security_context.privileged
    if propagation == "Bidirectional" and not privileged:
        (place / "mountPropagation").fault("Bidirectional needs a privileged container", "use HostToContainer")
    recursive = mount.recursive_read_only
    (place / "recursiveReadOnly").one_of(recursive, ("Disabled", "IfPossible", "Enabled"))
    if recursive in ("IfPossible", "Enabled"):
        if not mount.read_only:
            (place / "recursiveReadOnly").fault("needs readOnly: true", "set readOnly: true")
        if propagation not in (None, "None"):
            (place / "recursiveReadOnly").fault("cannot stand beside mountPropagation", "remove one of them")


def _check_devices(at: DocumentPlace, container: Container, volumes: Mapping[str, Volume]) -> None:
    seen: set[str] = set()
    for place, device in at.items("volumeDevices", container.volume_devices):
        _check_device(place, device, volumes)
        if device.device_path in seen:
            (place / "devicePath").fault(f"{device.device_path!r} is given twice", "choose another path")
        seen.add(device.device_path)


def _check_device(place: DocumentPlace, device: VolumeDevice, volumes: Mapping[str, Volume]) -> None:
    (place / "devicePath").required(device.device_path)
    volume = volumes.get(device.name)
    if volume is None:
        (place / "name").fault(f"there is no volume {device.name!r} in $.spec.volumes", _near(device.name, volumes))
    elif volume.persistent_volume_claim is None and volume.ephemeral is None:
        (place / "name").fault("only persistent volumes can be block devices", "use volumeMounts")


def _near(name: str, volumes: Mapping[str, Volume]) -> str:
    if not volumes:
        return "add it to $.spec.volumes"
    return f"the volumes of the pod are {', '.join(sorted(volumes))}"
