"""ImageFsInfo: what the images take."""

from __future__ import annotations

from runtime.cri.messages import (
    FilesystemIdentifier,
    FilesystemUsage,
    ImageFsInfoRequest,
    ImageFsInfoResponse,
    UInt64Value,
)
from simulation.cri.runtime import Runtime

INODES_PER_IMAGE = 500


def image_fs_info(runtime: Runtime, request: ImageFsInfoRequest) -> ImageFsInfoResponse:
    images = runtime.state.images.values()
    usage = FilesystemUsage(
        timestamp=runtime.wall_ns(),
        fs_id=FilesystemIdentifier(mountpoint=runtime.settings.image_directory),
        used_bytes=UInt64Value(value=sum(image.size for image in images)),
        inodes_used=UInt64Value(value=INODES_PER_IMAGE * len(images)),
    )
    return ImageFsInfoResponse(image_filesystems=(usage,), container_filesystems=(usage,))
