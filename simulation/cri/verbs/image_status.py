"""ImageStatus: one image, or an empty answer when it is not here."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import ImageStatusRequest, ImageStatusResponse
from simulation.cri.image_names import known_name
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal

_NONE = ImageStatusResponse()


def image_status(runtime: Runtime, request: ImageStatusRequest) -> ImageStatusResponse:
    name = request.image.image if request.image else ""
    if not name:
        raise CriRefusal(StatusCode.UNKNOWN, "no image is named")
    image = runtime.state.image(name) or runtime.state.image(known_name(name))
    if image is None:
        return _NONE
    return ImageStatusResponse(image=image, info={"info": "{}"} if request.verbose else {})
