"""What is freed before a pod has to go: dead containers, unused images (spec 7.3). Pure.

Only things on the file system that runs short are freed. Nothing frees memory or processes.
"""

from __future__ import annotations

from enum import Enum

from actors.eviction.signals import (
    CONTAINER_FS,
    CONTAINER_FS_INODES,
    IMAGE_FS,
    IMAGE_FS_INODES,
    NODE_FS,
    NODE_FS_INODES,
)
from actors.eviction.thresholds import Layout


class Reclaim(Enum):
    """What may be freed, in this order."""

    CONTAINERS = "dead containers"
    IMAGES = "unused images"


BOTH = (Reclaim.CONTAINERS, Reclaim.IMAGES)


def reclaimable(signal: str, layout: Layout) -> tuple[Reclaim, ...]:
    """What to free for a threshold of that signal."""
    of_node = signal in (NODE_FS, NODE_FS_INODES)
    of_images = signal in (IMAGE_FS, IMAGE_FS_INODES)
    of_containers = signal in (CONTAINER_FS, CONTAINER_FS_INODES)
    if not (of_node or of_images or of_containers):
        return ()
    if layout.is_split:
        return (Reclaim.IMAGES,) if of_images else (Reclaim.CONTAINERS,)
    if layout.layers_with_images:
        return () if of_node else BOTH
    return BOTH
