"""The mounts and devices of a container (spec 3.8, 8.7). Pure: no path is touched.

Volumes that the agent writes (configMap, secret, downwardAPI, projected) are read only inside, whatever the pod says.
So are images, which the runtime mounts by itself. Parts of volumes (`subPath`) are already mounted on the host, see
`wanted_sub_paths`.

`mount_abilities` tells what a runtime can do with mounts (KEP-3857, KEP-4639). A runtime reports for each handler
whether it makes mounts recursively read only. It does not report whether it mounts images as volumes: an old one fails
with an unclear error, or mounts the whole image instead of a part. So a table names the versions known to be too old.

`wanted_sub_paths` lists the parts of volumes that a container mounts. `runtime.volumes.sub_path` finds and mounts them.
A path joined only as text would let a container lead the mount out of its volume through a symbolic link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from actors.messages.pods import RuntimeStateObserved
from actors.messages.volumes import WantedSubPath
from actors.model.expansion import expand_strictly
from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.start.security import id_mappings
from config.caches import KIB, kept
from config.objects import Container, Pod, PodSpec, VolumeMount
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import kind_of
from runtime.cri.messages import Device, ImageSpec, Mount, MountPropagation


def agent_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that only the agent writes."""
    return _of_agent(pod.spec)


@once_per_spec
def _of_agent(spec: PodSpec) -> frozenset[str]:
    return frozenset(volume.name for volume in spec.volumes if kind_of(volume).from_objects)


