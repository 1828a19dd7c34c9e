"""Images: listed, looked at, pulled, removed, and the file systems they lie on."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.messages.base import Int64Value, Message, UInt64Value
from runtime.cri.messages.config import ImageSpec, PodSandboxConfig


class ImageFilter(Message, frozen=True, kw_only=True):
    """Condition on images; an empty one holds always."""

    image: ImageSpec | None = None


class ListImagesRequest(Message, frozen=True, kw_only=True):
    """List images."""

    filter: ImageFilter | None = None


class Image(Message, frozen=True, kw_only=True):
    """An image on the node."""

    id: str = ""
    repo_tags: tuple[str, ...] = ()
    repo_digests: tuple[str, ...] = ()
    size: int = 0
    uid: Int64Value | None = None
    username: str = ""
    spec: ImageSpec | None = None
    pinned: bool = False


class ListImagesResponse(Message, frozen=True, kw_only=True):
    """All images that meet the filter."""

    images: tuple[Image, ...] = ()


class StreamImagesRequest(Message, frozen=True, kw_only=True):
    """List images, in parts."""

    filter: ImageFilter | None = None


class StreamImagesResponse(Message, frozen=True, kw_only=True):
    """A part of the list of images."""

    images: tuple[Image, ...] = ()


class ImageStatusRequest(Message, frozen=True, kw_only=True):
    """Look at one image."""

    image: ImageSpec | None = None
    verbose: bool = False


class ImageStatusResponse(Message, frozen=True, kw_only=True):
    """The image, or none when it is not on the node."""

    image: Image | None = None
    info: Mapping[str, str] = {}


class AuthConfig(Message, frozen=True, kw_only=True):
    """Credentials for a registry. Secret: never logged."""

    username: str = ""
    password: str = ""
    auth: str = ""
    server_address: str = ""
    identity_token: str = ""
    registry_token: str = ""

    def __repr__(self) -> str:
        """Where to, without with what: a repr ends in logs and traces."""
        return f"AuthConfig(server_address={self.server_address!r}, ...)"


class PullImageRequest(Message, frozen=True, kw_only=True):
    """Bring an image onto the node."""

    image: ImageSpec | None = None
    auth: AuthConfig | None = None
    sandbox_config: PodSandboxConfig | None = None


class PullImageResponse(Message, frozen=True, kw_only=True):
    """The image is on the node."""

    image_ref: str = ""


class RemoveImageRequest(Message, frozen=True, kw_only=True):
    """Remove an image with all its names. Removing twice is no error."""

    image: ImageSpec | None = None


class RemoveImageResponse(Message, frozen=True, kw_only=True):
    """The image is gone."""


class FilesystemIdentifier(Message, frozen=True, kw_only=True):
    """A file system, by where it is mounted."""

    mountpoint: str = ""


class FilesystemUsage(Message, frozen=True, kw_only=True):
    """What is used of a file system."""

    timestamp: int = 0
    fs_id: FilesystemIdentifier | None = None
    used_bytes: UInt64Value | None = None
    inodes_used: UInt64Value | None = None


class WindowsFilesystemUsage(Message, frozen=True, kw_only=True):
    """What is used of a file system on Windows."""

    timestamp: int = 0
    fs_id: FilesystemIdentifier | None = None
    used_bytes: UInt64Value | None = None


class ImageFsInfoRequest(Message, frozen=True, kw_only=True):
    """Ask for the file systems of images and of writable layers."""


class ImageFsInfoResponse(Message, frozen=True, kw_only=True):
    """The file systems of images and of writable layers."""

    image_filesystems: tuple[FilesystemUsage, ...] = ()
    container_filesystems: tuple[FilesystemUsage, ...] = ()
