"""PullImage: an image comes at a rate, and is here when all of it is. Who gives up waiting stops the pull."""

from __future__ import annotations

import msgspec

from actors.kernel.promise import Promise
from runtime.cri.errors import StatusCode
from runtime.cri.messages import Image, PullImageRequest, PullImageResponse
from simulation.cri.behaviour import DEFAULT
from simulation.cri.image_names import full_name, make_image
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.verbs.run_pod_sandbox import read_behaviour

_SECOND_NS = 10**9


def pull_image(runtime: Runtime, request: PullImageRequest) -> PullImageResponse | Promise[PullImageResponse]:
    """The image's size and rate come from the pod, if one is named: the pod-wide values, as no container is."""
    name = full_name(request.image.image if request.image else "")
    if runtime.registry is not None and name not in runtime.registry:
        raise CriRefusal(StatusCode.NOT_FOUND, f"failed to pull {name!r}: the registry does not have it")
    settings = runtime.settings
    pod = (read_behaviour(request.sandbox_config) if request.sandbox_config else DEFAULT).pod
    size_bytes = settings.image_size_bytes if pod.image_size is None else pod.image_size
    image = make_image(name, size_bytes)
    if image.id in runtime.state.images:
        return _arrived(runtime, image)
    duration_ns = size_bytes * _SECOND_NS // (pod.pull_rate or settings.pull_rate_bytes_per_s)
    if not duration_ns:
        return _arrived(runtime, image)
    promise: Promise[PullImageResponse] = Promise()

    def arrive() -> None:
        if not promise.done():
            runtime.answer(promise, _arrived(runtime, image))

    timer = runtime.after(duration_ns, arrive)
    promise.add_done_callback(lambda _: timer.cancel())
    return promise


def _arrived(runtime: Runtime, image: Image) -> PullImageResponse:
    known = runtime.state.images.get(image.id)
    if known is not None:
        tags = known.repo_tags + tuple(tag for tag in image.repo_tags if tag not in known.repo_tags)
        digests = known.repo_digests + tuple(name for name in image.repo_digests if name not in known.repo_digests)
        image = msgspec.structs.replace(known, repo_tags=tags, repo_digests=digests)
    runtime.state.add_image(image)
    return PullImageResponse(image_ref=image.id)