def image_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that the runtime mounts from images."""
    return _of_images(pod.spec)


def empty_dirs(pod: Pod) -> frozenset[str]:
    """Names of the emptyDirs of the pod."""
    return _empty_dirs(pod.spec)


@once_per_spec
def _empty_dirs(spec: PodSpec) -> frozenset[str]:
    return frozenset(volume.name for volume in spec.volumes if volume.empty_dir is not None)


@once_per_spec
def _of_images(spec: PodSpec) -> frozenset[str]:
    return frozenset(volume.name for volume in spec.volumes if volume.image is not None)


@once_per_spec
def _read_only_claims(spec: PodSpec) -> frozenset[str]:
    """Names of the volumes whose claims the pod mounts read only."""
    claims = ((volume.name, volume.persistent_volume_claim) for volume in spec.volumes)
    return frozenset(name for name, claim in claims if claim is not None and claim.read_only)


def wanted_sub_paths(
    pod: Pod, container: Container, path: str, variables: Mapping[str, str]
) -> tuple[WantedSubPath, ...]:
    """The parts to mount for this start.

    `path`: document path of the container. Raises ContainerRefusedError.

    `variables`: of the container, for `subPathExpr`. The runtime handles parts of images.
    """
    of_agent, of_images = agent_volumes(pod), image_volumes(pod)
    found: list[WantedSubPath] = []
    for index, mount in enumerate(container.volume_mounts):
        sub_path = sub_path_of(mount, f"{path}.volumeMounts[{index}]", variables)
        if sub_path and mount.name not in of_images:
            found.append(WantedSubPath(index, mount.name, sub_path, mount.name not in of_agent))
    return tuple(found)


def sub_path_of(mount: VolumeMount, path: str, variables: Mapping[str, str]) -> str:
    """The sub path of one mount at `path`; empty if the whole volume is mounted.

    Raises ContainerRefusedError.
    """
    field = "subPathExpr" if mount.sub_path_expr else "subPath"
    sub_path = mount.sub_path or ""
    if mount.sub_path_expr:
        sub_path = expand_strictly(mount.sub_path_expr, variables, f"{path}.{field}")
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        raise ContainerRefusedError(f"{path}.{field}", f"{sub_path!r} must be relative and must not contain '..'")
    return sub_path


def has_expressions(container: Container) -> bool:
    """Whether its mount paths contain variables."""
    return any(mount.sub_path_expr for mount in container.volume_mounts)


_IMAGES_FROM = {"containerd": (2, 1), "cri-o": (1, 31)}
_PARTS_FROM = {"containerd": (2, 2), "cri-o": (1, 33)}
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class MountAbilities(msgspec.Struct, frozen=True):
    """`recursive_read_only`: whether mounts can be recursively read only.

    `no_images`, `no_image_parts`: why images, or parts of them, cannot be mounted; empty if they can.
    """

    recursive_read_only: bool = False
    no_images: str = ""
    no_image_parts: str = ""


def mount_abilities(runtime: RuntimeStateObserved, handler: str) -> MountAbilities:
    """The abilities of one handler of the runtime."""
    recursive = handler in runtime.recursive_read_only_handlers
    return _abilities(recursive, runtime.runtime_name, runtime.runtime_version)


@kept(16 * KIB)
def _abilities(recursive: bool, name: str, version: str) -> MountAbilities:
    return MountAbilities(
        recursive,
        _too_old(name, version, "volumes of images", _IMAGES_FROM),
        _too_old(name, version, "parts (subPath) of volumes of images", _PARTS_FROM),
    )


def _too_old(name: str, version: str, what: str, versions: dict[str, tuple[int, int]]) -> str:
    needed = versions.get(name.lower())
    match = _VERSION.match(version)
    if needed is None or match is None or (int(match[1]), int(match[2])) >= needed:
        return ""
    return f"{name} {version} does not know {what}, {name} {needed[0]}.{needed[1]} does"


_PROPAGATION = {
    None: MountPropagation.PROPAGATION_PRIVATE,
    "None": MountPropagation.PROPAGATION_PRIVATE,
    "HostToContainer": MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": MountPropagation.PROPAGATION_BIDIRECTIONAL,
}


BIDIRECTIONAL = "Bidirectional"


class VolumesInside(msgspec.Struct, frozen=True):
    """The facts about a pod's volumes when one of its containers is created.

    `paths`: volume name -> path on the host. `of_agent`: names of volumes that only the agent writes. `foreign`: names
    of those whose files keep their SELinux labels. `sub_paths`: index of the mount -> host path of its part. `images`:
    volume name -> image. `able`: what the runtime can do.
    """

    paths: Mapping[str, str] = {}
    of_agent: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    sub_paths: Mapping[int, str] = {}
    images: Mapping[str, ImageSpec] = {}
    able: MountAbilities = MountAbilities()


def container_mounts(
    container: Container,
    path: str,
    volumes: VolumesInside,
    *,
    termination_file: str = "",
    hosts_file: str = "",
    variables: Mapping[str, str] | None = None,
    ids: IdRange | None = None,
) -> tuple[Mount, ...]:
    """Mounts in the order of the spec, then the agent's own.

    `path`: document path of the container; `variables`: of the container, for `subPathExpr`; `ids`: of its user
    namespace, in which files keep their owners. The user's mount wins over one of the agent's. Raises
    ContainerRefusedError.
    """
    privileged = container.security_context is not None and bool(container.security_context.privileged)
    mounts: list[Mount] = []
    for index, mount in enumerate(container.volume_mounts):
        place = f"{path}.volumeMounts[{index}]"
        if mount.mount_propagation == BIDIRECTIONAL and not privileged:
            raise ContainerRefusedError(f"{place}.mountPropagation", "Bidirectional needs a privileged container")
        sub_path = sub_path_of(mount, place, variables or {})
        if mount.name in volumes.images:
            mounts.append(_image_mount(mount, place, volumes.images[mount.name], sub_path, volumes.able))
        else:
            host_path = volumes.sub_paths.get(index) if sub_path else volumes.paths.get(mount.name)
            mounts.append(_mount(mount, place, host_path, volumes))
    taken = {mount.container_path.rstrip("/") for mount in mounts}
    if hosts_file and "/etc/hosts" not in taken:
        mounts.append(Mount(container_path="/etc/hosts", host_path=hosts_file, selinux_relabel=True))
    inside = container.termination_message_path
    if termination_file and inside and inside.rstrip("/") not in taken:
        mounts.append(Mount(container_path=inside, host_path=termination_file, selinux_relabel=True))
    if ids is None:
        return tuple(mounts)
    mapping = id_mappings(ids)
    return tuple(msgspec.structs.replace(each, uidMappings=mapping, gidMappings=mapping) for each in mounts)


def _mount(mount: VolumeMount, place: str, host_path: str | None, volumes: VolumesInside) -> Mount:
    if not host_path:
        raise ContainerRefusedError(f"{place}.name", f"volume {mount.name!r} is not there yet")
    propagation = _PROPAGATION.get(mount.mount_propagation)
    if propagation is None:
        raise ContainerRefusedError(f"{place}.mountPropagation", f"{mount.mount_propagation!r} is not known")
    return Mount(
        container_path=_inside(mount),
        host_path=host_path,
        readonly=mount.name in volumes.of_agent or bool(mount.read_only),
        recursive_read_only=is_recursive(mount, f"{place}.recursiveReadOnly", volumes.able.recursive_read_only),
        selinux_relabel=mount.name not in volumes.foreign,
        propagation=propagation,
    )


def _image_mount(mount: VolumeMount, place: str, image: ImageSpec, sub_path: str, able: MountAbilities) -> Mount:
    if able.no_images:
        raise ContainerRefusedError(place, able.no_images)
    if sub_path and able.no_image_parts:
        raise ContainerRefusedError(f"{place}.subPath", able.no_image_parts)
    return Mount(container_path=_inside(mount), image=image, image_sub_path=sub_path, readonly=True)


def _inside(mount: VolumeMount) -> str:
    return mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"


def is_recursive(mount: VolumeMount, place: str, able: bool) -> bool:
    """Whether mounts below this one are read only as well (KEP-3857).

    `able`: whether the runtime can do that.

    Raises ContainerRefusedError if the pod demands it and the runtime cannot.
    """
    asked = mount.recursive_read_only
    if asked in (None, "Disabled"):
        return False
    if not mount.read_only:
        raise ContainerRefusedError(place, "needs readOnly: true")
    if mount.mount_propagation not in (None, "None"):
        raise ContainerRefusedError(place, f"cannot stand beside mountPropagation {mount.mount_propagation}")
    if asked == "Enabled" and not able:
        raise ContainerRefusedError(
            place, "the handler of the runtime does not support it; use IfPossible, or upgrade it"
        )
    return able


def container_devices(pod: Pod, container: Container, path: str, paths: Mapping[str, str]) -> tuple[Device, ...]:
    """The block volumes of a container, in the order of the spec.

    `paths`: as above. Raises ContainerRefusedError.
    """
    if not container.volume_devices:
        return ()
    read_only = _read_only_claims(pod.spec)
    devices: list[Device] = []
    for index, device in enumerate(container.volume_devices):
        host_path = paths.get(device.name)
        if not host_path:
            raise ContainerRefusedError(
                f"{path}.volumeDevices[{index}].name", f"volume {device.name!r} is not there yet"
            )
        permissions = "r" if device.name in read_only else "mrw"
        devices.append(Device(container_path=device.device_path, host_path=host_path, permissions=permissions))
    return tuple(devices)
