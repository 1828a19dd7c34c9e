"""Which parts of volumes a container mounts: `subPath` and `subPathExpr` (spec 8.7). Pure.

The parts are found and mounted elsewhere (`runtime.volumes.sub_path`), because a path that is only joined as text
would let a container lead the mount out of its volume through a symbolic link that it puts there itself. Into volumes
that the agent writes nothing is made.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.model.expansion import expand_strictly
from actors.model.refusal import StartRefusedError
from config.objects import Container, Pod, PodSpec, VolumeMount
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import kind_of


class WantedSubPath(msgspec.Struct, frozen=True):
    """One mount. `index`: in the container; `volume`: its name in the pod; `make`: what is missing is made."""

    index: int
    volume: str
    path: str
    make: bool


def agent_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that nobody but the agent writes to."""
    return _of_agent(pod.spec)


@once_per_spec
def _of_agent(spec: PodSpec) -> frozenset[str]:
    return frozenset(volume.name for volume in spec.volumes if kind_of(volume).from_objects)


def image_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that the runtime mounts from images."""
    return frozenset(volume.name for volume in pod.spec.volumes if volume.image is not None)


def wanted_sub_paths(
    pod: Pod, container: Container, path: str, variables: Mapping[str, str]
) -> tuple[WantedSubPath, ...]:
    """Those to be mounted for this start. `path`: of the container in the pod. Raises StartRefusedError.

    `variables`: of the container, for `subPathExpr`. Parts of images are the runtime's.
    """
    of_agent, of_images = agent_volumes(pod), image_volumes(pod)
    found: list[WantedSubPath] = []
    for index, mount in enumerate(container.volume_mounts):
        sub_path = sub_path_of(mount, f"{path}.volumeMounts[{index}]", variables)
        if sub_path and mount.name not in of_images:
            found.append(WantedSubPath(index, mount.name, sub_path, mount.name not in of_agent))
    return tuple(found)


def sub_path_of(mount: VolumeMount, path: str, variables: Mapping[str, str]) -> str:
    """Of one mount at `path`; empty where all of the volume is mounted. Raises StartRefusedError."""
    field = "subPathExpr" if mount.sub_path_expr else "subPath"
    sub_path = mount.sub_path or ""
    if mount.sub_path_expr:
        sub_path = expand_strictly(mount.sub_path_expr, variables, f"{path}.{field}")
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        raise StartRefusedError(f"{path}.{field}", f"{sub_path!r} must be relative and must not contain '..'")
    return sub_path


def has_expressions(container: Container) -> bool:
    """Whether its variables are needed to know the paths."""
    return any(mount.sub_path_expr for mount in container.volume_mounts)
