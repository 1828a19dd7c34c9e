"""Defaults of a pod, as the API server fills them in (spec 1.2: static pods are defaulted too).

Pure, and idempotent: a defaulted pod is returned unchanged, as the same object. Nothing can fail:
`config.validation.pod` reports faults later, and unreadable quantities stay. Admission plugins of an API server are
left out (priority, service account, tolerations for taints).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from config.objects import (
    Container,
    ContainerPort,
    DownwardAPIVolumeFile,
    EmptyDirVolumeSource,
    EnvVar,
    Lifecycle,
    LifecycleHandler,
    ObjectFieldSelector,
    Pod,
    PodSecurityContext,
    PodSpec,
    Probe,
    ResourceRequirements,
    Volume,
    VolumeProjection,
)
from config.pods.identity import is_sidecar
from config.values.image_names import InvalidImageNameError, with_default_tag
from config.values.quantity import Quantity, QuantityError, parse_quantity

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_GRACE_SECONDS = 30
DEFAULT_TERMINATION_MESSAGE_PATH = "/dev/termination-log"
DEFAULT_MODE = 0o644
DEFAULT_TOKEN_SECONDS = 3600

T = TypeVar("T", bound=msgspec.Struct)
C = TypeVar("C", bound=Container)


def default_pod(pod: Pod) -> Pod:
    """The pod with all defaults."""
    return _changed(pod, spec=_default_own(default_spec(pod.spec)))


def default_spec(spec: PodSpec) -> PodSpec:
    """The spec with the defaults that pod templates have, too."""
    spec = _filled(
        spec,
        restart_policy="Always",
        dns_policy="ClusterFirst",
        termination_grace_period_seconds=DEFAULT_GRACE_SECONDS,
        scheduler_name=DEFAULT_SCHEDULER,
        security_context=PodSecurityContext(),
    )
    return _changed(
        spec,
        containers=_each(spec.containers, default_container),
        init_containers=_each(spec.init_containers, default_container),
        ephemeral_containers=_each(spec.ephemeral_containers, default_container),
        volumes=_each(spec.volumes, default_volume),
    )


def _default_own(spec: PodSpec) -> PodSpec:
    """The spec with the defaults of pods alone.

    With host networking, `hostPort` defaults to `containerPort`.
    """

    def port(value: ContainerPort) -> ContainerPort:
        return _changed(value, host_port=value.host_port or value.container_port)

    def container(value: C) -> C:
        value = _changed(value, resources=_maybe(value.resources, _requests_from_limits))
        return _changed(value, ports=_each(value.ports, port)) if spec.host_network else value

    spec = _filled(spec, enable_service_links=True)
    spec = _changed(
        spec,
        containers=_each(spec.containers, container),
        init_containers=_each(spec.init_containers, container),
    )
    return _changed(spec, resources=_pod_resources(spec))


def default_container(container: C) -> C:
    """The container with its defaults."""
    container = _filled(
        container,
        image_pull_policy=default_pull_policy(container.image or ""),
        termination_message_path=DEFAULT_TERMINATION_MESSAGE_PATH,
        termination_message_policy="File",
    )
    return _changed(
        container,
        ports=_each(container.ports, _port),
        env=_each(container.env, _env),
        liveness_probe=_maybe(container.liveness_probe, _probe),
        readiness_probe=_maybe(container.readiness_probe, _probe),
        startup_probe=_maybe(container.startup_probe, _probe),
        lifecycle=_maybe(container.lifecycle, _lifecycle),
    )


def _port(port: ContainerPort) -> ContainerPort:
    return _filled(port, protocol="TCP")


def default_pull_policy(image: str) -> str:
    """`Always` for an image with the tag latest, given or implied, else `IfNotPresent`.

    What is no name of an image has no tag.
    """
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if tag or digest:
        return "Always" if tag == "latest" else "IfNotPresent"
    try:
        with_default_tag(image)
    except InvalidImageNameError:
        return "IfNotPresent"
    return "Always"


def default_volume(volume: Volume) -> Volume:
    """The volume with its defaults; one without a source becomes an emptyDir."""
    if all(getattr(volume, name) is None for name in Volume.__struct_fields__ if name != "name"):
        return replace(volume, empty_dir=EmptyDirVolumeSource())
    changes: dict[str, object] = {}
    for name, defaults in _VOLUME_DEFAULTS.items():
        source = getattr(volume, name)
        if source is not None:
            changes[name] = _filled(source, **defaults)
    if volume.image is not None:
        changes["image"] = _filled(volume.image, pull_policy=default_pull_policy(volume.image.reference or ""))
    if volume.downward_api is not None:
        source = _filled(volume.downward_api, default_mode=DEFAULT_MODE)
        changes["downward_api"] = _changed(source, items=_each(source.items, _downward_file))
    if volume.projected is not None:
        projected = _filled(volume.projected, default_mode=DEFAULT_MODE)
        changes["projected"] = _changed(projected, sources=_each(projected.sources, _projection))
    if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
        template = volume.ephemeral.volume_claim_template
        template = _changed(
            template, spec=_maybe(template.spec, lambda claim: _filled(claim, volume_mode="Filesystem"))
        )
        changes["ephemeral"] = _changed(volume.ephemeral, volume_claim_template=template)
    return _changed(volume, **changes)


_VOLUME_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "secret": {"default_mode": DEFAULT_MODE},
    "config_map": {"default_mode": DEFAULT_MODE},
    "host_path": {"type": ""},
    "iscsi": {"iscsi_interface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azure_disk": {"caching_mode": "ReadWrite", "kind": "Shared", "fs_type": "ext4", "read_only": False},
    "scale_io": {"storage_mode": "ThinProvisioned", "fs_type": "xfs"},
}


def _projection(projection: VolumeProjection) -> VolumeProjection:
    token = _maybe(
        projection.service_account_token, lambda value: _filled(value, expiration_seconds=DEFAULT_TOKEN_SECONDS)
    )
    downward = _maybe(projection.downward_api, lambda value: _changed(value, items=_each(value.items, _downward_file)))
    return _changed(projection, service_account_token=token, downward_api=downward)


def _downward_file(file: DownwardAPIVolumeFile) -> DownwardAPIVolumeFile:
    return _changed(file, field_ref=_maybe(file.field_ref, _field_reference))


def _field_reference(reference: ObjectFieldSelector) -> ObjectFieldSelector:
    return _filled(reference, api_version="v1")


def _env(variable: EnvVar) -> EnvVar:
    source = variable.value_from
    if source is None or source.field_ref is None:
        return variable
    return _changed(variable, value_from=_changed(source, field_ref=_field_reference(source.field_ref)))


def _probe(probe: Probe) -> Probe:
    # Zero counts as absent here: the API cannot tell them apart.
    numbers = {"timeout_seconds": 1, "period_seconds": 10, "success_threshold": 1, "failure_threshold": 3}
    probe = _changed(probe, **{name: getattr(probe, name) or number for name, number in numbers.items()})
    http = _maybe(probe.http_get, lambda action: _filled(action, path="/", scheme="HTTP"))
    grpc = _maybe(probe.grpc, lambda action: _filled(action, service=""))
    return _changed(probe, http_get=http, grpc=grpc)


def _lifecycle(lifecycle: Lifecycle) -> Lifecycle:
    def handler(value: LifecycleHandler) -> LifecycleHandler:
        return _changed(value, http_get=_maybe(value.http_get, lambda action: _filled(action, path="/", scheme="HTTP")))

    return _changed(
        lifecycle, post_start=_maybe(lifecycle.post_start, handler), pre_stop=_maybe(lifecycle.pre_stop, handler)
    )


def _requests_from_limits(resources: ResourceRequirements) -> ResourceRequirements:
    missing = {name: text for name, text in resources.limits.items() if name not in resources.requests}
    return replace(resources, requests={**resources.requests, **missing}) if missing else resources


def _pod_resources(spec: PodSpec) -> ResourceRequirements | None:
    """Pod-level requests: the sum of what its containers request, else the pod's own limit (KEP-2837)."""
    resources = spec.resources
    if resources is None or not resources.limits:
        return resources
    requests = dict(resources.requests)
    try:
        for name in ("cpu", "memory"):
            asked = _asked_by_containers(spec, name)
            if asked is not None and name not in requests:
                requests[name] = str(asked)
    except QuantityError:
        return resources
    requests = {**resources.limits, **requests}
    return resources if requests == resources.requests else replace(resources, requests=requests)


