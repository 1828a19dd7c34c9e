"""ListImages and StreamImages: the images that are here."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    Image,
    ImageFilter,
    ListImagesRequest,
    ListImagesResponse,
    StreamImagesRequest,
    StreamImagesResponse,
)
from simulation.cri.image_names import full_name
from simulation.cri.runtime import Runtime
from simulation.cri.verbs.parts import parts_of


def list_images(runtime: Runtime, request: ListImagesRequest) -> ListImagesResponse:
    return ListImagesResponse(images=_select(runtime, request.filter))


def stream_images(
    runtime: Runtime, request: StreamImagesRequest, on_item: Callable[[StreamImagesResponse], None]
) -> None:
    for part in parts_of(_select(runtime, request.filter)):
        runtime.later(on_item, StreamImagesResponse(images=part))


def _select(runtime: Runtime, wanted: ImageFilter | None) -> tuple[Image, ...]:
    if wanted is None or wanted.image is None or not wanted.image.image:
        return tuple(runtime.state.images.values())
    image = runtime.state.image(full_name(wanted.image.image))
    return () if image is None else (image,)
