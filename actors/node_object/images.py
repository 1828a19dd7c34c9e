"""The images in the Node object (spec 9.5): the scheduler prefers nodes that have a pod's image.

The largest images are listed, each with at most five names, digests before tags. Images without a name are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from config.objects import ContainerImage
from runtime.cri.messages import Image

NAMES_AT_MOST = 5


def status_images(images: Iterable[Image], at_most: int) -> tuple[ContainerImage, ...]:
    """The images to publish, the largest first. `at_most` -1: all."""
    named = [image for image in images if image.repo_digests or image.repo_tags]
    largest = sorted(named, key=lambda image: (-image.size, image.id))
    return tuple(
        ContainerImage(
            names=tuple(dict.fromkeys((*sorted(image.repo_digests), *sorted(image.repo_tags))))[:NAMES_AT_MOST],
            size_bytes=image.size,
        )
        for image in (largest if at_most < 0 else largest[:at_most])
    )
