"""What of a pod's volumes has to be got ready for each start of a container: images to mount, and parts of volumes.

Both are asked of others, and a start goes on when both have answered.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.pod_sub_paths import PodSubPaths
from actors.pod_volume_images import PodVolumeImages
from actors.start.environment import Sources, environment
from actors.start.sub_paths import has_expressions, wanted_sub_paths
from config.objects import Container, Pod
from runtime.cri.messages import ImageSpec

_NO_VARIABLES: Mapping[str, str] = {}


class MountParts(msgspec.Struct, frozen=True):
    """`images`: volume name -> image; `sub_paths`: index of the mount -> path on the host."""

    images: Mapping[str, ImageSpec]
    sub_paths: Mapping[int, str]


_NO_PARTS = MountParts({}, {})


class PodMounts:
    """See the module."""

    def __init__(self, images: PodVolumeImages, sub_paths: PodSubPaths) -> None:
        self._images = images
        self._sub_paths = sub_paths
        self.waits: dict[str, str] = {}
        """Container -> what of its mounts it waits for."""

    def waiting(self) -> frozenset[str]:
        """Names of containers whose sub paths are being prepared."""
        return self._sub_paths.waiting()

    async def of(self, pod: Pod, container: Container, path: str, sources: Sources) -> MountParts | None:
        """For one start; None: it has to wait. `path`: of the container in the pod; `sources`: of its variables.

        Raises StartRefusedError, VolumeImageRefusedError.
        """
        self.waits.pop(container.name, None)
        if not container.volume_mounts:
            return _NO_PARTS
        images = await self._images.of(pod, container)
        if images is None:
            self.waits[container.name] = "the images that it mounts are being pulled"
            return None
        variables = environment(pod, container, path, sources) if has_expressions(container) else _NO_VARIABLES
        wanted = wanted_sub_paths(pod, container, path, variables)
        sub_paths = self._sub_paths.take(pod.metadata.uid, container.name, path, wanted)
        if sub_paths is None:
            self.waits[container.name] = "parts of its volumes are being mounted"
            return None
        return MountParts(images, sub_paths)
