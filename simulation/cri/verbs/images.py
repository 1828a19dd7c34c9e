"""The verbs about images. A pull takes time at a rate; the image is there when all of it has come."""

from __future__ import annotations

import msgspec

from actors.kernel.promise import Promise
from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import DEFAULT
from simulation.cri.image_names import full_name, known_name, make_image
from simulation.cri.named_errors import error_text
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.verbs.sandboxes import read_behaviour

INODES_PER_IMAGE = 500
_SECOND_NS = 10**9


def select_images(runtime: Runtime, request: cri.ListImagesRequest | cri.StreamImagesRequest) -> tuple[cri.Image, ...]:
    wanted = request.filter
    if wanted is None or wanted.image is None or not wanted.image.image:
        return tuple(runtime.state.images.values())
    image = runtime.state.image(full_name(wanted.image.image))
    return () if image is None else (image,)


def image_status(runtime: Runtime, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
    """One image; an empty answer when it is not here."""
    name = request.image.image if request.image else ""
    if not name:
        raise CriRefusal(StatusCode.UNKNOWN, "no image is named")
    image = runtime.state.image(name) or runtime.state.image(known_name(name))
    if image is None:
        return cri.ImageStatusResponse()
    return cri.ImageStatusResponse(image=image, info={"info": "{}"} if request.verbose else {})


def pull_image(
    runtime: Runtime, request: cri.PullImageRequest
) -> cri.PullImageResponse | Promise[cri.PullImageResponse]:
    """The image's size and rate come from the pod-wide values of the pod, if one is named.

    A caller that gives up waiting stops the pull.
    """
    name = full_name(request.image.image if request.image else "")
    if runtime.registry is not None and name not in runtime.registry:
        raise CriRefusal(StatusCode.NOT_FOUND, error_text("PullImage", "not-found", name))
    settings = runtime.settings
    pod = (read_behaviour(request.sandbox_config) if request.sandbox_config else DEFAULT).pod
    size_bytes = settings.image_size_bytes if pod.image_size is None else pod.image_size
    image = make_image(name, size_bytes)
    if image.id in runtime.state.images:
        return _arrived(runtime, image)
    duration_ns = size_bytes * _SECOND_NS // (pod.pull_rate or settings.pull_rate_bytes_per_s)
    if not duration_ns:
        return _arrived(runtime, image)
    promise: Promise[cri.PullImageResponse] = Promise()

    def arrive() -> None:
        if not promise.done():
            runtime.answer(promise, _arrived(runtime, image))

    timer = runtime.after(duration_ns, arrive)
    promise.add_done_callback(lambda _: timer.cancel())
    return promise


def _arrived(runtime: Runtime, image: cri.Image) -> cri.PullImageResponse:
    known = runtime.state.images.get(image.id)
    if known is not None:
        tags = known.repo_tags + tuple(tag for tag in image.repo_tags if tag not in known.repo_tags)
        digests = known.repo_digests + tuple(name for name in image.repo_digests if name not in known.repo_digests)
        image = msgspec.structs.replace(known, repo_tags=tags, repo_digests=digests)
    runtime.state.add_image(image)
    return cri.PullImageResponse(image_ref=image.id)


def remove_image(runtime: Runtime, request: cri.RemoveImageRequest) -> cri.RemoveImageResponse:
    """Remove the image with all its names. Removing again is no error, and running containers keep theirs."""
    name = request.image.image if request.image else ""
    if not name:
        raise CriRefusal(StatusCode.INVALID_ARGUMENT, "no image is named")
    image = runtime.state.image(known_name(name))
    if image is not None:
        runtime.state.drop_image(image)
    return cri.RemoveImageResponse()


def image_fs_info(runtime: Runtime, request: cri.ImageFsInfoRequest) -> cri.ImageFsInfoResponse:
    images = runtime.state.images.values()
    usage = cri.FilesystemUsage(
        timestamp=runtime.wall_ns(),
        fs_id=cri.FilesystemIdentifier(mountpoint=runtime.settings.image_directory),
        used_bytes=cri.UInt64Value(value=sum(image.size for image in images)),
        inodes_used=cri.UInt64Value(value=INODES_PER_IMAGE * len(images)),
    )
    return cri.ImageFsInfoResponse(image_filesystems=(usage,), container_filesystems=(usage,))