def _asked_by_containers(spec: PodSpec, name: str) -> Quantity | None:
    """The highest total request at any time: sidecars stay, other init containers run one by one."""
    sidecars, peak, found = Quantity(0), Quantity(0), False

    def asked(container: Container) -> Quantity:
        nonlocal found
        text = container.resources.requests.get(name) if container.resources is not None else None
        found = found or text is not None
        return parse_quantity(text) if text is not None else Quantity(0)

    for container in spec.init_containers:
        if is_sidecar(container):
            sidecars = sidecars + asked(container)
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + asked(container))
    together = sidecars
    for container in spec.containers:
        together = together + asked(container)
    return max(peak, together) if found else None


def _filled(value: T, **defaults: object) -> T:
    """`value`; `defaults` replace its fields that are None or an empty text, as in Go."""
    missing = {name: default for name, default in defaults.items() if getattr(value, name) in _ABSENT}
    return _changed(value, **missing)


_ABSENT = (None, "")


def _changed(value: T, **fields: object) -> T:
    """`value` with these fields; the same object if nothing changes."""
    changes = {name: new for name, new in fields.items() if getattr(value, name) is not new}
    return replace(value, **changes) if changes else value


def _each(values: tuple[T, ...], function: Callable[[T], T]) -> tuple[T, ...]:
    """All values after the change; the same tuple if nothing changes."""
    changed = tuple(function(value) for value in values)
    return values if _same(values, changed) else changed


def _same(left: Iterable[object], right: Iterable[object]) -> bool:
    return all(a is b for a, b in zip(left, right, strict=True))


def _maybe(value: T | None, function: Callable[[T], T]) -> T | None:
    return None if value is None else function(value)
