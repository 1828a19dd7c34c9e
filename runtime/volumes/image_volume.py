"""image: the files of an image, mounted by the runtime itself (spec 8.7, KEP-4639).

Nothing of it lies in the pod's directory. The image is pulled before a container that mounts it is made, and the mount
names the image instead of a path.
"""

from __future__ import annotations

from config.objects import Pod
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec


class ImagePlugin(VolumePlugin):
    source = "image"

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        if spec.volume.image is None or not spec.volume.image.reference:
            raise VolumeFailedError("the image volume names no image")
        return ""

    def is_usable(self, place: VolumePlace) -> bool:
        return True
