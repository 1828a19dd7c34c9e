"""What a runtime can do with mounts (KEP-3857, KEP-4639). Pure.

That mounts can be made read only with all below them a runtime says itself, for each handler. Of images as volumes it
says nothing: one that does not know them fails in words that nobody understands, and one that does not know parts of
them mounts the whole image. So there is a table of those that are known not to be able.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from actors.messages.pods import RuntimeStateObserved

_IMAGES_FROM = {"containerd": (2, 1), "cri-o": (1, 31)}
_PARTS_FROM = {"containerd": (2, 2), "cri-o": (1, 33)}
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class MountAbilities(msgspec.Struct, frozen=True):
    """`recursive_read_only`: mounts read only with all that is mounted below. `no_images`, `no_image_parts`: why
    images, or parts of them, cannot be mounted; empty where they can.
    """

    recursive_read_only: bool = False
    no_images: str = ""
    no_image_parts: str = ""


def mount_abilities(runtime: RuntimeStateObserved, handler: str) -> MountAbilities:
    """Of one handler of the runtime."""
    recursive = handler in runtime.recursive_read_only_handlers
    return _abilities(recursive, runtime.runtime_name, runtime.runtime_version)


@lru_cache(maxsize=64)
def _abilities(recursive: bool, name: str, version: str) -> MountAbilities:
    return MountAbilities(
        recursive,
        _too_old(name, version, "volumes of images", _IMAGES_FROM),
        _too_old(name, version, "parts (subPath) of volumes of images", _PARTS_FROM),
    )


def _too_old(name: str, version: str, what: str, versions: dict[str, tuple[int, int]]) -> str:
    needed = versions.get(name.lower())
    match = _VERSION.match(version)
    if needed is None or match is None or (int(match[1]), int(match[2])) >= needed:
        return ""
    return f"{name} {version} does not know {what}, {name} {needed[0]}.{needed[1]} does"
