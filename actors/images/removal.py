"""The child of `ImageGCActor` that lists and removes, so that the parent never waits.

It lists the images and the containers made from them, and reads the runtime's sandbox image and the file system of
images. An older runtime does not pin the sandbox image, so the child reads it from the runtime's configuration.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, Message, handles
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import (
    Container,
    Image,
    ImageFsInfoRequest,
    ImageSpec,
    ListContainersRequest,
    ListImagesRequest,
    RemoveImageRequest,
    StatusRequest,
)
from runtime.cri.verbs import IMAGE_FS_INFO, LIST_CONTAINERS, LIST_IMAGES, REMOVE_IMAGE, STATUS, Req, Res, Verb
from runtime.stats.capability import HostStats
from runtime.stats.readings import FsReading
from runtime.traces.spans import TraceContext, below

SECOND_NS = 1_000_000_000
GIVE_UP_NS = 300 * SECOND_NS
"""A deadline for runtime clients that do not keep the deadline of a verb."""
DISK_LIMIT_NS = 10 * SECOND_NS

UNCERTAIN = (StatusCode.DEADLINE_EXCEEDED, StatusCode.UNAVAILABLE, StatusCode.CANCELLED)
"""Codes of the transport, not of the runtime: what the runtime did, or will do, is unknown."""

Failures = (CriError, DeadlineExceededError, LaneExhaustedError, OSError)


class LookAtImages(Message, frozen=True):
    """Parent -> ImageRemover: list the images. `number` comes back with the answer.

    `trace`: the span that the calls belong to.
    """

    number: int
    trace: TraceContext | None = None


class ImagesLooked(Message, frozen=True):
    """ImageRemover -> parent: the lists.

    `whole`: the file system of images, None if unknown. `error`: the look failed, and nothing may be concluded from it.
    """

    number: int
    images: tuple[Image, ...] = ()
    containers: tuple[Container, ...] = ()
    sandbox_images: frozenset[str] = frozenset()
    whole: FsReading | None = None
    error: str = ""


class RemoveOne(Message, frozen=True):
    """Parent -> ImageRemover: remove this image with all its names, and measure the file system.

    `trace`: the span that the call belongs to.
    """

    image: Image
    trace: TraceContext | None = None


class OneRemoved(Message, frozen=True):
    """ImageRemover -> parent: the image is removed, or `error`; `whole`: the file system now.

    Not `certain`: the runtime's answer is lost, and the image may still go at any moment.
    """

    image: Image
    whole: FsReading | None = None
    error: str = ""
    certain: bool = True


class ImageRemover(Actor):
    """See the module. `host` None: the file system cannot be measured."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 2 * GIVE_UP_NS

    def __init__(self, parent: ActorRef, cri: Cri, host: HostStats | None) -> None:
        super().__init__()
        self._parent = parent
        self._cri = cri
        self._host = host
        self._mount = ""

    @handles(LookAtImages)
    async def look(self, message: LookAtImages) -> None:
        try:
            self._parent.tell(await below(message.trace, self._looked(message.number)))
        except Failures as failure:
            self._parent.tell(ImagesLooked(message.number, error=str(failure)))

    async def _looked(self, number: int) -> ImagesLooked:
        status = await self._call(STATUS, StatusRequest(verbose=True))
        images = (await self._call(LIST_IMAGES, ListImagesRequest())).images
        # After the images, so that what is made from them meanwhile is in the later list, or leased.
        containers = (await self._call(LIST_CONTAINERS, ListContainersRequest())).containers
        file_systems = (await self._call(IMAGE_FS_INFO, ImageFsInfoRequest())).image_filesystems
        first = next(iter(file_systems), None)
        self._mount = first.fs_id.mountpoint if first is not None and first.fs_id is not None else ""
        sandbox_image = sandbox_image_in(status.info.get("config", ""))
        sandbox_images = frozenset((sandbox_image,)) if sandbox_image else frozenset()
        return ImagesLooked(number, images, containers, sandbox_images, await self._whole())

    @handles(RemoveOne)
    async def remove_one(self, message: RemoveOne) -> None:
        image = message.image
        try:
            request = RemoveImageRequest(image=ImageSpec(image=image.id))
            await below(message.trace, self._call(REMOVE_IMAGE, request))
        except CriError as failure:
            if not failure.not_found:
                certain = failure.code not in UNCERTAIN
                self._parent.tell(OneRemoved(image, error=str(failure), certain=certain))
                return
        except DeadlineExceededError as failure:
            self._parent.tell(OneRemoved(image, error=str(failure), certain=False))
            return
        try:
            self._parent.tell(OneRemoved(image, await self._whole()))
        except Failures as failure:
            self.log.warning("the file system of images does not answer: %s", failure)
            self._parent.tell(OneRemoved(image))

    async def _call(self, verb: Verb[Req, Res], request: Req) -> Res:
        return await self.wait(self._cri.call(verb, request), timeout_ns=GIVE_UP_NS, what=verb.name)

    async def _whole(self) -> FsReading | None:
        host, mount = self._host, self._mount
        if host is None or not mount:
            return None
        submitted = self.lane("image-disk", size=1, per_key=1).submit(mount, host.filesystem, mount)
        return await self.wait(submitted, timeout_ns=DISK_LIMIT_NS, what="the file system of images")


class _RuntimeConfig(msgspec.Struct, frozen=True, rename="camel"):
    sandbox_image: str = ""


_decode_config = msgspec.json.Decoder(_RuntimeConfig).decode


def sandbox_image_in(config: str) -> str:
    """The sandbox image in the configuration that a runtime shows; empty if it shows none."""
    try:
        return _decode_config(config).sandbox_image
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
