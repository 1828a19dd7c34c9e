"""Image names of users, and the full names that a runtime uses for them. Pure."""

from __future__ import annotations

import hashlib
import re

from config.caches import KIB, kept
from runtime.cri.errors import StatusCode
from runtime.cri.messages import Image
from simulation.cri.state import CriRefusal

_NAME = re.compile(
    r"(?P<path>[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?::[0-9]+(?=/))?(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>sha256:[a-f0-9]{64}))?"
)
_ID = re.compile(r"(?:sha256:)?[a-f0-9]{64}")
NAMES_BYTES = 256 * KIB
"""For full names: a world has a few images, and looks one up for each container."""


@kept(NAMES_BYTES)
def full_name(name: str) -> str:
    """`busybox` -> `docker.io/library/busybox:latest`; ids stay. Refuses an invalid name with UNKNOWN."""
    if _ID.fullmatch(name):
        return name if name.startswith("sha256:") else f"sha256:{name}"
    match = _NAME.fullmatch(name)
    if match is None:
        raise CriRefusal(StatusCode.UNKNOWN, f"{name!r} is not an image name")
    path = match["path"]
    host, slash, _ = path.partition("/")
    if not slash:
        path = f"docker.io/library/{path}"
    elif "." not in host and ":" not in host and host != "localhost":
        path = f"docker.io/{path}"
    if match["digest"]:
        return f"{path}@{match['digest']}"
    return f"{path}:{match['tag'] or 'latest'}"


def known_name(name: str) -> str:
    """Like `full_name`, but an invalid name stays as it is."""
    try:
        return full_name(name)
    except CriRefusal:
        return name


def make_image(name: str, size_bytes: int, *, pinned: bool = False) -> Image:
    """The image of a full name; the same name always gives the same image."""
    path, at, digest = name.partition("@")
    if not at:
        path = name.rpartition(":")[0]
        digest = f"sha256:{hashlib.sha256(f'manifest {name}'.encode()).hexdigest()}"
    return Image(
        id=f"sha256:{hashlib.sha256(f'config {digest}'.encode()).hexdigest()}",
        repo_tags=() if at else (name,),
        repo_digests=(f"{path}@{digest}",),
        size=size_bytes,
        pinned=pinned,
    )
