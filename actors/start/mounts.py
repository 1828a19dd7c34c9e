"""What of the host appears inside a container (spec 3.8). Pure: paths on the host are given, none is touched.

Volumes that the agent writes (configMap, secret, downwardAPI, projected) are read only inside, whatever the pod says.

A `subPath` is refused elsewhere. To join it as text would let a container lead the mount out of its volume through a
symlink that it puts there itself; it has to be opened step by step, which is the business of the volumes. Into a volume
of the agent no container can put anything, so there the text will do.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.id_ranges import IdRange
from actors.start.expansion import expand_strictly
from actors.start.refusal import StartRefusedError
from actors.start.security import id_mappings
from config.objects import Container, Pod, VolumeMount
from runtime.cri.enums import MountPropagation
from runtime.cri.messages import Mount

_NO_VARIABLES: Mapping[str, str] = {}
_PROPAGATION = {
    None: MountPropagation.PROPAGATION_PRIVATE,
    "None": MountPropagation.PROPAGATION_PRIVATE,
    "HostToContainer": MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": MountPropagation.PROPAGATION_BIDIRECTIONAL,
}


def agent_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that nobody but the agent writes to."""
    return frozenset(
        volume.name
        for volume in pod.spec.volumes
        if volume.config_map is not None
        or volume.secret is not None
        or volume.downward_api is not None
        or volume.projected is not None
    )


def container_mounts(
    container: Container,
    path: str,
    host_paths: Mapping[str, str],
    *,
    of_agent: frozenset[str] = frozenset(),
    termination_file: str = "",
    hosts_file: str = "",
    variables: Mapping[str, str] = _NO_VARIABLES,
    ids: IdRange | None = None,
) -> tuple[Mount, ...]:
    """Mounts in the order of the spec, then the agent's own. `host_paths`: volume name -> path on the host.

    `path` is that of the container in the pod; `of_agent`: see `agent_volumes`; `variables`: of the container, for
    `subPathExpr`; `ids`: of its user namespace, in which files keep their owners. A mount of the user's over one of
    ours wins. Raises StartRefusedError.
    """
    if container.volume_devices:
        raise StartRefusedError(f"{path}.volumeDevices", "block devices are not supported by this agent yet")
    mounts = [
        _mount(mount, f"{path}.volumeMounts[{index}]", host_paths, mount.name in of_agent, variables)
        for index, mount in enumerate(container.volume_mounts)
    ]
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


def _mount(
    mount: VolumeMount, path: str, host_paths: Mapping[str, str], of_agent: bool, variables: Mapping[str, str]
) -> Mount:
    field = "subPathExpr" if mount.sub_path_expr else "subPath"
    sub_path = mount.sub_path or ""
    if mount.sub_path_expr:
        sub_path = expand_strictly(mount.sub_path_expr, variables, f"{path}.{field}")
    if sub_path and not of_agent:
        raise StartRefusedError(f"{path}.{field}", "is not supported by this agent yet; mount the whole volume")
    if mount.recursive_read_only == "Enabled":
        raise StartRefusedError(f"{path}.recursiveReadOnly", "is not supported by this agent yet; use IfPossible")
    host_path = host_paths.get(mount.name)
    if host_path is None:
        raise StartRefusedError(f"{path}.name", f"volume {mount.name!r} is not there yet")
    if sub_path:
        host_path = _below(host_path, sub_path, f"{path}.{field}")
    propagation = _PROPAGATION.get(mount.mount_propagation)
    if propagation is None:
        raise StartRefusedError(f"{path}.mountPropagation", f"{mount.mount_propagation!r} is not known")
    inside = mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"
    return Mount(
        container_path=inside,
        host_path=host_path,
        readonly=of_agent or bool(mount.read_only),
        selinux_relabel=True,
        propagation=propagation,
    )


def _below(host_path: str, sub_path: str, path: str) -> str:
    parts = [part for part in sub_path.split("/") if part not in ("", ".")]
    if sub_path.startswith("/") or ".." in parts:
        raise StartRefusedError(path, f"{sub_path!r} must be relative and must not contain '..'")
    return "/".join((host_path, *parts))
