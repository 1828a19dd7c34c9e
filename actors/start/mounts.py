"""What of the host appears inside a container (spec 3.8). Pure: paths on the host are given, none is touched.

A `subPath` is refused. To join it as text would let a container lead the mount out of its volume through a symlink that
it puts there itself; it has to be opened step by step, which is the business of the volumes.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.start.refusal import StartRefusedError
from config.objects import Container, VolumeMount
from runtime.cri.enums import MountPropagation
from runtime.cri.messages import Mount

_PROPAGATION = {
    None: MountPropagation.PROPAGATION_PRIVATE,
    "None": MountPropagation.PROPAGATION_PRIVATE,
    "HostToContainer": MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": MountPropagation.PROPAGATION_BIDIRECTIONAL,
}


def container_mounts(
    container: Container,
    path: str,
    host_paths: Mapping[str, str],
    *,
    termination_file: str = "",
    hosts_file: str = "",
) -> tuple[Mount, ...]:
    """Mounts in the order of the spec, then the agent's own. `host_paths`: volume name -> path on the host.

    `path` is that of the container in the pod. A mount of the user's over one of ours wins. Raises StartRefusedError.
    """
    if container.volume_devices:
        raise StartRefusedError(f"{path}.volumeDevices", "block devices are not supported by this agent yet")
    mounts = [
        _mount(mount, f"{path}.volumeMounts[{index}]", host_paths)
        for index, mount in enumerate(container.volume_mounts)
    ]
    taken = {mount.container_path.rstrip("/") for mount in mounts}
    if hosts_file and "/etc/hosts" not in taken:
        mounts.append(Mount(container_path="/etc/hosts", host_path=hosts_file, selinux_relabel=True))
    inside = container.termination_message_path
    if termination_file and inside and inside.rstrip("/") not in taken:
        mounts.append(Mount(container_path=inside, host_path=termination_file, selinux_relabel=True))
    return tuple(mounts)


def _mount(mount: VolumeMount, path: str, host_paths: Mapping[str, str]) -> Mount:
    if mount.sub_path or mount.sub_path_expr:
        field = "subPath" if mount.sub_path else "subPathExpr"
        raise StartRefusedError(f"{path}.{field}", "is not supported by this agent yet; mount the whole volume")
    if mount.recursive_read_only == "Enabled":
        raise StartRefusedError(f"{path}.recursiveReadOnly", "is not supported by this agent yet; use IfPossible")
    host_path = host_paths.get(mount.name)
    if host_path is None:
        raise StartRefusedError(f"{path}.name", f"volume {mount.name!r} is not there yet")
    propagation = _PROPAGATION.get(mount.mount_propagation)
    if propagation is None:
        raise StartRefusedError(f"{path}.mountPropagation", f"{mount.mount_propagation!r} is not known")
    inside = mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"
    return Mount(
        container_path=inside,
        host_path=host_path,
        readonly=bool(mount.read_only),
        selinux_relabel=True,
        propagation=propagation,
    )
