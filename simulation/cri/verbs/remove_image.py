"""RemoveImage: the image with all its names. Removing again is no error, and running containers keep theirs."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import RemoveImageRequest, RemoveImageResponse
from simulation.cri.image_names import known_name
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal


def remove_image(runtime: Runtime, request: RemoveImageRequest) -> RemoveImageResponse:
    name = request.image.image if request.image else ""
    if not name:
        raise CriRefusal(StatusCode.INVALID_ARGUMENT, "no image is named")
    image = runtime.state.image(known_name(name))
    if image is not None:
        runtime.state.drop_image(image)
    return RemoveImageResponse()
